//! Names of random contracts: plain ones, and those that mean something in Rust, in generated code, or once their case
//! is changed.

use super::random::Random;

/// Names that one scope has already: Slice does not tell them apart by their case.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken(Vec<String>);

impl Taken {
    /// Adds the name of what the scope belongs to.
    pub(super) fn add(&mut self, name: &str) {
        self.take(name);
    }

    /// Adds the names of another scope, if this one has none of them, and returns whether that was so.
    pub(super) fn add_all(&mut self, others: &Self) -> bool {
        let is_apart = others.0.iter().all(|name| !self.0.contains(name));
        if is_apart {
            self.0.extend(others.0.iter().cloned());
        }
        is_apart
    }

    fn take(&mut self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let is_new = !self.0.contains(&lower);
        if is_new {
            self.0.push(lower);
        }
        is_new
    }
}

/// A name that is new in its scope.
pub(super) fn fresh(random: &mut Random, taken: &mut Taken) -> String {
    loop {
        let name = name(random);
        if !SLICE_KEYWORDS.contains(&&*name.to_lowercase()) && taken.take(&name) {
            return name;
        }
    }
}

fn name(random: &mut Random) -> String {
    match random.below(10) {
        0 | 1 => random.pick(HOSTILE).to_owned(),
        2 => recased(random),
        3 => long(random),
        4 => random.pick(SUFFIXED).replace('_', random.pick(WORDS)),
        _ => {
            let number = random.below(100);
            format!("{}{number}", random.pick(WORDS))
        }
    }
}

/// Words in some case: several of them become one name in Rust.
fn recased(random: &mut Random) -> String {
    let (first, second) = (random.pick(WORDS), random.pick(WORDS));
    match random.below(7) {
        0 => format!("{first}_{second}"),
        1 => format!("{first}{}", capitalized(second)),
        2 => format!("{}{}", capitalized(first), capitalized(second)),
        3 => format!("{}_{}", first.to_uppercase(), second.to_uppercase()),
        4 => format!("{}{second}", first.to_uppercase()),
        5 => format!("{first}_{}", random.below(3)),
        _ => format!("{}_{second}", capitalized(first)),
    }
}

/// So many words that the name alone fills most of a line, or more than one.
fn long(random: &mut Random) -> String {
    let count = 4 + random.below(14);
    (0..count)
        .map(|_| capitalized(random.pick(WORDS)))
        .collect()
}

fn capitalized(word: &str) -> String {
    format!("{}{}", word[..1].to_uppercase(), &word[1..])
}

const WORDS: &[&str] = &[
    "max", "cost", "type", "self", "reader", "value", "a", "x", "item", "count", "error", "event",
    "proxy", "view", "call", "station",
];

/// With a word in place of the `_`, these have the form of names that are generated.
const SUFFIXED: &[&str] = &[
    "_Proxy",
    "_Dispatcher",
    "_Event",
    "_Error",
    "_Blocking",
    "_Servant",
    "_View",
    "_Exception",
    "_OrError",
];

