//! Where contracts come from: the file system, and behind it the contracts that are built in.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use floe_slice::{Compilation, Language, Loader, Options, compile};

/// The directory in which the built-in contracts appear; it exists in no file system.
pub const BUILT_IN_DIR: &str = "<built-in>";

/// Compiles files of the file system.
///
/// `#include <Ice/Identity.ice>` and the other files of [`built_in_files`] are found although
/// nothing is installed; a file of the same name in an include directory goes first. If the options name a version of Ice,
/// these are the files of that version.
pub fn compile_files(options: &Options, files: &[PathBuf]) -> Compilation {
    let mut options = options.clone();
    options.include_dirs.push(PathBuf::from(BUILT_IN_DIR));
    compile(
        &options,
        &FileSystem.or(BuiltIn::of(options.language)),
        files,
    )
}

/// The names of the built-in contracts, as `#include` takes them.
pub fn built_in_files() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Bytes that are read of a file. That is more than the front-end takes, so it refuses a longer file, or one that never
/// ends, such as a device.
const READ_MAX: u64 = 64 << 20;

/// Loads what is on disk.
#[derive(Debug, Clone, Copy)]
pub struct FileSystem;

impl Loader for FileSystem {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(READ_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        std::fs::canonicalize(path).ok()
    }
}

/// Loads the built-in contracts, below [`BUILT_IN_DIR`].
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    language: Language,
}

impl BuiltIn {
    /// The files that this language has.
    pub fn of(language: Language) -> Self {
        Self { language }
    }

    /// Returns true if the version of Ice has this file.
    fn has(self, name: &str) -> bool {
        let is_for = |only: &[&str]| only.contains(&name);
        let is_older = || STAND_INS.iter().any(|(older, _)| *older == name);
        match self.language {
            Language::V37 => !is_for(ONLY_OURS) && !is_for(ONLY_38),
            Language::V38 => !is_for(ONLY_OURS) && !is_older() || is_for(ONLY_38),
            _ => true,
        }
    }

    /// Lists what a file brings in the version of Ice besides what ours brings.
    fn extra(self, name: &str) -> Option<&'static [&'static str]> {
        let extra = match self.language {
            Language::V37 => EXTRA_37,
            Language::V38 => EXTRA_38,
            _ => &[],
        };
        let found = extra.iter().find(|(file, _)| *file == name);
        found.map(|(_, includes)| *includes)
    }

    /// A text whose includes find our files where the version of Ice has other ones of the name, or none.
    fn with_ours(self, text: &str) -> String {
        let other = |name: &&str| !self.has(name) || self.extra(name).is_some();
        let other = built_in_files().filter(other);
        other.fold(text.to_owned(), |text, name| {
            text.replace(&format!("<{name}>"), &format!("<{OURS}/{name}>"))
        })
    }
}

impl Loader for BuiltIn {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inside = path.strip_prefix(BUILT_IN_DIR).ok();
        let ours = inside.and_then(|inside| inside.strip_prefix(OURS).ok());
        let is_meant = |name: &str| match ours {
            Some(ours) => ours == Path::new(name),
            None => inside == Some(Path::new(name)) && self.has(name),
        };
        let contract = BUILT_IN.iter().find(|(name, _)| is_meant(name));
        let mut stand_ins = STAND_INS.iter().chain(STAND_INS_38);
        let stand_in = stand_ins.find(|(name, _)| is_meant(name));
        let text = match (contract, stand_in) {
            (Some((name, text)), _) => match self.extra(name).filter(|_| ours.is_none()) {
                Some(extra) => stand_in_text(&[&[*name], extra].concat()),
                None => (*text).to_owned(),
            },
            (None, Some((_, includes))) => stand_in_text(includes),
            (None, None) => {
                let kind = io::ErrorKind::NotFound;
                return Err(io::Error::new(kind, "no such built-in contract"));
            }
        };
        Ok(self.with_ours(&text).into_bytes())
    }
}

/// A file that brings what these files declare.
fn stand_in_text(includes: &[&str]) -> String {
    let includes: String = includes
        .iter()
        .map(|name| format!("#include <{name}>\n"))
        .collect();
    format!("#pragma once\n{includes}")
}

