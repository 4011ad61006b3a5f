//! Stores the position of a durable subscription in a file of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use floe::encoding::{Decoder, Encoder};
use floe::regular_file;
use floe::{EncodeError, EncodingVersion};

use crate::core::durable::SavedPosition;
use crate::service::user_accounts::UserName;
use crate::store::StoreError;

/// A file with four slots. The position in the slot with the highest number is the current one. A position is never
/// written into the slot that was written last, the one that is safe on the disk, or the one that is being synced. So a
/// torn write leaves the previous position, and a loss of power leaves at least the one that was synced last, whatever
/// it tears or reorders.
///
/// ```text
/// 0       8        16      20      24
/// | magic | number | size | check | name, position, user |     at 1, 2, 3 and 4 times SLOT_LEN
/// ```
///
/// The user who began the subscription is absent if the hub does not know it. Integers are little-endian; `check` is
/// the CRC-32C of the number, the size and all that follows. Earlier versions wrote shorter slots, all of them before
/// the first of these, and pending events one by one. Such slots are read, and never written.
#[derive(Debug)]
pub(super) struct PositionFile {
    file: File,
    path: PathBuf,
    user: Option<UserName>,
    /// The number of the position that was written last.
    number: u64,
    /// Where the slot begins that was written last.
    written: u64,
    /// Where the slot begins that is safe on the disk.
    safe: u64,
    /// Where the slot begins that is being synced.
    syncing: Option<u64>,
    bytes: Vec<u8>,
}

/// A position has at most [`PENDING_LIMIT`](crate::core::durable::PENDING_LIMIT) pending events. If none is a neighbour of another one,
/// they take 13 bytes each. A name has 200 bytes, and a user 3 KiB.
const SLOT_LEN: u64 = 64 * 1024;
/// Where slots begin. There is one more than must not be written into.
const SLOTS: [u64; 4] = [SLOT_LEN, 2 * SLOT_LEN, 3 * SLOT_LEN, 4 * SLOT_LEN];
/// Where the slots of earlier versions begin.
const EARLIER_SLOTS: [u64; 4] = [0, 16 * 1024, 32 * 1024, 48 * 1024];
/// Longest name of a user, in bytes.
const USER_LEN_MAX: usize = 3 * 1024;
const HEAD_LEN: usize = 24;
const MAGIC: [u8; 8] = *b"floepos2";
const EARLIER_MAGIC: [u8; 8] = *b"floepos1";

