//! The options of a caller for the generated Rust.

use std::collections::BTreeMap;

/// Options of [`generate_rust`](super::generate_rust).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustOptions {
    crate_path: String,
    root_module: Option<String>,
    externals: BTreeMap<String, String>,
    is_blocking: bool,
    cuts_slices: bool,
}

impl RustOptions {
    /// Code for a crate that depends on `floe`; modules `::Ice` and `::IceStorm` come from there.
    pub fn new() -> Self {
        Self::for_crate_path("::floe")
    }

    /// Code that reaches what it needs of `floe` through this path: `crate` inside `floe` itself.
    ///
    /// # Panics
    /// If `crate_path` is not a Rust path.
    pub fn for_crate_path(crate_path: &str) -> Self {
        assert_path(crate_path);
        let mut externals = BTreeMap::new();
        for (scoped, path) in BUILT_IN {
            externals.insert(scoped.to_owned(), format!("{crate_path}::{path}"));
        }
        Self {
            crate_path: crate_path.to_owned(),
            root_module: None,
            externals,
            is_blocking: false,
            cuts_slices: false,
        }
    }

    /// Takes a Slice module or a single definition from existing Rust, instead of generating it.
    ///
    /// `scoped` is the fully qualified Slice name, `rust_path` what stands for it: the module that
    /// holds the generated names, or the type. The longest match counts.
    ///
    /// # Panics
    /// If `scoped` does not begin with `::`, or `rust_path` is not a Rust path.
    #[must_use]
    pub fn external(mut self, scoped: &str, rust_path: &str) -> Self {
        assert!(
            scoped.starts_with("::"),
            "expected a Slice name that begins with `::`, got `{scoped}`"
        );
        assert_path(rust_path);
        self.externals
            .insert(scoped.to_owned(), rust_path.to_owned());
        self
    }

    /// Generates a module that would otherwise be taken from elsewhere.
    #[must_use]
    pub fn generate(mut self, scoped: &str) -> Self {
        self.externals.remove(scoped);
        self
    }

    /// Generates the content of one Slice module alone, without a `pub mod` around it, for a file
    /// that is this module.
    #[must_use]
    pub fn root_module(mut self, scoped: &str) -> Self {
        self.root_module = Some(scoped.to_owned());
        self
    }

    /// Generates traits for servants without async, too: `GreeterBlocking` beside `Greeter`. An
    /// interface of another crate that is a base must have one as well.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.is_blocking = true;
        self
    }

    /// Lets classes without `["preserve-slice"]` lose the slices that a program does not know, as Ice 3.7
    /// does. Otherwise every class keeps them, and sends them on, as in Ice 3.8.
    #[must_use]
    pub fn cut_slices(mut self) -> Self {
        self.cuts_slices = true;
        self
    }

    pub(crate) fn cuts_slices(&self) -> bool {
        self.cuts_slices
    }

    pub(crate) fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    pub(crate) fn crate_path(&self) -> &str {
        &self.crate_path
    }

    /// Names of the modules that the text starts in; empty unless a root module is set.
    pub(crate) fn root(&self) -> Vec<String> {
        let root = self.root_module.as_deref().unwrap_or("");
        root.split("::")
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// The path of the existing Rust type or module of this scoped name exactly.
    pub(crate) fn external_path(&self, scoped: &str) -> Option<&str> {
        self.externals.get(scoped).map(String::as_str)
    }
}

impl Default for RustOptions {
    fn default() -> Self {
        Self::new()
    }
}

fn assert_path(path: &str) {
    assert!(
        syn::parse_str::<syn::Path>(path).is_ok(),
        "expected a Rust path, got `{path}`"
    );
}

/// The definitions that `floe` has: modules generated from the built-in contracts, and hand-written types.
const BUILT_IN: [(&str, &str); 8] = [
    ("::Glacier2", "contracts::glacier2"),
    ("::Ice", "contracts::ice"),
    ("::Ice::Context", "Context"),
    ("::Ice::EncodingVersion", "EncodingVersion"),
    ("::Ice::Identity", "Identity"),
    ("::Ice::OperationMode", "OperationMode"),
    ("::Ice::ProtocolVersion", "encoding::ProtocolVersion"),
    ("::IceStorm", "contracts::ice_storm"),
];