/// The folder by which built-in files include those that only other versions of Ice have.
const OURS: &str = "ours";

/// Files that no version of Ice has.
///
/// Source: observed, slice2py of Ice 3.7.8 and of Ice 3.8.3.
const ONLY_OURS: &[&str] = &["Glacier2/SSLSession.ice", "IceStorm/Internal.ice"];

/// Files that Ice 3.8 has and Ice 3.7 lacks.
///
/// Source: observed, as above.
const ONLY_38: &[&str] = &[
    "Ice/Context.ice",
    "Ice/LocatorRegistry.ice",
    "Ice/OperationMode.ice",
    "Ice/PropertyDict.ice",
    "Ice/ReplyStatus.ice",
];

/// Files bring this in Ice 3.7, besides what ours bring.
///
/// Source: observed, as above.
const EXTRA_37: &[(&str, &[&str])] = &[
    ("Glacier2/Router.ice", &["Glacier2/SSLSession.ice"]),
    (
        "Glacier2/Session.ice",
        &["Glacier2/SSLInfo.ice", "Glacier2/SSLSession.ice"],
    ),
    ("Ice/PropertiesAdmin.ice", &["Ice/BuiltinSequences.ice"]),
    (
        "IceStorm/IceStorm.ice",
        &["Ice/BuiltinSequences.ice", "IceStorm/Metrics.ice"],
    ),
];

/// Files bring this in Ice 3.8, besides what ours bring.
const EXTRA_38: &[(&str, &[&str])] = &[
    ("Glacier2/Router.ice", &["Glacier2/SSLSession.ice"]),
    (
        "Glacier2/SSLInfo.ice",
        &["Glacier2/PermissionsVerifier.ice"],
    ),
    (
        "Glacier2/Session.ice",
        &[
            "Glacier2/SSLInfo.ice",
            "Glacier2/SSLSession.ice",
            "Glacier2/Router.ice",
        ],
    ),
    ("Ice/Process.ice", &["Ice/Locator.ice"]),
    (
        "IceStorm/IceStorm.ice",
        &["Ice/BuiltinSequences.ice", "IceStorm/Metrics.ice"],
    ),
];

/// Files that contracts for Ice 3.8 include, and those of ours that have what they bring.
const STAND_INS_38: &[(&str, &[&str])] = &[
    ("Ice/LocatorRegistry.ice", &["Ice/Locator.ice"]),
    ("Ice/PropertyDict.ice", &["Ice/PropertiesAdmin.ice"]),
    ("Ice/ReplyStatus.ice", &[]),
];

macro_rules! contracts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../contracts/", $name)))),*]
    };
}

const BUILT_IN: &[(&str, &str)] = contracts![
    "Glacier2/Metrics.ice",
    "Glacier2/PermissionsVerifier.ice",
    "Glacier2/Router.ice",
    "Glacier2/SSLInfo.ice",
    "Glacier2/SSLSession.ice",
    "Glacier2/Session.ice",
    "Ice/BuiltinSequences.ice",
    "Ice/Context.ice",
    "Ice/EndpointTypes.ice",
    "Ice/Identity.ice",
    "Ice/Locator.ice",
    "Ice/Metrics.ice",
    "Ice/OperationMode.ice",
    "Ice/Process.ice",
    "Ice/PropertiesAdmin.ice",
    "Ice/RemoteLogger.ice",
    "Ice/Router.ice",
    "Ice/SliceChecksumDict.ice",
    "Ice/Version.ice",
    "IceStorm/IceStorm.ice",
    "IceStorm/Internal.ice",
    "IceStorm/Metrics.ice",
];

