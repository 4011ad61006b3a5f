//! Names that are two in Slice and one in Rust: each has its own, and all of them travel.

use floe::classes::Link;
use floe::{Communicator, Current, InvokeError, TypedProxy};

use crate::contract::clashes::{
    Both, BothDispatcher, BothDispatcher_, BothProxy, Failure, FailureError, Leaf, Limits,
    MAX_COST, MAX_COST_, More, Node, Other, Store, StoreProxy_, TheUnit, TheUnit_, Unit, Worse,
    WorseError, WorseError_, the_inner, the_inner_,
};

/// Tells what it gets.
struct Servant;

impl Store for Servant {
    async fn get_all(
        &self,
        item_count: i32,
        item_count_: String,
        _: &Current,
    ) -> Result<(i32, i32, String), FailureError> {
        if item_count < 0 {
            let the_reason = item_count_;
            return Err(Failure { the_reason }.into());
        }
        Ok((item_count + 1, item_count, item_count_))
    }

    async fn get_all_(
        &self,
        unit: TheUnit_,
        limits: Limits,
        _: &Current,
    ) -> Result<(String, Link<Node>), WorseError_> {
        if unit.two == 0 {
            return Err(Worse {
                the_reason: "one".to_owned(),
                the_reason_: "two".to_owned(),
            }
            .into());
        }
        let told = format!("{} {} {}", unit.two, unit.other.one, limits.max_cost__);
        let node = Node {
            left_side: limits.max_cost,
            left_side_: limits.type_x,
            next_node_: Link::new(Node::default()),
            ..Node::default()
        };
        Ok((told, Link::new(node)))
    }
}

impl Other for Servant {
    async fn put_all(&self, _: &Current) -> Result<i32, InvokeError> {
        Ok(1)
    }
}

impl More for Servant {
    async fn put_all_(&self, _: &Current) -> Result<String, FailureError> {
        Ok("other".to_owned())
    }
}

impl Both for Servant {
    async fn get_all2(&self, _: &Current) -> Result<i32, InvokeError> {
        Ok(2)
    }

    async fn put_all3(&self, _: &Current) -> Result<bool, InvokeError> {
        Ok(true)
    }
}

#[tokio::test]
async fn operations_whose_names_clash_are_called_by_their_own_names() {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter.add("both", BothDispatcher::new(Servant)).unwrap();
    adapter.activate();
    let both = BothProxy::from_proxy(proxy);

    assert_eq!(both.put_all().await.unwrap(), 1);
    assert_eq!(both.put_all_().await.unwrap(), "other");
    assert_eq!(both.get_all2().await.unwrap(), 2);
    assert!(both.put_all3().await.unwrap());
    let all = both.get_all(4, "text").await.unwrap();
    assert_eq!(all, (5, 4, "text".to_owned()));
    match both.get_all(-1, "no").await {
        Err(FailureError::Failure(failure)) => assert_eq!(failure.the_reason, "no"),
        other => panic!("{other:?}"),
    }

    let mut unit = TheUnit_ {
        two: 2,
        other: TheUnit { one: 1 },
    };
    let limits = Limits {
        max_cost: 7,
        type_x: 8,
        ..Limits::default()
    };
    let (told, node) = both.get_all_(&unit, &limits).await.unwrap();
    assert_eq!(told, "2 1 five");
    let node = node.get().unwrap();
    assert_eq!((node.left_side, node.left_side_), (7, 8));
    assert!(node.next_node.get().is_none() && node.next_node_.get().is_some());
    unit.two = 0;
    match both.get_all_(&unit, &limits).await {
        Err(WorseError_::Worse(worse)) => {
            assert_eq!((&*worse.the_reason, &*worse.the_reason_), ("one", "two"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_other_name_has_its_own() {
    assert_eq!((MAX_COST, MAX_COST_), (1, 2));
    assert_eq!((Unit::LightYear.value(), Unit::LightYear_.value()), (0, 1));
    let leaf = Leaf {
        one_tag: Some(1),
        one_tag_: Some(2),
        ..Leaf::default()
    };
    assert_ne!(leaf.one_tag, leaf.one_tag_);
    let own = (StoreProxy_ { here: 1 }, BothDispatcher_ { there: 2 });
    assert_eq!((own.0.here, own.1.there), (1, 2));
    let error = WorseError {
        unit: Unit::LightYear_,
    };
    assert_eq!(error.unit, Unit::LightYear_);
    let modules = (the_inner::Only { a: 1 }, the_inner_::Only { b: 2 });
    assert_eq!((modules.0.a, modules.1.b), (1, 2));
}
