//! The macros that are defined.

use std::collections::HashMap;
use std::rc::Rc;

use super::define::parameters_of;
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
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameters {
    names: Vec<Rc<str>>,
    /// True if the last one, `__VA_ARGS__`, takes all arguments that are left, with their commas.
    has_rest: bool,
}

impl Parameters {
    pub(super) fn new(names: Vec<Rc<str>>, has_rest: bool) -> Self {
        Self { names, has_rest }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| **known == *name)
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
