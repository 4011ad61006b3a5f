//! How long values take to become bytes and to come back, beside one `memcpy` of the same length.
//!
//! `cargo bench -p floe-wire --bench codec`. The peers are in the lab: `floe lab run codec`.

mod values;

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use floe_wire::encoding::Packed;
use floe_wire::{Decode, Encode, View};

use values::{EntryView, OuterView, decode, decode_into, encode, encoded, view};

criterion_group!(benches, codec);
criterion_main!(benches);

fn codec(criterion: &mut Criterion) {
    case(criterion, "bytes", &values::bytes(), |group, bytes| {
        read(group, || view::<&[u8]>(black_box(bytes)));
    });
    case(criterion, "doubles", &values::doubles(), |group, bytes| {
        read(group, || view::<Packed<'_, f64>>(black_box(bytes)));
    });
    case(criterion, "nested", &values::nested(), |group, bytes| {
        read(group, || view::<Vec<OuterView<'_>>>(black_box(bytes)));
    });
    case(criterion, "text", &values::text(), |group, bytes| {
        read(group, || view::<Vec<&str>>(black_box(bytes)));
    });
    case(
        criterion,
        "bibliography",
        &values::bibliography(),
        |group, bytes| {
            read(group, || view::<Vec<EntryView<'_>>>(black_box(bytes)));
        },
    );
}

/// Measures all directions of a value; `views` adds the one in place.
fn case<T: Encode + Decode>(
    criterion: &mut Criterion,
    name: &str,
    value: &T,
    views: impl FnOnce(&mut BenchmarkGroup<'_, WallTime>, &[u8]),
) {
    let bytes = encoded(value);
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let mut buffer = bytes.clone();
    group.bench_function("memcpy", |bencher| {
        bencher.iter(|| {
            buffer.copy_from_slice(black_box(&bytes));
            black_box(&buffer);
        });
    });
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            encode(black_box(value), &mut buffer);
            black_box(&buffer);
        });
    });
    group.bench_function("decode", |bencher| {
        bencher.iter(|| decode::<T>(black_box(&bytes)))
    });
    let mut old: T = decode(&bytes);
    group.bench_function("decode_into", |bencher| {
        bencher.iter(|| {
            decode_into(&mut old, black_box(&bytes));
            black_box(&old);
        });
    });
    views(&mut group, &bytes);
    group.finish();
}

fn read<'a, V: View<'a>>(group: &mut BenchmarkGroup<'_, WallTime>, view: impl Fn() -> V) {
    group.bench_function("view", |bencher| bencher.iter(&view));
}
