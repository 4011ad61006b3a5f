//! One name in another world: its escape, and the way back.
//!
//! A character that the world does not allow at its place becomes `_xHHHH_`, where `HHHH` is its code in four to six
//! hexadecimal digits. A name that the world cannot tell from an earlier one of its scope gets an underscore behind
//! it, or as many as that takes. A name of Slice never ends in an underscore, so both can be undone without the scope.

/// A world with rules of its own for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// DDS and CORBA: letters, digits and underscores, a letter first, and capitals make no difference.
    ///
    /// A name that cannot begin with a letter has an `x` in front. Keywords are no matter of the name: the text of
    /// IDL writes them as `_case`, which means `case`.
    ///
    /// Source: OMG IDL 4.2, 7.2.3 "Identifiers"; CORBA 2.6, 3.2.3.
    Idl,
    /// SOAP: what stands in front of the first colon of no XML name. Names that begin with `xml` are reserved.
    ///
    /// Source: Namespaces in XML 1.0, "NCName"; XML 1.0, 2.3 "Common Syntactic Constructs".
    Xml,
}

impl World {
    /// The name as the world spells it where no other name is in the way. An empty name stays empty.
    pub fn escaped(self, name: &str) -> String {
        let characters: Vec<char> = name.chars().collect();
        let is_escaped = |index: usize| self.is_escaped(&characters, index);
        // Without this, a name like `x y` could not be told from one that got its `x` here.
        let begins_like_ours = self == Self::Idl
            && matches!(characters.first(), Some('x' | 'X'))
            && characters.len() > 1
            && is_escaped(1);
        let mut escaped = String::with_capacity(name.len());
        for (index, character) in characters.iter().enumerate() {
            if is_escaped(index) || (index == 0 && begins_like_ours) {
                escaped.push_str(&format!("_x{:04X}_", u32::from(*character)));
            } else {
                escaped.push(*character);
            }
        }
        match self == Self::Idl && escaped.starts_with('_') {
            true => format!("x{escaped}"),
            false => escaped,
        }
    }

    fn is_escaped(self, characters: &[char], index: usize) -> bool {
        let rest = &characters[index..];
        match characters[index] {
            '_' => rest.len() == 1 || looks_like_an_escape(rest) || index == 0 && self == Self::Idl,
            '0'..='9' => index == 0,
            'x' | 'X' if index == 0 && self == Self::Xml => {
                let start: String = rest.iter().take(3).collect();
                start.eq_ignore_ascii_case("xml")
            }
            other => !other.is_ascii_alphabetic(),
        }
    }

    /// The form in which names that the world cannot tell apart are equal.
    pub fn folded(self, name: &str) -> String {
        match self {
            Self::Idl => name.to_ascii_lowercase(),
            Self::Xml => name.to_owned(),
        }
    }
}

/// Returns the name that a spelling stands for; the inverse of [`World::escaped`] and [`NameScope::add`].
///
/// ```
/// use floe_codegen::foreign::{NameScope, World, original};
///
/// let mut tick = NameScope::new(World::Idl);
/// assert_eq!(tick.add("Side"), "Side");
/// assert_eq!(tick.add("side"), "side_");
/// assert_eq!(original(World::Idl, "side_"), "side");
/// assert_eq!(original(World::Idl, "last_x0020_price"), "last price");
/// ```
pub fn original(world: World, spelled: &str) -> String {
    let without_x = spelled.strip_prefix(['x', 'X']);
    let ours = without_x.filter(|rest| world == World::Idl && escape(rest).is_some());
    let mut rest = ours.unwrap_or(spelled);
    let mut name = String::with_capacity(rest.len());
    // Underscores that no escape ends with, and nothing follows yet.
    let mut marks = 0;
    while let Some(next) = rest.chars().next() {
        if let Some((character, behind)) = escape(rest) {
            name.extend(std::iter::repeat_n('_', marks));
            name.push(character);
            (marks, rest) = (0, behind);
        } else {
            rest = &rest[next.len_utf8()..];
            if next == '_' {
                marks += 1;
            } else {
                name.extend(std::iter::repeat_n('_', marks));
                name.push(next);
                marks = 0;
            }
        }
    }
    name
}

