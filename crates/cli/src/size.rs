//! Sizes as people write them: bytes, kilobytes and megabytes of 1,024.

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(usize);

impl Size {
    /// So many bytes.
    pub(crate) const fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub(crate) const fn bytes(self) -> usize {
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

/// Reads a number and `B`, `k` or `M`, also as `kB`, `KiB`, `MB` and `MiB`; bytes without one.
pub(crate) fn parse(text: &str) -> Result<Size, String> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        _ => {
            return Err(format!(
                "expected a size such as 16, 64k or 8M, got `{text}`"
            ));
        }
    };
    let number: usize = number
        .parse()
        .map_err(|_| format!("expected a size such as 16, 64k or 8M, got `{text}`"))?;
    let bytes = number.checked_mul(1 << shift).filter(|it| *it <= MAX);
    bytes
        .map(Size)
        .ok_or_else(|| format!("expected a size below 2 GB, got `{text}`"))
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
        ] {
            assert_eq!(parse(text), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "k", "-1", "1.5k", "1G", "2048M", "99999999999999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_written_in_the_largest_unit_that_fits() {
        for (bytes, text) in [(0, "0 B"), (24, "24 B"), (1_024, "1 kB"), (1 << 23, "8 MB")] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
