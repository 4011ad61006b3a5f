//! Calls combined with what programs combine futures with, in spawned tasks and in servants, whose futures must be `Send`
//! for any lifetime. That these functions compile is half of what they show.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::classes::Link;
use floe::codegen::OperationInfo;
use floe::encoding::Encoder;
use floe::hub::HubClient;
use floe::message::Outcome;
use floe::{Communicator, Current, EncodingVersion, InvokeError, OperationMode, Proxy, TypedProxy};
use floe_hub::{Hub, HubSettings};
use futures_util::future::{join_all, try_join_all};
use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};

use crate::contract::composing::{
    Board, BoardEvent, BoardProxy, Desk, DeskDispatcher, DeskProxy, Labels, Note, Order, Refused,
    RefusedError,
};

/// Answers, and remembers what was written.
#[derive(Default)]
struct Clerk {
    written: Mutex<Vec<String>>,
}

/// The results of every combination of calls of a desk.
///
/// It is a macro so that the calls stand in the future of the task or servant that it is about, and in no function between.
macro_rules! combined {
    ($desk:expr) => {{
        let desk: &DeskProxy = $desk;
        let mut results: Vec<String> = Vec::new();

        // Parameters are borrowed from these.
        let prefixes = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let orders: Vec<Order> = (1..=3).map(order).collect();
        let numbers = vec![1, 2];
        let labels = Labels::from([("kind".to_owned(), "tea".to_owned())]);
        let notes = ["t", "u", "v"].map(|text| Link::new(Note { text: text.to_owned() }));
        let pairs = || prefixes.iter().zip(&orders);

        let calls = pairs().map(|(prefix, order)| desk.label(prefix, &numbers, &labels, order));
        results.extend(join_all(calls).await.into_iter().map(|it| it.unwrap()));

        let calls = pairs().map(|(prefix, order)| desk.label(prefix, &numbers, &labels, order));
        results.extend(try_join_all(calls).await?);

        let doubled = join_all((1..=3).map(|number| desk.twice(number))).await;
        results.extend(doubled.into_iter().map(|it| it.unwrap().to_string()));

        let (label, number, told, perhaps, sum) = tokio::join!(
            desk.label(&prefixes[0], &numbers, &labels, &orders[0]),
            desk.twice(21),
            desk.tell(&notes[0], &prefixes[1]),
            desk.perhaps(Some("p"), Some(Some(desk)), None),
            desk.sum(1, 2, 3, 4, &prefixes[2], 6, 7, 8, 9, 10, 11, 12, 13, 14),
        );
        results.extend([label?, number?.to_string(), told?, perhaps?, sum?.to_string()]);

        let (label, number) = tokio::try_join!(
            desk.label("x", &numbers, &labels, &orders[0]),
            async { Ok(desk.twice(4).await?) },
        )?;
        results.extend([label, number.to_string()]);

        let calls = pairs().map(|(prefix, order)| desk.label(prefix, &numbers, &labels, order));
        let mut unordered: FuturesUnordered<_> = calls.collect();
        let mut labels_in_any_order = Vec::new();
        while let Some(label) = unordered.next().await {
            labels_in_any_order.push(label?);
        }
        labels_in_any_order.sort();
        results.extend(labels_in_any_order);

        // Class instances, and more parameters than a tuple has.
        let told = notes.iter().zip(&prefixes);
        results.extend(try_join_all(told.map(|(note, by)| desk.tell(note, by))).await?);
        let sums = prefixes.iter();
        let sums = sums.map(|text| desk.sum(1, 2, 3, 4, text, 6, 7, 8, 9, 10, 11, 12, 13, 14));
        results.extend(try_join_all(sums).await?.iter().map(i32::to_string));
        let others = prefixes.iter();
        let others = others.map(|text| desk.perhaps(Some(text), Some(None), Some(desk)));
        results.extend(try_join_all(others).await?);

        tokio::select! {
            late = desk.late() => panic!("it waits until it is given up, got {late:?}"),
            number = desk.twice(5) => results.push(number?.to_string()),
        }
        let late = tokio::time::timeout(Duration::from_millis(20), desk.late()).await;
        results.push(format!("late: {}", late.is_err()));
        let label = desk.label(&prefixes[0], &numbers, &labels, &orders[0]);
        results.push(tokio::time::timeout(WATCHDOG, label).await.expect("a reply")?);

        // A closure that a stream keeps takes no references: the compiler refuses it in a spawned task for any future.
        let calls: Vec<_> = pairs()
            .map(|(prefix, order)| desk.label(prefix, &numbers, &labels, order))
            .collect();
        let mut buffered: Vec<String> = stream::iter(calls).buffer_unordered(2).try_collect().await?;
        buffered.sort();
        results.extend(buffered);
        let buffered = stream::iter(1..=3).map(|number| desk.twice(number)).buffered(2);
        let buffered: Vec<i32> = buffered.try_collect().await?;
        results.extend(buffered.iter().map(i32::to_string));
        let mut unordered: Vec<i32> = stream::iter(1..=9)
            .map(|number| desk.twice(number))
            .buffer_unordered(4)
            .try_collect()
            .await?;
        unordered.sort();
        results.extend(unordered.iter().map(i32::to_string));
        stream::iter(prefixes.clone())
            .map(Ok::<_, InvokeError>)
            .try_for_each_concurrent(2, |text| async move { desk.write(&text).await })
            .await?;

        // Calls without a type.
        let proxy = desk.as_proxy();
        let calls = (1..=3).map(|number| {
            let encode = move |encoder: &mut Encoder<'_>| encoder.put(&number);
            proxy.call::<i32, InvokeError>(&TWICE, encode, |decoder| decoder.get())
        });
        results.extend(try_join_all(calls).await?.iter().map(i32::to_string));
        let texts = ["u".to_owned(), "v".to_owned()];
        let calls = texts.iter().map(|text| {
            let encode = move |encoder: &mut Encoder<'_>| encoder.put(text);
            proxy.call::<(), InvokeError>(&WRITE, encode, |decoder| decoder.nothing())
        });
        try_join_all(calls).await?;
        let (first, second) = tokio::join!(
            proxy.call::<i32, InvokeError>(&TWICE, |e| e.put(&4), |decoder| decoder.get()),
            proxy.call::<(), InvokeError>(&WRITE, |e| e.put(&texts[0]), |decoder| decoder.nothing()),
        );
        second?;
        results.push(first?.to_string());
        let parameters: Vec<Vec<u8>> = (1..=3).map(encapsulation).collect();
        let calls = parameters.iter();
        let calls = calls.map(|bytes| proxy.invoke("twice", OperationMode::Normal, bytes));
        results.extend(try_join_all(calls).await?.iter().map(returned));
        let buffered = stream::iter(parameters)
            .map(|bytes| async move { proxy.invoke("twice", OperationMode::Normal, &bytes).await })
            .buffered(2);
        let buffered: Vec<Option<Outcome>> = buffered.try_collect().await?;
        results.extend(buffered.iter().map(returned));
        let facets = ["", "none"].map(|facet| desk.ice_facet(facet));
        let pings = join_all(facets.iter().map(|facet| facet.ice_ping())).await;
        results.extend(pings.iter().map(|ping| format!("ping: {}", ping.is_ok())));
        let type_ids = ["::Composing::Desk".to_owned(), "::Ice::Other".to_owned()];
        let are = try_join_all(type_ids.iter().map(|type_id| desk.ice_is_a(type_id))).await?;
        results.push(format!("is a: {are:?}"));

        // Without a reply, and collected.
        let (oneway, batch) = (desk.ice_oneway(), desk.ice_batch_oneway());
        try_join_all(prefixes.iter().map(|text| oneway.write(text))).await?;
        try_join_all(prefixes.iter().map(|text| batch.write(text))).await?;
        let batches = [batch.clone(), batch.clone()];
        try_join_all(batches.iter().map(|batch| batch.ice_flush_batch())).await?;
        let (one, other) = tokio::join!(oneway.write("one"), oneway.write("other"));
        one.and(other)?;
        let writes: Vec<_> = prefixes.iter().map(|text| oneway.write(text)).collect();
        stream::iter(writes).buffer_unordered(4).try_collect::<()>().await?;
        let mut written = desk.written().await?;
        written.sort();
        results.push(written.join(" "));
        Ok::<_, RefusedError>(results)
    }};
}

