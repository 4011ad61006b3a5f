//! The parameters and the body of a request.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use serde_json::Value as Json;

use super::response::Refused;

/// Bytes of the body of a request: names of topics and of subscribers.
const BODY_LEN_MAX: usize = 16 * 1024;

/// The value of a parameter behind the `?` of a request.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name);
    values.next().map(|(_, value)| decoded(value))
}

/// A text without its percent signs. Bytes that are no UTF-8 become replacement characters.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(if byte == b'+' { b' ' } else { byte });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the body as JSON.
///
/// # Errors
/// It is too long, is no JSON, or does not arrive.
pub(super) async fn body(mut incoming: Incoming) -> Result<Json, Refused> {
    let bad = |message: &str| Refused::new(StatusCode::BAD_REQUEST, message);
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        let frame = frame.map_err(|error| bad(&format!("the body did not arrive: {error}")))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if bytes.len() + data.len() > BODY_LEN_MAX {
            let message = format!("expected a body of at most {BODY_LEN_MAX} bytes, got more");
            return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, &message));
        }
        bytes.extend_from_slice(data);
    }
    serde_json::from_slice(&bytes).map_err(|error| bad(&format!("expected a JSON object: {error}")))
}

/// A text in the body that must be there.
///
/// # Errors
/// It is not.
pub(super) fn text<'a>(body: &'a Json, name: &str) -> Result<&'a str, Refused> {
    body[name].as_str().ok_or_else(|| {
        let message = format!("expected a text `{name}` in the body, got {}", body[name]);
        Refused::new(StatusCode::BAD_REQUEST, &message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_may_hold_any_text() {
        let query = "sort=name&filter=%3Cb%3E%20%C3%A4+%2&filter=no";
        assert_eq!(parameter(query, "filter").as_deref(), Some("<b> ä %2"));
        assert_eq!(parameter(query, "limit"), None);
        assert_eq!(parameter("a=%zz%f", "a").as_deref(), Some("%zz%f"));
        assert_eq!(parameter("a=%ff", "a").as_deref(), Some("\u{fffd}"));
    }
}
