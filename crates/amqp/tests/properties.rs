//! Performatives of any contents survive their way through frames.

use bytes::{Bytes, BytesMut};
use floe_amqp::codec::{Raw, Reader, Symbol, Value};
use floe_amqp::condition::AmqpError;
use floe_amqp::frame::{FrameKind, encode_frame, take_frame};
use floe_amqp::performative::{
    Attach, Begin, Close, DeliveryState, Detach, Disposition, End, Flow, Modified, Open, Outcome,
    Performative, Received, ReceiverSettleMode, Role, SenderSettleMode, Transfer,
};
use floe_amqp::terminus::{
    AnyTarget, Coordinator, Durability, Expiry, Filter, FilterKind, Filters, Source, Target,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

// The strategies are boxed, because their trees of values would fill the stack of a test.

fn symbol() -> impl Strategy<Value = Symbol> {
    "[a-zA-Z:-]{0,20}".prop_map(|text| Symbol::from_text(&text).expect("ASCII"))
}

fn symbols() -> impl Strategy<Value = Vec<Symbol>> {
    vec(symbol(), 0..5)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i32>().prop_map(Value::Int),
        ".{0,20}".prop_map(Value::String),
        vec(any::<bool>().prop_map(Value::Bool), 0..4).prop_map(Value::List),
    ]
}

fn map() -> BoxedStrategy<Option<Raw>> {
    let entry = (symbol().prop_map(Value::Symbol), value());
    of(vec(entry, 0..4).prop_map(|entries| Raw::of(&Value::Map(entries)))).boxed()
}

fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn error() -> BoxedStrategy<Option<AmqpError>> {
    of(
        (symbol(), of(".{0,30}"), map()).prop_map(|(condition, description, info)| AmqpError {
            condition,
            description,
            info,
        }),
    )
    .boxed()
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Sender), Just(Role::Receiver)]
}

fn durability() -> impl Strategy<Value = Durability> {
    prop_oneof![
        Just(Durability::None),
        Just(Durability::Configuration),
        Just(Durability::UnsettledState)
    ]
}

fn expiry() -> impl Strategy<Value = Expiry> {
    prop_oneof![
        Just(Expiry::LinkDetach),
        Just(Expiry::SessionEnd),
        Just(Expiry::ConnectionClose),
        Just(Expiry::Never)
    ]
}

fn settle_modes() -> impl Strategy<Value = (SenderSettleMode, ReceiverSettleMode)> {
    let sender = prop_oneof![
        Just(SenderSettleMode::Unsettled),
        Just(SenderSettleMode::Settled),
        Just(SenderSettleMode::Mixed)
    ];
    let receiver = prop_oneof![
        Just(ReceiverSettleMode::First),
        Just(ReceiverSettleMode::Second)
    ];
    (sender, receiver)
}

fn state() -> BoxedStrategy<DeliveryState> {
    let outcome = prop_oneof![
        Just(Outcome::Accepted),
        Just(Outcome::Released),
        error().prop_map(Outcome::Rejected),
        (any::<bool>(), any::<bool>(), map()).prop_map(|(failed, here, annotations)| {
            Outcome::Modified(Modified {
                delivery_failed: failed,
                undeliverable_here: here,
                message_annotations: annotations,
            })
        }),
    ];
    prop_oneof![
        outcome.prop_map(DeliveryState::Outcome),
        (of(any::<u32>()), of(any::<u64>())).prop_map(|(section_number, section_offset)| {
            DeliveryState::Received(Received {
                section_number,
                section_offset,
            })
        }),
    ]
    .boxed()
}

fn filters() -> impl Strategy<Value = Filters> {
    let kind = of(prop_oneof![
        any::<u64>().prop_map(FilterKind::Code),
        symbol().prop_map(FilterKind::Name)
    ]);
    let filter = (symbol(), kind, value());
    let filter = filter.prop_map(|(name, kind, value)| Filter { name, kind, value });
    vec(filter, 0..4).prop_map(Filters::new)
}

fn source() -> BoxedStrategy<Source> {
    let base = (of(".{0,20}"), durability(), expiry(), of(any::<u32>()));
    let more = (any::<bool>(), map(), of(symbol()), filters(), symbols());
    (base, more, symbols())
        .prop_map(|(base, more, capabilities)| Source {
            address: base.0,
            durable: base.1,
            expiry_policy: base.2,
            timeout: base.3,
            dynamic: more.0,
            dynamic_node_properties: more.1,
            distribution_mode: more.2,
            filter: more.3,
            default_outcome: None,
            outcomes: more.4,
            capabilities,
        })
        .boxed()
}

fn target() -> BoxedStrategy<AnyTarget> {
    let base = (of(".{0,20}"), durability(), expiry(), of(any::<u32>()));
    let node = (base, any::<bool>(), map(), symbols()).prop_map(|(base, dynamic, map, symbols)| {
        AnyTarget::Node(Target {
            address: base.0,
            durable: base.1,
            expiry_policy: base.2,
            timeout: base.3,
            dynamic,
            dynamic_node_properties: map,
            capabilities: symbols,
        })
    });
    let coordinator =
        symbols().prop_map(|capabilities| AnyTarget::Coordinator(Coordinator { capabilities }));
    prop_oneof![node, coordinator].boxed()
}

fn open() -> BoxedStrategy<Performative> {
    let base = (".{0,20}", of(".{0,20}"), of(any::<u32>()), of(any::<u16>()));
    let more = (of(any::<u32>()), symbols(), symbols(), symbols(), symbols());
    (base, more, map())
        .prop_map(|(base, more, properties)| {
            Performative::Open(Open {
                container_id: base.0,
                hostname: base.1,
                max_frame_size: base.2,
                channel_max: base.3,
                idle_time_out: more.0,
                outgoing_locales: more.1,
                incoming_locales: more.2,
                offered_capabilities: more.3,
                desired_capabilities: more.4,
                properties,
            })
        })
        .boxed()
}