/// Files that only Ice 3.7 has, and those of ours that have what they bring. Floe has no local
/// types, so that a file that declares nothing else brings what contracts include it for.
const STAND_INS: &[(&str, &[&str])] = &[
    (
        "Glacier2/PermissionsVerifierF.ice",
        &["Glacier2/PermissionsVerifier.ice"],
    ),
    ("Glacier2/RouterF.ice", &["Glacier2/Router.ice"]),
    ("Glacier2/SessionF.ice", &["Glacier2/Session.ice"]),
    (
        "Ice/Communicator.ice",
        &[
            "Ice/Current.ice",
            "Ice/Locator.ice",
            "Ice/Process.ice",
            "Ice/PropertiesAdmin.ice",
            "Ice/Router.ice",
        ],
    ),
    ("Ice/CommunicatorF.ice", &[]),
    ("Ice/Connection.ice", RUNTIME),
    ("Ice/ConnectionF.ice", &[]),
    ("Ice/Current.ice", RUNTIME),
    (
        "Ice/Endpoint.ice",
        &[
            "Ice/BuiltinSequences.ice",
            "Ice/EndpointTypes.ice",
            "Ice/Version.ice",
        ],
    ),
    ("Ice/EndpointF.ice", &[]),
    ("Ice/FacetMap.ice", &[]),
    ("Ice/ImplicitContext.ice", RUNTIME),
    ("Ice/ImplicitContextF.ice", &[]),
    (
        "Ice/Instrumentation.ice",
        &[
            "Ice/Context.ice",
            "Ice/Identity.ice",
            "Ice/OperationMode.ice",
            "Ice/Version.ice",
        ],
    ),
    ("Ice/InstrumentationF.ice", &[]),
    ("Ice/LocalException.ice", RUNTIME),
    ("Ice/LocatorF.ice", &["Ice/Locator.ice"]),
    ("Ice/Logger.ice", &[]),
    ("Ice/LoggerF.ice", &[]),
    (
        "Ice/ObjectAdapter.ice",
        &["Ice/Current.ice", "Ice/Locator.ice", "Ice/Process.ice"],
    ),
    ("Ice/ObjectAdapterF.ice", &[]),
    ("Ice/ObjectFactory.ice", &[]),
    ("Ice/Plugin.ice", &["Ice/BuiltinSequences.ice"]),
    ("Ice/PluginF.ice", &[]),
    ("Ice/ProcessF.ice", &["Ice/Process.ice"]),
    (
        "Ice/Properties.ice",
        &["Ice/BuiltinSequences.ice", "Ice/PropertiesAdmin.ice"],
    ),
    ("Ice/PropertiesF.ice", &["Ice/PropertiesAdmin.ice"]),
    ("Ice/RouterF.ice", &["Ice/Router.ice"]),
    ("Ice/ServantLocator.ice", RUNTIME),
    ("Ice/ServantLocatorF.ice", &[]),
    ("Ice/ValueFactory.ice", &[]),
];

/// The files that the types of the runtime are made of.
const RUNTIME: &[&str] = &[
    "Ice/BuiltinSequences.ice",
    "Ice/Context.ice",
    "Ice/Identity.ice",
    "Ice/OperationMode.ice",
    "Ice/Version.ice",
];

#[cfg(test)]
mod tests {
    use floe_slice::Language;

    use super::*;

    #[test]
    fn every_built_in_contract_compiles_without_a_finding() {
        for name in built_in_files() {
            let file = Path::new(BUILT_IN_DIR).join(name);
            let compilation = compile_files(&Options::default(), &[file]);
            assert_eq!(compilation.render(), "", "{name}");
            assert!(!compilation.model.definitions.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_contract_finds_what_its_version_of_ice_has_and_nothing_else() {
        let stand_ins = || STAND_INS.iter().chain(STAND_INS_38);
        let names = || stand_ins().map(|(name, _)| *name).chain(built_in_files());
        let contract = "module M { interface I { void f(Ice::Identity id, Ice::Context context, Ice::OperationMode mode,
                            Ice::EncodingVersion version, Ice::StringSeq names, Ice::Router* router, Ice::Locator* locator,
                            Ice::Process* process, Ice::PropertyDict properties, Ice::LogMessage message); } }";
        for language in [Language::Any, Language::V37, Language::V38] {
            let has = |name: &&str| BuiltIn::of(language).has(name);
            let includes = names().filter(has);
            let includes: String = includes
                .map(|name| format!("#include <{name}>\n"))
                .collect();
            let file = temporary_file(&format!("{includes}{contract}"));
            let options = Options {
                language,
                // Ice 3.8 has no metadata for the mode that 3.7 sends.
                warn_foreign: language != Language::V38,
                ..Options::default()
            };
            let compilation = compile_files(&options, std::slice::from_ref(&file));
            assert_eq!(compilation.render(), "", "{language:?}");
            for name in names().filter(|name| !has(name)) {
                let file = temporary_file(&format!("#include <{name}>\n"));
                let compilation = compile_files(&options, &[file]);
                assert!(compilation.has_errors(), "{language:?} {name}");
            }
        }
        let counts = [Language::Any, Language::V37, Language::V38].map(|language| {
            names()
                .filter(|name| BuiltIn::of(language).has(name))
                .count()
        });
        assert_eq!(counts, [56, 49, 23]);
    }

