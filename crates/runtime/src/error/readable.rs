//! Proxies and endpoints in messages, without what every one of them says.

use std::fmt;

/// Shows a proxy or an endpoint without the timeout that is the default: people have not asked for it. Programs get
/// proxies as Ice writes them, with the timeout.
pub(crate) struct Readable<'a>(pub(crate) &'a str);

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
