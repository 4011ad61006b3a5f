//! Files that were damaged: nothing is lost silently.

use super::*;

/// A store with topics, subscriptions and links, some of which were removed again. Returns what it keeps.
fn fill(directory: &Path) -> Vec<StoredTopic> {
    let mut disk = open(directory);
    for topic in ["a", "b", "gone", "c"] {
        disk.apply(&[Change::CreateTopic {
            topic,
            user: None,
            is_durable: false,
        }])
        .unwrap();
    }
    for at in 0..12 {
        let subscription = subscription(&format!("s{at}:tcp -h host{at} -p 1000"));
        let topic = ["a", "b", "gone", "c"][at % 4];
        let subscription = &subscription;
        disk.apply(&[Change::Subscribe {
            topic,
            subscription,
        }])
        .unwrap();
    }
    let link = &link("IceStorm/topic.b", None);
    disk.apply(&[Change::Link { topic: "a", link }]).unwrap();
    disk.apply(&[Change::DestroyTopic { topic: "gone" }])
        .unwrap();
    let left = [subscription("s1:tcp").subscriber.identity];
    disk.apply(&[Change::Unsubscribe {
        topic: "b",
        subscribers: &left,
    }])
    .unwrap();
    disk.load().unwrap()
}

#[test]
fn a_file_that_was_cut_off_is_restored_from_the_other_and_set_aside() {
    for name in [MAIN, BACKUP] {
        let directory = Directory::new(&format!("cut-{name}"));
        let kept = fill(&directory.0);
        let file = directory.0.join(name);
        let whole = fs::read(&file).unwrap();
        for len in [0, 1, 100, 4_096, 10_000, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..len]).unwrap();
            assert_eq!(open(&directory.0).load().unwrap(), kept, "{name} {len}");
            let aside = directory.0.join(format!("{name}.damaged"));
            assert_eq!(fs::metadata(&aside).unwrap().len(), len as u64);
        }
    }
}

#[test]
fn an_empty_store_is_refused_with_what_to_do_and_starts_when_its_damage_is_accepted() {
    let directory = Directory::new("empty");
    fill(&directory.0);
    for name in [MAIN, BACKUP] {
        fs::write(directory.0.join(name), "").unwrap();
    }
    let error = open_error(&directory.0);
    let expected = [
        "hub.redb: it is empty; hub.backup.redb: it is empty",
        "--accept-damage",
        "keeps the 0 records",
    ];
    for expected in expected {
        assert!(error.contains(expected), "{error}");
    }
    let mut disk = Disk::open(&directory.0, true).unwrap();
    assert_eq!(disk.load().unwrap(), []);
}

#[test]
fn a_file_that_is_no_store_is_refused_by_name() {
    let directory = Directory::new("garbage");
    fs::create_dir_all(&directory.0).unwrap();
    fs::write(directory.0.join(MAIN), b"not a store").unwrap();
    let error = open_error(&directory.0);
    assert!(
        error.contains("hub.redb: ") && error.contains("hub.backup.redb: it is missing"),
        "{error}"
    );
    assert_eq!(
        fs::read(directory.0.join(MAIN)).unwrap(),
        b"not a store",
        "a store that is refused stays as it is"
    );
}

