//! Syntax tree to model: names are looked up, types and values checked, metadata and docs attached.
//!
//! Definitions precede their use in Slice, so one pass in order of the text is enough. What is not
//! legal is reported and left out of the model, its name being remembered as broken: whoever uses
//! it gets no second error.

mod class;
mod collection;
mod constant;
mod container;
mod deprecation;
mod doc;
mod enumeration;
mod enumerator;
mod exception;
mod interface;
mod member;
mod metadata;
mod module;
mod names;
mod order;
mod resolve;
mod scope;
mod structure;
mod suggest;
mod throws;
mod undefined;
mod uses_classes;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::model::{Definition, DefinitionId, DefinitionKind, FileId, Metadata};
use crate::parse::ast::{Item, Unit};
use crate::preprocess::Files;
use scope::{ScopeId, Scopes};
pub(crate) use suggest::nearest;
pub(crate) use uses_classes::uses_classes;

/// How deep definitions may build on one another, by inheritance or by containment. Whoever walks
/// a model may recurse.
const MAX_TYPE_DEPTH: usize = 100;

/// How many unknown names are compared with all known ones to find what was meant.
const MAX_SUGGESTIONS: usize = 100;

/// Builds a model, one translation unit after the other.
pub(crate) struct Checker {
    language: Language,
    /// The main files of this compilation among those read so far.
    main_files: HashSet<FileId>,
    /// The unit that is being checked; only what it has defined or included is visible.
    unit: usize,
    scopes: Scopes,
    definitions: Vec<Definition>,
    facts: Vec<Facts>,
    /// The first definition of each simple name, in whatever module.
    by_name: HashMap<String, DefinitionId>,
    /// How many definitions have been completed; gives the order in the model.
    completed: usize,
    file_metadata: BTreeMap<FileId, Vec<Metadata>>,
    /// Those directives for look-ups, which each name needs: a file may have any number of them.
    file_directives: BTreeMap<FileId, FileDirectives>,
    /// The definitions of this unit, those to come too, by simple name: a use before the definition
    /// deserves a better message than an unknown name.
    upcoming: BTreeMap<String, Upcoming>,
    /// The classes of this unit that have compact ids: programs of other units may use the same.
    compact_ids: HashMap<i32, (String, Span)>,
    /// The sequence, dictionary or constant whose own text is being checked: that does not see it, so its
    /// name may be one from farther out.
    unseen: Option<DefinitionId>,
    /// True if an included file of this unit was not found: that is reported, and unknown names are
    /// likely to come from it.
    lacks_files: bool,
    /// How many more unknown names are compared with all known ones.
    suggestions_left: usize,
    found: Vec<Diagnostic>,
}

/// The checker's facts about a definition, beside the model.
#[derive(Debug, Clone, Default)]
struct Facts {
    is_local: bool,
    /// How deep it builds on others.
    depth: usize,
    /// Its place in the order of completion; `None` while it is only declared.
    completed: Option<usize>,
    /// The last unit in which its body was met.
    body_unit: Option<usize>,
    /// The operations that an interface declares itself, or (Ice 3.7) a class: name and place by the
    /// name in lower case.
    operations: HashMap<String, (String, Span)>,
}

/// Where a construct stands.
#[derive(Debug, Clone, Copy)]
struct Context {
    scope: ScopeId,
    /// True if the construct belongs to a `local` definition, which may use local types.
    is_local: bool,
    /// True if it stands inside the braces of a definition: names used there belong to that scope.
    is_in_body: bool,
}

impl Context {
    /// The inside of the definition.
    fn body(self) -> Self {
        Self {
            is_in_body: true,
            ..self
        }
    }
}

/// The metadata directives of a file.
#[derive(Debug, Default)]
struct FileDirectives {
    /// Where they begin: a file that several units include brings them again.
    starts: HashSet<usize>,
    texts: HashSet<String>,
}

impl Checker {
    pub(crate) fn new(language: Language) -> Self {
        Self {
            language,
            main_files: HashSet::new(),
            unit: 0,
            scopes: Scopes::new(),
            definitions: Vec::new(),
            facts: Vec::new(),
            by_name: HashMap::new(),
            completed: 0,
            file_metadata: BTreeMap::new(),
            file_directives: BTreeMap::new(),
            upcoming: BTreeMap::new(),
            compact_ids: HashMap::new(),
            unseen: None,
            lacks_files: false,
            suggestions_left: MAX_SUGGESTIONS,
            found: Vec::new(),
        }
    }

