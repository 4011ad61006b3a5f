//! Proxies and endpoints as messages show them: without the default timeout.

use std::fmt;

/// Shows the text of a proxy or an endpoint, or a longer text with some of them, without default timeouts.
///
/// An endpoint means the same without it. Ice prints it, and so does Floe where a program asks for the text.
#[derive(Debug, Clone, Copy)]
pub struct Readable<'a>(pub &'a str);

impl fmt::Display for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.split(DEFAULT_TIMEOUT);
        f.write_str(parts.next().unwrap_or_default())?;
        for part in parts {
            // Another timeout, which only begins like the default.
            if part.starts_with(|next: char| next.is_ascii_digit()) {
                f.write_str(DEFAULT_TIMEOUT)?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// The timeout of an endpoint whose text has none, in milliseconds.
const DEFAULT_TIMEOUT: &str = " -t 60000";

#[cfg(test)]
mod tests {
    use super::Readable;

    #[test]
    fn only_the_default_timeout_is_left_out() {
        for (text, shown) in [
            (
                "a -t:tcp -h b -p 1 -t 60000:ssl -h b -p 2 -t 60000 -z",
                "a -t:tcp -h b -p 1:ssl -h b -p 2 -z",
            ),
            ("tcp -p 1 -t 600000", "tcp -p 1 -t 600000"),
            ("tcp -p 1 -t 500", "tcp -p 1 -t 500"),
            ("", ""),
        ] {
            assert_eq!(Readable(text).to_string(), shown);
        }
    }
}
