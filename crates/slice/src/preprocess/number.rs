//! The numbers of conditions: how they are written, and how they are computed with.

/// An integer of 64 bits, as all are in a condition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) bits: i64,
    /// True if it is the number of the same bits without a sign. What is computed of it is unsigned too.
    pub(super) is_unsigned: bool,
}

impl Number {
    pub(super) fn is_true(self) -> bool {
        self.bits != 0
    }

    pub(super) fn map(self, change: impl Fn(i64) -> i64) -> Self {
        Self {
            bits: change(self.bits),
            ..self
        }
    }
}

impl From<bool> for Number {
    fn from(truth: bool) -> Self {
        Self {
            bits: truth.into(),
            is_unsigned: false,
        }
    }
}

/// The result, wrapped as C does in practice; `None` for a division by zero.
pub(super) fn apply(operator: &str, left: Number, right: Number) -> Option<Number> {
    let is_unsigned = left.is_unsigned || right.is_unsigned;
    let (l, r) = (left.bits, right.bits);
    let order = match is_unsigned {
        true => (l as u64).cmp(&(r as u64)),
        false => l.cmp(&r),
    };
    let bits = match operator {
        "||" => return Some(Number::from(left.is_true() || right.is_true())),
        "&&" => return Some(Number::from(left.is_true() && right.is_true())),
        "==" => return Some(Number::from(order.is_eq())),
        "!=" => return Some(Number::from(order.is_ne())),
        "<=" => return Some(Number::from(order.is_le())),
        ">=" => return Some(Number::from(order.is_ge())),
        "<" => return Some(Number::from(order.is_lt())),
        ">" => return Some(Number::from(order.is_gt())),
        // The left side alone decides about the sign. Observed: slice2cpp of Ice 3.7.8 shifts by the
        // lowest six bits of a count, as processors do.
        "<<" => return Some(left.map(|bits| bits.wrapping_shl(r as u32))),
        ">>" if left.is_unsigned => {
            return Some(left.map(|bits| (bits as u64).wrapping_shr(r as u32) as i64));
        }
        ">>" => return Some(left.map(|bits| bits.wrapping_shr(r as u32))),
        "|" => l | r,
        "^" => l ^ r,
        "&" => l & r,
        "+" => l.wrapping_add(r),
        "-" => l.wrapping_sub(r),
        "*" => l.wrapping_mul(r),
        _ if r == 0 => return None,
        "/" if is_unsigned => (l as u64 / r as u64) as i64,
        "/" => l.wrapping_div(r),
        _ if is_unsigned => (l as u64 % r as u64) as i64,
        _ => l.wrapping_rem(r),
    };
    Some(Number { bits, is_unsigned })
}

/// An integer as C writes it. It is unsigned if its suffix says so, or if it does not fit otherwise.
pub(super) fn integer(text: &str) -> Option<Number> {
    let digits = text.trim_end_matches(['l', 'L', 'u', 'U']);
    let suffix = text[digits.len()..].to_ascii_lowercase();
    if !SUFFIXES.contains(&suffix.as_str()) {
        return None;
    }
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let value = u64::from_str_radix(digits, radix).ok()?;
    Some(Number {
        bits: value as i64,
        is_unsigned: suffix.contains('u') || i64::try_from(value).is_err(),
    })
}

const SUFFIXES: &[&str] = &["", "u", "l", "ul", "lu", "ll", "ull", "llu"];

/// Returns the number that a character constant stands for: its bytes, the first one highest. Observed: slice2cpp of
/// Ice 3.7.8 takes one to eight of them, each from 0 to 255.
pub(super) fn character(text: &str) -> Option<Number> {
    let mut rest = text.as_bytes();
    let mut bits: i64 = 0;
    let mut count = 0;
    while !rest.is_empty() {
        let (byte, len) = match rest {
            [b'\\', escape @ ..] => {
                let (byte, len) = escaped(escape)?;
                (byte, len + 1)
            }
            _ => (rest[0], 1),
        };
        bits = bits << 8 | i64::from(byte);
        count += 1;
        rest = &rest[len..];
    }
    (1..=8).contains(&count).then_some(Number {
        bits,
        is_unsigned: false,
    })
}

/// The byte that stands behind a backslash, and how long its escape is.
fn escaped(text: &[u8]) -> Option<(u8, usize)> {
    let digits = |text: &[u8], most: usize, radix: u32| {
        let digits = text.iter().take(most);
        digits
            .take_while(|digit| char::from(**digit).is_digit(radix))
            .count()
    };
    let byte = match text.first()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        byte @ (b'\\' | b'\'' | b'"' | b'?') => *byte,
        b'x' => {
            let len = 1 + digits(&text[1..], usize::MAX, 16);
            let number = str::from_utf8(&text[1..len]).ok()?;
            return Some((u8::from_str_radix(number, 16).ok()?, len));
        }
        b'0'..=b'7' => {
            let len = digits(text, 3, 8);
            let number = str::from_utf8(&text[..len]).ok()?;
            return Some((u8::from_str_radix(number, 8).ok()?, len));
        }
        _ => return None,
    };
    Some((byte, 1))
}
