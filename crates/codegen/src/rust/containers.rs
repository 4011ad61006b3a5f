//! Which Rust type a sequence or dictionary becomes: the usual one, or what its metadata choose.

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
    /// What `rust:type:` names.
    Named(&'m str),
}

impl<'m> Container<'m> {
    /// What the metadata of a definition choose.
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

    /// Whether containers are ordered and hashed as their elements are; of one that we do not know
    /// that is not assumed.
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

/// The type that `rust:type:` names, with its parameters filled in: behind a plain path they are
/// added, else each `_` stands for the next one, and the last for all further ones.
///
/// `None` if it is no Rust type.
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
}
