//! The Floe servant of `Interop.ice`: answers as the Ice servers beside it do.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use floe::{Adapter, Communicator, Context, Current, InvokeError, Proxy, TypedProxy};

use super::contract::interop::*;

/// A sum that callers add to.
#[derive(Default)]
pub(crate) struct Sum(pub(crate) AtomicI32);

impl Counter for Sum {
    async fn value(&self, _: &Current) -> Result<i32, InvokeError> {
        Ok(self.0.load(Ordering::SeqCst))
    }

    async fn add(&self, amount: i32, _: &Current) -> Result<i32, InvokeError> {
        Ok(self.0.fetch_add(amount, Ordering::SeqCst) + amount)
    }
}

/// The object "everything", one of its facets, or a default servant.
struct Servant {
    name: &'static str,
    ticks: AtomicI32,
    counter_count: AtomicUsize,
}

impl Servant {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ticks: AtomicI32::new(0),
            counter_count: AtomicUsize::new(0),
        }
    }
}

impl Named for Servant {
    async fn name(&self, _: &Current) -> Result<String, InvokeError> {
        Ok(self.name.to_owned())
    }
}

macro_rules! echo {
    ($($operation:ident: $type:ty;)*) => {
        $(async fn $operation(
            &self,
            value: $type,
            _: &Current,
        ) -> Result<($type, $type), InvokeError> {
            Ok((value.clone(), value))
        })*
    };
}

impl Echo for Servant {
    echo! {
        echo_bool: bool;
        echo_byte: u8;
        echo_short: i16;
        echo_int: i32;
        echo_long: i64;
        echo_float: f32;
        echo_double: f64;
        echo_string: String;
        echo_colour: Colour;
        echo_sparse: Sparse;
        echo_wide: Wide;
        echo_huge: Huge;
        echo_point: Point;
        echo_primitives: Primitives;
        echo_nested: Nested;
        echo_bool_seq: BoolSeq;
        echo_byte_seq: ByteSeq;
        echo_short_seq: ShortSeq;
        echo_int_seq: IntSeq;
        echo_long_seq: LongSeq;
        echo_float_seq: FloatSeq;
        echo_double_seq: DoubleSeq;
        echo_string_seq: StringSeq;
        echo_colour_seq: ColourSeq;
        echo_nested_seq: NestedSeq;
        echo_object_seq: ObjectSeq;
        echo_int_seq_seq: IntSeqSeq;
        echo_string_int_dict_seq: StringIntDictSeq;
        echo_string_int_dict: StringIntDict;
        echo_colour_point_dict: ColourPointDict;
        echo_point_string_seq_dict: PointStringSeqDict;
        echo_long_dict_dict: LongDictDict;
        echo_string_object_dict: StringObjectDict;
        echo_object: Option<Proxy>;
        echo_counter: Option<CounterProxy>;
    }

    async fn blob(&self, data: ByteSeq, _: &Current) -> Result<ByteSeq, InvokeError> {
        Ok(data)
    }
}

fn e1() -> E1 {
    E1 { code: 11 }
}

fn e2() -> E2 {
    E2 {
        code: 22,
        reason: "two".into(),
    }
}

fn e3() -> E3 {
    E3 {
        code: 33,
        reason: "three".into(),
        place: Point { x: 3, y: -3 },
    }
}

impl Failing for Servant {
    async fn fail(&self, depth: i32, _: &Current) -> Result<i32, E1Error> {
        match depth {
            1 => Err(e1().into()),
            2 => Err(e2().into()),
            3 => Err(e3().into()),
            other => Ok(other),
        }
    }

    async fn fail_as_base(&self, depth: i32, _: &Current) -> Result<i32, E1Error> {
        match depth {
            1 => Err(e1().into()),
            2 => Err(e2().into()),
            3 => Err(e3().into()),
            other => Ok(other),
        }
    }

    async fn fail_unrelated(&self, _: &Current) -> Result<(), E1OrUnrelatedError> {
        Err(Unrelated {}.into())
    }

