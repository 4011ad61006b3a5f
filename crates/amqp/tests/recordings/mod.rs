//! The recorded sessions of `tests/vectors/`.

use std::path::PathBuf;
use std::{env, fs};

/// The chunks that a client sent, in their order.
pub(crate) type Recording = Vec<Vec<u8>>;

pub(crate) fn folder() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.join("tests/vectors")
}

pub(crate) fn recordings() -> Vec<(String, Recording)> {
    let entries = fs::read_dir(folder()).expect("the vectors are there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut all: Vec<_> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "chunks")
        })
        .map(|path| {
            let name = path.file_stem().expect("it has a name").to_string_lossy();
            (
                name.into_owned(),
                chunks(&fs::read(&path).expect("it is there")),
            )
        })
        .collect();
    all.sort();
    assert!(all.len() >= 10, "expected the recordings of all steps");
    all
}

fn chunks(mut bytes: &[u8]) -> Recording {
    let mut chunks = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let (chunk, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
        chunks.push(chunk.to_vec());
        bytes = rest;
    }
    chunks
}
