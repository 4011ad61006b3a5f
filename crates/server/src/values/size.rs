//! Sizes as people write them: bytes, kilobytes and megabytes of 1,024.

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(usize);

impl Size {
    /// So many bytes.
    pub const fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes != 0 && bytes % (1 << 20) == 0 => write!(f, "{} MB", bytes >> 20),
            bytes if bytes != 0 && bytes % (1 << 10) == 0 => write!(f, "{} kB", bytes >> 10),
            bytes => write!(f, "{bytes} B"),
        }
    }
}

/// Reads the size of a message: a number and `B`, `k`, `M` or `G`, also as `kB`, `KiB` and so on; bytes
/// without one.
pub fn parse(text: &str) -> Result<Size, String> {
    let size = parse_any(text)?;
    match size.0 <= MAX {
        true => Ok(size),
        false => Err(format!(
            "expected a size below 2G, for no message is longer, got `{text}`"
        )),
    }
}

/// The same, where nothing is no limit.
pub fn parse_limit(text: &str) -> Result<Size, String> {
    parse(text).and_then(|size| not_nothing(size, text))
}

/// Reads an amount of memory, which may be more than a message can be, and is not nothing.
pub fn parse_memory(text: &str) -> Result<Size, String> {
    parse_any(text).and_then(|size| not_nothing(size, text))
}

fn not_nothing(size: Size, text: &str) -> Result<Size, String> {
    match size.0 {
        0 => Err(format!("expected a size of at least 1 byte, got `{text}`")),
        _ => Ok(size),
    }
}

fn parse_any(text: &str) -> Result<Size, String> {
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at(digits);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        _ => None,
    };
    let is_number = !number.is_empty();
    let shift = shift.filter(|_| is_number).ok_or_else(|| {
        format!(
            "expected a size such as 16, 64k or 8M, got `{text}`; write a whole number, and B, k, M or G \
             behind it"
        )
    })?;
    let bytes = number.parse::<usize>().ok();
    let bytes = bytes.and_then(|number| number.checked_mul(1 << shift));
    bytes
        .map(Size)
        .ok_or_else(|| format!("expected a smaller size, got `{text}`"))
}

/// The longest that a message can be.
const MAX: usize = i32::MAX as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("16", 16),
            ("16B", 16),
            ("64k", 65_536),
            ("64 kB", 65_536),
            ("1KiB", 1_024),
            ("8M", 8_388_608),
            ("8MiB", 8_388_608),
            ("1G", 1_073_741_824),
        ] {
            assert_eq!(parse(text), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "k", "-1", "1.5k", "1T", "8 MX"] {
            let error = parse(text).unwrap_err();
            let expected = format!("expected a size such as 16, 64k or 8M, got `{text}`; ");
            assert!(error.starts_with(&expected), "{error}");
        }
        for text in ["2048M", "2G", "99999999999999999999", "99999999999G"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_limit_is_not_nothing_and_memory_may_be_more_than_a_message() {
        assert_eq!(parse("0"), Ok(Size(0)));
        let nothing = "expected a size of at least 1 byte, got `0k`".to_owned();
        assert_eq!(parse_limit("0k"), Err(nothing.clone()));
        assert_eq!(parse_memory("0k"), Err(nothing));
        assert_eq!(parse_memory("4G"), Ok(Size(1 << 32)));
        assert!(parse_limit("4G").is_err());
    }

    #[test]
    fn a_size_is_written_in_the_largest_unit_that_fits() {
        for (bytes, text) in [(0, "0 B"), (24, "24 B"), (1_024, "1 kB"), (1 << 23, "8 MB")] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
