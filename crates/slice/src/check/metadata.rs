//! Metadata: which directives have a meaning where.

use super::{Checker, nearest};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Metadata;
use crate::parse::ast::Kind;

/// What metadata stands before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    File,
    Module,
    Interface,
    Class,
    Exception,
    Struct,
    Enum,
    Sequence,
    Dictionary,
    Const,
    Member,
    Enumerator,
    Operation,
    Parameter,
    /// The type of an element, key, value or constant.
    Type,
}

impl Place {
    /// The place of the metadata of a definition.
    pub(super) fn of(kind: &Kind) -> Self {
        match kind {
            Kind::InterfaceDeclaration | Kind::Interface { .. } => Self::Interface,
            Kind::ClassDeclaration | Kind::Class(_) => Self::Class,
            Kind::Exception { .. } => Self::Exception,
            Kind::Struct { .. } => Self::Struct,
            Kind::Enum { .. } => Self::Enum,
            Kind::Sequence { .. } => Self::Sequence,
            Kind::Dictionary { .. } => Self::Dictionary,
            Kind::Const { .. } => Self::Const,
        }
    }
}

/// The tags of languages: a directive that begins with one belongs to the compiler of that language.
const LANGUAGES: &[&str] = &[
    "cpp",
    "java",
    "cs",
    "js",
    "python",
    "php",
    "ruby",
    "objc",
    "objective-c",
    "swift",
    "matlab",
    "freeze",
    "icegrid",
];

/// The language of our own generated code, and what a directive for it may say.
const OURS: (&str, &[&str]) = ("rust", &["identifier"]);

/// Whether a directive is one of ours and known.
fn is_ours(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    parts.next() == Some(OURS.0)
        && parts
            .next()
            .is_some_and(|directive| OURS.1.contains(&directive))
        && parts.next().is_some_and(|argument| !argument.is_empty())
}

/// Directives without a language: the name before the colon, and where it has a meaning (anywhere
/// if nothing is listed).
const DIRECTIVES: &[(&str, &[Place])] = &[
    ("deprecate", &[]),
    ("deprecated", &[]),
    ("amd", &[Place::Operation, Place::Interface, Place::Class]),
    (
        "format",
        &[Place::Operation, Place::Interface, Place::Class],
    ),
    (
        "marshaled-result",
        &[Place::Operation, Place::Interface, Place::Class],
    ),
    ("nonmutating", &[Place::Operation]),
    ("oneway", &[Place::Operation]),
    (
        "preserve-slice",
        &[
            Place::Class,
            Place::Exception,
            Place::Interface,
            Place::Operation,
        ],
    ),
    (
        "protected",
        &[Place::Member, Place::Class, Place::Struct, Place::Exception],
    ),
    ("delegate", &[Place::Interface]),
    ("UserException", &[Place::Operation]),
    ("suppress-warning", &[Place::File]),
    ("underscore", &[Place::File]),
    ("ice-prefix", &[Place::File]),
];

impl Checker {
    pub(super) fn check_file_metadata(&mut self, metadata: &Metadata) {
        self.check_directive(metadata, Place::File);
    }

    /// Warns of directives that have no meaning at a place.
    pub(super) fn check_metadata(&mut self, metadata: &[Metadata], place: Place) {
        for directive in metadata {
            self.check_directive(directive, place);
        }
    }

    fn check_directive(&mut self, metadata: &Metadata, place: Place) {
        let text = metadata.text.as_str();
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let is_foreign = argument.is_some() && LANGUAGES.contains(&name);
        if is_foreign || is_ours(text) || self.is_suppressed(metadata.span, "invalid-metadata") {
            return;
        }
        let known = DIRECTIVES.iter().find(|(known, _)| *known == name);
        let (message, help) = match known {
            None => (
                format!("the metadata `{text}` is unknown and has no effect"),
                suggestion(name),
            ),
            Some((_, places)) if !places.is_empty() && !places.contains(&place) => (
                format!("the metadata `{text}` has no effect here"),
                where_it_belongs(places),
            ),
            Some(("format", _)) if !matches!(argument, Some("compact" | "sliced" | "default")) => (
                format!("the metadata `{text}` names no format"),
                "write `format:compact`, `format:sliced` or `format:default`".to_owned(),
            ),
            Some(_) => return,
        };
        let diagnostic = Diagnostic::new(Code::UnknownMetadata, metadata.span, message);
        self.report(diagnostic.help(help));
    }
}

fn suggestion(name: &str) -> String {
    if name == OURS.0 {
        return "for Rust there is `rust:identifier:name`".to_owned();
    }
    let names = DIRECTIVES.iter().map(|(name, _)| *name);
    match nearest(name, names.chain(LANGUAGES.iter().copied())) {
        Some(meant) if LANGUAGES.contains(&meant) => {
            format!("did you mean `{meant}:`? directives for one language begin with its name")
        }
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "remove it, or put the name of a language before it: `cpp:...`".to_owned(),
    }
}

fn where_it_belongs(places: &[Place]) -> String {
    if places == [Place::File] {
        return "it is for the whole file: write it in `[[...]]` at the top".to_owned();
    }
    let nouns: Vec<String> = places
        .iter()
        .map(|place| format!("{place:?}").to_ascii_lowercase())
        .collect();
    format!("it belongs before: {}", nouns.join(", "))
}
