//! The macros that are defined.

use std::collections::HashMap;
use std::rc::Rc;

use super::define::{NO_MACROS, parameters_of};
use crate::compile::Options;
use crate::diagnostic::Span;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::model::FileId;

/// A macro.
#[derive(Debug, Clone)]
pub(super) struct Macro {
    /// `None` for a macro without parentheses.
    pub(super) parameters: Option<Parameters>,
    pub(super) body: Rc<[Token]>,
    /// Where it is defined; `None` if it is predefined or comes from the options.
    pub(super) defined: Option<Span>,
}

/// The parameters of a macro.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Parameters {
    indexes: HashMap<Rc<str>, usize>,
    /// True if the last one, `__VA_ARGS__`, takes all arguments that are left, with their commas.
    has_rest: bool,
}

impl Parameters {
    /// Adds a parameter. Returns false if there is one with that name.
    pub(super) fn add(&mut self, name: Rc<str>) -> bool {
        let index = self.len();
        self.indexes.insert(name, index).is_none()
    }

    /// Adds a parameter for all arguments that are left.
    pub(super) fn add_rest(&mut self) {
        self.has_rest = true;
        self.add(REST.into());
    }

    pub(super) fn len(&self) -> usize {
        self.indexes.len()
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.indexes.get(name).copied()
    }

    /// Returns true if `given` arguments are too few or too many.
    pub(super) fn misfits(&self, given: usize) -> bool {
        match self.has_rest {
            true => given + 1 < self.len(),
            false => given != self.len(),
        }
    }

    /// One argument for each parameter.
    pub(super) fn gather(&self, arguments: Vec<Vec<Token>>) -> Vec<Vec<Token>> {
        if !self.has_rest {
            return arguments;
        }
        let mut gathered = arguments;
        let rest = gathered.split_off(gathered.len().min(self.len() - 1));
        let mut joined: Vec<Token> = Vec::new();
        for (index, mut argument) in rest.into_iter().enumerate() {
            if let (true, Some(before)) = (index > 0, joined.last().or(argument.first())) {
                joined.push(Token::new(TokenKind::Punct(','), before.span));
            }
            joined.append(&mut argument);
        }
        gathered.push(joined);
        gathered
    }
}

impl Macro {
    /// Returns true if both say the same: then a second definition is harmless.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let kinds = |of: &Self| of.body.iter().map(|t| t.kind.clone()).collect::<Vec<_>>();
        self.parameters == other.parameters && kinds(self) == kinds(other)
    }
}

/// The name of the parameter that takes all arguments that are left.
pub(super) const REST: &str = "__VA_ARGS__";

/// Returns true if a text is the name of a macro, perhaps with parameters: `NAME(a, b)`. [`Options::defines`] has such names.
pub fn is_macro(text: &str) -> bool {
    let (name, parameters) = match text.split_once('(') {
        None => (text, None),
        Some((name, parameters)) => (name, Some(parameters)),
    };
    let of_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let is_word = name.starts_with(|first: char| of_word(first) && !first.is_ascii_digit())
        && name.chars().all(of_word);
    is_word
        && !NO_MACROS.contains(&name)
        && parameters.is_none_or(|parameters| {
            let mut tokens = tokens_of(parameters).into_iter();
            parameters_of(|| tokens.next()).is_some() && tokens.next().is_none()
        })
}

/// All macros, by name.
#[derive(Debug, Default)]
pub(super) struct Macros {
    by_name: HashMap<Rc<str>, Macro>,
}

impl Macros {
    /// `__FLOE__`, the version of Ice, what a C preprocessor says of itself, and what the options define.
    pub(super) fn predefined(options: &Options) -> Self {
        let mut macros = Self::default();
        // Both get their text when they are used.
        macros.define_text("__LINE__", "0");
        macros.define_text("__FILE__", "\"\"");
        let version = options.language.ice_version();
        macros.define_text("__FLOE__", "1");
        macros.define_text("ICE_VERSION", version);
        macros.define_text("__ICE_VERSION__", version);
        for (name, value) in OF_C {
            macros.define_text(name, value);
        }
        for (name, value) in &options.defines {
            macros.define_text(name, value);
        }
        for name in &options.undefines {
            macros.remove(name);
        }
        macros
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Macro> {
        self.by_name.get(name)
    }

    pub(super) fn insert(&mut self, name: Rc<str>, definition: Macro) {
        self.by_name.insert(name, definition);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    /// Defines a macro with its text; the name may have parameters: `NAME(a, b)`.
    pub(super) fn define_text(&mut self, name: &str, value: &str) {
        let (name, parameters) = match name.split_once('(') {
            None => (name, None),
            Some((name, rest)) => {
                let mut tokens = tokens_of(rest).into_iter();
                (name, parameters_of(|| tokens.next()))
            }
        };
        let definition = Macro {
            parameters,
            body: tokens_of(value).into(),
            defined: None,
        };
        self.insert(name.into(), definition);
    }

    /// Sets what `__LINE__` and `__FILE__` are replaced by.
    pub(super) fn set_place(&mut self, line: i64, file: &str) {
        for (name, kind) in [
            ("__LINE__", TokenKind::Number(line.to_string().into())),
            ("__FILE__", TokenKind::Str(file.into())),
        ] {
            let nowhere = Span {
                file: FileId(0),
                start: 0,
                end: 0,
            };
            let definition = Macro {
                parameters: None,
                body: [Token::new(kind, nowhere)].into(),
                defined: None,
            };
            self.insert(name.into(), definition);
        }
    }
}

/// Observed: slice2cpp of Ice 3.7.8 and slice2py of Ice 3.8.3 have these. Their `__DATE__`, `__TIME__` and
/// names of platforms (`__linux__`) are missing here: a contract means the same everywhere, any day.
const OF_C: &[(&str, &str)] = &[
    ("__STDC__", "1"),
    ("__STDC_HOSTED__", "1"),
    ("__STDC_VERSION__", "199409L"),
];

/// The tokens of a text that stands in no file; whoever uses them gives them a place.
pub(super) fn tokens_of(text: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(FileId(0), text.into());
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        if !matches!(token.kind, TokenKind::Doc(_)) {
            tokens.push(token);
        }
    }
    tokens
}