    async fn fail_undeclared(&self, _: &Current) -> Result<(), InvokeError> {
        Err(InvokeError::UndeclaredException {
            type_id: "::Interop::Unrelated".into(),
        })
    }

    async fn fail_unknown(&self, _: &Current) -> Result<(), InvokeError> {
        panic!("asked to fail")
    }
}

impl Calls for Servant {
    async fn nothing(&self, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn divide(
        &self,
        dividend: i32,
        divisor: i32,
        _: &Current,
    ) -> Result<(i32, i32, f64), InvokeError> {
        Ok((
            dividend / divisor,
            dividend % divisor,
            f64::from(dividend) / f64::from(divisor),
        ))
    }

    async fn context(&self, current: &Current) -> Result<Context, InvokeError> {
        Ok(current.context())
    }

    async fn arrived_at(&self, current: &Current) -> Result<Arrival, InvokeError> {
        Ok(Arrival {
            category: current.identity().category,
            name: current.identity().name,
            facet: current.facet().to_owned(),
            operation: current.operation().to_owned(),
            mode: current.mode() as u8,
        })
    }

    async fn arrived_at_idempotently(&self, current: &Current) -> Result<Arrival, InvokeError> {
        self.arrived_at(current).await
    }

    async fn tick(&self, _: &Current) -> Result<(), InvokeError> {
        self.ticks.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn ticks(&self, _: &Current) -> Result<i32, InvokeError> {
        Ok(self.ticks.load(Ordering::SeqCst))
    }

    async fn reset_ticks(&self, _: &Current) -> Result<(), InvokeError> {
        self.ticks.store(0, Ordering::SeqCst);
        Ok(())
    }

    async fn sleep(&self, duration: i32, _: &Current) -> Result<(), InvokeError> {
        tokio::time::sleep(Duration::from_millis(duration as u64)).await;
        Ok(())
    }

    async fn make_counter(
        &self,
        start: i32,
        current: &Current,
    ) -> Result<Option<CounterProxy>, InvokeError> {
        let number = self.counter_count.fetch_add(1, Ordering::SeqCst);
        let counter = CounterDispatcher::new(Sum(AtomicI32::new(start)));
        let proxy = current.adapter().add(format!("counter {number}"), counter);
        Ok(Some(CounterProxy::from_proxy(
            proxy.expect("a new identity"),
        )))
    }

    async fn use_counter(
        &self,
        counter: Option<CounterProxy>,
        times: i32,
        _: &Current,
    ) -> Result<i32, InvokeError> {
        let counter = counter.expect("the clients give a counter");
        for _ in 0..times {
            counter.add(1).await?;
        }
        counter.value().await
    }

    async fn shutdown(&self, current: &Current) -> Result<(), InvokeError> {
        let communicator = current.adapter().communicator().clone();
        tokio::spawn(async move { communicator.shutdown().await });
        Ok(())
    }
}

impl Everything for Servant {}

/// Serves the object "everything" as the Ice servers do, on a free port.
pub(crate) async fn serve(communicator: &Communicator) -> (Adapter, EverythingProxy) {
    serve_on(communicator, "tcp -h 127.0.0.1 -p 0").await
}

/// As [`serve`], elsewhere.
pub(crate) async fn serve_on(
    communicator: &Communicator,
    endpoints: &str,
) -> (Adapter, EverythingProxy) {
    let adapter = communicator.adapter(endpoints).await.expect("a free port");
    let everything = |name| EverythingDispatcher::new(Arc::new(Servant::new(name)));
    let proxy = adapter
        .add("everything", everything("everything"))
        .expect("a new identity");
    adapter
        .add_facet("everything", "facet1", everything("facet1"))
        .expect("a new facet");
    adapter
        .add_default("default", everything("default"))
        .expect("a new category");
    adapter.activate();
    (adapter, EverythingProxy::from_proxy(proxy))
}
