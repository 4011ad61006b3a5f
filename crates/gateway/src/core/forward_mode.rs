//! How a request asks to be forwarded: the letters of `_fwd` in its context.

use floe::InvocationMode;

/// How a request is forwarded.
///
/// Source: Ice manual, "How Glacier2 uses Request Contexts".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ForwardMode {
    /// Determines if there is a reply, and if the request is sent in a batch.
    pub(crate) mode: InvocationMode,
    /// True if only encrypted endpoints may be used.
    pub(crate) is_secure: bool,
    /// True if the request is compressed when the connection allows it.
    pub(crate) is_compressed: bool,
}

impl ForwardMode {
    /// The key of the context entry whose value holds the letters.
    pub(crate) const KEY: &'static str = "_fwd";

    /// The mode of a request without letters.
    pub(crate) fn of(is_oneway: bool) -> Self {
        Self {
            mode: match is_oneway {
                true => InvocationMode::Oneway,
                false => InvocationMode::Twoway,
            },
            is_secure: false,
            is_compressed: false,
        }
    }

    /// Applies the letters in their order. Returns the new mode, and the first few letters that have no meaning. Without
    /// `has_batches`, `O` and `D` mean the same as `o` and `d`.
    pub(crate) fn apply(mut self, letters: &str, has_batches: bool) -> (Self, String) {
        let mut unknown = String::new();
        for letter in letters.chars() {
            match letter {
                't' => self.mode = InvocationMode::Twoway,
                'o' => self.mode = InvocationMode::Oneway,
                'd' => self.mode = InvocationMode::Datagram,
                'O' if has_batches => self.mode = InvocationMode::BatchOneway,
                'D' if has_batches => self.mode = InvocationMode::BatchDatagram,
                'O' => self.mode = InvocationMode::Oneway,
                'D' => self.mode = InvocationMode::Datagram,
                's' => self.is_secure = true,
                'z' => self.is_compressed = true,
                // A client may send a million of them, and they are logged.
                other if unknown.len() < UNKNOWN_LEN_MAX => unknown.push(other),
                _ => {}
            }
        }
        (self, unknown)
    }

    /// The mode if oneway requests and datagrams are always sent in batches.
    pub(crate) fn batched(mut self) -> Self {
        self.mode = match self.mode {
            InvocationMode::Oneway => InvocationMode::BatchOneway,
            InvocationMode::Datagram => InvocationMode::BatchDatagram,
            other => other,
        };
        self
    }
}

/// About how many bytes of letters without a meaning are returned.
const UNKNOWN_LEN_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_million_unknown_letters_a_few_are_named() {
        let (mode, unknown) = applied(&("#".repeat(1_000_000) + "o"), true);
        assert_eq!((mode.mode, unknown.len()), (InvocationMode::Oneway, 16));
    }

    fn applied(letters: &str, has_batches: bool) -> (ForwardMode, String) {
        ForwardMode::of(false).apply(letters, has_batches)
    }

    #[test]
    fn letters_apply_one_after_another_and_unknown_ones_are_named() {
        let (mode, unknown) = applied("osz", true);
        assert_eq!(mode.mode, InvocationMode::Oneway);
        assert!(mode.is_secure && mode.is_compressed);
        assert_eq!(unknown, "");
        assert_eq!(applied("ot", true).0, ForwardMode::of(false));
        assert_eq!(applied("oxy", true).1, "xy");
    }

    #[test]
    fn a_batch_is_one_only_where_there_are_batches() {
        assert_eq!(applied("O", true).0.mode, InvocationMode::BatchOneway);
        assert_eq!(applied("O", false).0.mode, InvocationMode::Oneway);
        assert_eq!(applied("D", true).0.mode, InvocationMode::BatchDatagram);
        assert_eq!(applied("D", false).0.mode, InvocationMode::Datagram);
        let always = |mode: ForwardMode| mode.batched().mode;
        assert_eq!(always(ForwardMode::of(true)), InvocationMode::BatchOneway);
        assert_eq!(always(ForwardMode::of(false)), InvocationMode::Twoway);
    }
}
