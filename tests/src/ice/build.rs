//! Building the C++ peers: once for each change of a source, however many tests ask at the same time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Version, folder};
use crate::workspace;

/// Peers that speak one contract, in one version of it.
pub(super) struct Peers {
    /// Where the sources and the contract are.
    folder: PathBuf,
    /// The contract's file without `.ice`.
    contract: String,
    /// The macro that makes the version.
    define: Option<&'static str>,
    output: PathBuf,
}

impl Peers {
    /// Those of `Interop.ice`.
    pub(super) fn of_interop() -> Self {
        Self::new(folder(), "Interop", None)
    }

    /// Those of `values/Values.ice`.
    pub(super) fn of_values(version: Version) -> Self {
        let define = match version {
            Version::Older => None,
            Version::Newer => Some("NEWER"),
        };
        Self::new(folder().join("values"), "Values", define)
    }

    /// That of `runtime/Runtime.ice`.
    pub(super) fn of_runtime() -> Self {
        Self::new(folder().join("runtime"), "Runtime", None)
    }

    /// That of `gateway/Routed.ice`.
    pub(super) fn of_gateway() -> Self {
        Self::new(folder().join("gateway"), "Routed", None)
    }

    /// Those of `Soak.ice`.
    pub(super) fn of_soak() -> Self {
        Self::new(workspace::root().join("tests/soak/ice"), "Soak", None)
    }

    /// Those of a folder of `examples/` with this contract.
    pub(super) fn of_example(name: &str, contract: &str) -> Self {
        Self::new(
            workspace::root().join("examples").join(name),
            contract,
            None,
        )
    }

    fn new(folder: PathBuf, contract: &str, define: Option<&'static str>) -> Self {
        let output = workspace::target_dir()
            .join("interop/ice")
            .join(contract)
            .join(define.unwrap_or_default());
        Self {
            folder,
            contract: contract.to_owned(),
            define,
            output,
        }
    }

    /// The path of the peer `name`, built from `<name>.cpp`, the headers beside it and the contract if it is not up to
    /// date.
    ///
    /// # Panics
    /// If it does not compile.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        fs::create_dir_all(&self.output).expect("the target folder can be written");
        let _lock = lock(&self.output);
        let contract = self.folder.join(&self.contract).with_extension("ice");
        let object = format!("{}.o", self.contract);
        let object = build(&self.output, &object, &[&contract], |_, object| {
            self.compile_contract(&contract, object)
        });
        let source = self.folder.join(name).with_extension("cpp");
        let headers = headers(&self.folder);
        let mut sources: Vec<&Path> = vec![&source, &contract];
        sources.extend(headers.iter().map(PathBuf::as_path));
        build(&self.output, name, &sources, |_, program| {
            let mut compile = self.compiler();
            compile
                .arg(&source)
                .arg(&object)
                .args([
                    "-lIceStorm++11",
                    "-lGlacier2++11",
                    "-lIceSSL++11",
                    "-lIce++11",
                ])
                .arg("-o")
                .arg(program);
            vec![compile]
        })
    }

    fn compile_contract(&self, contract: &Path, object: &Path) -> Vec<Command> {
        let mut translate = Command::new("slice2cpp");
        translate
            .args(self.defined())
            .arg("--output-dir")
            .arg(&self.output)
            .arg(contract);
        let mut compile = self.compiler();
        compile
            .arg("-c")
            .arg(self.output.join(&self.contract).with_extension("cpp"))
            .arg("-o")
            .arg(object);
        vec![translate, compile]
    }

    fn compiler(&self) -> Command {
        let mut command = Command::new("g++");
        command
            .args(["-std=c++17", "-DICE_CPP11_MAPPING", "-pthread", "-I"])
            .arg(&self.output)
            .args(self.defined());
        command
    }

    fn defined(&self) -> Option<String> {
        self.define.map(|name| format!("-D{name}"))
    }
}

/// The headers in a folder.
fn headers(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("the folder of the sources can be read");
    let mut headers: Vec<PathBuf> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "h"))
        .collect();
    headers.sort();
    headers
}

/// Keeps other threads and processes from building into `output` until it is dropped.
fn lock(output: &Path) -> File {
    let file = File::create(output.join("lock")).expect("the target folder can be written");
    file.lock()
        .expect("files of the target folder can be locked");
    file
}

/// Makes `output/name` by running `commands`, unless it was made from the same text by the same commands.
fn build(
    output: &Path,
    name: &str,
    sources: &[&Path],
    commands: impl Fn(&Path, &Path) -> Vec<Command>,
) -> PathBuf {
    let product = output.join(name);
    let commands = commands(output, &product);
    let made_from = describe(sources, &commands);
    let stamp = output.join(format!("{name}.made-from"));
    let was_made_from = fs::read_to_string(&stamp).unwrap_or_default();
    if !product.is_file() || was_made_from != made_from {
        commands.into_iter().for_each(run);
        fs::write(&stamp, made_from).expect("the target folder can be written");
    }
    product
}

/// Everything that a product depends on, as text.
fn describe(sources: &[&Path], commands: &[Command]) -> String {
    let text = |path: &&Path| {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let sources: Vec<String> = sources.iter().map(text).collect();
    format!("{commands:?}\n{}", sources.join("\n"))
}

fn run(mut command: Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "expected {command:?} to succeed, got:\n{errors}"
    );
}