    #[test]
    fn a_file_brings_what_it_brings_in_its_version_of_ice() {
        let cases = [
            (
                Language::V37,
                "Glacier2/Session",
                "Glacier2::SSLSessionManager*",
            ),
            (
                Language::V38,
                "Glacier2/Router",
                "Glacier2::SSLSessionManager*",
            ),
            (
                Language::V38,
                "Glacier2/SSLInfo",
                "Glacier2::SSLPermissionsVerifier*",
            ),
            (Language::V37, "Ice/Communicator", "Ice::Locator*"),
            (Language::V37, "Ice/Endpoint", "Ice::StringSeq"),
            (Language::V37, "Ice/Instrumentation", "Ice::Context"),
            (Language::V37, "Ice/ObjectAdapter", "Ice::Process*"),
            (Language::V37, "Ice/PropertiesAdmin", "Ice::StringSeq"),
            (Language::V37, "Ice/Properties", "Ice::StringSeq"),
            (Language::V37, "IceStorm/IceStorm", "Ice::StringSeq"),
            (Language::V38, "IceStorm/IceStorm", "Ice::StringSeq"),
            (Language::V38, "Ice/Process", "Ice::Locator*"),
        ];
        for (language, file, r#type) in cases {
            let path = temporary_file(&format!(
                "#include <{file}.ice>\nmodule M {{ interface I {{ void f({type} x); }} }}"
            ));
            let options = Options {
                language,
                ..Options::default()
            };
            let compilation = compile_files(&options, &[path]);
            assert!(
                !compilation.has_errors(),
                "{language:?} {file}: {}",
                compilation.render()
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_several_paths_lead_to_is_read_once() {
        let folder = std::env::temp_dir().join(format!("floe-paths-{}", std::process::id()));
        let (real, link) = (folder.join("real"), folder.join("link"));
        std::fs::create_dir_all(&real).expect("the directory for temporary files can be written");
        std::os::unix::fs::symlink(&real, &link).expect("a new link");
        let write = |name: &str, text: &str| std::fs::write(real.join(name), text).expect(name);
        write("b.ice", "#pragma once\nmodule M { struct B { int i; } }");
        write(
            "c.ice",
            "#include \"b.ice\"\nmodule M { struct C { B b; } }",
        );
        write(
            "a.ice",
            "#include \"b.ice\"\n#include <c.ice>\nmodule M { struct A { C c; } }",
        );
        let options = Options {
            include_dirs: vec![link.clone()],
            ..Options::default()
        };
        let mains = [real.join("a.ice"), link.join("b.ice")];
        let compilation = compile_files(&options, &mains);
        std::fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(compilation.render(), "");
        let files = compilation.model.files.iter();
        let is_main: Vec<bool> = files.map(|file| file.is_main).collect();
        assert_eq!(is_main, [true, true, false]);
    }

    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

    /// A file in the directory of the tests.
    fn temporary_file(text: &str) -> PathBuf {
        // Tests run at a time.
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = format!("floe-includes-{}-{number}.ice", std::process::id());
        let path = std::env::temp_dir().join(path);
        std::fs::write(&path, text).expect("the directory for temporary files can be written");
        path
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_never_ends_is_refused() {
        let file = PathBuf::from("/dev/zero");
        assert_eq!(FileSystem.load(&file).unwrap().len() as u64, READ_MAX);
        let compilation = compile_files(&Options::default(), &[file]);
        let found = compilation.render();
        assert!(found.contains("exceed 33554432 bytes"), "{found}");
    }

    #[test]
    fn the_built_in_directory_is_not_looked_for_elsewhere() {
        let error = BuiltIn::of(Language::Any)
            .load(Path::new("Ice/Identity.ice"))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
