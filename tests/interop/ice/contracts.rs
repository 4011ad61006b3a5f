//! Our contracts, as the Slice compilers of Ice read them; and the files that each version of Ice has, as we know them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use floe_codegen::{Language, built_in_files, compile_files};
use floe_slice::Options;
use floe_tests::ice::Ice;
use floe_tests::workspace;

/// A Slice compiler of Ice.
struct Compiler {
    program: PathBuf,
    /// The option that it needs to accept module `Ice`.
    own_modules: &'static [&'static str],
    /// The folder of the Slice files that come with it.
    slices: PathBuf,
}

impl Compiler {
    fn accepts(&self, file: &Path, folder: &Path, options: &[&str]) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(options).arg("--output-dir").arg(folder);
        let output = command.arg(file).output().expect("the compiler starts");
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into()),
        }
    }

    /// Checks that every contract of ours is one for this compiler.
    fn accepts_all_of_ours(&self, folder: &Path) {
        let root = workspace::root().join("contracts");
        let ours = format!("-I{}", root.display());
        let theirs = format!("-I{}", self.slices.display());
        for file in slice_files(&root) {
            let with_ours = [self.own_modules, &[&*ours]].concat();
            let accepted = self.accepts(&root.join(&file), folder, &with_ours);
            assert_eq!(accepted, Ok(()), "{} {file}", self.program.display());
            if file.starts_with("Floe") {
                let accepted = self.accepts(&root.join(&file), folder, &[&theirs]);
                assert_eq!(accepted, Ok(()), "{} {file}", self.program.display());
            }
        }
    }

    /// Checks that a contract finds here the files that it finds there.
    fn has_the_files_of(&self, language: Language, folder: &Path) {
        let theirs = format!("-I{}", self.slices.display());
        let mut files = slice_files(&self.slices);
        files.extend(built_in_files().map(str::to_owned));
        let known = ["Ice/", "IceStorm/", "Glacier2/"];
        files.retain(|file| known.iter().any(|known| file.starts_with(known)));
        assert!(files.len() > 20, "{files:?}");
        for file in files {
            let path = folder.join("including.ice");
            let text = format!("#include <{file}>\nmodule M {{ struct S {{ int i; }} }}\n");
            fs::write(&path, text).expect("it can be written");
            let accepted = self.accepts(&path, folder, &[&theirs]);
            let options = Options {
                language,
                ..Options::default()
            };
            let compilation = compile_files(&options, &[path]);
            assert_eq!(
                accepted.is_ok(),
                !compilation.has_errors(),
                "{file}: {accepted:?}; {}",
                compilation.render()
            );
        }
    }
}

/// The Slice files below a folder, by their paths from there.
fn slice_files(root: &Path) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for folder in fs::read_dir(root).expect("a folder").flatten() {
        let Ok(entries) = fs::read_dir(folder.path()) else {
            continue;
        };
        for entry in entries.flatten() {
            let (folder, name) = (folder.file_name(), entry.file_name());
            let path = format!("{}/{}", folder.display(), name.display());
            if path.ends_with(".ice") {
                files.insert(path);
            }
        }
    }
    files
}

/// A new folder for what is generated.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("it can be written");
    folder
}

#[test]
fn the_compilers_of_ice_3_7_take_every_contract_of_ours() {
    if Ice::or_skip().is_none() {
        return;
    }
    for program in ["slice2cpp", "slice2py"] {
        let folder = folder(&format!("contracts-37-{program}"));
        let compiler = Compiler {
            program: program.into(),
            own_modules: &["--ice"],
            slices: "/usr/share/ice/slice".into(),
        };
        compiler.accepts_all_of_ours(&folder);
        if program == "slice2cpp" {
            let header = fs::read_to_string(folder.join("Hub.h")).expect("it was generated");
            assert!(header.contains("Ice/Current.h"), "{header}");
            // Ice 3.7 has no such header.
            assert!(!header.contains("Ice/Context.h"), "{header}");
        }
    }
}

#[test]
fn a_contract_for_ice_3_7_finds_the_files_of_ice_3_7() {
    if Ice::or_skip().is_none() {
        return;
    }
    let compiler = Compiler {
        program: "slice2py".into(),
        own_modules: &["--ice"],
        slices: "/usr/share/ice/slice".into(),
    };
    compiler.has_the_files_of(Language::V37, &folder("includes-37"));
}

#[cfg(feature = "ice38")]
#[test]
fn the_compiler_of_ice38_takes_every_contract_of_ours_and_its_files_are_known() {
    let ice = crate::values::ice38::ice();
    let home = ice.python().parent().and_then(Path::parent);
    let home = home.expect("a virtual environment has a folder of programs");
    let packages = Command::new(ice.python())
        .args([
            "-c",
            "import Ice, os; print(os.path.dirname(os.path.dirname(Ice.__file__)), end='')",
        ])
        .output()
        .expect("the Python starts");
    let packages = String::from_utf8(packages.stdout).expect("a path");
    let compiler = Compiler {
        program: home.join("bin/slice2py"),
        own_modules: &[],
        slices: Path::new(&packages).join("slice"),
    };
    compiler.accepts_all_of_ours(&folder("contracts-38"));
    compiler.has_the_files_of(Language::V38, &folder("includes-38"));
}