/// Everything that [`combined`] returns.
const RESULTS: &str = "\
a 1+2 tea a1, b 1+2 tea a2, c 1+2 tea a3, a 1+2 tea a1, b 1+2 tea a2, c 1+2 tea a3, 2, 4, 6, a 1+2 tea a1, 42, t by b, \
p true false, 101, x 1+2 tea a1, 8, a 1+2 tea a1, b 1+2 tea a2, c 1+2 tea a3, t by a, u by b, v by c, 101, 101, 101, \
a false true, b false true, c false true, 10, late: true, a 1+2 tea a1, a 1+2 tea a1, b 1+2 tea a2, c 1+2 tea a3, 2, 4, 6, \
2, 4, 6, 8, 10, 12, 14, 16, 18, 2, 4, 6, 8, 2, 4, 6, 2, 4, 6, ping: true, ping: false, is a: [true, false], \
a a a a b b b b c c c c one other u u v";

/// The events of every combination of calls of a hub and its publishers.
macro_rules! published {
    ($hub:expr) => {{
        let hub: &HubClient = $hub;
        let names = ["north".to_owned(), "south".to_owned()];
        let topics = try_join_all(names.iter().map(|name| hub.topic(name)))
            .await
            .unwrap();
        let subscriptions = topics
            .iter()
            .map(|topic| topic.subscribe::<BoardEvent>().start());
        let mut subscriptions = try_join_all(subscriptions).await.unwrap();
        let publishers = topics.iter().map(|topic| topic.publisher::<BoardProxy>());
        let publishers = try_join_all(publishers).await.unwrap();

        let texts = ["1".to_owned(), "2".to_owned()];
        for publisher in &publishers {
            try_join_all(texts.iter().map(|text| publisher.write(text))).await?;
        }
        let all = publishers
            .iter()
            .flat_map(|publisher| texts.iter().map(|text| publisher.write(text)));
        let all: Vec<_> = all.collect();
        stream::iter(all)
            .buffer_unordered(3)
            .try_collect::<()>()
            .await?;
        let (one, other) = tokio::join!(publishers[0].write("j"), publishers[1].write("j"));
        one.and(other)?;
        let (north, south) = tokio::join!(hub.topic("north"), hub.existing_topic("south"));
        let (north, south) = (north.unwrap(), south.unwrap());
        let (north, south) = tokio::join!(north.publisher::<Proxy>(), south.publisher::<Proxy>());
        let publishers = [
            BoardProxy::from_proxy(north.unwrap()),
            BoardProxy::from_proxy(south.unwrap()),
        ];
        let oneways = publishers
            .each_ref()
            .map(|publisher| publisher.ice_oneway());
        try_join_all(oneways.iter().map(|publisher| publisher.write("o"))).await?;
        let batches = publishers
            .each_ref()
            .map(|publisher| publisher.ice_batch_oneway());
        try_join_all(batches.iter().map(|publisher| publisher.write("b"))).await?;
        try_join_all(batches.iter().map(|publisher| publisher.ice_flush_batch())).await?;

        let mut results = Vec::new();
        for subscription in &mut subscriptions {
            let mut written = Vec::new();
            while written.len() < 7 {
                let event = tokio::time::timeout(WATCHDOG, subscription.next())
                    .await
                    .unwrap();
                match event.unwrap().unwrap() {
                    BoardEvent::Write(text) => written.push(text),
                }
            }
            written.sort();
            results.push(written.join(" "));
        }
        let ends = subscriptions
            .into_iter()
            .map(|subscription| subscription.unsubscribe());
        try_join_all(ends).await.unwrap();
        Ok::<_, InvokeError>(results)
    }};
}

