//! The rules for names.

use super::Checker;
use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic};
use crate::parse::ast::Name;

/// Endings that the generated code of Ice uses itself.
const RESERVED_ENDINGS: &[&str] = &["Helper", "Holder", "Prx", "Ptr"];

impl Checker {
    /// Checks the name of a definition, member, operation, parameter or enumerator.
    pub(super) fn check_name(&mut self, name: &Name) {
        let text = name.text.as_str();
        let ending = RESERVED_ENDINGS.iter().find(|end| text.ends_with(**end));
        let problem = if text.starts_with('_') {
            Some("begins with an underscore, and names begin with a letter".to_owned())
        } else if text.ends_with('_') {
            Some("ends with an underscore".to_owned())
        } else if text.contains("__") {
            Some("contains two underscores in a row".to_owned())
        } else {
            ending.map(|ending| format!("ends with `{ending}`, which generated code uses"))
        };
        if let Some(problem) = problem {
            let message = format!("the name `{text}` {problem}");
            self.error(Code::BadName, name.span, message, "choose another name");
        } else if self.language == Language::V37 && self.main_files.contains(&name.span.file) {
            self.check_name_37(name);
        }
    }

    fn check_name_37(&mut self, name: &Name) {
        let file = name.span.file;
        let lower = name.text.to_ascii_lowercase();
        if name.text.contains('_') && !self.has_file_metadata(file, "underscore") {
            let message = format!("the name `{}` contains an underscore", name.text);
            let help = "Ice 3.7 allows this in files with the metadata `[[\"underscore\"]]`";
            self.error(Code::BadName, name.span, message, help);
        }
        if lower.starts_with("ice") && !self.has_file_metadata(file, "ice-prefix") {
            let message = format!(
                "the name `{}` begins with `{}`, which Ice keeps for itself",
                name.text,
                &name.text[..3]
            );
            let help = "Ice 3.7 allows this in files with the metadata `[[\"ice-prefix\"]]`";
            self.error(Code::BadName, name.span, message, help);
        }
    }

    /// Ice 3.7 forbids a definition or module to be named like a module around it.
    pub(super) fn check_against_modules(&mut self, name: &Name, modules: &[Name]) {
        if self.language != Language::V37 {
            return;
        }
        let same = |module: &&Name| module.text.eq_ignore_ascii_case(&name.text);
        if let Some(module) = modules.iter().rfind(same) {
            let message = format!("`{}` is named like a module around it", name.text);
            let diagnostic = Diagnostic::new(Code::Redefinition, name.span, message)
                .label(module.span, "the module is here")
                .help("Ice 3.8 allows this, Ice 3.7 does not: rename one of them");
            self.report(diagnostic);
        }
    }
}
