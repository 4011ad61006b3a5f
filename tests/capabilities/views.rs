//! Views: values read in place from messages, as a user who handles requests undecoded does.

use std::collections::BTreeMap;
use std::sync::Arc;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::encoding::{Decode, Decoder, Encapsulation, Encode, Encoder, View};
use floe::message::Outcome;
use floe::{Communicator, Dispatcher, EncodingVersion, OperationMode};

use crate::contract::views::{
    Kind, Label, LabelView, NamesView, Plain, Point, Record, RecordView, TrackView,
};

fn label(name: &str) -> Label {
    let more = [("colour", "grün"), ("size", "")];
    let more = more.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Label {
        name: name.to_owned(),
        more: more.into(),
    }
}

fn point(number: i32) -> Point {
    Point {
        x: f64::from(number) / 4.0,
        count: -number,
        valid: number % 2 == 0,
    }
}

fn record() -> Record {
    Record {
        name: "a name".to_owned(),
        data: (0..=255).collect(),
        flags: vec![true, false, true],
        points: (0..300).map(point).collect(),
        kinds: vec![Kind::Fancy, Kind::Plain],
        kind: Kind::Fancy,
        number: i64::MIN,
        plain: Plain {
            text: "owned".to_owned(),
        },
        point: point(7),
        label: label("one"),
        labels: vec![label("two"), Label::default()],
        names: vec!["x".repeat(300), String::new(), "ü".to_owned()],
        votes: [(-1, Kind::Plain), (1, Kind::Fancy)].into(),
        others: vec![None],
        lookup: [("key".to_owned(), "value".to_owned())].into(),
    }
}

fn encode<T: Encode>(value: &T, encoding: EncodingVersion) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    encoder.put(value);
    encoder.finish().unwrap();
    bytes
}

#[test]
fn a_view_has_the_bytes_and_the_values_of_what_it_was_made_from() {
    for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
        let bytes = encode(&record(), encoding);
        let mut decoder = Decoder::new(&bytes, encoding);
        let view: RecordView<'_> = decoder.view().unwrap();
        decoder.finish().unwrap();
        assert_eq!(view.name, "a name");
        assert_eq!(view.data.len(), 256);
        assert_eq!(view.points.get(299), Some(point(299)));
        assert_eq!(view.points.get(300), None);
        assert_eq!(view.points.iter().len(), 300);
        assert_eq!(view.labels[0].more["colour"], "grün");
        assert_eq!(view.names[2], "ü");
        assert_eq!(encode(&view, encoding), bytes);
        assert_eq!(view.into_owned(), record());
    }
}

#[test]
fn a_view_borrows_from_the_message() {
    let bytes = encode(&record(), EncodingVersion::V1_1);
    let view: RecordView<'_> = Decoder::new(&bytes, EncodingVersion::V1_1).view().unwrap();
    let message = bytes.as_ptr_range();
    assert!(message.contains(&view.name.as_ptr()));
    assert!(message.contains(&view.data.as_ptr()));
    assert!(message.contains(&view.points.as_bytes().as_ptr()));
    assert!(message.contains(&view.label.more["colour"].as_ptr()));
}

#[test]
fn a_view_is_refused_where_an_owned_value_is_and_with_the_same_error() {
    let bytes = encode(&record(), EncodingVersion::V1_1);
    for len in 0..bytes.len() {
        let owned = Decoder::new(&bytes[..len], EncodingVersion::V1_1).get::<Record>();
        let view = Decoder::new(&bytes[..len], EncodingVersion::V1_1).view::<RecordView<'_>>();
        let (owned, view) = (owned.unwrap_err(), view.unwrap_err());
        assert_eq!(
            (owned.kind, owned.offset),
            (view.kind, view.offset),
            "{len}"
        );
    }
    let invalid = b"\x01\xff\x00";
    let view = Decoder::new(invalid, EncodingVersion::V1_1).view::<LabelView<'_>>();
    assert_eq!(
        view.unwrap_err().to_string(),
        "cannot decode string at byte 1: expected UTF-8 text"
    );
}

