//! Prints proxies as text.

use std::fmt::{self, Display, Formatter, Write};

use super::endpoint::write_endpoint;
use super::escape::escape;
use super::{InvocationMode, Reference, Target, ToStringMode};
use crate::encoding::{EncodingVersion, ProtocolVersion};

/// The release whose style to follow. Both releases can parse either style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Style {
    /// Mode, encoding and timeouts are always written.
    #[default]
    V37,
    /// Default values are left out, and so is `-s`.
    V38,
}

impl Reference {
    /// The text of the reference.
    pub fn to_text(&self, style: Style) -> String {
        self.to_text_with(style, ToStringMode::Unicode)
    }

    /// The text of the reference. `mode` says how characters outside printable ASCII are written.
    pub fn to_text_with(&self, style: Style, mode: ToStringMode) -> String {
        let mut text = String::new();
        write_reference(self, style, mode, &mut text)
            .expect("a string takes all that is written to it");
        text
    }
}

/// As Ice 3.7 prints it.
impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_reference(self, Style::V37, ToStringMode::Unicode, f)
    }
}

fn write_reference(
    reference: &Reference,
    style: Style,
    mode: ToStringMode,
    out: &mut dyn Write,
) -> fmt::Result {
    out.write_str(&quoted(reference.identity.to_text(mode)))?;
    if !reference.facet.is_empty() {
        write!(out, " -f {}", quoted_facet(&reference.facet, mode))?;
    }
    if style == Style::V37 || reference.mode != InvocationMode::Twoway {
        write!(out, " -{}", reference.mode.letter())?;
    }
    if style == Style::V37 && reference.secure {
        out.write_str(" -s")?;
    }
    if reference.protocol != ProtocolVersion::V1_0 {
        write!(out, " -p {}", reference.protocol)?;
    }
    if style == Style::V37 || reference.encoding != EncodingVersion::V1_1 {
        write!(out, " -e {}", reference.encoding)?;
    }
    write_target(&reference.target, style, mode, out)
}

fn write_target(
    target: &Target,
    style: Style,
    mode: ToStringMode,
    out: &mut dyn Write,
) -> fmt::Result {
    match target {
        Target::Direct(endpoints) => endpoints.iter().try_for_each(|endpoint| {
            out.write_char(':')?;
            write_endpoint(endpoint, style, out)
        }),
        Target::Indirect { adapter_id } => {
            write!(out, " @ {}", quoted(escaped(adapter_id, mode)))
        }
        Target::WellKnown => Ok(()),
    }
}

fn quoted_facet(facet: &str, mode: ToStringMode) -> String {
    match facet.starts_with('-') {
        true => format!("\"{}\"", escaped(facet, mode)),
        false => quoted(escaped(facet, mode)),
    }
}

fn escaped(text: &str, mode: ToStringMode) -> String {
    let mut escaped = String::with_capacity(text.len());
    escape(text, "", mode, &mut escaped);
    escaped
}

/// Quotes an escaped text that would otherwise not be read as one word.
fn quoted(escaped: String) -> String {
    match escaped.is_empty() || escaped.contains([' ', ':', '@']) {
        true => format!("\"{escaped}\""),
        false => escaped,
    }
}