impl Board for Clerk {
    async fn write(&self, text: String, _: &Current) -> Result<(), InvokeError> {
        self.written.lock().unwrap().push(text);
        Ok(())
    }
}

impl Desk for Clerk {
    async fn label(
        &self,
        prefix: String,
        numbers: Vec<i32>,
        labels: Labels,
        order: Order,
        _: &Current,
    ) -> Result<String, RefusedError> {
        if order.count == 0 {
            return Err(Refused {
                why: "nothing".to_owned(),
            }
            .into());
        }
        let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
        let (numbers, kind) = (numbers.join("+"), &labels["kind"]);
        Ok(format!(
            "{prefix} {numbers} {kind} {}{}",
            order.item, order.count
        ))
    }

    async fn twice(&self, number: i32, _: &Current) -> Result<i32, InvokeError> {
        // The first one called is not the first one answered.
        tokio::time::sleep(Duration::from_millis(5 - number.clamp(1, 4) as u64)).await;
        Ok(2 * number)
    }

    async fn tell(&self, note: Link<Note>, by: String, _: &Current) -> Result<String, InvokeError> {
        let text = note
            .get()
            .map_or_else(String::new, |note| note.text.clone());
        Ok(format!("{text} by {by}"))
    }

    async fn perhaps(
        &self,
        text: Option<String>,
        other: Option<Option<DeskProxy>>,
        third: Option<DeskProxy>,
        _: &Current,
    ) -> Result<String, InvokeError> {
        let is_there = matches!(other, Some(Some(_)));
        Ok(format!(
            "{} {is_there} {}",
            text.unwrap_or_default(),
            third.is_some()
        ))
    }

