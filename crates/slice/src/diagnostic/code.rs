//! The findings that the front-end knows, each with a stable name.

use super::Severity;

macro_rules! codes {
    ($($variant:ident, $name:literal, $severity:ident, $summary:literal;)*) => {
        /// Which rule a diagnostic is about. The name is stable: tools may match on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $summary] $variant,)*
        }

        impl Code {
            /// All codes, in the order of the phases that report them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable name, shown in brackets: `error[undefined-name]`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// One line about the rule.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),* }
            }

            /// Returns the severity: an error or a warning.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),* }
            }
        }
    };
}

codes! {
    // Reading and preprocessing.
    FileNotReadable, "file-not-readable", Error, "a main file cannot be read";
    InvalidUtf8, "invalid-utf8", Error, "a file is not UTF-8 text";
    IncludeNotFound, "include-not-found", Error, "no directory has the included file";
    LateInclude, "late-include", Error, "Ice 3.8 wants every include before the definitions";
    BadDirective, "bad-directive", Error, "a preprocessor directive is unknown or malformed";
    IgnoredDirective, "ignored-directive", Warning, "a preprocessor directive means nothing";
    UnbalancedConditional, "unbalanced-conditional", Error, "#if, #else and #endif do not pair up";
    UserError, "user-error", Error, "an #error directive was reached";
    MacroRedefined, "macro-redefined", Warning, "a macro gets a second, different definition";
    BadMacroCall, "bad-macro-call", Error, "the arguments of a macro do not fit its definition";
    LimitExceeded, "limit-exceeded", Error, "the input is larger or deeper than the compiler accepts";
    OmittedWarnings, "omitted-warnings", Warning, "there are more warnings than are shown";
    // Lexical structure.
    IllegalCharacter, "illegal-character", Error, "a character that Slice does not use";
    UnterminatedString, "unterminated-string", Error, "a string has no closing quote on its line";
    UnterminatedComment, "unterminated-comment", Warning, "a comment has no end";
    NestedComment, "nested-comment", Warning, "a comment begins inside a comment";
    MalformedNumber, "malformed-number", Error, "not a number that Slice knows";
    AmbiguousNumber, "ambiguous-number", Warning, "a number with a leading 0 has digits that are not octal";
    BadEscape, "bad-escape", Error, "an escape sequence has no meaning";
    UnknownEscape, "unknown-escape", Warning, "a backslash stands before a character that needs none";
    // Syntax.
    Syntax, "syntax", Error, "something else was expected here";
    MissingSemicolon, "missing-semicolon", Error, "a semicolon is missing";
    KeywordAsName, "keyword-as-name", Error, "a keyword stands where a name is needed";
    OutsideModule, "outside-module", Error, "only modules stand at the top of a file";
    MisplacedMetadata, "misplaced-metadata", Error, "metadata stands where it is not allowed";
    EmptyMetadata, "empty-metadata", Warning, "metadata brackets without a directive";
    WrongLanguage, "wrong-language", Error, "the chosen version of the language lacks this";
    // Names.
    BadName, "bad-name", Error, "a name breaks the naming rules";
    Redefinition, "redefinition", Error, "a name is defined twice in one scope";
    CaseClash, "case-clash", Error, "two names of one scope differ only in capitalisation";
    UndefinedName, "undefined-name", Error, "nothing of this name is visible";
    CaseMismatch, "case-mismatch", Error, "a name is spelled with other capitals than its definition";
    WrongKind, "wrong-kind", Error, "a name means something that cannot stand here";
    IncompleteType, "incomplete-type", Error, "a definition is needed, and only a declaration was seen";
    ChangedMeaning, "changed-meaning", Error, "a name is redefined after it was used with another meaning";
    // Types and values.
    EmptyDefinition, "empty-definition", Error, "a struct without members or an enum without enumerators";
    RecursiveStruct, "recursive-struct", Error, "a struct would contain itself";
    BadEnumerator, "bad-enumerator", Error, "the value of an enumerator is not legal";
    BadInitializer, "bad-initializer", Error, "a value does not fit its type";
    OutOfRange, "out-of-range", Error, "a number is too large or too small for its type";
    IllegalKey, "illegal-key", Error, "the type cannot be the key of a dictionary";
    DeprecatedKey, "deprecated-key", Warning, "Ice 3.8 no longer allows sequences in dictionary keys";
    BadTag, "bad-tag", Error, "the tag of an optional is not legal";
    BadCompactId, "bad-compact-id", Error, "the compact id of a class is not legal";
    OptionalNotAllowed, "optional-not-allowed", Error, "this member cannot be optional";
    LocalMisuse, "local-misuse", Error, "a type that is not local uses a local one";
    // Interfaces and operations.
    OutBeforeIn, "out-before-in", Error, "an out-parameter stands before an in-parameter";
    DuplicateThrows, "duplicate-throws", Error, "an exception is listed twice";
    AmbiguousOperation, "ambiguous-operation", Error, "two bases declare operations of the same name";
    UnreachableThrows, "unreachable-throws", Warning, "an exception is listed beside one that it extends";
    OnewayResult, "oneway-result", Warning, "an operation that is only invoked oneway has results";
    // Advice.
    UnknownMetadata, "unknown-metadata", Warning, "a metadata directive has no meaning here";
    UnknownDocParameter, "unknown-doc-parameter", Warning, "a doc comment describes a parameter that is not there";
    Deprecated, "deprecated", Warning, "something deprecated is used";
    DeprecatedFeature, "deprecated-feature", Warning, "Ice 3.8 has removed this feature of the language";
    // Code generation.
    MappedNameClash, "mapped-name-clash", Error, "two names become one in the generated code";
    MappedNameChanged, "mapped-name-changed", Warning, "a name is changed in the generated code, where another one has it";
    NoForeignForm, "no-foreign-form", Error, "the types of another world cannot hold this";
    LeftOut, "left-out", Warning, "another world has no use for this definition";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Code;

    #[test]
    fn names_of_codes_are_unique() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
