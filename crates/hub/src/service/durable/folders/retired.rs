//! The folders of topics that were destroyed. A folder gets another name before anything in it is removed, so that a hub
//! that ends in between never finds half of a log in the place of a topic.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
#[cfg(test)]
use std::path::PathBuf;

/// How these folders begin. No topic has such a folder: a per cent sign of a name is followed by two digits.
const PREFIX: &str = "%destroyed-";

/// Removes the folder of a topic, which is in `root`. If the hub ends meanwhile, it is the folder of the topic, whole, or
/// [`remove_all`] removes the rest.
///
/// # Errors
/// As the system refuses. If only the removal of the rest fails, it is logged.
pub(super) fn retire(root: &Path, folder: &Path) -> io::Result<()> {
    let mut number = 1;
    let retired = loop {
        let retired = root.join(format!("{PREFIX}{number}"));
        if fs::symlink_metadata(&retired).is_err() {
            break retired;
        }
        number += 1;
    };
    step()?;
    match fs::rename(folder, &retired) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    step()?;
    // After a loss of power, parts may not be gone before the folder has this name.
    sync_names(root)?;
    remove_logged(&retired);
    Ok(())
}

/// Removes the rest of all folders whose removal was interrupted.
pub(super) fn remove_all(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten();
    let retired = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(PREFIX))
    });
    retired.for_each(|entry| remove_logged(&entry.path()));
}

fn remove_logged(folder: &Path) {
    if let Err(error) = remove(folder) {
        tracing::error!("cannot remove \"{}\": {error}", folder.display());
    }
}

#[cfg(not(test))]
fn remove(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder)
}

/// One step after the other, so that a test can end the process after each.
#[cfg(test)]
fn remove(folder: &Path) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    faults::ORDER.with_borrow(|order| order(&mut entries));
    for entry in entries {
        match entry.is_dir() {
            true => remove(&entry)?,
            false => {
                step()?;
                fs::remove_file(entry)?;
            }
        }
    }
    step()?;
    fs::remove_dir(folder)
}

#[cfg(unix)]
fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows keeps the names of files in its journal, and has no call for it.
#[cfg(not(unix))]
fn sync_names(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(test))]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
fn step() -> io::Result<()> {
    faults::step()
}

/// Lets the process end, as far as this module is concerned, after a number of steps.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::{Cell, RefCell};
    use std::io;
    use std::path::PathBuf;

    type Order = fn(&mut Vec<PathBuf>);

    thread_local! {
        /// How many steps are left; `None` if they never end.
        pub(in super::super) static STEPS: Cell<Option<usize>> = const { Cell::new(None) };
        /// The order in which the entries of a folder are removed, which a file system chooses.
        pub(in super::super) static ORDER: RefCell<Order> = const { RefCell::new(|_| ()) };
    }

    pub(super) fn step() -> io::Result<()> {
        match STEPS.get() {
            Some(0) => Err(io::Error::other("the process ends here")),
            left => {
                STEPS.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}