    async fn sum(
        &self,
        a: i32,
        b: i32,
        c: i32,
        d: i32,
        e: String,
        f: i32,
        g: i32,
        h: i32,
        i: i32,
        j: i32,
        k: i32,
        l: i32,
        m: i32,
        n: i32,
        _: &Current,
    ) -> Result<i32, InvokeError> {
        Ok(a + b + c + d + e.len() as i32 + f + g + h + i + j + k + l + m + n)
    }

    async fn late(&self, _: &Current) -> Result<(), InvokeError> {
        std::future::pending().await
    }

    async fn written(&self, _: &Current) -> Result<Vec<String>, InvokeError> {
        Ok(self.written.lock().unwrap().clone())
    }

    async fn combine(
        &self,
        other: Option<DeskProxy>,
        _: &Current,
    ) -> Result<Vec<String>, RefusedError> {
        combined!(&other.expect("another desk"))
    }

    async fn publish(&self, hub: String, _: &Current) -> Result<Vec<String>, InvokeError> {
        published!(&HubClient::connect(&hub).await.unwrap())
    }
}

#[tokio::test]
async fn calls_are_combined_in_a_spawned_task() {
    let (_server, desk) = desk().await;
    let task = tokio::spawn(async move { combined!(&desk) });
    assert_eq!(soon(task).await.unwrap().unwrap().join(", "), RESULTS);
}

#[tokio::test]
async fn calls_are_combined_in_a_servant() {
    let ((_server, desk), (_other_server, other)) = (desk().await, desk().await);
    let results = soon(desk.combine(Some(&other))).await.unwrap();
    assert_eq!(results.join(", "), RESULTS);
}