/// Replaces a record behind the back of its checksum, or removes it.
fn tamper(file: &mut StoreFile, identity: &str, value: Option<&[u8]>) {
    let identity = encoded(&subscription(identity).subscriber.identity).unwrap();
    file.write(|transaction| {
        let mut records = transaction.open_table(crate::store::file::RECORDS)?;
        let key = ("a", Kind::Subscription.number(), &identity[..]);
        match value {
            Some(value) => drop(records.insert(key, value)?),
            None => drop(records.remove(key)?),
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn damaged_and_missing_records_are_named_and_counted_and_the_others_kept() {
    let directory = Directory::new("records");
    let kept = fill(&directory.0);
    let mut disk = open(&directory.0);
    for file in [&mut disk.main, disk.backup.as_mut().unwrap()] {
        tamper(file, "s0:tcp", Some(b"neither checksum nor number"));
        tamper(file, "s4:tcp", None);
    }
    drop(disk);
    let error = open_error(&directory.0);
    for expected in [
        "the subscription of \"s0\" to topic \"a\" does not verify",
        "1 of 12 records are missing",
        "keeps the 10 records",
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let loaded = Disk::open(&directory.0, true).unwrap().load().unwrap();
    assert_eq!(loaded[0].recipients, kept[0].recipients[2..]);
    assert_eq!(loaded[1..], kept[1..]);
    assert_eq!(open(&directory.0).load().unwrap(), loaded);
}

#[test]
fn a_file_from_before_some_changes_does_not_undo_them() {
    let directory = Directory::new("former");
    let former = Directory::new("former-copy");
    fill(&directory.0);
    fs::create_dir_all(&former.0).unwrap();
    let copy = former.0.join(MAIN);
    fs::copy(directory.0.join(MAIN), &copy).unwrap();
    let mut disk = open(&directory.0);
    for topic in ["d", "e"] {
        disk.apply(&[Change::CreateTopic {
            topic,
            user: None,
            is_durable: false,
        }])
        .unwrap();
    }
    let kept = disk.load().unwrap();
    drop(disk);
    fs::copy(&copy, directory.0.join(MAIN)).unwrap();
    assert_eq!(open(&directory.0).load().unwrap(), kept);
}

/// Gives the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// How many times the files are damaged. `FLOE_STORE_FLIPS` asks for more.
fn flip_count() -> usize {
    let asked = std::env::var("FLOE_STORE_FLIPS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(60)
}

/// Flips bits of a file, or cuts it off.
fn damage(file: &mut Vec<u8>, numbers: &mut Numbers) {
    match numbers.below(8) {
        0 => file.truncate(numbers.below(file.len())),
        1 => {
            let at = numbers.below(file.len());
            let end = file.len().min(at + 1 + numbers.below(5_000));
            file[at..end].fill(0);
        }
        kind => {
            // Most of a file is free pages, so that half of the flips go to its first pages.
            let limit = if kind < 5 {
                file.len()
            } else {
                file.len().min(65_536)
            };
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(limit);
                file[at] ^= 1 << numbers.below(8);
            }
        }
    }
}

#[test]
fn flips_and_truncations_never_change_a_store_silently() {
    let directory = Directory::new("flips");
    let kept = fill(&directory.0);
    let paths = [MAIN, BACKUP].map(|name| directory.0.join(name));
    let whole = paths.each_ref().map(|path| fs::read(path).unwrap());
    // As a hub leaves them that is killed: they were not closed.
    let disk = open(&directory.0);
    let killed = paths.each_ref().map(|path| fs::read(path).unwrap());
    drop(disk);
    let mut refused = 0;
    for seed in 0..flip_count() {
        let mut numbers = Numbers(seed as u64);
        let mut files = match seed % 2 {
            0 => whole.clone(),
            _ => killed.clone(),
        };
        // One time in four, both.
        let which = numbers.below(8);
        for at in [0, 1] {
            if which < 2 || which % 2 == at {
                damage(&mut files[at], &mut numbers);
            }
        }
        for (path, file) in paths.iter().zip(&files) {
            fs::write(path, file).unwrap();
        }
        match Disk::open(&directory.0, false) {
            Ok(mut disk) => assert_eq!(disk.load().unwrap(), kept, "seed {seed}"),
            Err(error) => {
                assert!(which < 2, "seed {seed}: {error}");
                assert!(error.to_string().contains("is damaged"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "no store was damaged beyond its backup");
}

#[test]
#[cfg(unix)]
fn something_else_in_the_place_of_a_file_is_set_aside_and_the_file_restored() {
    let make_pipe = |path: &Path| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    for kind in ["pipe", "folder"] {
        for name in [MAIN, BACKUP] {
            let directory = Directory::new(&format!("{kind}-{name}"));
            let kept = fill(&directory.0);
            let file = directory.0.join(name);
            fs::remove_file(&file).unwrap();
            match kind {
                "pipe" => make_pipe(&file),
                _ => fs::create_dir(&file).unwrap(),
            }
            assert_eq!(open(&directory.0).load().unwrap(), kept, "{name}");
            assert!(fs::metadata(&file).unwrap().is_file());
        }
    }
}

#[test]
fn a_file_that_is_far_too_long_is_written_anew() {
    for name in [MAIN, BACKUP] {
        let directory = Directory::new(&format!("long-{name}"));
        let kept = fill(&directory.0);
        let file = directory.0.join(name);
        let opened = File::options().write(true).open(&file).unwrap();
        opened.set_len(200 << 20).unwrap();
        assert_eq!(open(&directory.0).load().unwrap(), kept, "{name}");
        assert!(fs::metadata(&file).unwrap().len() < 4 << 20, "{name}");
    }
}

#[test]
#[cfg(unix)]
fn a_change_is_refused_as_long_as_the_file_is_not_in_its_place() {
    let directory = Directory::new("removed");
    let kept = fill(&directory.0);
    let mut disk = open(&directory.0);
    let (file, away) = (directory.0.join(MAIN), directory.0.join("away"));
    fs::rename(&file, &away).unwrap();
    let change = Change::CreateTopic {
        topic: "new",
        user: None,
        is_durable: true,
    };
    let error = disk.apply(&[change]).unwrap_err().to_string();
    assert!(
        error.contains("was removed or replaced while the hub runs"),
        "{error}"
    );
    fs::copy(&away, &file).unwrap();
    disk.apply(&[change]).expect_err("it is another file");
    fs::rename(&away, &file).unwrap();
    assert_eq!(disk.load().unwrap(), kept);
    disk.apply(&[change]).unwrap();
    drop(disk);
    let topics = open(&directory.0).load().unwrap();
    let new = topics.iter().find(|topic| topic.name == "new").unwrap();
    assert!(new.is_durable);
}
