//! The users' file: each line has a name and a hashed password.

use std::collections::HashMap;
use std::fmt;

use crate::caller::check_name;
use crate::decoys::Decoys;
use crate::password::PasswordHash;
use crate::problem::{Problem, Problems};

/// The users of a users' file, by name.
///
/// ```text
/// # name and hash, with a blank between
/// ann $argon2id$v=19$m=19456,t=2,p=1$...
/// bob $6$...
/// ```
///
/// A line that cannot be used keeps only its own user out: it is among the [`problems`](Users::problems).
///
/// Glacier2's file of passwords has the same form.
///
/// Source: Ice manual, "Glacier2 Password File".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users {
    by_name: HashMap<String, PasswordHash>,
    decoys: Decoys,
    problems: Vec<Problem>,
}

/// The largest size of a users' file, in bytes.
pub const USERS_FILE_MAX: usize = 16 * 1024 * 1024;
/// The largest number of users. A larger organization has a directory service, and tokens.
pub const USERS_MAX: usize = 100_000;
/// The largest number of problems that are reported for one text. The first ones show what is wrong with the rest.
const PROBLEMS_MAX: usize = 20;

/// Some editors begin a text with it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Users {
    /// Reads a users' file. Skips empty lines and lines that begin with `#`, and leaves out lines that are wrong.
    ///
    /// # Errors
    /// The file is too long, or all of its lines are wrong. The hashes are left out.
    pub fn parse(file: &[u8]) -> Result<Self, Problems> {
        if file.len() > USERS_FILE_MAX {
            let len = file.len();
            return Err(Problem::new(
                0,
                format_args!("expected at most {USERS_FILE_MAX} bytes, got {len}"),
            )
            .into());
        }
        let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
        let mut users = Self::default();
        for (at, line) in file.split(|byte| *byte == b'\n').enumerate() {
            let text = std::str::from_utf8(line).map_err(|_| "expected UTF-8".to_owned());
            let added = text.and_then(|text| users.add(text.trim()));
            if let Err(message) = added
                && users.problems.len() < PROBLEMS_MAX
            {
                users.problems.push(Problem::new(at + 1, message));
            }
        }
        // A file of which nothing can be used is another file.
        match users.is_empty() && !users.problems.is_empty() {
            true => Err(Problems(users.problems)),
            false => Ok(users),
        }
    }

    /// The first lines that were left out because they are wrong, up to 20 of them. The hashes are left out.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(hash), None) = (words.next(), words.next(), words.next()) else {
            return Err("expected a name and a hash with a blank between".to_owned());
        };
        check_name(name)?;
        let hash: PasswordHash = hash.parse().map_err(|error| of_user(name, error))?;
        if self.by_name.len() == USERS_MAX {
            return Err(format!("expected at most {USERS_MAX} users"));
        }
        if self.has(name) {
            return Err(of_user(
                name,
                "this user is there already: the first line holds",
            ));
        }
        self.decoys
            .note(&hash)
            .map_err(|error| of_user(name, error))?;
        self.by_name.insert(name.to_owned(), hash);
        Ok(())
    }

    /// Returns true if there is a user of this name.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The number of users.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if there are no users.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns true if this is the password of that user. It takes as long for every user of the file, and for unknown
    /// ones, so that the time does not show which users exist. See [`PasswordHash::verify`].
    pub fn verify(&self, name: &str, password: &[u8]) -> bool {
        let own = self.by_name.get(name);
        let is_verified = own.is_some_and(|hash| hash.verify(password));
        for decoy in self.decoys.besides(own) {
            decoy.verify(password);
        }
        is_verified
    }
}

/// An error with the name of its user. If the words of a line are in the wrong order, the name is a hash: that is left out.
fn of_user(name: &str, error: impl fmt::Display) -> String {
    match name.contains('$') {
        true => format!("expected a name before the hash: {error}"),
        false => format!("{name}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "ann $6$rounds=2000$saltsalt$GBImuhotpiUgeciq/ZS6UaMklAGJMK25wd5Tacv1I0CcSmxHOQQLpmVKYRPIU6LoFrr4iPAAmsqUTjBoZ.Fwr/";
    const BOB: &str = "bob $5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA";

    #[test]
    fn a_user_is_verified_by_the_own_password_alone() {
        let file = format!("# users\n\n{ANN}\r\n  {BOB}\n");
        let users = Users::parse(file.as_bytes()).expect("a users' file");
        assert_eq!(users.len(), 2);
        assert!(users.has("ann") && !users.has("# users"));
        assert!(users.verify("ann", b"secret") && users.verify("bob", b"secret"));
        assert!(!users.verify("ann", b"other") && !users.verify("eve", b"secret"));
        assert!(!Users::default().verify("ann", b"secret"));
    }

    #[test]
    fn each_wrong_line_is_named_without_its_hash_and_keeps_nobody_else_out() {
        let file = format!(
            "{ANN}\nbob $1$salt$abc\n{ANN}\nalone\nanonymous {hash}\nx y z\n\u{e9}\nbob {hash}\n",
            hash = &BOB[4..]
        );
        let mut file = file.into_bytes();
        let latin = file
            .iter()
            .position(|byte| *byte == 0xc3)
            .expect("a letter");
        file.remove(latin);
        let users = Users::parse(&file).expect("two users");
        let lines: Vec<_> = users
            .problems()
            .iter()
            .map(|problem| problem.line)
            .collect();
        assert_eq!(lines, [2, 3, 4, 5, 6, 7]);
        assert!(users.verify("ann", b"secret") && users.verify("bob", b"secret"));
        assert_eq!(users.len(), 2);
        let told = format!("{:?}", users.problems());
        assert!(!told.contains("saltsalt"), "{told}");
    }

    #[test]
    fn a_hash_in_the_place_of_the_name_is_not_told() {
        let (name, hash) = BOB.split_once(' ').expect("two words");
        for line in [format!("{hash} {name}"), format!("{name}:{hash} x")] {
            let problems = Users::parse(line.as_bytes()).expect_err("a wrong file");
            assert!(!problems.to_string().contains("saltsalt"), "{problems}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_name() {
        let users = Users::parse(format!("\u{feff}{BOB}\n").as_bytes()).expect("a users' file");
        assert!(users.has("bob"));
    }

    #[test]
    fn a_file_that_is_no_text_or_too_long_is_refused() {
        let problems = Users::parse(b"# a\n\xff").expect_err("no UTF-8");
        assert_eq!(problems.0[0].line, 2);
        let wide: Vec<_> = BOB.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(Users::parse(&wide).is_err());
        assert!(Users::parse(&vec![b'\n'; USERS_FILE_MAX + 1]).is_err());
    }

    #[test]
    fn a_file_of_garbage_is_told_of_only_so_often() {
        let problems = Users::parse("x\n".repeat(1000).as_bytes()).expect_err("garbage");
        assert_eq!(problems.0.len(), PROBLEMS_MAX);
    }

    #[test]
    fn users_show_no_hash() {
        let users = Users::parse(ANN.as_bytes()).expect("a users' file");
        assert!(!format!("{users:?}").contains("saltsalt"));
    }
}