#[tokio::test]
async fn a_refused_call_ends_those_that_are_tried_with_it() {
    let (_server, desk) = desk().await;
    let task = tokio::spawn(async move {
        let (numbers, labels) = (vec![], Labels::from([("kind".to_owned(), String::new())]));
        let orders = [
            order(1),
            Order {
                count: 0,
                ..order(2)
            },
            order(3),
        ];
        let calls = orders
            .iter()
            .map(|order| desk.label("", &numbers, &labels, order));
        try_join_all(calls).await
    });
    let failed = soon(task).await.unwrap();
    assert!(
        matches!(failed, Err(RefusedError::Refused(_))),
        "{failed:?}"
    );
}

#[tokio::test]
async fn calls_of_a_hub_are_combined_in_a_spawned_task() {
    let (_hub, address) = hub().await;
    let task = tokio::spawn(async move {
        let hub = HubClient::connect(&address).await.unwrap();
        published!(&hub)
    });
    assert_eq!(soon(task).await.unwrap().unwrap(), EVENTS);
}

#[tokio::test]
async fn calls_of_a_hub_are_combined_in_a_servant() {
    let (_hub, address) = hub().await;
    let (_server, desk) = desk().await;
    assert_eq!(soon(desk.publish(&address)).await.unwrap(), EVENTS);
}

/// The texts that arrive at each topic.
const EVENTS: [&str; 2] = ["1 1 2 2 b j o"; 2];

/// A function that is generic over its futures combines calls, too.
async fn in_turn<T, E>(
    futures: Vec<impl Future<Output = Result<T, E>> + Send>,
) -> Result<Vec<T>, E> {
    let mut results = Vec::new();
    for future in futures {
        results.push(future.await?);
    }
    Ok(results)
}

/// Names the type of a call that it keeps.
struct Kept<'a> {
    calls: Vec<floe::Call<'a, i32, InvokeError, (i32,)>>,
}

#[tokio::test]
async fn calls_are_kept_in_a_type_that_names_them() {
    let (_server, desk) = desk().await;
    let task = tokio::spawn(async move {
        let kept = Kept {
            calls: (1..=3).map(|number| desk.twice(number)).collect(),
        };
        in_turn(kept.calls).await
    });
    assert_eq!(soon(task).await.unwrap().unwrap(), [2, 4, 6]);
}

static TWICE: OperationInfo = OperationInfo {
    name: "twice",
    mode: OperationMode::Normal,
    returns_data: true,
};

static WRITE: OperationInfo = OperationInfo {
    name: "write",
    mode: OperationMode::Normal,
    returns_data: false,
};

fn order(count: i32) -> Order {
    Order {
        item: "a".to_owned(),
        count,
    }
}

fn encapsulation(number: i32) -> Vec<u8> {
    let mut parameters = Vec::new();
    let mut encoder = Encoder::new(&mut parameters, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.put(&number));
    encoder.finish().expect("a number");
    parameters
}

/// The number in a result.
fn returned(outcome: &Option<Outcome>) -> String {
    let Some(Outcome::Returned(bytes)) = outcome else {
        panic!("expected a number, got {outcome:?}");
    };
    let number = bytes[6..].try_into().expect("a number behind its head");
    i32::from_le_bytes(number).to_string()
}

/// A desk, and a proxy to it in another communicator.
async fn desk() -> (Communicator, DeskProxy) {
    let server = Communicator::new();
    let adapter = server
        .adapter("tcp -h 127.0.0.1 -p 0")
        .await
        .expect("a free port");
    let clerk = DeskDispatcher::new(Arc::new(Clerk::default()));
    adapter.add("desk", clerk).expect("a new identity");
    adapter.activate();
    let address = format!("desk:{}", adapter.endpoints()[0]);
    let desk = Communicator::new().proxy(&address).expect("a proxy");
    (server, desk)
}

async fn hub() -> (Hub, String) {
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    let hub = Hub::start(&Communicator::new(), settings)
        .await
        .expect("a hub starts");
    let address = hub.endpoints();
    (hub, address)
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(WATCHDOG, future).await;
    result.expect("it ends long before the watchdog")
}

const WATCHDOG: Duration = Duration::from_secs(30);
