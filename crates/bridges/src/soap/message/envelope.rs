//! SOAP 1.1 and 1.2 around a body, with the headers of Web Services Addressing 1.0.

use super::Fault;
use super::namespaces::{SOAP11, SOAP12, WSA};
use crate::soap::codec::text::escaped;
use crate::soap::codec::{Document, ElementId};

/// A version of SOAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// 1.1, as `text/xml`.
    Soap11,
    /// 1.2, as `application/soap+xml`.
    Soap12,
}

impl Version {
    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Self::Soap11 => SOAP11,
            Self::Soap12 => SOAP12,
        }
    }

    /// Its type of content in HTTP.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Soap11 => "text/xml; charset=utf-8",
            Self::Soap12 => "application/soap+xml; charset=utf-8",
        }
    }
}

/// An envelope that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) version: Version,
    /// The only element of its body.
    pub(crate) content: ElementId,
    /// The headers of addressing, if there are any.
    pub(crate) headers: Option<Headers>,
}

/// The headers of a request, as far as its answer needs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    message_id: Option<String>,
}

impl Envelope {
    /// The version of a document's envelope.
    pub(crate) fn version(document: &Document<'_>) -> Option<Version> {
        let root = document.root();
        let versions = [Version::Soap11, Version::Soap12];
        let mut versions = versions.into_iter();
        versions.find(|it| document.is(root, it.namespace(), "Envelope"))
    }

    /// Looks at an envelope.
    ///
    /// # Errors
    /// [`Fault`]: it is none, or asks for what is not done here.
    pub(crate) fn read(document: &Document<'_>) -> Result<Self, Fault> {
        let root = document.root();
        let Some(version) = Self::version(document) else {
            return Err(Fault::version_mismatch(
                "expected an Envelope of SOAP 1.1 or 1.2 as the outermost element",
            ));
        };
        let namespace = version.namespace();
        let headers = match document.child(root, namespace, "Header") {
            Some(header) => Headers::read(document, header, version)?,
            None => None,
        };
        let body = document.child(root, namespace, "Body");
        let body = body.ok_or_else(|| Fault::sender("expected a Body in the Envelope"))?;
        let mut contents = document.children(body);
        let (Some(content), None) = (contents.next(), contents.next()) else {
            return Err(Fault::sender(format!(
                "expected one element in the Body, got {}",
                document.child_count(body)
            )));
        };
        Ok(Self {
            version,
            content,
            headers,
        })
    }
}

impl Headers {
    fn read(
        document: &Document<'_>,
        header: ElementId,
        version: Version,
    ) -> Result<Option<Self>, Fault> {
        let mut is_addressed = false;
        let mut headers = Self::default();
        for block in document.children(header) {
            if document.namespace(block) == WSA {
                is_addressed = true;
                match document.name(block) {
                    "MessageID" => headers.message_id = Some(text_of(document, block)?),
                    "ReplyTo" | "FaultTo" => anonymous_or_none(document, block)?,
                    _ => {}
                }
                continue;
            }
            let must = document.attribute(block, version.namespace(), "mustUnderstand");
            if matches!(must.map(str::trim), Some("1" | "true")) {
                return Err(Fault::must_understand(format!(
                    "the header {{{}}}{} must be understood, and is not",
                    cut(document.namespace(block)),
                    cut(document.name(block))
                )));
            }
        }
        Ok(is_addressed.then_some(headers))
    }
}

/// An answer goes back over the connection of its request: to send it elsewhere would let anybody send from here.
fn anonymous_or_none(document: &Document<'_>, block: ElementId) -> Result<(), Fault> {
    let address = document.child(block, WSA, "Address");
    let address = address.map_or("", |it| document.text(it).trim());
    let allowed = ["anonymous", "none"].map(|it| format!("{WSA}/{it}"));
    match allowed.iter().any(|it| it == address) {
        true => Ok(()),
        false => Err(Fault::sender(format!(
            "an answer goes to its asker only: expected {} as the address of {}",
            allowed[0],
            document.name(block)
        ))),
    }
}

fn text_of(document: &Document<'_>, block: ElementId) -> Result<String, Fault> {
    let text = document.text(block).trim();
    match text.len() <= MESSAGE_ID_LEN_MAX {
        true => Ok(text.to_owned()),
        false => Err(Fault::sender(format!(
            "expected a MessageID of at most {MESSAGE_ID_LEN_MAX} bytes"
        ))),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The longest id of a message, which is a URI, in bytes. Its answer repeats it.
const MESSAGE_ID_LEN_MAX: usize = 1024;

/// Puts an envelope around a body. With the headers of a request, or with an address to which the message goes, it has
/// headers of addressing itself.
pub(crate) fn wrap(
    version: Version,
    action: &str,
    (headers, to): (Option<&Headers>, Option<&str>),
    body: &str,
) -> String {
    let mut header = String::new();
    if headers.is_some() || to.is_some() {
        header += &format!("<soap:Header><wsa:Action>{}</wsa:Action>", escaped(action));
        if let Some(to) = to {
            header += &format!("<wsa:To>{}</wsa:To>", escaped(to));
        }
        if let Some(id) = headers.and_then(|it| it.message_id.as_deref()) {
            header += &format!("<wsa:RelatesTo>{}</wsa:RelatesTo>", escaped(id));
        }
        header += "</soap:Header>";
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soap:Envelope xmlns:soap=\"{}\" xmlns:wsa=\"{WSA}\">\
         {header}<soap:Body>{body}</soap:Body></soap:Envelope>",
        version.namespace()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Envelope, String> {
        let document = Document::parse(text).expect("it is XML");
        Envelope::read(&document).map_err(|it| it.reason().to_owned())
    }

    #[test]
    fn what_is_wrapped_is_read() {
        for version in [Version::Soap11, Version::Soap12] {
            let headers = Headers {
                message_id: Some("urn:a&b".to_owned()),
            };
            let text = wrap(version, "urn:x", (Some(&headers), None), "<x/>");
            assert!(
                text.contains("<wsa:RelatesTo>urn:a&amp;b</wsa:RelatesTo>"),
                "{text}"
            );
            let envelope = read(&text).expect("an envelope");
            assert_eq!(envelope.version, version);
            assert!(envelope.headers.is_some());
            let text = wrap(version, "urn:x", (None, None), "<x/>");
            assert!(read(&text).expect("an envelope").headers.is_none());
        }
    }

    #[test]
    fn what_cannot_be_done_is_a_fault() {
        let envelope = |header: &str, body: &str| {
            format!(
                "<s:Envelope xmlns:s='{SOAP12}' xmlns:w='{WSA}'><s:Header>{header}</s:Header>{body}</s:Envelope>"
            )
        };
        let body = "<s:Body><x/></s:Body>";
        let cases = [
            (
                "<a/>".to_owned(),
                "expected an Envelope of SOAP 1.1 or 1.2 as the outermost element",
            ),
            (envelope("", ""), "expected a Body in the Envelope"),
            (
                envelope("", "<s:Body/>"),
                "expected one element in the Body, got 0",
            ),
            (
                envelope("<x s:mustUnderstand='1'/>", body),
                "the header {}x must be understood, and is not",
            ),
            (
                envelope(
                    "<w:ReplyTo><w:Address>http://10.0.0.1/</w:Address></w:ReplyTo>",
                    body,
                ),
                "an answer goes to its asker only: expected http://www.w3.org/2005/08/addressing/anonymous as the address of ReplyTo",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read(&text), Err(expected.to_owned()));
        }
        let fine = envelope("<w:Action s:mustUnderstand='true'>x</w:Action><x/>", body);
        assert!(read(&fine).is_ok());
    }
}
