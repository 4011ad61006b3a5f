//! An answer of the console.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value as Json, json};

use super::events::Events;

/// A request that is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// The problem: the expectation, what came, and what to do.
    pub(super) message: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, message: &str) -> Self {
        let message = message.to_owned();
        Self { status, message }
    }
}

/// The content of an answer.
pub(super) enum Content {
    /// All of it.
    Whole(Option<Bytes>),
    /// A stream that does not end by itself.
    Events(Box<Events>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => events
                .poll_next(context)
                .map(|next| Some(Ok(Frame::data(next?)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |it| it.len() as u64))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// Nothing comes from elsewhere, nothing runs but the file of scripts, and no other page frames this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An answer of this type.
pub(super) fn response(
    status: StatusCode,
    content_type: &'static str,
    content: Content,
) -> Response<Content> {
    let mut response = Response::new(content);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

/// A text that is part of this program.
pub(super) fn file(content_type: &'static str, text: &'static str) -> Response<Content> {
    let bytes = Bytes::from_static(text.as_bytes());
    response(StatusCode::OK, content_type, Content::Whole(Some(bytes)))
}

/// A JSON value.
pub(super) fn json(status: StatusCode, value: &Json) -> Response<Content> {
    let bytes = Bytes::from(value.to_string());
    response(status, "application/json", Content::Whole(Some(bytes)))
}

/// A request that is not served.
pub(super) fn refused(refused: &Refused) -> Response<Content> {
    json(refused.status, &json!({ "error": refused.message }))
}
