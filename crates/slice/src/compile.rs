//! One call from paths to a model: the phases in order.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic, Reporter};
use crate::model::{FileId, FileInfo, Model};
use crate::parse::parse;
use crate::preprocess::{Files, Preprocessor};
use crate::source::{Loader, MemoryLoader, SourceMap};

/// Which version of the Slice language is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Language {
    /// Whatever Ice 3.7 or Ice 3.8 accepts.
    #[default]
    Any,
    /// The language that Ice 3.7 accepts.
    V37,
    /// The language that Ice 3.8 accepts.
    V38,
}

impl Language {
    pub(crate) fn has_37(self) -> bool {
        self != Self::V38
    }

    pub(crate) fn has_38(self) -> bool {
        self != Self::V37
    }

    /// The value of the predefined macros `ICE_VERSION` and `__ICE_VERSION__`.
    pub(crate) fn ice_version(self) -> &'static str {
        match self {
            Self::V37 => "30708",
            Self::Any | Self::V38 => "30811",
        }
    }
}

/// The options of a compilation.
///
/// The macros `__FLOE__` (1), `ICE_VERSION` and `__ICE_VERSION__` (30708 for [`Language::V37`],
/// otherwise 30811), `__STDC__`, `__STDC_HOSTED__`, `__STDC_VERSION__`, `__FILE__` and `__LINE__` are
/// predefined.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where included files are searched, in order (`-I`). A file included in quotes is searched
    /// beside the including file first.
    pub include_dirs: Vec<PathBuf>,
    /// Macros to define, with their text (`-D`).
    pub defines: Vec<(String, String)>,
    /// Macros to remove again (`-U`), after `defines`.
    pub undefines: Vec<String>,
    /// The version of the language.
    pub language: Language,
    /// True if warnings in files of other projects are shown: those included in angle brackets, and the
    /// files that they include. Default: false. Errors are always shown, and a file that is compiled itself
    /// is never one of another project.
    pub warn_foreign: bool,
}

/// The result of a compilation.
#[derive(Debug, Clone)]
pub struct Compilation {
    /// The definitions of all files. If there are errors, only what was legal; make no code from it.
    pub model: Model,
    /// Errors and warnings, in the order of the files and of their places in them.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that spans point into.
    pub sources: SourceMap,
    /// Every file that was read, in the order of reading: rerun when one of them changes.
    pub dependencies: Vec<PathBuf>,
}

impl Compilation {
    /// Returns true if there is an error (as opposed to warnings).
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// All diagnostics as text.
    pub fn render(&self) -> String {
        let rendered = self
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&self.sources));
        rendered.collect::<Vec<_>>().join("\n")
    }
}

/// Compiles main files, each a translation unit with macros of its own, into one model.
///
/// A main file that an earlier unit has included is not read again. Definitions of included files
/// are in the model too; [`FileInfo::is_main`] tells them apart.
///
/// ```
/// use floe_slice::{MemoryLoader, Options, compile};
///
/// let files = MemoryLoader::new().with("demo.ice", "module Demo { enum Color { red, green } }");
/// let compilation = compile(&Options::default(), &files, &["demo.ice".into()]);
/// assert!(compilation.diagnostics.is_empty());
/// assert!(compilation.model.find("::Demo::Color").is_some());
/// ```
pub fn compile(options: &Options, loader: &dyn Loader, mains: &[PathBuf]) -> Compilation {
    let mut reporter = Reporter::default();
    let mut files = Files::new(loader, mains);
    let mut checker = Checker::new(options.language);
    for main in mains {
        match files.open(main, None, &mut reporter) {
            Ok(file) if files.read_whole.contains(&file) => {}
            Ok(file) => translation_unit(options, file, &mut files, &mut checker, &mut reporter),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", main.display());
                reporter.report(Diagnostic::without_place(Code::FileNotReadable, message));
            }
        }
    }
    let (definitions, mut metadata) = checker.finish();
    let model = Model {
        files: file_infos(&files, &mut metadata),
        definitions,
    };
    Compilation {
        diagnostics: reporter.finish(),
        dependencies: model.files.iter().map(|file| file.path.clone()).collect(),
        model,
        sources: files.sources,
    }
}

/// Compiles one text that includes nothing, as the file `input.ice`.
pub fn check_source(text: &[u8]) -> Compilation {
    let files = MemoryLoader::new().with("input.ice", text);
    compile(&Options::default(), &files, &["input.ice".into()])
}

fn translation_unit(
    options: &Options,
    file: FileId,
    files: &mut Files,
    checker: &mut Checker,
    reporter: &mut Reporter,
) {
    let input = Preprocessor::new(options, files, reporter).run(file);
    let unit = parse(input, file, options.language, reporter);
    checker.check(&unit, files, reporter);
}

fn file_infos(
    files: &Files,
    metadata: &mut BTreeMap<FileId, Vec<crate::model::Metadata>>,
) -> Vec<FileInfo> {
    let all = files.sources.files().iter().enumerate();
    all.map(|(index, file)| FileInfo {
        path: file.path.clone(),
        is_main: files.is_main(FileId(index)),
        metadata: metadata.remove(&FileId(index)).unwrap_or_default(),
    })
    .collect()
}
