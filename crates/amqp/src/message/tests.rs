//! Messages, located, read and passed on.

use proptest::prelude::*;

use super::*;
use crate::codec::ELEMENTS_MAX;

fn full() -> MessageBuilder {
    let mut builder = MessageBuilder::new(Body::Data(Bytes::from_static(b"body")));
    builder.header.durable = true;
    builder.header.ttl = Some(1000);
    let annotation = (Value::text("a"), Value::Int(1));
    builder.message_annotations.push(annotation);
    builder.properties.to = Some("news".to_owned());
    let property = (Value::text("p"), Value::Bool(true));
    builder.application_properties.push(property);
    builder
}

#[test]
fn a_message_is_read_as_it_was_written() {
    let builder = full();
    let message = Message::locate(builder.build()).expect("a message");
    assert_eq!(message.header(), Ok(builder.header));
    assert_eq!(message.properties(), Ok(builder.properties));
    assert_eq!(
        message.message_annotations(),
        Ok(builder.message_annotations)
    );
    assert_eq!(
        message.application_properties(),
        Ok(builder.application_properties)
    );
    assert_eq!(message.body(), Ok(builder.body));
}

#[test]
fn a_message_is_passed_on_with_the_bytes_of_its_sender() {
    let message = Message::locate(full().build()).expect("a message");
    let header = Header {
        delivery_count: Some(1),
        ..Header::default()
    };
    let annotation = [(Value::text("d"), Value::Null)];
    let forwarded = Message::locate(message.forwarded(&header, &annotation)).expect("a message");
    assert_eq!(forwarded.header(), Ok(header));
    assert_eq!(forwarded.delivery_annotations(), Ok(annotation.to_vec()));
    assert_eq!(
        forwarded.message_annotations(),
        message.message_annotations()
    );
    assert_eq!(forwarded.bare(), message.bare());
    assert!(message.as_bytes().ends_with(&message.bare()));
}

#[test]
fn the_contents_of_a_single_data_section_are_not_copied() {
    let bytes = full().build();
    let message = Message::locate(bytes.clone()).expect("a message");
    let Ok(Body::Data(data)) = message.body() else {
        panic!("data was written")
    };
    assert!(bytes.as_ptr_range().contains(&data.as_ptr()));
}

#[test]
fn several_sections_of_data_are_joined_and_others_may_not_repeat() {
    let data = |text: &[u8]| MessageBuilder::new(Body::Data(Bytes::copy_from_slice(text))).build();
    let joined = [data(b"ab"), data(b"cd")].concat();
    let message = Message::locate(joined.into()).expect("a message");
    assert_eq!(message.body(), Ok(Body::Data(Bytes::from_static(b"abcd"))));
    let value = MessageBuilder::new(Body::Value(Value::Null)).build();
    for wrong in [
        [value.clone(), value.clone()],
        [value.clone(), data(b"")],
        [data(b""), value],
        [data(b""), full().build()],
    ] {
        let located = Message::locate(wrong.concat().into());
        assert!(matches!(located, Err(MessageError::Order { .. })));
    }
    let many = data(b"").repeat(BODY_SECTIONS_MAX + 1);
    let located = Message::locate(many.into());
    assert_eq!(located, Err(MessageError::TooManySections));
}

#[test]
fn the_sections_of_a_sequence_have_a_limit_of_values_together() {
    let list = Body::Sequence(vec![Value::Null; ELEMENTS_MAX / 2]);
    let section = MessageBuilder::new(list).build();
    let body = |count| {
        let message = Message::locate(section.repeat(count).into());
        message.expect("a message").body()
    };
    assert!(body(2).is_ok());
    assert!(matches!(body(3), Err(MessageError::TooManyElements)));
}

#[test]
fn what_is_no_section_is_an_error_that_says_where() {
    let bytes = [&full().build()[..], &[0x00, 0x53, 0x10, 0x45]].concat();
    let error = Message::locate(bytes.into()).expect_err("an open is no section");
    let text = error.to_string();
    assert!(text.contains("descriptor 0x10, at byte"), "{text}");
}

proptest! {
    #[test]
    fn any_bytes_and_any_damage_end_well(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>()) {
        let mut bytes = full().build().to_vec();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok(message) = Message::locate(bytes.into()) {
            let _ = (message.header(), message.properties(), message.body());
            let _ = (message.message_annotations(), message.application_properties());
            let _ = crate::jms::JmsMessage::of(&message);
            let again = Message::locate(message.forwarded(&Header::default(), &[]));
            prop_assert_eq!(again.map(|again| again.bare()), Ok(message.bare()));
        }
    }
}
