//! Checks that contenders with the same encoding make the same bytes.

use crate::contender::Ready;
use crate::error::LabError;
use crate::sample::{Encoded, Sample};
use crate::scenario::group;

/// The first bytes of each case and encoding, with which those of other contenders are compared.
#[derive(Debug, Default)]
pub(crate) struct Encodings {
    first: Vec<(&'static str, String, &'static str, Encoded)>,
}

impl Encodings {
    /// Notes what was encoded, or compares it.
    ///
    /// # Errors
    /// [`LabError::Contender`] if the bytes are not those of the others with the same encoding.
    pub(crate) fn compare(
        &mut self,
        contender: &Ready,
        case: &str,
        sample: &Sample,
    ) -> Result<(), LabError> {
        let (Some(encoding), Some(encoded)) = (contender.encoding, &sample.encoded) else {
            return Ok(());
        };
        let of = group(case);
        let mut first = self.first.iter();
        match first.find(|(other, case, ..)| *other == encoding && case == of) {
            None => {
                let own = (encoding, of.to_owned(), contender.name, encoded.clone());
                self.first.push(own);
                Ok(())
            }
            Some((_, _, _, expected)) if expected == encoded => Ok(()),
            Some((_, _, name, expected)) => {
                let reason = format!(
                    "expected the {} bytes with digest {} that {name} encodes {of} to, got {} bytes \
                     with digest {}: the two disagree on the encoding {encoding}",
                    expected.len, expected.digest, encoded.len, encoded.digest
                );
                Err(LabError::contender(contender.name, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_differ_within_an_encoding_end_the_run() {
        let sample = |bytes: &[u8]| {
            let mut sample = Sample::new();
            sample.encoded = Some(Encoded::of(bytes));
            sample
        };
        let ready = |name, encoding| Ready::for_tests(name, encoding);
        let mut encodings = Encodings::default();
        let mut compare = |name, encoding, case, bytes: &[u8]| {
            encodings.compare(&ready(name, encoding), case, &sample(bytes))
        };
        compare("ice", Some("Ice 1.1"), "text/encode", b"abc").unwrap();
        compare("floe", Some("Ice 1.1"), "text/decode", b"abc").unwrap();
        compare("gsoap", None, "text/encode", b"<abc/>").unwrap();
        compare("floe", Some("Ice 1.1"), "nested/encode", b"xyz").unwrap();
        let error = compare("floe", Some("Ice 1.1"), "text/encode", b"abcd").unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("contender floe failed: expected the 3 bytes with digest ")
                && error.contains("that ice encodes text to, got 4 bytes"),
            "{error}"
        );
    }
}
