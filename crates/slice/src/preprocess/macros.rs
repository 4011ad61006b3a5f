//! The macros that are defined.

use std::collections::HashMap;
use std::rc::Rc;

use crate::compile::Options;
use crate::diagnostic::Span;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::model::FileId;

/// A macro.
#[derive(Debug, Clone)]
pub(super) struct Macro {
    /// The names of its parameters; `None` for a macro without parentheses.
    pub(super) parameters: Option<Vec<Rc<str>>>,
    pub(super) body: Rc<[Token]>,
    /// Where it is defined; `None` if it is predefined or comes from the options.
    pub(super) defined: Option<Span>,
}

impl Macro {
    /// Whether both say the same: then a second definition is harmless.
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
    /// `__FLOE__`, the version of Ice, and what the options define.
    pub(super) fn predefined(options: &Options) -> Self {
        let mut macros = Self::default();
        let version = options.language.ice_version();
        macros.define_text("__FLOE__", "1");
        macros.define_text("ICE_VERSION", version);
        macros.define_text("__ICE_VERSION__", version);
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

    fn define_text(&mut self, name: &str, value: &str) {
        let definition = Macro {
            parameters: None,
            body: tokens_of(value).into(),
            defined: None,
        };
        self.insert(name.into(), definition);
    }
}

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
