//! Space on the disk that is kept for the time when the disk is full.
//!
//! A file system needs free space even to forget something: the name of a file that marks a topic as destroyed, or the pages of
//! a change of the store. So the hub holds a file that it gives up for that, and writes again as soon as there is room.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use floe::regular_file;

/// The reserve in the folder of a hub.
#[derive(Debug, Clone)]
pub(crate) struct Reserve {
    path: PathBuf,
}

impl Reserve {
    const NAME: &str = "reserve";
    const NEW_NAME: &str = "reserve.new";
    /// Enough for both files of a store of some hundred topics, which grow by half a megabyte each when they are opened, and for
    /// the marks of destroyed topics.
    const LEN: usize = 4 << 20;
    /// Bytes that are written at a time.
    const PIECE: usize = 64 << 10;

    pub(crate) fn new(data: &Path) -> Self {
        let path = data.join(Self::NAME);
        Self { path }
    }

    /// Frees the space. Returns false if there is none to free.
    pub(crate) fn give_up(&self) -> bool {
        let given_up = fs::remove_file(&self.path).is_ok();
        if given_up {
            #[cfg(test)]
            faults::IS_FULL.set(false);
            tracing::warn!(
                "the disk is full: gave up the reserve \"{}\" to go on; free space there, and the hub writes it again",
                self.path.display()
            );
        }
        given_up
    }

    /// Does something that frees space in the end. If the disk is full, gives up the reserve and tries again.
    pub(crate) fn freeing<T, E>(
        &self,
        is_full: impl Fn(&E) -> bool,
        mut action: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        match action() {
            Err(error) if is_full(&error) && self.give_up() => action(),
            result => result,
        }
    }

    /// Says that the space was given up; `None` if it is held.
    pub(crate) fn problem(&self) -> Option<String> {
        let folder = self.path.parent().unwrap_or(&self.path).display();
        (!self.is_held()).then(|| {
            format!(
                "the disk with \"{folder}\" is full: no change of topics and subscriptions may be stored until there is room for {} MiB; \
                 free space there, or destroy topics",
                Self::LEN >> 20
            )
        })
    }

    fn is_held(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|it| it.len() == Self::LEN as u64)
    }

    /// Takes the space again if it was given up and there is room.
    pub(crate) fn refill(&self) {
        let folder = self.path.parent().unwrap_or(&self.path);
        if self.is_held() || !has_room(folder) {
            return;
        }
        let new = self.path.with_file_name(Self::NEW_NAME);
        if let Err(error) = write(&new).and_then(|()| fs::rename(&new, &self.path)) {
            let _ = fs::remove_file(&new);
            tracing::debug!(
                "cannot write the reserve \"{}\": {error}",
                self.path.display()
            );
        }
    }
}

/// Returns true if the disk has room for the file and for something beside it, or the system does not tell. An attempt to
/// write the file takes the last space from others for a moment.
#[cfg(target_os = "linux")]
fn has_room(folder: &Path) -> bool {
    let room = rustix::fs::statvfs(folder).map(|it| it.f_bavail.saturating_mul(it.f_frsize));
    room.is_ok_and(|room| room > Reserve::LEN as u64 * 3 / 2) || room.is_err()
}

#[cfg(not(target_os = "linux"))]
fn has_room(_folder: &Path) -> bool {
    true
}

/// Writes the file. Its bytes look random, because a file system that compresses would keep no space for zeros.
fn write(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    faults::check()?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = regular_file::open(path, &mut options)?;
    // A generator of pseudorandom numbers by Marsaglia: xorshift64.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut piece = Vec::with_capacity(Reserve::PIECE);
    for _ in 0..Reserve::LEN / Reserve::PIECE {
        piece.clear();
        while piece.len() < Reserve::PIECE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            piece.extend_from_slice(&state.to_le_bytes());
        }
        file.write_all(&piece)?;
    }
    Ok(())
}

/// Returns true if a disk, or the part of it that the user may have, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// A disk that is full for this thread, until the reserve is given up.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        pub(crate) static IS_FULL: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn check() -> io::Result<()> {
        match IS_FULL.get() {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_that_cannot_be_taken_again_is_a_problem_until_it_can() {
        let folder = std::env::temp_dir().join(format!("floe-reserve-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let reserve = Reserve::new(&folder);
        assert!(reserve.problem().is_some());
        faults::IS_FULL.set(true);
        reserve.refill();
        let problem = reserve.problem().expect("the disk is full");
        assert!(problem.contains("is full"), "{problem}");
        faults::IS_FULL.set(false);
        reserve.refill();
        assert_eq!(reserve.problem(), None);
        assert!(reserve.give_up() && reserve.problem().is_some());
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
