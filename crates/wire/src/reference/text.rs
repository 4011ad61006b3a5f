//! Parses proxies from text.
//!
//! ```text
//! proxy  = identity option* [ (":" endpoint)+ | "@" adapter-id ]
//! option = "-f" facet | "-t" | "-o" | "-O" | "-d" | "-D" | "-s" | "-e" version | "-p" version
//! ```
//!
//! Source: Ice manual, "Syntax for Stringified Proxies"; observed, proxies given to Ice 3.7.8.

use std::str::FromStr;

use super::endpoint::{EndpointRole, parse_list};
use super::escape::unescape;
use super::scanner::{Scanner, Word, parse_version};
use super::{
    Endpoint, Identity, InvocationMode, ParseReferenceError, Protocol, Reference, Target, Timeout,
};
use crate::encoding::{EncodingVersion, ProtocolVersion};

/// Defaults for options that a text leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDefaults {
    /// The protocol that `default` means: tcp.
    pub protocol: Protocol,
    /// The host of an endpoint without `-h`; empty by default.
    #[doc(alias = "Ice.Default.Host")]
    pub host: String,
    /// Timeout of an endpoint without `-t`: 60,000 ms.
    pub timeout: Timeout,
    /// Encoding of a proxy without `-e`: 1.1.
    pub encoding: EncodingVersion,
}

impl Default for ParseDefaults {
    fn default() -> Self {
        Self {
            protocol: Protocol::Tcp,
            host: String::new(),
            timeout: Timeout::default(),
            encoding: EncodingVersion::V1_1,
        }
    }
}

/// The result of parsing a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedReference {
    /// The reference; `None` for nil.
    pub reference: Option<Reference>,
    /// Endpoints of unknown protocols, as they were written. They are left out.
    pub skipped_endpoints: Vec<String>,
}

impl Reference {
    /// Parses a stringified proxy; `None` is nil. Endpoints of unknown protocols are left out if there is at least one
    /// of a known protocol.
    ///
    /// # Errors
    /// [`ParseReferenceError`] with the position in the text.
    pub fn parse(text: &str) -> Result<Option<Self>, ParseReferenceError> {
        Self::parse_with(text, &ParseDefaults::default()).map(|parsed| parsed.reference)
    }

    /// Like [`Reference::parse`], with other defaults. The result lists the endpoints that were left out.
    ///
    /// # Errors
    /// As [`Reference::parse`].
    pub fn parse_with(
        text: &str,
        defaults: &ParseDefaults,
    ) -> Result<ParsedReference, ParseReferenceError> {
        let mut scanner = Scanner::new(text);
        let Some(identity) = parse_identity(&mut scanner)? else {
            return Ok(ParsedReference {
                reference: None,
                skipped_endpoints: Vec::new(),
            });
        };
        let mut reference = Self::new(identity, Target::WellKnown);
        reference.encoding = defaults.encoding;
        while let Some(option) = next_option(&mut scanner)? {
            apply_option(&mut reference, option, &mut scanner)?;
        }
        let (target, skipped_endpoints) = parse_target(&mut scanner, defaults)?;
        reference.target = target;
        Ok(ParsedReference {
            reference: Some(reference),
            skipped_endpoints,
        })
    }
}

/// Parses anything but nil.
impl FromStr for Reference {
    type Err = ParseReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)?
            .ok_or_else(|| ParseReferenceError::new(0, "a proxy that is not nil", text))
    }
}

/// Parses the endpoints of an adapter, separated by `:`. A blank text is an empty list, and `*` as a host means all
/// interfaces. An unknown protocol or an address to connect from is an error.
///
/// # Errors
/// [`ParseReferenceError`] with the position in the text.
pub fn parse_endpoints(text: &str) -> Result<Vec<Endpoint>, ParseReferenceError> {
    parse_endpoints_for(EndpointRole::Adapter, text)
}

/// Parses published endpoints, which may also have an address to connect from.
///
/// # Errors
/// As [`parse_endpoints`].
pub fn parse_published_endpoints(text: &str) -> Result<Vec<Endpoint>, ParseReferenceError> {
    parse_endpoints_for(EndpointRole::Any, text)
}

fn parse_endpoints_for(
    role: EndpointRole,
    text: &str,
) -> Result<Vec<Endpoint>, ParseReferenceError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let (endpoints, _) = parse_list(text, 0, role, &ParseDefaults::default())?;
    Ok(endpoints)
}

