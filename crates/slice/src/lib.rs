//! Slice front-end: text to a checked model and diagnostics.
//!
//! [`compile()`] takes paths and a [`Loader`] through these phases:
//!
//! ```text
//! source.rs      a Loader of the caller gives bytes; spans become lines and columns
//! lexer/         text -> tokens
//! preprocess/    includes, macros and conditions -> one token list for each main file
//! parse/         tokens -> syntax tree
//! check/         syntax tree -> model: names, types, values, metadata
//! model/         what code generators and `dynamic` read
//! diagnostic/    codes, places, and how a finding is rendered
//!
//! format/        text to the same text, laid out
//! breaking/      two models to what an old program makes of the new contract
//! ```
//!
//! Every phase goes on after an error and reports what it finds to one list. No input makes it
//! panic; sizes, depths and counts are limited, and passing a limit is an error like others.
//!
//! # Where it is stricter than Ice 3.7
//!
//! The slice2cpp of Ice 3.7.8 accepts some texts that mean nothing; they are errors here: a default
//! value that names something unknown (`int i = Nowhere;`), a constant beyond the range of `float`,
//! a comma without a parameter (`void f(, int a)`), a default of an integer member that is an
//! enumerator, declarations that differ only in case (`class C; class c;`), a constant named in
//! other capitals (`const int k = 1; const int L = K;`), escapes that are not UTF-8 (`"\xff"`),
//! characters in conditions with a prefix or an unknown escape (`L'a'`, `'\q'`), and NUL characters (Ice ignores what stands behind them on their line).
//!
//! # Where it is more lenient than Ice
//!
//! Ice's preprocessor puts blanks around the text of a macro, which makes two words of `-N` and
//! `A::N`, and it reads quotes in skipped groups; here such texts are legal. Of the predefined
//! macros of C, `__DATE__` and `__TIME__` are missing here, as are those of platforms.
//!
//! # Where it differs from Ice 3.8
//!
//! `tests/vectors/slice-accept-38.json` has the verdicts of slice2py of Ice 3.8.3. What is stricter
//! than 3.7 is stricter than 3.8 too: the range of `float`, declarations that differ only in case,
//! a name that is an enumerator's and in other capitals a constant's, escapes and bytes that are
//! not UTF-8. Further, a type written with a backslash is a name (`\int`, which 3.8 takes for the
//! built-in type), `[[...]]` stands before all definitions even if it is empty, and an enumerator
//! that is a compact id has its own capitals (`enum F { a } class E(A) { }`). Accepted here and
//! refused there: `#line` with a file name, the string `"//"`, and an enumerator without its enum
//! where another part of the module defines the enum.
//!
//! The crate is pure: no file system, clock, thread or async. It knows nothing of the wire and
//! nothing of the languages that code is generated for.

pub mod breaking;
mod check;
mod compile;
pub mod diagnostic;
mod format;
mod lexer;
pub mod model;
mod parse;
mod preprocess;
pub mod source;

pub use compile::{Compilation, Language, Options, check_source, compile};
pub use diagnostic::{Code, Diagnostic, Label, Severity, Span};
pub use format::{FormatError, format};
pub use model::Model;
pub use preprocess::is_macro;
pub use source::{ChainLoader, Loader, MemoryLoader, SourceMap};
