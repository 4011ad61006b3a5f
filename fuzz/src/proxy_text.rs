//! Texts of proxies, identities and endpoints.

use std::str::FromStr;

use floe_wire::reference::{
    Endpoint, Identity, Reference, parse_endpoints, parse_published_endpoints,
};

/// Parses `input` as each kind of text.
///
/// Whatever the text is, this must end without a panic. What was parsed, and printed, means the same when it is parsed again.
pub(crate) fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    same_again::<Reference>(&text);
    same_again::<Identity>(&text);
    same_again::<Endpoint>(&text);
    for parse in [parse_endpoints, parse_published_endpoints] {
        if let Ok(endpoints) = parse(&text) {
            assert!(endpoints.len() <= text.len());
        }
    }
}

fn same_again<T: FromStr<Err: ToString> + ToString + PartialEq>(text: &str) {
    match text.parse::<T>() {
        Ok(first) => {
            let printed = first.to_string();
            let second = printed.parse::<T>();
            let is_same = second.is_ok_and(|second| second == first);
            assert!(is_same, "{text:?} was printed as {printed:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
