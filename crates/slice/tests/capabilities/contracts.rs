//! The contracts of this repository compile without a finding.

use std::io;
use std::path::{Path, PathBuf};

use floe_slice::{Loader, Options, compile};

/// The file system, which the front-end itself never touches.
struct Disk;

impl Loader for Disk {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

#[test]
fn contracts_and_examples_compile_without_a_finding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut mains = Vec::new();
    for folder in ["contracts", "examples"] {
        collect(&root.join(folder), &mut mains);
    }
    assert!(!mains.is_empty(), "no contracts under {}", root.display());
    let options = Options {
        include_dirs: vec![root.join("contracts")],
        ..Options::default()
    };
    for main in &mains {
        let compilation = compile(&options, &Disk, std::slice::from_ref(main));
        assert!(
            compilation.diagnostics.is_empty(),
            "{}",
            compilation.render()
        );
    }
    // Examples are programs of their own, and may say the same: one exists in two manners.
    mains.retain(|main| main.starts_with(root.join("contracts")));
    let together = compile(&options, &Disk, &mains);
    assert!(together.diagnostics.is_empty(), "{}", together.render());
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ice") {
            found.push(path);
        }
    }
}
