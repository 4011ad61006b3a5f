//! Samples of `Telemetry.idl`, written and read by hand in plain CDR.

use std::fmt::Write as _;

use floe_rtps::codec::{ByteOrder, Decoder, Encoder};
use floe_rtps::payload::Representation;

/// The payload of sample `k`, as the peers make it.
pub(crate) fn payload(k: i32, raw_len: usize) -> Vec<u8> {
    let mut value = Vec::new();
    let mut into = Encoder::new(&mut value, ByteOrder::Little);
    into.i32(k);
    into.i32(k % 3);
    double(&mut into, f64::from(k));
    double(&mut into, f64::from(-k));
    into.u32((k % 4).cast_unsigned());
    for i in 0..k % 4 {
        double(&mut into, f64::from(i));
        double(&mut into, f64::from(k));
    }
    into.u32(u32::try_from(raw_len).expect("it is short"));
    into.bytes(&raw(k, raw_len));
    into.u8(u8::from(k % 2 == 1));
    into.align(8);
    into.bytes(&(i64::from(k) * 10_000_000_000).to_le_bytes());
    double(&mut into, f64::from(k) / 4.0);
    into.string(&label(k));
    Representation::CDR_LE.join(&value)
}

/// The key of sample `k`: its number, big-endian, and zeros, because it is shorter than 16 octets.
pub(crate) fn key_hash(k: i32) -> [u8; 16] {
    let mut hash = [0; 16];
    hash[..4].copy_from_slice(&k.to_be_bytes());
    hash
}

/// The line that the peers print for sample `k`.
pub(crate) fn line(k: i32, raw_len: usize) -> String {
    let track: Vec<_> = (0..k % 4).map(|i| format!("{i},{k}")).collect();
    format!(
        "{k} {} {k},{} [{}] {raw_len}:{} {} {} {} {}",
        k % 3,
        -k,
        track.join(" "),
        sum(&raw(k, raw_len)),
        k % 2,
        i64::from(k) * 10_000_000_000,
        f64::from(k) / 4.0,
        label(k)
    )
}

/// The line for a payload that a peer has sent.
pub(crate) fn line_of(payload: &[u8]) -> String {
    let (representation, value) = Representation::split(payload).expect("it has a header");
    let order = match representation {
        Representation::Cdr(order) => order,
        other => panic!("expected plain CDR, got {other:?}"),
    };
    let mut from = Decoder::new(value, order);
    let mut line = format!("{} {} ", int(&mut from), int(&mut from));
    let _ = write!(
        line,
        "{},{} [",
        read_double(&mut from),
        read_double(&mut from)
    );
    let count = int(&mut from);
    for i in 0..count {
        let space = if i > 0 { " " } else { "" };
        let _ = write!(
            line,
            "{space}{},{}",
            read_double(&mut from),
            read_double(&mut from)
        );
    }
    let len = int(&mut from) as usize;
    let raw = from.take("raw", len).expect("it is whole");
    let ok = from.u8("ok").expect("it is whole");
    from.align(8);
    let stamp = from.array("stamp").expect("it is whole");
    let stamp = match order {
        ByteOrder::Big => i64::from_be_bytes(stamp),
        ByteOrder::Little => i64::from_le_bytes(stamp),
    };
    let level = read_double(&mut from);
    let label = from.string("label", 1000).expect("it is UTF-8");
    let _ = write!(line, "] {len}:{} {ok} {stamp} {level} {label}", sum(raw));
    line
}

fn raw(k: i32, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i * 7) as u8)
        .map(|octet| octet.wrapping_add(k as u8))
        .collect()
}

fn sum(raw: &[u8]) -> u32 {
    raw.iter().fold(0, |sum: u32, octet| {
        sum.wrapping_mul(31).wrapping_add(u32::from(*octet))
    })
}

fn label(k: i32) -> String {
    format!("Größe-{k}-温度")
}

fn double(into: &mut Encoder<'_>, value: f64) {
    into.align(8);
    into.bytes(&value.to_le_bytes());
}

fn read_double(from: &mut Decoder<'_>) -> f64 {
    from.align(8);
    let bytes = from.array("double").expect("it is whole");
    match from.order() {
        ByteOrder::Big => f64::from_be_bytes(bytes),
        ByteOrder::Little => f64::from_le_bytes(bytes),
    }
}

fn int(from: &mut Decoder<'_>) -> i32 {
    from.align(4);
    from.i32("int").expect("it is whole")
}
