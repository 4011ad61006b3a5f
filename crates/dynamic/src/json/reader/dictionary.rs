//! The entries of dictionaries: objects with keys as text, or pairs.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{JsonReader, Now, Parts};
use crate::value::ValueWriter;
use crate::walk::value as walk_value;
use crate::{Layout, Shape};

/// A dictionary.
#[derive(Debug)]
pub(super) struct Entries<'j> {
    pub(super) source: Source<'j>,
    pub(super) key_layout: Arc<Layout>,
    /// The key and value of the current entry; none after a mistake.
    pub(super) entry: Option<(Now<'j>, &'j Json)>,
    /// How many problems there were before the key.
    pub(super) problem_count: usize,
    /// The keys so far, if two could be equal.
    pub(super) seen: Option<HashSet<String>>,
}

#[derive(Debug)]
pub(super) enum Source<'j> {
    Object(serde_json::map::Iter<'j>),
    Pairs(std::slice::Iter<'j, Json>),
}

impl<'j> JsonReader<'j> {
    /// The entries of a dictionary.
    pub(super) fn entries(
        &mut self,
        layout: &Layout,
        json: &'j Json,
    ) -> Option<(Source<'j>, usize)> {
        let Shape::Dictionary { key, value } = layout.shape() else {
            return None;
        };
        let has_text_keys = matches!(key.shape(), Shape::Primitive(_) | Shape::Enum(_));
        match json {
            Json::Object(object) if is_recorded_dictionary(object) => {
                self.entries(layout, &object[DICT_KEY])
            }
            Json::Object(object) if has_text_keys => {
                Some((Source::Object(object.iter()), object.len()))
            }
            Json::Array(pairs) => Some((Source::Pairs(pairs.iter()), pairs.len())),
            json => {
                let (name, key, value) = (layout.name(), key.name(), value.name());
                let shape = if has_text_keys {
                    "an object, or an array of [key, value] pairs,"
                } else {
                    "an array of [key, value] pairs"
                };
                let expected = format!("{shape} for {name} (dictionary<{key}, {value}>)");
                self.mismatch(expected, json)
            }
        }
    }

    pub(super) fn around_entries(&mut self) -> Option<&mut Entries<'j>> {
        match &mut self.around.last_mut()?.parts {
            Parts::Entries(entries) => Some(entries),
            _ => None,
        }
    }

    /// Refuses a key that the dictionary has already.
    pub(super) fn refuse_same_key(&mut self) {
        let Some(entries) = self.around_entries() else {
            return;
        };
        let Some(mut seen) = entries.seen.take() else {
            return;
        };
        let before = entries.problem_count;
        let layout = Arc::clone(&entries.key_layout);
        let key = entries.entry.as_ref().map(|(key, _)| key.clone());
        if let (Some(key), true) = (key, self.problem_count() == before) {
            self.now = key;
            let mut writer = ValueWriter::default();
            // It was read once, without problems.
            let _ = walk_value(&layout, self, &mut writer);
            // Keys hold no floats, so that equal keys, and only those, look the same.
            if !seen.insert(format!("{:?}", writer.into_value())) {
                let expected = "a key that the dictionary does not have yet";
                self.problem::<()>(expected, "the same key again", None);
            }
        }
        if let Some(entries) = self.around_entries() {
            entries.seen = Some(seen);
        }
    }
}

/// The key of a dictionary's entries in recorded values.
const DICT_KEY: &str = "$dict";

/// Returns true if an object is no dictionary with the key `$dict`, but a recorded one: it has pairs there.
fn is_recorded_dictionary(object: &Map<String, Json>) -> bool {
    let is_pair = |json: &Json| json.as_array().is_some_and(|pair| pair.len() == 2);
    let entries = object.get(DICT_KEY).and_then(Json::as_array);
    object.len() == 1 && entries.is_some_and(|entries| entries.iter().all(is_pair))
}
