//! Files of settings from the fuzz corpora: whole, cut, and damaged.

use std::fs;
use std::path::Path;

use super::{read_properties, read_toml};

/// The inputs of a corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let entries = fs::read_dir(folder.join(name)).expect("the corpus can be listed");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let inputs: Vec<_> = paths.map(|path| fs::read(path).expect("a file")).collect();
    assert!(!inputs.is_empty(), "expected inputs in fuzz/corpus/{name}");
    inputs
}

/// The input, cut at each place that `step` reaches, and with the byte there replaced by some that mean something.
fn variants(input: &[u8], step: usize) -> impl Iterator<Item = Vec<u8>> {
    const BYTES: &[u8] = b"\0\n\r\\\"'=#[].-9\x7f\xff";
    let places = (0..input.len()).step_by(step);
    let damaged = places.flat_map(move |place| {
        let replaced = BYTES.iter().map(move |byte| {
            let mut damaged = input.to_vec();
            damaged[place] = *byte;
            damaged
        });
        replaced.chain([input[..place].to_vec()])
    });
    [input.to_vec()].into_iter().chain(damaged)
}

/// Reads all variants. Whatever the text is, there is no panic, and each problem names a line of the text.
fn read_all(corpus_name: &str, read: impl Fn(&str) -> Vec<(usize, String)>) {
    for input in corpus(corpus_name) {
        // Long files have many places that are alike.
        let step = 1 + input.len() / 500;
        for variant in variants(&input, step) {
            // Files that are no text are refused before.
            let Ok(text) = String::from_utf8(variant) else {
                continue;
            };
            let lines = text.split('\n').count();
            for (line, problem) in read(&text) {
                assert!(line <= lines, "line {line} of {lines}: {problem}\n{text}");
                assert!(!problem.is_empty());
            }
        }
    }
}

#[test]
fn every_floe_toml_of_the_corpus_ends_well_whole_cut_and_damaged() {
    read_all("floe_toml", |text| read_toml(text).1);
}

#[test]
fn every_property_file_of_the_corpus_ends_well_whole_cut_and_damaged() {
    read_all("properties", |text| read_properties(text).1);
}