/// Parses the identity. Returns `None` if the whole text is nil.
fn parse_identity(scanner: &mut Scanner<'_>) -> Result<Option<Identity>, ParseReferenceError> {
    scanner.skip_blanks();
    if scanner.rest().is_empty() {
        return Ok(None);
    }
    let word = scanner.word()?;
    if word.raw.is_empty() && !word.quoted {
        return Err(
            ParseReferenceError::new(word.offset, "an identity", scanner.rest())
                .help("quote an identity that contains a blank, `:` or `@`"),
        );
    }
    let identity = Identity::parse_at(word.raw, word.offset)?;
    if identity.is_empty() {
        scanner.finish("nothing after the empty identity of a nil proxy")?;
        return Ok(None);
    }
    Ok(Some(identity))
}

fn next_option<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Word<'a>>, ParseReferenceError> {
    scanner.skip_blanks();
    if scanner.rest().is_empty() || scanner.rest().starts_with([':', '@']) {
        return Ok(None);
    }
    let option = scanner.bare_word();
    if !option.raw.starts_with('-') {
        return Err(option
            .error("an option, `:` and endpoints, or `@` and an adapter id")
            .help("quote an identity or facet that contains a blank"));
    }
    Ok(Some(option))
}

fn apply_option(
    reference: &mut Reference,
    option: Word<'_>,
    scanner: &mut Scanner<'_>,
) -> Result<(), ParseReferenceError> {
    const KNOWN: &str = "one of the options -f, -t, -o, -O, -d, -D, -s, -e and -p";
    let mut chars = option.raw.chars().skip(1);
    let (Some(letter), None) = (chars.next(), chars.next()) else {
        return Err(option.error(KNOWN).help("an option is a single letter"));
    };
    match letter {
        'f' => {
            let facet = argument(option, scanner)?;
            reference.facet = unescape(facet.raw, "", facet.offset)?;
        }
        'e' => {
            let (major, minor) = version_argument(option, scanner)?;
            reference.encoding = EncodingVersion::new(major, minor);
        }
        'p' => {
            let (major, minor) = version_argument(option, scanner)?;
            reference.protocol = ProtocolVersion::new(major, minor);
        }
        's' => reference.secure = true,
        _ => {
            let mode = InvocationMode::from_letter(letter);
            reference.mode = mode.ok_or_else(|| option.error(KNOWN))?;
        }
    }
    Ok(())
}

fn version_argument(
    option: Word<'_>,
    scanner: &mut Scanner<'_>,
) -> Result<(u8, u8), ParseReferenceError> {
    let version = argument(option, scanner)?;
    parse_version(version.raw, version.offset)
}

fn argument<'a>(
    option: Word<'_>,
    scanner: &mut Scanner<'a>,
) -> Result<Word<'a>, ParseReferenceError> {
    scanner.skip_blanks();
    if scanner.at_argument() {
        let argument = scanner.word()?;
        if !argument.raw.is_empty() {
            return Ok(argument);
        }
    }
    let expected = format!("an argument of {}", option.raw);
    Err(ParseReferenceError::new(
        scanner.position(),
        expected,
        scanner.rest(),
    ))
}

fn parse_target(
    scanner: &mut Scanner<'_>,
    defaults: &ParseDefaults,
) -> Result<(Target, Vec<String>), ParseReferenceError> {
    if scanner.skip(':') {
        let (endpoints, skipped) = parse_list(
            scanner.rest(),
            scanner.position(),
            EndpointRole::Proxy,
            defaults,
        )?;
        return Ok((Target::Direct(endpoints), skipped));
    }
    if scanner.skip('@') {
        return parse_adapter_id(scanner).map(|target| (target, Vec::new()));
    }
    Ok((Target::WellKnown, Vec::new()))
}

fn parse_adapter_id(scanner: &mut Scanner<'_>) -> Result<Target, ParseReferenceError> {
    scanner.skip_blanks();
    let word = match scanner.rest() {
        "" => None,
        rest if rest.starts_with(['"', '\'']) => Some(scanner.word()?),
        _ => Some(scanner.blank_ended_word()),
    };
    let Some(word) = word.filter(|word| !word.raw.is_empty()) else {
        return Err(ParseReferenceError::new(
            scanner.position(),
            "an adapter id after `@`",
            "",
        ));
    };
    scanner.finish("nothing after the adapter id")?;
    let adapter_id = unescape(word.raw, "", word.offset)?;
    Ok(Target::Indirect { adapter_id })
}