#[test]
fn damaged_bytes_are_the_same_value_or_the_same_error_in_every_way_of_reading() {
    let sent = Record {
        data: vec![1, 2, 3],
        points: (0..3).map(point).collect(),
        names: vec!["ü".to_owned(), String::new()],
        ..record()
    };
    let bytes = encode(&sent, EncodingVersion::V1_1);
    let mut refused = 0;
    for (at, by) in (0..bytes.len()).flat_map(|at| [1, 0x7F, 0x80, 0xFF].map(|by| (at, by))) {
        let mut damaged = bytes.clone();
        damaged[at] ^= by;
        let decoder = || Decoder::new(&damaged, EncodingVersion::V1_1);
        let place = |error: floe::DecodeError| (error.kind, error.offset);
        let owned = decoder().get::<Record>().map_err(place);
        let view = decoder().view::<RecordView<'_>>().map_err(place);
        let mut over = record();
        let read_over = decoder().get_into(&mut over).map_err(place);
        refused += usize::from(owned.is_err());
        // Printed, because a damaged number may be no number, which does not equal itself.
        let owned = format!("{owned:?}");
        assert_eq!(
            format!("{:?}", view.map(View::into_owned)),
            owned,
            "{at} ^ {by}"
        );
        assert_eq!(
            format!("{:?}", read_over.map(|()| over)),
            owned,
            "{at} ^ {by}"
        );
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_value_read_over_another_is_the_one_that_was_sent() {
    let fuller = Record {
        labels: (0..5).map(|number| label(&number.to_string())).collect(),
        names: vec!["longer than the other name".to_owned(); 9],
        ..record()
    };
    for sent in [record(), Record::default(), fuller] {
        let bytes = encode(&sent, EncodingVersion::V1_1);
        let mut value = record();
        value
            .decode_into(&mut Decoder::new(&bytes, EncodingVersion::V1_1))
            .unwrap();
        assert_eq!(value, sent);
    }
}

#[test]
fn a_value_read_over_another_keeps_its_allocations() {
    let bytes = encode(&record(), EncodingVersion::V1_1);
    let mut value = record();
    let places = |value: &Record| {
        (
            value.name.as_ptr(),
            value.data.as_ptr(),
            value.points.as_ptr(),
            value.names[0].as_ptr(),
        )
    };
    let before = places(&value);
    Decoder::new(&bytes, EncodingVersion::V1_1)
        .get_into(&mut value)
        .unwrap();
    assert_eq!(places(&value), before);
}

/// Answers `longest` with the longest of the names that it gets, without an allocation for them.
struct Longest;

impl Dispatcher for Longest {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Longest {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let parameters = request.parameters();
            let names: NamesView<'_> = Encapsulation::parse(&parameters)
                .and_then(|parameters| parameters.decoder()?.view())
                .map_err(|error| floe::SystemException::UnknownLocalException(error.to_string()))?;
            let longest = names.iter().max_by_key(|name| name.len()).copied();
            request.returned(|encoder| encoder.string(longest.unwrap_or_default()))
        })
    }
}

#[tokio::test]
async fn requests_and_replies_are_read_in_place() {
    let server = Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter.add("longest", Longest).unwrap();
    adapter.activate();

    let mut parameters = Vec::new();
    Encoder::new(&mut parameters, EncodingVersion::V1_1)
        .encapsulation(EncodingVersion::V1_1, |encoder| {
            encoder.put(&["one", "three", "two"][..])
        });
    let client = Communicator::new();
    let proxy: floe::Proxy = client.proxy(&proxy.to_string()).unwrap();
    let outcome = proxy
        .invoke("longest", OperationMode::Normal, &parameters)
        .await
        .unwrap();

    let Some(Outcome::Returned(results)) = outcome else {
        panic!("expected results, got {outcome:?}");
    };
    let results = Encapsulation::parse(&results).unwrap();
    let longest: &str = results.decoder().unwrap().view().unwrap();
    assert_eq!(longest, "three");
    client.shutdown().await;
    server.shutdown().await;
}

#[test]
fn packed_numbers_are_those_of_a_vector() {
    let track: Vec<Point> = (0..10).map(point).collect();
    let bytes = encode(&track, EncodingVersion::V1_1);
    let view: TrackView<'_> = Decoder::new(&bytes, EncodingVersion::V1_1).view().unwrap();
    assert_eq!(view.to_vec(), track);
    assert_eq!(view.iter().next_back(), track.last().cloned());
    assert_eq!(Point::PACKED_LEN, Some(13));
    assert_eq!(Plain::PACKED_LEN, None);
    assert!(!view.is_empty());
    let counts: BTreeMap<i32, f64> = view.iter().map(|point| (point.count, point.x)).collect();
    assert_eq!(counts.len(), view.len());
}