fn begin() -> BoxedStrategy<Performative> {
    let base = (of(any::<u16>()), any::<[u32; 3]>(), of(any::<u32>()));
    (base, symbols(), symbols(), map())
        .prop_map(|(base, offered, desired, properties)| {
            Performative::Begin(Begin {
                remote_channel: base.0,
                next_outgoing_id: base.1[0],
                incoming_window: base.1[1],
                outgoing_window: base.1[2],
                handle_max: base.2,
                offered_capabilities: offered,
                desired_capabilities: desired,
                properties,
            })
        })
        .boxed()
}

fn attach() -> BoxedStrategy<Performative> {
    let base = (".{0,20}", any::<u32>(), role(), settle_modes());
    let ends = (of(source()), of(target()), map(), any::<bool>());
    let more = (of(any::<u32>()), of(any::<u64>()), symbols(), symbols());
    (base, ends, more, map())
        .prop_map(|(base, ends, more, properties)| {
            Performative::Attach(Box::new(Attach {
                name: base.0,
                handle: base.1,
                role: base.2,
                snd_settle_mode: base.3.0,
                rcv_settle_mode: base.3.1,
                source: ends.0,
                target: ends.1,
                unsettled: ends.2,
                incomplete_unsettled: ends.3,
                initial_delivery_count: more.0,
                max_message_size: more.1,
                offered_capabilities: more.2,
                desired_capabilities: more.3,
                properties,
            }))
        })
        .boxed()
}

fn flow() -> BoxedStrategy<Performative> {
    let base = (of(any::<u32>()), any::<[u32; 3]>());
    let link = (
        of(any::<u32>()),
        of(any::<u32>()),
        of(any::<u32>()),
        of(any::<u32>()),
    );
    (base, link, any::<[bool; 2]>(), map())
        .prop_map(|(base, link, flags, properties)| {
            Performative::Flow(Flow {
                next_incoming_id: base.0,
                incoming_window: base.1[0],
                next_outgoing_id: base.1[1],
                outgoing_window: base.1[2],
                handle: link.0,
                delivery_count: link.1,
                link_credit: link.2,
                available: link.3,
                drain: flags[0],
                echo: flags[1],
                properties,
            })
        })
        .boxed()
}

fn transfer() -> BoxedStrategy<Performative> {
    let base = (
        any::<u32>(),
        of(any::<u32>()),
        of(bytes(32)),
        of(any::<u32>()),
    );
    let mode = of(settle_modes().prop_map(|modes| modes.1));
    (base, any::<[bool; 5]>(), mode, of(state()))
        .prop_map(|(base, flags, mode, state)| {
            Performative::Transfer(Transfer {
                handle: base.0,
                delivery_id: base.1,
                delivery_tag: base.2,
                message_format: base.3,
                settled: flags[0],
                more: flags[1],
                rcv_settle_mode: mode,
                state,
                resume: flags[2],
                aborted: flags[3],
                batchable: flags[4],
            })
        })
        .boxed()
}

fn disposition() -> BoxedStrategy<Performative> {
    let base = (role(), any::<u32>(), of(any::<u32>()), any::<[bool; 2]>());
    (base, of(state()))
        .prop_map(|(base, state)| {
            Performative::Disposition(Disposition {
                role: base.0,
                first: base.1,
                last: base.2,
                settled: base.3[0],
                state,
                batchable: base.3[1],
            })
        })
        .boxed()
}

fn performative() -> impl Strategy<Value = Performative> {
    prop_oneof![
        open(),
        begin(),
        attach(),
        flow(),
        transfer(),
        disposition(),
        (any::<u32>(), any::<bool>(), error()).prop_map(|(handle, closed, error)| {
            Performative::Detach(Detach {
                handle,
                closed,
                error,
            })
        }),
        error().prop_map(|error| Performative::End(End { error })),
        error().prop_map(|error| Performative::Close(Close { error })),
    ]
}

proptest! {
    #[test]
    fn a_frame_is_read_as_it_was_written(said in performative(), channel: u16, payload in bytes(100)) {
        let mut input = BytesMut::from(&encode_frame(channel, &said, &payload)[..]);
        let frame = take_frame(&mut input, 1 << 20).expect("a frame").expect("it is whole");
        prop_assert!(input.is_empty());
        prop_assert_eq!((frame.kind, frame.channel), (FrameKind::Amqp, channel));
        let mut reader = Reader::new(&frame.body);
        let read = Performative::decode(&mut reader).expect("a performative");
        prop_assert_eq!(reader.rest(), &payload[..]);
        prop_assert_eq!(read, said);
    }

    #[test]
    fn a_frame_with_damage_is_an_error_or_another_frame(
        said in performative(), at in any::<prop::sample::Index>(), byte: u8
    ) {
        let mut written = encode_frame(0, &said, b"payload");
        let place = at.index(written.len());
        written[place] = byte;
        let mut input = BytesMut::from(&written[..]);
        if let Ok(Some(frame)) = take_frame(&mut input, 1 << 20) {
            let mut reader = Reader::new(&frame.body);
            if let Ok(read) = Performative::decode(&mut reader) {
                // It can be written, and is then the same.
                let again = encode_frame(0, &read, &[]);
                let mut reader = Reader::new(&again[8..]);
                prop_assert_eq!(Performative::decode(&mut reader), Ok(read));
            }
        }
    }
}
