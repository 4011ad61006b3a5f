//! Distinguished names: subjects of certificates, and their text as RFC 2253 writes it.

#[cfg(feature = "certificates")]
mod certificate;

use std::fmt;
use std::str::FromStr;

use crate::direction::changes_order;

/// A distinguished name: attributes with their values, such as `CN=ann,O=ZeroC`.
///
/// Rules compare names with [`DistinguishedName::has_all_of`], which ignores the order of attributes.
///
/// Source: RFC 2253.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistinguishedName {
    /// The most specific attribute comes first, as in RFC 2253.
    attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Attribute {
    /// The name of the attribute's type in capitals, or the numbers of its object identifier.
    kind: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    /// A value that is not a text, in DER.
    Der(Vec<u8>),
}

/// The largest length of a distinguished name or a `TrustOnly` as text, in bytes. A name in a certificate has some
/// hundred.
pub const DN_LEN_MAX: usize = 16 * 1024;

impl DistinguishedName {
    /// `None`: a build without the cargo feature `certificates` reads none.
    #[cfg(not(feature = "certificates"))]
    pub fn of_certificate(_der: &[u8]) -> Option<Self> {
        None
    }

    /// Returns true if each attribute of `other` is among those of this name, in any order.
    pub fn has_all_of(&self, other: &Self) -> bool {
        let has = |attribute| self.attributes.contains(attribute);
        other.attributes.iter().all(has)
    }

    /// Returns true if the name has no attributes.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }
}

impl FromStr for DistinguishedName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > DN_LEN_MAX {
            return Err(format!(
                "expected a name of at most {DN_LEN_MAX} bytes, got {}",
                text.len()
            ));
        }
        // Blanks at the end may belong to the last value.
        let mut rest = text.trim_start();
        let mut attributes = Vec::new();
        loop {
            let (attribute, after) = parse_attribute(rest)?;
            attributes.push(attribute);
            let after = after.trim_start();
            match after.chars().next() {
                None => return Ok(Self { attributes }),
                // A plus joins attributes of one level. Levels do not matter here.
                Some(',' | '+') => rest = after[1..].trim_start(),
                Some(other) => {
                    return Err(format!("expected a comma after a value, got {other:?}"));
                }
            }
        }
    }
}

/// An attribute at the beginning of a text, and what follows it.
fn parse_attribute(text: &str) -> Result<(Attribute, &str), String> {
    let (kind, value) = text
        .split_once('=')
        .ok_or_else(|| format!("expected an attribute, such as CN=ann, got {text:?}"))?;
    let kind = kind.trim();
    let is_word = |kind: &str| kind.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_of = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_numbers = kind
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if !(is_word(kind) && kind.chars().all(is_of) || is_numbers) {
        return Err(format!(
            "expected the type of an attribute, such as CN or 2.5.4.3, got {kind:?}"
        ));
    }
    let value = value.trim_start();
    let (value, rest) = match value.chars().next() {
        Some('"') => quoted(&value[1..])?,
        Some('#') => hexadecimal(&value[1..])?,
        _ => plain(value)?,
    };
    let kind = kind_of(kind);
    Ok((Attribute { kind, value }, rest))
}

/// A value in quotes, behind the first of them.
fn quoted(text: &str) -> Result<(Value, &str), String> {
    let mut value = Vec::new();
    let mut rest = text;
    loop {
        match rest.chars().next() {
            None => return Err("expected a closing quote".to_owned()),
            Some('"') => return Ok((Value::Text(utf8(value)?), &rest[1..])),
            Some('\\') => rest = escaped(&rest[1..], &mut value)?,
            Some(c) => rest = push(rest, c, &mut value),
        }
    }
}

/// A value without quotes. Blanks at its end belong to it if they are escaped.
fn plain(text: &str) -> Result<(Value, &str), String> {
    let mut value = Vec::new();
    let mut len = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            ',' | '+' => break,
            '\\' => {
                rest = escaped(&rest[1..], &mut value)?;
                len = value.len();
            }
            '"' | ';' | '<' | '>' => {
                return Err(format!("expected \\{c} for {c} in a value without quotes"));
            }
            c if c.is_whitespace() => rest = push(rest, c, &mut value),
            c => {
                rest = push(rest, c, &mut value);
                len = value.len();
            }
        }
    }
    value.truncate(len);
    Ok((Value::Text(utf8(value)?), rest))
}

/// Any value in DER, as hexadecimal digits.
fn hexadecimal(text: &str) -> Result<(Value, &str), String> {
    let len = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (digits, rest) = text.split_at(len);
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(|pair| hex(pair.first()?, pair.get(1)?)).collect();
    let bytes = bytes.filter(|bytes| !bytes.is_empty());
    let bytes =
        bytes.ok_or("expected pairs of hexadecimal digits after #, or \\# for the sign itself")?;
    Ok((Value::Der(bytes), rest))
}

/// Parses the text after a backslash: a special character, or a byte as two hexadecimal digits.
fn escaped<'a>(text: &'a str, value: &mut Vec<u8>) -> Result<&'a str, String> {
    let [first, second] = [0, 1].map(|at| text.as_bytes().get(at));
    if let (Some(first), Some(second)) = (first, second)
        && let Some(byte) = hex(first, second)
    {
        value.push(byte);
        return Ok(&text[2..]);
    }
    match text.chars().next() {
        Some(c @ (',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=' | '#' | ' ' | '!')) => {
            Ok(push(text, c, value))
        }
        _ => Err(
            "expected a special character or two hexadecimal digits after a backslash".to_owned(),
        ),
    }
}

fn push<'a>(text: &'a str, c: char, value: &mut Vec<u8>) -> &'a str {
    let (own, rest) = text.split_at(c.len_utf8());
    value.extend_from_slice(own.as_bytes());
    rest
}

