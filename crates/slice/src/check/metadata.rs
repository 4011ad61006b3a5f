//! Metadata: which directives have a meaning where.

use super::{Checker, nearest};
use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Metadata;
use crate::parse::ast::Kind;

/// The construct that metadata stands before.
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

/// The prefix of the directives for our own generated code.
const OUR_PREFIX: &str = "rust:";

/// Our own directive: its name, what it takes, and where it has a meaning (anywhere if nothing is
/// listed). `docs/guides/metadata.md` explains them.
struct Ours {
    name: &'static str,
    argument: Option<&'static str>,
    places: &'static [Place],
}

const OURS: &[Ours] = &[
    Ours {
        name: "identifier",
        argument: Some("name"),
        places: &[],
    },
    Ours {
        name: "derive",
        argument: Some("path::of::Derive,Another"),
        places: &[Place::Class, Place::Exception, Place::Struct, Place::Enum],
    },
    Ours {
        name: "type",
        argument: Some("path::of::Container"),
        places: &[Place::Sequence, Place::Dictionary],
    },
    Ours {
        name: "bytes",
        argument: None,
        places: &[Place::Sequence],
    },
    Ours {
        name: "view",
        argument: None,
        places: &[Place::Sequence, Place::Struct],
    },
    Ours {
        name: "nonnull",
        argument: None,
        places: &[
            Place::Operation,
            Place::Parameter,
            Place::Member,
            Place::Sequence,
            Place::Dictionary,
        ],
    },
];

/// Returns the error in one of our own directives, and the remedy.
fn ours(text: &str, directive: &str, place: Place) -> Option<(String, String)> {
    let (name, argument) = match directive.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (directive, None),
    };
    let Some(known) = OURS.iter().find(|ours| ours.name == name) else {
        let names: Vec<String> = OURS
            .iter()
            .map(|ours| format!("`rust:{}`", ours.name))
            .collect();
        let help = match nearest(name, OURS.iter().map(|ours| ours.name)) {
            Some(meant) => format!("did you mean `rust:{meant}`?"),
            None => format!("for Rust there are {}", names.join(", ")),
        };
        return Some((
            format!("the metadata `{text}` is unknown and has no effect"),
            help,
        ));
    };
    if !known.places.is_empty() && !known.places.contains(&place) {
        let message = format!("the metadata `{text}` has no effect here");
        return Some((message, where_it_belongs(known.places)));
    }
    match (known.argument, argument.unwrap_or_default()) {
        (Some(wanted), "") => Some((
            format!("the metadata `{text}` lacks its argument"),
            format!("write `rust:{name}:{wanted}`"),
        )),
        (None, argument) if !argument.is_empty() => Some((
            format!("the metadata `{text}` takes no argument"),
            format!("write `rust:{name}`"),
        )),
        _ => None,
    }
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

/// Directives that Ice 3.8 has removed.
const ONLY_37: &[&str] = &[
    "nonmutating",
    "preserve-slice",
    "protected",
    "delegate",
    "UserException",
    "underscore",
    "ice-prefix",
];

/// Directives that Ice 3.7 does not know.
const ONLY_38: &[&str] = &["oneway"];

/// Directives with nothing behind a colon.
const WITHOUT_ARGUMENT: &[&str] = &[
    "amd",
    "marshaled-result",
    "nonmutating",
    "oneway",
    "preserve-slice",
    "protected",
    "delegate",
    "UserException",
    "underscore",
    "ice-prefix",
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
        if is_foreign || self.is_suppressed(metadata.span, "invalid-metadata") {
            return;
        }
        if let Some(directive) = text.strip_prefix(OUR_PREFIX) {
            if let Some((message, help)) = ours(text, directive, place) {
                let diagnostic = Diagnostic::new(Code::UnknownMetadata, metadata.span, message);
                self.report(diagnostic.help(help));
            }
            return;
        }
        let known = DIRECTIVES.iter().find(|(known, _)| *known == name);
        let (message, help) = match known {
            None => (
                format!("the metadata `{text}` is unknown and has no effect"),
                self.suggest_directive(name),
            ),
            Some((_, places)) if !places.is_empty() && !places.contains(&place) => (
                format!("the metadata `{text}` has no effect here"),
                where_it_belongs(places),
            ),
            Some(("format", _)) if !matches!(argument, Some("compact" | "sliced" | "default")) => (
                format!("the metadata `{text}` names no format"),
                "write `format:compact`, `format:sliced` or `format:default`".to_owned(),
            ),
            Some((known, _)) => match self.misuse(known, argument) {
                Some(found) => found,
                None => return,
            },
        };
        let diagnostic = Diagnostic::new(Code::UnknownMetadata, metadata.span, message);
        self.report(diagnostic.help(help));
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

impl Checker {
    fn suggest_directive(&mut self, name: &str) -> String {
        if name == "rust" {
            return "for Rust it begins with `rust:`, as `rust:identifier:name`".to_owned();
        }
        let names = DIRECTIVES.iter().map(|(name, _)| *name);
        let may_suggest = self.suggestions_left > 0;
        self.suggestions_left = self.suggestions_left.saturating_sub(1);
        let nearest = may_suggest.then(|| nearest(name, names.chain(LANGUAGES.iter().copied())));
        match nearest.flatten() {
            Some(meant) if LANGUAGES.contains(&meant) => {
                format!("did you mean `{meant}:`? directives for one language begin with its name")
            }
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "remove it, or put the name of a language before it: `cpp:...`".to_owned(),
        }
    }

    /// Returns the error in a known directive that stands in an allowed place, and the remedy.
    fn misuse(&self, name: &str, argument: Option<&str>) -> Option<(String, String)> {
        if argument.is_some() && WITHOUT_ARGUMENT.contains(&name) {
            let message = format!("what stands behind `{name}:` has no effect");
            return Some((message, format!("write `{name}` alone")));
        }
        let version = match self.language {
            Language::V38 if ONLY_37.contains(&name) => "3.8",
            Language::V37 if ONLY_38.contains(&name) => "3.7",
            _ => return None,
        };
        let message = format!("Ice {version} has no metadata `{name}`");
        Some((message, "remove it".to_owned()))
    }
}
