//! temp
use floe_wire::encoding::*;
use floe_wire::{DecodeError, Decoder, Encoder, EncodingVersion};
static CLASSES: ClassTable = ClassTable::new(&[ClassInfo::of::<Node>()], &[]);
#[derive(Debug, Clone, PartialEq, Default)]
struct Node { name: String, left: Link<Node>, right: Link<Node> }
impl Class for Node {
    const TYPE_ID: &'static str = "::M::Node";
    fn classes() -> &'static dyn Classes { &CLASSES }
    fn encode_members(&self, e: &mut Encoder<'_>) { e.put(&self.name); e.put(&self.left); e.put(&self.right); }
    fn decode_slices(r: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        let (name, left, right) = r.slice(Self::TYPE_ID, |d| Ok((d.get()?, d.get()?, d.get()?)))?;
        Ok(Self { name, left, right })
    }
}
fn tree(depth: u32) -> Link<Node> {
    if depth == 0 { return Link::nil(); }
    Link::new(Node { name: "n".into(), left: tree(depth - 1), right: tree(depth - 1) })
}
fn walk(l: &Link<Node>) -> usize { l.get().map_or(0, |n| 1 + walk(&n.left) + walk(&n.right)) }
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[3].parse().unwrap();
    let (enc, fmt) = match a[2].as_str() { "10" => (EncodingVersion::V1_0, ClassFormat::Compact), "11c" => (EncodingVersion::V1_1, ClassFormat::Compact), _ => (EncodingVersion::V1_1, ClassFormat::Sliced) };
    let depth = if a[1].ends_with('1') { 1 } else { 3 };
    let t = tree(depth);
    let encode = |buffer: &mut Vec<u8>| { buffer.clear(); let mut e = Encoder::new(buffer, enc); e.set_class_format(fmt); e.put(&t); e.finish_classes(); e.finish().unwrap(); };
    let decode = |b: &[u8]| -> Link<Node> { let mut d = Decoder::new(b, enc); let l = d.get().unwrap(); d.finish_classes().unwrap(); l };
    let mut b = Vec::new();
    encode(&mut b);
    let got = decode(&b);
    match &a[1][..3] {
        "enc" => for _ in 0..n { encode(&mut b); std::hint::black_box(&b); },
        "dec" => for _ in 0..n { std::hint::black_box(decode(&b)); },
        "wal" => for _ in 0..n { std::hint::black_box(walk(&got)); },
        _ => panic!(),
    }
}
