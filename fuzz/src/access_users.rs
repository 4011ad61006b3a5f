//! Users' files.

use floe_access::Users;

/// Reads `input` as a users' file.
///
/// Whatever the file is, this must end without a panic, and a problem names a line of the file. No password is checked: that
/// takes as long as the file says.
pub(crate) fn run(input: &[u8]) {
    match Users::parse(input) {
        Ok(users) => assert!(users.len() <= input.len()),
        Err(problems) => {
            assert!(!problems.0.is_empty());
            let lines = input.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!(problems.0.iter().all(|problem| problem.line <= lines));
        }
    }
}
