//! Floe: views that borrow from the encoded bytes, of which every member is then read.
//!
//! Reading is about the least that it can be: the bits of numbers and the lengths of texts and bytes are added up.
//! A view is decoded only; what is encoded is an owned value, as in `floe.rs`.

use std::hint::black_box;

use floe::EncodingVersion;
use floe::encoding::{Decoder, View};

use super::ICE_ENCODING;
use super::contract::floe_lab::{
    BibliographyView, DoublesView, EntryView, LinesView, OuterSeqView,
};
use super::task::Task;
use super::value::Value;
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;
use crate::sample::Sample;

pub(crate) const FLOE_VIEW: Contender = Contender {
    name: "floe-view",
    refusal: |case| {
        case.ends_with("/encode")
            .then_some("a view is only decoded")
    },
    encoding: ICE_ENCODING,
    origin: Origin::Alone(work),
};

fn work(case: &str, effort: Effort) -> Result<Sample, Failure> {
    let task = Task::new(case, effort)?;
    let bytes = &task.value.to_bytes()?;
    match &task.value {
        Value::Bytes(value) => measure(&task, bytes, value, |view: &&[u8]| text(view)),
        Value::Doubles(value) => measure(&task, bytes, value, read_doubles),
        Value::Nested(value) => measure(&task, bytes, value, read_nested),
        Value::Text(value) => measure(&task, bytes, value, read_text),
        Value::Bibliography(value) => measure(&task, bytes, value, read_bibliography),
    }
}

fn measure<'a, V: View<'a, Owned: PartialEq>>(
    task: &Task,
    bytes: &'a [u8],
    value: &V::Owned,
    read: impl Fn(&V) -> u64,
) -> Result<Sample, Failure> {
    let decode = |bytes: &'a [u8]| {
        let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
        let view = decoder.view::<V>()?;
        decoder.finish().map(|()| view)
    };
    if decode(bytes)?.into_owned() != *value {
        return Err("expected to decode what was encoded, got another value".into());
    }
    Ok(task.measure(bytes, || {
        black_box(decode(black_box(bytes)).as_ref().map_or(0, &read));
    }))
}

fn read_doubles(view: &DoublesView<'_>) -> u64 {
    sum(view.iter().map(f64::to_bits))
}

fn read_nested(view: &OuterSeqView<'_>) -> u64 {
    let inner = view.iter().flat_map(|outer| outer.inner.iter());
    sum(inner.map(|inner| (inner.l as u64).wrapping_add(inner.d.to_bits())))
}

fn read_text(view: &LinesView<'_>) -> u64 {
    sum(view.iter().map(text))
}

fn read_bibliography(view: &BibliographyView<'_>) -> u64 {
    sum(view.iter().map(read_entry))
}

fn read_entry(entry: &EntryView<'_>) -> u64 {
    let authors = entry.authors.iter();
    let names = authors.map(|author| text(author.lastname).wrapping_add(text(author.initials)));
    let texts = [
        entry.title,
        entry.journal,
        entry.publisher,
        entry.location,
        entry.edition,
        entry.hyperlink,
    ];
    let numbers = [
        entry.year,
        entry.volume,
        entry.issue,
        entry.page.start,
        entry.page.end,
    ];
    let numbers = numbers.into_iter().map(|number| number as u64);
    sum(names.chain(texts.into_iter().map(text)).chain(numbers))
}

/// Where it is must be known, and how long it is.
fn text(text: impl AsRef<[u8]>) -> u64 {
    black_box(text.as_ref()).len() as u64
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::wrapping_add)
}
