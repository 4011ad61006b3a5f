//! Static programs for any Linux, as tarballs: one for each processor, with manual pages and completions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{cargo, command, first_line, succeeds};
use crate::workspace;

/// A processor for which there is a tarball.
struct Target {
    /// Its name for Rust.
    triple: &'static str,
    /// Compiles the C of dependencies, and links.
    compiler: &'static str,
    /// The Debian package that has the compiler.
    package: &'static str,
    /// The linker, if the compiler would link another C library.
    linker: Option<&'static str>,
}

/// Debian has no compiler with musl for other processors. That of glibc compiles C that needs nothing of glibc's own, and Rust
/// brings its linker, and musl for it.
const TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        compiler: "musl-gcc",
        package: "musl-tools",
        linker: None,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        compiler: "aarch64-linux-gnu-gcc",
        package: "gcc-aarch64-linux-gnu",
        linker: Some("rust-lld"),
    },
];

/// Builds the program for each processor, and packs it with what is in `documents`, into `folder`. Returns the tarballs, or `None` if one fails.
pub(crate) fn make_all(documents: &Path, folder: &Path) -> Option<Vec<PathBuf>> {
    TARGETS
        .iter()
        .map(|target| target.make(documents, folder))
        .collect()
}

impl Target {
    fn make(&self, documents: &Path, folder: &Path) -> Option<PathBuf> {
        let has_compiler = first_line(&mut command(self.compiler, &["--version"])).is_some();
        if !has_compiler {
            eprintln!(
                "error: {} is missing; type: sudo apt-get install {}",
                self.compiler, self.package
            );
            return None;
        }
        let built = succeeds(&mut command("rustup", &["target", "add", self.triple]))
            && succeeds(&mut self.build());
        let program = workspace::target_dir().join(self.triple).join("dist/floe");
        (built && is_static(&program)).then_some(())?;
        self.pack(&program, documents, folder)
    }

    fn build(&self) -> std::process::Command {
        let words = [
            "build",
            "--locked",
            "--profile",
            "dist",
            "--package",
            "floe-cli",
        ];
        let more = ["--features", "full", "--target", self.triple];
        let mut build = cargo(&[&words[..], &more].concat());
        let name = self.triple.replace('-', "_");
        build.env(format!("CC_{name}"), self.compiler);
        if let Some(linker) = self.linker {
            let name = name.to_uppercase();
            build.env(format!("CARGO_TARGET_{name}_LINKER"), linker);
        }
        build
    }

    /// The same content gives the same bytes: sorted, owned by nobody, and as old as the commit.
    fn pack(&self, program: &Path, documents: &Path, folder: &Path) -> Option<PathBuf> {
        let name = format!("floe-{}-{}", env!("CARGO_PKG_VERSION"), self.triple);
        let content = folder.join(&name);
        let content_text = content.display().to_string();
        // An earlier one may have had other files.
        let _ = fs::remove_dir_all(&content);
        let made = fs::create_dir_all(&content);
        let root = workspace::root();
        let files = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"];
        let files = files.map(|file| root.join(file));
        let copied = made.is_ok()
            && files
                .iter()
                .map(PathBuf::as_path)
                .chain([program])
                .all(|file| {
                    let name = file.file_name().expect("a file has a name");
                    fs::copy(file, content.join(name)).is_ok()
                })
            && ["man", "completions"].iter().all(|part| {
                let from = documents.join(part).display().to_string();
                succeeds(&mut command("cp", &["-r", &from, &content_text]))
            });
        if !copied {
            eprintln!("error: cannot write {content_text}");
            return None;
        }
        let tarball = folder.join(format!("{name}.tar.gz"));
        let time = first_line(&mut command("git", &["log", "-1", "--format=%ct"]));
        let time = format!("--mtime=@{}", time.unwrap_or_else(|| "0".to_owned()));
        let output = tarball.display().to_string();
        let folder = folder.display().to_string();
        let words = [
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            &time,
        ];
        let more = [
            "--use-compress-program=gzip -n9",
            "-cf",
            &output,
            "-C",
            &folder,
            &name,
        ];
        let packed = succeeds(&mut command("tar", &[&words[..], &more].concat()));
        packed.then_some(tarball)
    }
}

/// Whether a program needs no library of the system.
fn is_static(program: &Path) -> bool {
    let program = program.display().to_string();
    let dynamic = crate::command::output_of(&mut command("readelf", &["--dynamic", &program]));
    let is_static = dynamic.is_some_and(|dynamic| !dynamic.contains("(NEEDED)"));
    if !is_static {
        eprintln!(
            "error: expected {program} to need no library, got one that does; see `readelf --dynamic`"
        );
    }
    is_static
}
