//! Every kind of change: what it breaks, why, and what to do instead.

/// The damage of a change, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Impact {
    /// A program made from the old contract and one made from the new one misunderstand each other.
    Wire,
    /// Programs understand each other; a program that is compiled again must be changed.
    Source,
    /// Nothing.
    Safe,
}

impl Impact {
    /// The word that a report uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Source => "source",
            Self::Safe => "safe",
        }
    }
}

macro_rules! codes {
    ($($name:ident $text:literal $impact:ident: $why:literal, $help:literal;)*) => {
        /// The kind of a change. Its text and its impact never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ChangeCode {
            $(#[doc = concat!("`", $text, "`: ", $why)] $name,)*
        }

        impl ChangeCode {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Returns the damage of the change.
            pub fn impact(self) -> Impact {
                match self { $(Self::$name => Impact::$impact,)* }
            }

            /// Why it does or does not.
            pub fn why(self) -> &'static str {
                match self { $(Self::$name => $why,)* }
            }

            /// Returns advice: what to do instead, or about it; empty if there is nothing to do.
            pub fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }
        }
    };
}

codes! {
    InterfaceRemoved "interface-removed" Wire:
        "old callers invoke its operations and ask for its type id",
        "keep it, mark it `[\"deprecated\"]`, and remove it when nobody calls it any more";
    ExceptionRemoved "exception-removed" Wire:
        "its type id travels: an old servant still throws it, and a new caller cannot read it",
        "keep it, mark it `[\"deprecated\"]`, and stop throwing it first";
    ClassRemoved "class-removed" Wire:
        "its type id travels: instances that an old peer sends cannot be read",
        "keep it, mark it `[\"deprecated\"]`, and stop sending it first";
    TypeIdChanged "type-id-changed" Wire:
        "module and name are the type id on the wire, and old peers send and expect the old one",
        "keep the old definition; for another name in code alone use `<language>:identifier:name` metadata";
    KindChanged "kind-changed" Wire:
        "another kind of definition has other bytes",
        "add a definition with a new name instead";
    EnumeratorRemoved "enumerator-removed" Wire:
        "an old peer may send the value, and who does not know it cannot read the message",
        "keep it, and stop sending it";
    EnumeratorAdded "enumerator-added" Wire:
        "an old peer that gets the new value cannot read the message",
        "send it only to peers that are known to have the new contract, or use a new operation";
    EnumeratorValueChanged "enumerator-value-changed" Wire:
        "the value travels, not the name: old peers take it for something else",
        "give the enumerator its old value explicitly: `name = value`";
    EnumWidthChanged "enum-width-changed" Wire:
        "encoding 1.0 chooses 1, 2 or 4 bytes by the largest value of the enumeration (encoding 1.1 does not)",
        "keep the largest value on the same side of 127 and of 32767, or leave encoding 1.0 first";
    MemberAdded "member-added" Wire:
        "members are encoded one after another without names: old peers neither send nor expect it",
        "in an exception or class make it `optional(tag)`; otherwise define a new type and a new operation";
    MemberRemoved "member-removed" Wire:
        "members are encoded one after another without names: old peers still send and expect it",
        "keep it with its default, or define a new type and a new operation";
    MemberTypeChanged "member-type-changed" Wire:
        "old peers read and write the bytes of the old type",
        "define a new type and a new operation";
    MemberOrderChanged "member-order-changed" Wire:
        "members are encoded in the order of their declaration: values arrive in other members",
        "restore the order";
    ParameterAdded "parameter-added" Wire:
        "parameters are encoded one after another without names: old peers neither send nor expect it",
        "make it `optional(tag)`, or add an operation with a new name";
    ParameterRemoved "parameter-removed" Wire:
        "parameters are encoded one after another without names: old peers still send and expect it",
        "keep it and ignore it, or add an operation with a new name";
    ParameterTypeChanged "parameter-type-changed" Wire:
        "old peers read and write the bytes of the old type",
        "add an operation with a new name";
    ParameterOrderChanged "parameter-order-changed" Wire:
        "parameters are encoded in the order of their declaration: values arrive in other parameters",
        "restore the order";
    ParameterDirectionChanged "parameter-direction-changed" Wire:
        "in-parameters travel in the request, out-parameters in the reply",
        "add an operation with a new name";
    ReturnTypeChanged "return-type-changed" Wire:
        "old peers read and write the bytes of the old type",
        "add an operation with a new name";
    ElementTypeChanged "element-type-changed" Wire:
        "old peers read and write elements of the old type",
        "define a collection with a new name";
    OptionalityChanged "optionality-changed" Wire:
        "an optional travels with its tag behind what is required, and what is required without a tag",
        "keep it as it was, and add the other form under a new name";
    TagChanged "tag-changed" Wire:
        "old peers send the old tag, which is skipped: the value is lost without an error",
        "restore the tag";
    BaseChanged "base-changed" Wire:
        "old peers send and expect the slices of the old base",
        "restore the base, or define a new type";
    CompactIdChanged "compact-id-changed" Wire:
        "the compact id stands for the type on the wire",
        "restore the id";
    InterfaceBaseRemoved "interface-base-removed" Wire:
        "old callers ask for the type id of the base (`ice_isA`, checked casts) and invoke its operations",
        "keep the base";
    OperationRemoved "operation-removed" Wire:
        "old callers get an OperationNotExistException",
        "keep it, mark it `[\"deprecated\"]`, and remove it when nobody calls it any more";
    OperationRenamed "operation-renamed" Wire:
        "the name travels: old callers get an OperationNotExistException",
        "keep the old operation beside the new one; for another name in code alone use `<language>:identifier:name` metadata";
    IdempotentAdded "idempotent-added" Wire:
        "old callers send mode 0, which servants of Ice 3.7 refuse for an idempotent operation; new callers send mode 2, which old servants refuse",
        "add an idempotent operation with a new name";
    IdempotentRemoved "idempotent-removed" Wire:
        "old callers send mode 2, which servants refuse for an operation that is not idempotent; new callers send mode 0, which old servants of Ice 3.7 refuse",
        "add an operation with a new name";
    ThrowsAdded "throws-added" Wire:
        "old callers do not know the exception here: they get an UnknownUserException",
        "throw an exception that derives from one that the callers know, with `[\"format:sliced\"]`";
    ThrowsRemoved "throws-removed" Wire:
        "old servants may still throw it: new callers get an UnknownUserException",
        "keep it in the clause until no servant throws it";
    SlicedFormatRemoved "sliced-format-removed" Wire:
        "old peers that do not know the most derived type can no longer read what they know of it",
        "keep `[\"format:sliced\"]`";
    PreserveSliceRemoved "preserve-slice-removed" Wire:
        "programs of Ice 3.7 no longer pass on the members that they do not know",
        "keep `[\"preserve-slice\"]`";

    DefinitionRemoved "definition-removed" Source:
        "its name does not travel, but code may use it",
        "keep it, and mark it `[\"deprecated\"]`";
    DefinitionRenamed "definition-renamed" Source:
        "its name does not travel, but code uses it",
        "change the code, or keep the name in code with `<language>:identifier:name` metadata";
    EnumeratorRenamed "enumerator-renamed" Source:
        "the value travels, not the name; code, and JSON made of values, use the name",
        "change the code";
    MemberRenamed "member-renamed" Source:
        "names of members do not travel; code, and JSON made of values, use them",
        "change the code";
    ParameterRenamed "parameter-renamed" Source:
        "names of parameters do not travel; some languages, and JSON made of values, use them",
        "change the code that names its arguments";
    TypeRenamed "type-renamed" Source:
        "both types have the same bytes, but code knows them by different names",
        "change the code";
    ProxyTypeChanged "proxy-type-changed" Source:
        "the type of a proxy does not travel, but the operations that code may invoke are others",
        "change the code; objects behind the proxies must have the new interface";
    OptionalAdded "optional-added" Source:
        "old peers skip a tag that they do not know; code that lists all members or parameters does not compile",
        "change the code";
    OptionalRemoved "optional-removed" Source:
        "its tag is skipped when an old peer sends it, and old peers do without it; code may use it",
        "never use its tag for anything else";
    OperationAdded "operation-added" Source:
        "old callers do not use it, but every servant must implement it",
        "implement it; callers that may meet old servants must expect an OperationNotExistException";
    InterfaceBaseAdded "interface-base-added" Source:
        "old callers do not use it, but every servant must implement its operations",
        "implement them";
    ConstantChanged "constant-changed" Source:
        "constants do not travel: each program has the value that it was compiled with",
        "make sure that old and new programs may disagree about it";
    MappingChanged "mapping-changed" Source:
        "this metadata changes the generated code, not the wire",
        "change the code";

    DefinitionAdded "definition-added" Safe: "old programs do not use it", "";
    OperationMoved "operation-moved" Safe:
        "callers find it under the same name in a base of the interface", "";
    DefaultChanged "default-changed" Safe:
        "a default is what a program puts into its own new values; it does not travel", "";
    ThrowsCovered "throws-covered" Safe:
        "the clause names a base of it, which allows it as well", "";
    FormatChanged "format-changed" Safe: "every receiver reads both formats", "";
    Deprecated "deprecated" Safe: "it works as before; compilers warn", "";
    MetadataChanged "metadata-changed" Safe: "it changes neither bytes nor names", "";
    DocumentationChanged "documentation-changed" Safe: "comments do not travel", "";
}