/// Takes an escape off the front of a text.
fn escape(text: &str) -> Option<(char, &str)> {
    let (digits, behind) = text.strip_prefix("_x")?.split_once('_')?;
    let is_code = DIGITS.contains(&digits.len())
        && digits
            .bytes()
            .all(|it| it.is_ascii_digit() || (b'A'..=b'F').contains(&it));
    let code = is_code.then(|| u32::from_str_radix(digits, 16).ok())??;
    Some((char::from_u32(code)?, behind))
}

/// Returns true for an underscore that could be read as the beginning of an escape, in any capitals.
fn looks_like_an_escape(rest: &[char]) -> bool {
    let digits = rest.iter().skip(2);
    let digits = digits.take_while(|it| it.is_ascii_hexdigit()).count();
    matches!(rest.get(1), Some('x' | 'X')) && digits >= *DIGITS.start()
}

/// Hexadecimal digits of an escape: a character has a code of at most `10FFFF`.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=6;

/// The names of one scope of another world. The first of several that the world cannot tell apart stays as it is.
#[derive(Debug, Clone)]
pub struct NameScope {
    world: World,
    taken: std::collections::HashSet<String>,
}

impl NameScope {
    /// A scope without names.
    pub fn new(world: World) -> Self {
        Self {
            world,
            taken: std::collections::HashSet::new(),
        }
    }

    /// A scope in which the name of the thing that it belongs to cannot be used: `struct Tick { Tick tick; }`.
    /// `owner` is spelled already. In XML a type has no name in its own scope.
    pub fn within(world: World, owner: &str) -> Self {
        let mut scope = Self::new(world);
        if world == World::Idl {
            scope.taken.insert(world.folded(owner));
        }
        scope
    }

    /// Spells a name, and takes the spelling.
    pub fn add(&mut self, name: &str) -> String {
        let mut spelled = self.world.escaped(name);
        while !self.taken.insert(self.world.folded(&spelled)) {
            spelled.push('_');
        }
        spelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in [
            "Tick",
            "lastPrice",
            "pos_x",
            "max_value",
            "x",
            "x1",
            "case",
            "a_xff",
        ] {
            for world in [World::Idl, World::Xml] {
                assert_eq!(world.escaped(name), name);
                assert_eq!(original(world, name), name);
            }
        }
    }

    #[test]
    fn hostile_names_have_these_spellings() {
        let cases = [
            ("a b", "a_x0020_b", "a_x0020_b"),
            ("1st", "x_x0031_st", "_x0031_st"),
            ("x y", "x_x0078__x0020_y", "x_x0020_y"),
            ("a_", "a_x005F_", "a_x005F_"),
            ("_a", "x_x005F_a", "_a"),
            ("a_x0041_b", "a_x005F_x0041_b", "a_x005F_x0041_b"),
            ("a_x0041 ", "a_x005F_x0041_x0020_", "a_x005F_x0041_x0020_"),
            ("a_X0041_b", "a_x005F_X0041_b", "a_x005F_X0041_b"),
            ("xmlData", "xmlData", "_x0078_mlData"),
            ("XMLData", "XMLData", "_x0058_MLData"),
            ("\u{1f980}", "x_x1F980_", "_x1F980_"),
            ("a/b.c", "a_x002F_b_x002E_c", "a_x002F_b_x002E_c"),
        ];
        for (name, idl, xml) in cases {
            assert_eq!(World::Idl.escaped(name), idl, "{name}");
            assert_eq!(World::Xml.escaped(name), xml, "{name}");
            assert_eq!(original(World::Idl, idl), name);
            assert_eq!(original(World::Xml, xml), name);
        }
    }

    #[test]
    fn names_that_differ_in_capitals_are_parted_where_capitals_mean_nothing() {
        let mut idl = NameScope::within(World::Idl, "Side");
        assert_eq!(idl.add("side"), "side_");
        assert_eq!(idl.add("SIDE"), "SIDE__");
        let mut xml = NameScope::within(World::Xml, "Side");
        assert_eq!(xml.add("Side"), "Side");
        assert_eq!(xml.add("side"), "side");
        assert_eq!(xml.add("side"), "side_");
    }
}
