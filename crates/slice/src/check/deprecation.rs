//! Use of what its author calls deprecated.

use super::Checker;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::DefinitionId;

impl Checker {
    pub(super) fn warn_if_deprecated(&mut self, id: DefinitionId, used: Span) {
        let definition = self.definition(id);
        let reason = definition.metadata.iter().find_map(|metadata| {
            let text = metadata.text.as_str();
            let (directive, reason) = text.split_once(':').unwrap_or((text, ""));
            matches!(directive, "deprecate" | "deprecated").then(|| reason.trim().to_owned())
        });
        let Some(reason) = reason else {
            return;
        };
        if self.is_suppressed(used, "deprecated") {
            return;
        }
        let mut message = format!("`{}` is deprecated", definition.name);
        if !reason.is_empty() {
            message = format!("{message}: {reason}");
        }
        let diagnostic =
            Diagnostic::new(Code::Deprecated, used, message).label(definition.span, "defined here");
        self.report(diagnostic);
    }

    /// Returns true if the file of a place suppresses warnings of a category.
    pub(super) fn is_suppressed(&self, place: Span, category: &str) -> bool {
        [
            "suppress-warning".to_owned(),
            "suppress-warning:all".to_owned(),
        ]
        .into_iter()
        .chain([format!("suppress-warning:{category}")])
        .any(|directive| self.has_file_metadata(place.file, &directive))
    }
}
