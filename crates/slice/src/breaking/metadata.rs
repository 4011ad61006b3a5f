//! Metadata and doc comments.

use super::{ChangeCode, Comparison};
use crate::diagnostic::Span;
use crate::model::Metadata;

/// Directives without a language that change generated code.
const MAPPING: &[&str] = &[
    "amd",
    "marshaled-result",
    "oneway",
    "protected",
    "delegate",
    "UserException",
];

impl Comparison<'_> {
    /// Compares the metadata and the doc comments of something.
    pub(super) fn annotations(
        &mut self,
        subject: &str,
        places: (Option<Span>, Option<Span>),
        metadata: (&[Metadata], &[Metadata]),
        docs: (Option<&str>, Option<&str>),
    ) {
        let (old, new) = metadata;
        for directive in old.iter().filter(|it| !has(new, &it.text)) {
            let text = &directive.text;
            let code = match word(text) {
                "preserve-slice" => ChangeCode::PreserveSliceRemoved,
                word => of_directive(word, text),
            };
            let message = format!("the metadata `{text}` is gone");
            self.directive(code, subject, places, text, message);
        }
        for directive in new.iter().filter(|it| !has(old, &it.text)) {
            let text = &directive.text;
            let was_deprecated = old.iter().any(|it| is_deprecation(word(&it.text)));
            let code = match word(text) {
                word if is_deprecation(word) && !was_deprecated => ChangeCode::Deprecated,
                word => of_directive(word, text),
            };
            let message = format!("the metadata `{text}` is new");
            self.directive(code, subject, places, text, message);
        }
        if docs.0 != docs.1 {
            let message = match docs {
                (None, _) => "it has a doc comment now",
                (_, None) => "its doc comment is gone",
                _ => "its doc comment was changed",
            };
            let code = ChangeCode::DocumentationChanged;
            self.report(code, subject, places, message);
        }
    }

    /// Reports a directive, unless it says how operations encode, which is compared with the operations.
    fn directive(
        &mut self,
        code: ChangeCode,
        subject: &str,
        places: (Option<Span>, Option<Span>),
        text: &str,
        message: String,
    ) {
        if word(text) != "format" {
            self.report(code, subject, places, message);
        }
    }
}

fn of_directive(word: &str, text: &str) -> ChangeCode {
    let is_mapping = MAPPING.contains(&word) || word.len() < text.len() && !is_deprecation(word);
    match is_mapping {
        true => ChangeCode::MappingChanged,
        false => ChangeCode::MetadataChanged,
    }
}

fn has(metadata: &[Metadata], text: &str) -> bool {
    metadata.iter().any(|it| it.text == text)
}

fn word(text: &str) -> &str {
    text.split(':').next().unwrap_or(text)
}

fn is_deprecation(word: &str) -> bool {
    matches!(word, "deprecated" | "deprecate")
}