    /// Checks a translation unit and adds its definitions.
    pub(crate) fn check(&mut self, unit: &Unit, files: &Files, reporter: &mut Reporter) {
        self.unit += 1;
        let all = (0..files.sources.files().len()).map(FileId);
        self.main_files = all.filter(|file| files.is_main(*file)).collect();
        self.add_file_metadata(unit);
        self.lacks_files = unit.lacks_files;
        self.upcoming.clear();
        self.compact_ids.clear();
        self.scopes.forget_meanings();
        collect_names(&unit.items, "", &mut self.upcoming);
        self.items(&unit.items, self.scopes.root(), &mut Vec::new());
        for diagnostic in self.found.drain(..) {
            reporter.report(diagnostic);
        }
    }

    /// The definitions in the order of the model, and the metadata of the files.
    pub(crate) fn finish(self) -> (Vec<Definition>, BTreeMap<FileId, Vec<Metadata>>) {
        let kept = self.definitions.iter().zip(&self.facts);
        let order = kept.map(|(definition, facts)| match &definition.kind {
            _ if facts.is_local => None,
            // What is only declared stands behind the rest: nothing needs it complete.
            DefinitionKind::Interface(_) | DefinitionKind::Class(_) => {
                Some(facts.completed.unwrap_or(usize::MAX))
            }
            // What was reported as wrong is not complete either, and nothing refers to it.
            _ => facts.completed,
        });
        let order: Vec<_> = order.collect();
        (order::arrange(self.definitions, &order), self.file_metadata)
    }

    fn add_file_metadata(&mut self, unit: &Unit) {
        for (file, metadata) in &unit.file_metadata {
            let known = self.file_directives.entry(*file).or_default();
            if known.starts.insert(metadata.span.start) {
                known.texts.insert(metadata.text.clone());
                let all = self.file_metadata.entry(*file).or_default();
                all.push(metadata.clone());
                self.check_file_metadata(metadata);
            }
        }
    }

    /// Returns true if the file of a place has a file metadata directive.
    fn has_file_metadata(&self, file: FileId, directive: &str) -> bool {
        let directives = self.file_directives.get(&file);
        directives.is_some_and(|directives| directives.texts.contains(directive))
    }

    fn definition(&self, id: DefinitionId) -> &Definition {
        &self.definitions[id.0]
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: &str) {
        if matches!(code, Code::Deprecated | Code::DeprecatedFeature)
            && self.is_suppressed(span, "deprecated")
        {
            return;
        }
        self.found
            .push(Diagnostic::new(code, span, message).help(help));
    }

    /// The depth of something that builds on parts of these depths; `None` if it is too deep, which
    /// is reported.
    fn depth_above(&mut self, parts: impl IntoIterator<Item = usize>, span: Span) -> Option<usize> {
        let depth = parts.into_iter().max().map_or(0, |deepest| deepest + 1);
        if depth == MAX_TYPE_DEPTH {
            let message =
                format!("definitions build on one another more than {MAX_TYPE_DEPTH} deep");
            let help = "flatten these types";
            self.error(Code::LimitExceeded, span, message, help);
            return None;
        }
        Some(depth)
    }
}

/// A definition that may come later in the text.
#[derive(Debug)]
struct Upcoming {
    /// The names of its modules, each after `::`.
    modules: String,
    span: Span,
}

/// The names of all definitions, each with its first place.
fn collect_names(items: &[Item], modules: &str, names: &mut BTreeMap<String, Upcoming>) {
    for item in items {
        match item {
            Item::Module(module) => {
                let path = module.path.iter().map(|name| format!("::{}", name.text));
                let modules = path.fold(modules.to_owned(), |all, name| all + &name);
                collect_names(&module.items, &modules, names);
            }
            Item::Definition(definition) => {
                let name = &definition.name;
                let upcoming = || Upcoming {
                    modules: modules.to_owned(),
                    span: name.span,
                };
                names.entry(name.text.clone()).or_insert_with(upcoming);
            }
        }
    }
}