fn utf8(value: Vec<u8>) -> Result<String, String> {
    String::from_utf8(value).map_err(|_| "expected UTF-8 in a value".to_owned())
}

fn hex(first: &u8, second: &u8) -> Option<u8> {
    let [high, low] = [first, second].map(|digit| char::from(*digit).to_digit(16));
    u8::try_from(high? * 16 + low?).ok()
}

/// The usual name of an attribute's type, which can be written in several ways.
fn kind_of(text: &str) -> String {
    let upper = text.to_ascii_uppercase();
    let plain = upper.strip_prefix("OID.").unwrap_or(&upper);
    let of = |(name, oid): &(&str, &str)| *name == plain || *oid == plain;
    let known = KINDS.iter().find(|kind| of(kind));
    known.map_or_else(|| plain.to_owned(), |(name, _)| alias(name).to_owned())
}

/// The usual name of a type that has several names.
fn alias(name: &str) -> &str {
    match name {
        "E" | "EMAIL" => "EMAILADDRESS",
        "S" => "ST",
        other => other,
    }
}

/// Names of types. Source: RFC 2253, 2.3; RFC 4519; RFC 2985 for the e-mail address.
const KINDS: [(&str, &str); 18] = [
    ("CN", "2.5.4.3"),
    ("SN", "2.5.4.4"),
    ("SERIALNUMBER", "2.5.4.5"),
    ("C", "2.5.4.6"),
    ("L", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("S", "2.5.4.8"),
    ("STREET", "2.5.4.9"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("TITLE", "2.5.4.12"),
    ("GN", "2.5.4.42"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("DNQUALIFIER", "2.5.4.46"),
    ("EMAILADDRESS", "1.2.840.113549.1.9.1"),
    ("EMAIL", "1.2.840.113549.1.9.1"),
    ("E", "1.2.840.113549.1.9.1"),
];

/// The name in the form of RFC 2253, in one line: control characters are escaped, and so are those that change the order
/// of a line.
impl fmt::Display for DistinguishedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attribute) in self.attributes.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}=", attribute.kind)?;
            match &attribute.value {
                Value::Text(text) => write_text(f, text)?,
                Value::Der(der) => {
                    f.write_str("#")?;
                    der.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                }
            }
        }
        Ok(())
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        match c {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' => write!(f, "\\{c}")?,
            '#' if at == 0 => f.write_str("\\#")?,
            ' ' if at == 0 || at == last => f.write_str("\\ ")?,
            c if c.is_control() || changes_order(c) => {
                let mut buffer = [0; 4];
                let mut bytes = c.encode_utf8(&mut buffer).bytes();
                bytes.try_for_each(|byte| write!(f, "\\{byte:02X}"))?;
            }
            c => write!(f, "{c}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dn(text: &str) -> DistinguishedName {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn quotes_and_escapes_write_the_same_value() {
        let plain = dn("O=Acme\\, Inc.,OU=Sales");
        assert_eq!(plain, dn("O=\"Acme, Inc.\",OU=Sales"));
        assert_eq!(plain, dn(" o = Acme\\2C Inc. , ou = \"Sales\" "));
        assert_eq!(plain, dn("2.5.4.10=Acme\\, Inc.,oid.2.5.4.11=Sales"));
        assert_eq!(plain.to_string(), "O=Acme\\, Inc.,OU=Sales");
    }

    #[test]
    fn blanks_around_a_value_count_only_if_they_are_escaped() {
        assert_eq!(dn("CN= a b  ,O=c"), dn("CN=a b,O=c"));
        assert_ne!(dn("CN=a\\ ,O=c"), dn("CN=a,O=c"));
        assert_eq!(dn("CN=a\\ ").to_string(), "CN=a\\ ");
        assert_eq!(dn("CN=a\u{202e}b").to_string(), "CN=a\\E2\\80\\AEb");
    }

    #[test]
    fn a_name_has_all_of_another_in_any_order_and_in_full() {
        let subject = dn("CN=ann,OU=Sales,OU=West,O=Acme,DC=example,DC=com");
        for some in ["O=Acme", "O=Acme,CN=ann", "OU=West,OU=Sales", "dc=com"] {
            assert!(subject.has_all_of(&dn(some)), "{some}");
        }
        for other in ["O=acme", "CN=an", "CN=ann,OU=East", "L=Acme"] {
            assert!(!subject.has_all_of(&dn(other)), "{other}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_what_was_expected() {
        for (text, expected) in [
            ("", "an attribute"),
            ("ann", "an attribute"),
            ("=ann", "the type"),
            ("C N=ann", "the type"),
            ("CN=\"ann", "closing quote"),
            ("CN=\"ann\"x", "a comma"),
            ("CN=a\\", "backslash"),
            ("CN=a\\q", "backslash"),
            ("CN=a,", "an attribute"),
            ("CN=a;O=b", "\\;"),
            ("CN=#1", "pairs"),
            ("CN=\\ff", "UTF-8"),
        ] {
            let error = text.parse::<DistinguishedName>().expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
        let long = format!("CN={}", "a".repeat(DN_LEN_MAX));
        assert!(long.parse::<DistinguishedName>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in "[ -~\\n\u{e9}]{0,12}", other in "[#,+\" \\\\;a]{1,6}") {
            let attribute = |kind: &str, value: String| Attribute { kind: kind.to_owned(), value: Value::Text(value) };
            let name = DistinguishedName { attributes: vec![attribute("CN", value), attribute("O", other)] };
            prop_assert_eq!(name.to_string().parse::<DistinguishedName>(), Ok(name));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = text.parse::<DistinguishedName>();
        }
    }
}
