//! Metadata and doc comments.

use super::{ChangeCode, Comparison};
use crate::diagnostic::Span;
use crate::model::{DefinitionId, DefinitionKind, Metadata, Model};

/// Directives without a language that change generated code.
const MAPPING: &[&str] = &[
    "amd",
    "marshaled-result",
    "oneway",
    "protected",
    "delegate",
    "UserException",
];

const PRESERVE_SLICE: &str = "preserve-slice";

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
            let code = of_directive(word(text), text);
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

    /// Compares whether unknown slices of a class or exception are kept: `preserve-slice` holds for
    /// what extends it too, so that it may move to a base.
    pub(super) fn preserve_slice(&mut self, old: DefinitionId, new: DefinitionId) {
        let (was, is) = (self.old.definition(old), self.new.definition(new));
        let places = (Some(was.span), Some(is.span));
        let own = (
            has(&was.metadata, PRESERVE_SLICE),
            has(&is.metadata, PRESERVE_SLICE),
        );
        let has_lost = preserves(self.old, old) && !preserves(self.new, new);
        // What a base has lost is reported there, unless it is no longer the base.
        let is_by_base = has_lost && !own.0 && self.has_same_base(old, new);
        let (code, message) = match own {
            _ if has_lost && !is_by_base => (
                ChangeCode::PreserveSliceRemoved,
                "neither it nor a base has the metadata `preserve-slice` any more",
            ),
            (true, false) => (
                ChangeCode::MetadataChanged,
                "the metadata `preserve-slice` is gone, but a base has it",
            ),
            (false, true) => (
                ChangeCode::MetadataChanged,
                "the metadata `preserve-slice` is new",
            ),
            _ => return,
        };
        self.report(code, &is.scoped, places, message);
    }

    fn has_same_base(&self, old: DefinitionId, new: DefinitionId) -> bool {
        match (base(self.old, old), base(self.new, new)) {
            (Some(was), Some(is)) => self.current_name(was) == self.new.definition(is).scoped,
            (was, is) => was.is_none() && is.is_none(),
        }
    }

    /// Reports a directive, unless it says how operations encode, which is compared with the operations,
    /// or what is inherited.
    fn directive(
        &mut self,
        code: ChangeCode,
        subject: &str,
        places: (Option<Span>, Option<Span>),
        text: &str,
        message: String,
    ) {
        if !["format", PRESERVE_SLICE].contains(&word(text)) {
            self.report(code, subject, places, message);
        }
    }
}

/// Returns true if a class or exception, or one that it extends, has `preserve-slice`.
fn preserves(model: &Model, id: DefinitionId) -> bool {
    let mut next = Some(id);
    while let Some(id) = next {
        if has(&model.definition(id).metadata, PRESERVE_SLICE) {
            return true;
        }
        next = base(model, id);
    }
    false
}

fn base(model: &Model, id: DefinitionId) -> Option<DefinitionId> {
    match &model.definition(id).kind {
        DefinitionKind::Class(class) => class.base,
        DefinitionKind::Exception(exception) => exception.base,
        _ => None,
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
