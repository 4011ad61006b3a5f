//! The Rust type of a sequence or dictionary: the usual one, or the one that its metadata choose.

use floe_slice::model::{Definition, DefinitionKind};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

/// The container of a sequence or dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container<'m> {
    /// `Vec` or `BTreeMap`.
    Usual,
    /// `floe::Bytes`, which shares the bytes of a message.
    Bytes,
    /// The type that `rust:type:` names.
    Named(&'m str),
}

impl<'m> Container<'m> {
    /// The container that the metadata of a definition choose.
    pub(super) fn of(definition: &'m Definition) -> Self {
        let mut texts = definition.metadata.iter().map(|one| one.text.as_str());
        let chosen = texts.find_map(|text| match text {
            "rust:bytes" => Some(Self::Bytes),
            _ => text.strip_prefix("rust:type:").map(Self::Named),
        });
        let is_sequence = matches!(definition.kind, DefinitionKind::Sequence(_));
        match chosen {
            Some(Self::Bytes) if !is_sequence => Self::Usual,
            chosen => chosen.unwrap_or(Self::Usual),
        }
    }

    /// Returns true if the container can be ordered and hashed if its elements can. Unknown containers count as no.
    pub(super) fn has_order(self) -> bool {
        match self {
            Self::Usual | Self::Bytes => true,
            Self::Named(path) => {
                let name = path.rsplit("::").next().unwrap_or(path);
                let name = name.split('<').next().unwrap_or(name).trim();
                ORDERED.contains(&name)
            }
        }
    }
}

const ORDERED: [&str; 5] = ["Vec", "VecDeque", "LinkedList", "BTreeMap", "BTreeSet"];

/// The type that `rust:type:` names, with its type parameters filled in. They are appended to a plain path. If the
/// path has arguments, each `_` in them is replaced by the next parameter; further ones by the last parameter.
///
/// `None` if the result is not a Rust type.
pub(super) fn applied(written: &str, parameters: &[TokenStream]) -> Option<TokenStream> {
    let tokens: TokenStream = written.parse().ok()?;
    let mut left = parameters.iter();
    let mut last = None;
    let filled = fill(tokens.clone(), &mut || {
        last = left.next().or(last);
        last.cloned().unwrap_or_default()
    });
    let has_arguments = written.contains('<') || last.is_some();
    let whole = match has_arguments {
        true => filled,
        false => quote!(#tokens<#(#parameters),*>),
    };
    syn::parse2::<syn::Type>(whole.clone()).ok()?;
    Some(whole)
}

/// The first name in a `rust:type:` that is not in scope in the generated modules: it is not part of a longer path,
/// not in the prelude of Rust, and `is_defined` returns false.
pub(super) fn unknown_name(written: &str, is_defined: &dyn Fn(&str) -> bool) -> Option<String> {
    let tokens: TokenStream = written.parse().ok()?;
    unknown_in(tokens, is_defined)
}

fn unknown_in(tokens: TokenStream, is_defined: &dyn Fn(&str) -> bool) -> Option<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_mark = |token: Option<&TokenTree>, marks: &[char]| matches!(token, Some(TokenTree::Punct(punct)) if marks.contains(&punct.as_char()));
    tokens
        .iter()
        .enumerate()
        .find_map(|(index, token)| match token {
            TokenTree::Group(group) => unknown_in(group.stream(), is_defined),
            TokenTree::Ident(ident) => {
                let before = index.checked_sub(1).and_then(|before| tokens.get(before));
                // A part of a path has colons beside it. A lifetime has a quotation mark before it.
                let is_part =
                    is_mark(before, &[':', '\'']) || is_mark(tokens.get(index + 1), &[':']);
                let name = ident.to_string();
                let is_known = is_part || IN_SCOPE.contains(&&*name) || is_defined(&name);
                (!is_known).then_some(name)
            }
            _ => None,
        })
}

/// Names of types that need no path, and keywords that occur in types.
const IN_SCOPE: [&str; 26] = [
    "_", "Box", "Fn", "Option", "Result", "Send", "String", "Sync", "Vec", "bool", "char", "const",
    "dyn", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u16", "u32", "u64",
    "u8",
];

fn fill(tokens: TokenStream, next: &mut dyn FnMut() -> TokenStream) -> TokenStream {
    let mut filled = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "_" => filled.extend(next()),
            TokenTree::Group(group) => {
                let inner = fill(group.stream(), next);
                let delimiter: Delimiter = group.delimiter();
                filled.extend([TokenTree::Group(Group::new(delimiter, inner))]);
            }
            other => filled.extend([other]),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &str, parameters: &[TokenStream]) -> Option<String> {
        let applied = applied(written, parameters)?;
        Some(applied.to_string().replace(' ', ""))
    }

    #[test]
    fn parameters_stand_behind_a_path_or_where_it_says() {
        let one = [quote!(i32)];
        let two = [quote!(String), quote!(f64)];
        let cases = [
            (
                "std::collections::VecDeque",
                &one[..],
                "std::collections::VecDeque<i32>",
            ),
            ("HashMap", &two[..], "HashMap<String,f64>"),
            ("SmallVec<[_; 4]>", &one[..], "SmallVec<[i32;4]>"),
            ("Map<_, _, Fast>", &two[..], "Map<String,f64,Fast>"),
            ("Pair<_, _>", &one[..], "Pair<i32,i32>"),
            ("my::Weights<Local>", &one[..], "my::Weights<Local>"),
        ];
        for (written, parameters, expected) in cases {
            assert_eq!(
                text(written, parameters).as_deref(),
                Some(expected),
                "{written}"
            );
        }
        for bad in ["", "a b", "Vec<", "1"] {
            assert_eq!(text(bad, &one), None, "{bad}");
        }
    }
    #[test]
    fn a_name_without_a_path_has_to_be_known() {
        let is_defined = |name: &str| name == "Local";
        let unknown = |written| unknown_name(written, &is_defined);
        for known in [
            "std::collections::VecDeque",
            "Box<[_]>",
            "Vec",
            "my::Weights<Local>",
            "::floe::Collected<smallvec::SmallVec<[_; 4]>>",
        ] {
            assert_eq!(unknown(known), None, "{known}");
        }
        assert_eq!(unknown("HashMap").as_deref(), Some("HashMap"));
        assert_eq!(
            unknown("floe::Collected<SmallVec<[_; 4]>>").as_deref(),
            Some("SmallVec")
        );
        assert_eq!(unknown("my::Set<[Other; 2]>").as_deref(), Some("Other"));
    }
}
