//! The names that a module imports from one crate, so that its items need not spell whole paths.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;

use super::token::{self, Token};

/// The names that may be imported, with their paths.
pub(crate) struct Imports {
    /// The tokens of the path to the crate.
    root: Vec<Token>,
    /// Names that something else has: they keep the whole path.
    taken: BTreeSet<String>,
}

impl Imports {
    pub(crate) fn new(root: TokenStream, taken: BTreeSet<String>) -> Self {
        let root = token::tokens(root);
        Self { root, taken }
    }

    /// Replaces every path to something in the crate by its name, and notes the name in `imported`.
    pub(super) fn shorten(
        &self,
        tokens: Vec<Token>,
        imported: &mut BTreeSet<String>,
    ) -> Vec<Token> {
        let mut short: Vec<Token> = Vec::with_capacity(tokens.len());
        let mut rest = tokens.into_iter();
        while let Some(token) = rest.next() {
            if let Some(name) = self.name(short.last(), &token, rest.as_slice()) {
                imported.insert(name);
                // What is left of the path begins with the name.
                rest.by_ref().nth(self.root.len() - 1);
                continue;
            }
            short.push(match token {
                Token::Group(delimiter, inner) => {
                    Token::Group(delimiter, self.shorten(inner, imported))
                }
                other => other,
            });
        }
        short
    }

    /// The name behind the path to the crate, if such a path starts at a token and the name is free.
    fn name(&self, before: Option<&Token>, first: &Token, rest: &[Token]) -> Option<String> {
        let (start, others) = self.root.split_first()?;
        let is_root = first == start && rest.starts_with(others);
        if !is_root || before.is_some_and(token::begins_path) {
            return None;
        }
        match &rest[others.len()..] {
            [colons, Token::Word(name), ..] if colons.is("::") && !self.taken.contains(name) => {
                Some(name.clone())
            }
            _ => None,
        }
    }
}