/// Keywords of Rust, names of its prelude and of crates, names that generated code gives to its own or imports, and
/// keywords of IDL and names that XML reserves.
const HOSTILE: &[&str] = &[
    "XML_x",
    "xmlData",
    "wstring",
    "valuetype",
    "unsigned",
    "typedef",
    "switch",
    "returnValue",
    "readonly",
    "raises",
    "Operation",
    "oneway",
    "octet",
    "Octet",
    "Object",
    "native",
    "map",
    "key",
    "item",
    "import",
    "fixed",
    "Event",
    "Entry",
    "entry",
    "char",
    "case",
    "boolean",
    "attribute",
    "any",
    "abstract",
    "alloc",
    "all",
    "answer",
    "Answer",
    "Answered",
    "Any",
    "AnyClass",
    "Arc",
    "as",
    "as_proxy",
    "async",
    "await",
    "base",
    "BTreeMap",
    "become",
    "blocking",
    "box",
    "Box",
    "break",
    "buffer",
    "builtin",
    "Bytes",
    "bytes",
    "call",
    "Call",
    "call_with",
    "classes",
    "CLASSES",
    "Classes",
    "ClassesOf",
    "ClassTable",
    "clone",
    "Clone",
    "codegen",
    "compact",
    "concat",
    "context",
    "continue",
    "Copy",
    "core",
    "crate",
    "current",
    "Current",
    "Debug",
    "decode",
    "decode_into",
    "decode_members",
    "decode_slices",
    "Decode",
    "DecodeError",
    "decoder",
    "Decoder",
    "Default",
    "defaults",
    "deny",
    "derive",
    "dispatch",
    "Dispatcher",
    "Display",
    "do",
    "drop",
    "Drop",
    "dyn",
    "else",
    "Encode",
    "encode",
    "encode_members",
    "encode_slices",
    "EncodeParameters",
    "encoder",
    "Encoder",
    "encoding",
    "enum",
    "Eq",
    "eq",
    "Err",
    "Error",
    "errors",
    "exception",
    "Exception",
    "extern",
    "f",
    "f32",
    "f64",
    "false",
    "FIXED_LEN",
    "floe",
    "Fn",
    "fn",
    "fmt",
    "for",
    "FORMAT",
    "format",
    "From",
    "from",
    "from_proxy",
    "from_value",
    "Future",
    "gen",
    "get",
    "Hash",
    "hash",
    "i32",
    "i64",
    "ice_ping",
    "if",
    "impl",
    "in",
    "include",
    "inner",
    "instances",
    "into",
    "Into",
    "into_invoke_error",
    "Invoke",
    "InvokeError",
    "is_a",
    "it",
    "Iterator",
    "keeps",
    "kind",
    "know",
    "know_classes",
    "LAST",
    "let",
    "lifetime",
    "loop",
    "macro",
    "macro_rules",
    "match",
    "matches",
    "MAX",
    "members",
    "MIN_WIRE_LEN",
    "mod",
    "move",
    "mut",
    "name",
    "new",
    "Nilable",
    "NONE",
    "None",
    "nothing",
    "Ok",
    "one",
    "operation",
    "OPERATION",
    "OperationError",
    "OperationInfo",
    "OperationMode",
    "Option",
    "Ord",
    "override",
    "panic",
    "PACKED_LEN",
    "parameters",
    "Parameters",
    "PartialEq",
    "priv",
    "Proxy",
    "proxy",
    "pub",
    "put",
    "raw",
    "reader",
    "Reader",
    "ref",
    "reply",
    "request",
    "Request",
    "Requests",
    "Response",
    "result",
    "Result",
    "return",
    "returned",
    "S",
    "s",
    "safe",
    "self",
    "Self",
    "Send",
    "Servant",
    "servant",
    "Sized",
    "slices",
    "slot",
    "Some",
    "source",
    "state",
    "static",
    "std",
    "str",
    "String",
    "struct",
    "structure",
    "Subset",
    "super",
    "Sync",
    "SystemException",
    "T",
    "Tagged",
    "tagged",
    "target",
    "trait",
    "true",
    "try",
    "Type",
    "type",
    "TYPE_ID",
    "TYPE_IDS",
    "TypedEvent",
    "TypedProxy",
    "typeof",
    "u8",
    "union",
    "unknown_slices",
    "unsafe",
    "unsized",
    "use",
    "UserException",
    "usize",
    "value",
    "vec",
    "Vec",
    "view",
    "View",
    "virtual",
    "where",
    "while",
    "write",
    "writer",
    "yield",
];

const SLICE_KEYWORDS: &[&str] = &[
    "bool",
    "byte",
    "class",
    "const",
    "dictionary",
    "double",
    "enum",
    "exception",
    "extends",
    "false",
    "float",
    "idempotent",
    "implements",
    "int",
    "interface",
    "local",
    "localobject",
    "long",
    "module",
    "object",
    "optional",
    "out",
    "sequence",
    "short",
    "string",
    "struct",
    "tag",
    "throws",
    "true",
    "value",
    "void",
];