impl PositionFile {
    /// Creates the file of a new subscription, with its position. The position is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(super) fn create(
        path: &Path,
        name: &str,
        user: Option<&UserName>,
        position: &SavedPosition,
    ) -> Result<Self, StoreError> {
        if let Some(user) = user.filter(|user| user.len() > USER_LEN_MAX) {
            let text = format!(
                "expected a user name of at most {USER_LEN_MAX} bytes for a durable subscription, got {}",
                user.len()
            );
            return Err(StoreError::new(text));
        }
        let create = || {
            let file = regular_file::open(path, open_options().create(true).truncate(true))?;
            let mut created = Self {
                file,
                path: path.to_owned(),
                user: user.cloned(),
                number: 0,
                written: 0,
                safe: 0,
                syncing: None,
                bytes: Vec::new(),
            };
            created.put(name, position)?;
            created.file.sync_all()?;
            created.safe = created.written;
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
            Ok(created)
        };
        create().map_err(|error: io::Error| failed("create", path, error))
    }

    /// Opens the file of a subscription. Returns its name and position. The position is on the disk when this returns: before
    /// that, it may have been only in the cache of the system.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses; one that is damage if no slot holds a position.
    pub(super) fn open(path: &Path) -> Result<(Self, String, SavedPosition), StoreError> {
        let read = || {
            let file = regular_file::open(path, &mut open_options())?;
            file.sync_data()?;
            let mut newest: Option<(u64, Slot)> = None;
            for at in EARLIER_SLOTS.into_iter().chain(SLOTS) {
                let slot = read_slot(&file, at)?;
                let is_newer = |it: &Slot| {
                    newest
                        .as_ref()
                        .is_none_or(|(_, known)| it.number > known.number)
                };
                if let Some(slot) = slot.filter(is_newer) {
                    newest = Some((at, slot));
                }
            }
            Ok((file, newest))
        };
        let (file, newest) = read().map_err(|error: io::Error| failed("read", path, error))?;
        let Some((at, slot)) = newest else {
            return Err(StoreError::damaged(format!(
                "\"{}\" holds no position of a durable subscription: it is damaged; delete it, and the subscription begins anew",
                path.display()
            )));
        };
        let opened = Self {
            file,
            path: path.to_owned(),
            user: slot.user,
            number: slot.number,
            written: at,
            safe: at,
            syncing: None,
            bytes: Vec::new(),
        };
        Ok((opened, slot.name, slot.position))
    }

    /// Writes a position. It survives the end of the process; [`PositionFile::begin_sync`] makes it survive a loss of power.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses. The position that was written last holds then.
    pub(super) fn write(&mut self, name: &str, position: &SavedPosition) -> Result<(), StoreError> {
        let written = self.put(name, position);
        written.map_err(|error| failed("write", &self.path, error))
    }

    fn put(&mut self, name: &str, position: &SavedPosition) -> io::Result<()> {
        let number = self.number + 1;
        self.bytes.clear();
        self.bytes.resize(HEAD_LEN, 0);
        let mut encoder = Encoder::new(&mut self.bytes, EncodingVersion::V1_1);
        encoder.string(name);
        encoder.put(position);
        if let Some(user) = &self.user {
            encoder.string(user);
        }
        let encoded: Result<(), EncodeError> = encoder.finish();
        encoded.map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        let size = self.bytes.len() - HEAD_LEN;
        if self.bytes.len() as u64 > SLOT_LEN {
            let text = format!("a position of {size} bytes does not fit into its slot");
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        self.bytes[..8].copy_from_slice(&MAGIC);
        self.bytes[8..16].copy_from_slice(&number.to_le_bytes());
        self.bytes[16..20].copy_from_slice(&(size as u32).to_le_bytes());
        let check = check_of(&self.bytes);
        self.bytes[20..24].copy_from_slice(&check.to_le_bytes());
        let is_free = |slot: &u64| {
            ![Some(self.written), Some(self.safe), self.syncing].contains(&Some(*slot))
        };
        let slot = SLOTS.into_iter().find(is_free);
        let slot = slot.expect("three are not free");
        write_at(&self.file, &self.bytes, slot)?;
        (self.number, self.written) = (number, slot);
        Ok(())
    }

    /// The file, to sync it on another thread. Positions can be written meanwhile. [`PositionFile::end_sync`] follows.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(super) fn begin_sync(&mut self) -> Result<File, StoreError> {
        let copy = self.file.try_clone();
        self.syncing = Some(self.written);
        copy.map_err(|error| failed("sync", &self.path, error))
    }

    /// Syncs the file here, which waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let synced = self.begin_sync().and_then(|file| {
            let synced = file.sync_data();
            synced.map_err(|error| failed("sync", &self.path, error))
        });
        self.end_sync(synced.is_ok());
        synced
    }

    /// Ends a sync. If it succeeded, everything that was written before it began is safe on the disk.
    pub(super) fn end_sync(&mut self, has_succeeded: bool) {
        if let Some(synced) = self.syncing.take().filter(|_| has_succeeded) {
            self.safe = synced;
        }
    }

    /// The user who began the subscription.
    pub(super) fn user(&self) -> Option<&UserName> {
        self.user.as_ref()
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A slot that holds a position.
struct Slot {
    number: u64,
    name: String,
    position: SavedPosition,
    user: Option<UserName>,
}

/// The position in the slot that begins here; `None` if there is none, or it was torn.
fn read_slot(file: &File, at: u64) -> io::Result<Option<Slot>> {
    let mut bytes = vec![0; HEAD_LEN];
    let len = read_at(file, &mut bytes, at)?;
    let Some(size) = size_of_slot(&bytes[..len]) else {
        return Ok(None);
    };
    bytes.resize(HEAD_LEN + size, 0);
    let len = read_at(file, &mut bytes, at)?;
    bytes.truncate(len);
    Ok(parse_slot(&bytes))
}

/// The bytes behind the head of a slot; `None` if this is not a head.
fn size_of_slot(head: &[u8]) -> Option<usize> {
    let is_slot = head.starts_with(&MAGIC) || head.starts_with(&EARLIER_MAGIC);
    let size = u32::from_le_bytes(*head.get(16..)?.first_chunk()?) as usize;
    (is_slot && size <= SLOT_LEN as usize - HEAD_LEN).then_some(size)
}

fn parse_slot(bytes: &[u8]) -> Option<Slot> {
    let head = bytes.first_chunk::<HEAD_LEN>()?;
    let number = u64::from_le_bytes(*head[8..].first_chunk()?);
    let check = u32::from_le_bytes(*head[20..].first_chunk()?);
    let slot = bytes.get(..HEAD_LEN + size_of_slot(head)?)?;
    if check_of(slot) != check {
        return None;
    }
    let mut decoder = Decoder::new(&slot[HEAD_LEN..], EncodingVersion::V1_1);
    let name = decoder.str("name of a subscription").ok()?.to_owned();
    let position = match head.starts_with(&MAGIC) {
        true => SavedPosition::decode(&mut decoder)?,
        false => SavedPosition::decode_single_events(&mut decoder)?,
    };
    let user = match decoder.remaining() {
        0 => None,
        _ => Some(decoder.str("user of a subscription").ok()?.into()),
    };
    Some(Slot {
        number,
        name,
        position,
        user,
    })
}

/// The check of a slot: over its number, its size, and what follows the check.
fn check_of(slot: &[u8]) -> u32 {
    let check = crc32c::crc32c(&slot[8..20]);
    crc32c::crc32c_append(check, &slot[HEAD_LEN..])
}

fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut len = 0;
    while len < bytes.len() {
        match file.read_at(&mut bytes[len..], offset + len as u64) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    let mut read = Vec::new();
    let len = file.take(bytes.len() as u64).read_to_end(&mut read)?;
    bytes[..len].copy_from_slice(&read);
    Ok(len)
}

fn failed(what: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::because(format!("cannot {what} \"{}\"", path.display()), error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::durable::PENDING_LIMIT;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("floe-positions-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn position(next: u64) -> SavedPosition {
        SavedPosition::with_pending(next, [(next.saturating_sub(1), 2)].into_iter())
    }

    #[test]
    fn the_position_that_was_written_last_is_read() {
        let folder = Folder::new("last");
        let path = folder.0.join("p");
        let mut file = PositionFile::create(&path, "billing", None, &position(1)).unwrap();
        for next in 2..6 {
            file.write("billing", &position(next)).unwrap();
            let (_, name, read) = PositionFile::open(&path).unwrap();
            assert_eq!((name.as_str(), read), ("billing", position(next)));
        }
    }

    #[test]
    fn a_loss_of_power_leaves_the_position_that_was_synced_last() {
        let folder = Folder::new("power");
        let path = folder.0.join("p");
        let mut file = PositionFile::create(&path, "n", None, &position(1)).unwrap();
        for open_again in [false, true, false, true] {
            let number = file.number + 1;
            file.write("n", &position(number)).unwrap();
            file.begin_sync().unwrap().sync_data().unwrap();
            let synced = fs::read(&path).unwrap();
            for next in 1..5 {
                file.write("n", &position(number + next)).unwrap();
                let (_, _, read) = PositionFile::open(&path).unwrap();
                assert_eq!(read, position(number + next), "the process has ended");
            }
            file.end_sync(true);
            for next in 5..9 {
                file.write("n", &position(number + next)).unwrap();
            }
            // Tear everything that was written since the sync began.
            let mut torn = fs::read(&path).unwrap();
            for (at, byte) in torn.iter_mut().enumerate() {
                if synced.get(at) != Some(byte) {
                    *byte ^= 0xff;
                }
            }
            fs::write(&path, &torn).unwrap();
            let (opened, _, read) = PositionFile::open(&path).unwrap();
            assert_eq!(read, position(number), "{open_again}");
            if open_again {
                file = opened;
            }
        }
    }

    #[test]
    fn a_sync_that_fails_makes_nothing_safe() {
        let folder = Folder::new("unsynced");
        let path = folder.0.join("p");
        let mut file = PositionFile::create(&path, "n", None, &position(1)).unwrap();
        let safe = file.safe;
        file.write("n", &position(2)).unwrap();
        let _ = file.begin_sync().unwrap();
        file.end_sync(false);
        for next in 3..9 {
            file.write("n", &position(next)).unwrap();
            assert_ne!(file.written, safe);
        }
    }

    #[test]
    fn a_torn_write_leaves_the_position_before_it() {
        let folder = Folder::new("torn");
        let path = folder.0.join("p");
        let mut file = PositionFile::create(&path, "n", None, &position(1)).unwrap();
        for next in 2..5 {
            file.write("n", &position(next)).unwrap();
        }
        let before = fs::read(&path).unwrap();
        file.write("n", &position(5)).unwrap();
        let after = fs::read(&path).unwrap();
        let changed: Vec<_> = (0..after.len().min(before.len()))
            .filter(|at| before[*at] != after[*at])
            .collect();
        assert!(!changed.is_empty());
        for at in &changed {
            let mut torn = before.clone();
            torn.resize(after.len().max(torn.len()), 0);
            for written in changed.iter().take_while(|written| *written < at) {
                torn[*written] = after[*written];
            }
            fs::write(&path, &torn).unwrap();
            let (_, _, read) = PositionFile::open(&path).unwrap();
            assert_eq!(read, position(4), "torn at {at}");
        }
    }

    #[test]
    fn a_file_without_a_position_is_named() {
        let folder = Folder::new("none");
        let path = folder.0.join("p");
        fs::write(&path, vec![7; 200_000]).unwrap();
        let error = PositionFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("holds no position"), "{error}");
    }

    #[test]
    fn the_largest_position_fits() {
        let folder = Folder::new("large");
        let path = folder.0.join("p");
        let pending = (0..PENDING_LIMIT as u64).map(|at| (2 * at, u32::MAX));
        let largest = SavedPosition::with_pending(u64::MAX, pending);
        let name = "n".repeat(200);
        let user: UserName = "u".repeat(USER_LEN_MAX).into();
        PositionFile::create(&path, &name, Some(&user), &largest).unwrap();
        let (file, _, read) = PositionFile::open(&path).unwrap();
        assert_eq!((file.user(), read), (Some(&user), largest.clone()));
        let longer: UserName = "u".repeat(USER_LEN_MAX + 1).into();
        let refused = PositionFile::create(&path, &name, Some(&longer), &largest);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("at most 3072 bytes"), "{refused}");
    }

    #[test]
    fn a_position_that_an_earlier_version_wrote_is_read_and_kept_until_the_next_one_is_whole() {
        let folder = Folder::new("earlier");
        let path = folder.0.join("p");
        let pending: [(i64, i32); 3] = [(3, 1), (4, 1), (8, 2)];
        let mut slot = vec![0; HEAD_LEN];
        let mut encoder = Encoder::new(&mut slot, EncodingVersion::V1_1);
        encoder.string("billing");
        encoder.put(&9_i64);
        encoder.size(pending.len());
        for (sequence, attempts) in &pending {
            encoder.put(sequence);
            encoder.put(attempts);
        }
        encoder.string("ada");
        encoder.finish().unwrap();
        let size = (slot.len() - HEAD_LEN) as u32;
        slot[..8].copy_from_slice(b"floepos1");
        slot[8..16].copy_from_slice(&7_u64.to_le_bytes());
        slot[16..20].copy_from_slice(&size.to_le_bytes());
        let check = check_of(&slot);
        slot[20..24].copy_from_slice(&check.to_le_bytes());
        let earlier = [vec![0; 16 * 1024], slot].concat();
        fs::write(&path, &earlier).unwrap();

        let (mut file, name, read) = PositionFile::open(&path).unwrap();
        let expected = [(3, 1), (4, 1), (8, 2)].into_iter();
        assert_eq!(read, SavedPosition::with_pending(9, expected));
        assert_eq!(
            (name.as_str(), file.user()),
            ("billing", Some(&"ada".into()))
        );
        file.write("billing", &position(20)).unwrap();
        assert_eq!(PositionFile::open(&path).unwrap().2, position(20));
        let written = fs::read(&path).unwrap();
        assert!(written.starts_with(&earlier), "it stays");
    }
}
