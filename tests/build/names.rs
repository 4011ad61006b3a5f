//! A contract with names that are something else in Rust or in generated code, wherever a name can
//! stand.

use floe_codegen::Build;

use crate::vectors::out_dir;

/// Makes `Names`.
pub(crate) fn compile_hostile() {
    let path = out_dir().join("Names.ice");
    std::fs::write(&path, contract()).expect("a writable directory");
    super::compile(Build::new().file(&path));
}

fn contract() -> String {
    let all = |line: &dyn Fn(usize, &str) -> String| -> String {
        let lines = NAMES.iter().enumerate();
        lines.map(|(index, name)| line(index, name)).collect()
    };
    let members = all(&|_, name| format!("int \\{name};\n"));
    let tagged = all(&|tag, name| format!("optional({tag}) string \\{name};\n"));
    let operations = all(&|_, name| format!("void \\{name}();\n"));
    let enumerators = all(&|_, name| format!("\\{name},"));
    let parameters = |head: &dyn Fn(usize) -> String| {
        let list = all(&|index, name| format!("{} \\{name},", head(index)));
        list.trim_end_matches(',').to_owned()
    };
    let plain = parameters(&|_| "Object".to_owned());
    let optional = parameters(&|tag| format!("optional({tag}) Object*"));
    let out = parameters(&|_| "out string".to_owned());
    let out_optional = parameters(&|tag| format!("out optional({tag}) Value"));
    let types = all(&|index, name| {
        let name = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        format!(
            "module Types{index} {{
                class \\{name} {{ int i; \\{name} next; optional(1) Object* any; }}
                class Subclass extends \\{name} {{ optional(1) \\{name} one; string text = \"a\"; }}
                sequence<\\{name}> Sequenced;
                struct Stored {{ \\{name} one; Sequenced all; string text; }}
                exception Thrown {{ \\{name} one; optional(2) Stored stored; }}
                interface Used {{ \\{name} op(\\{name} p, optional(1) \\{name} q, out Stored r) throws Thrown; }}
            }}
            module Objects{index} {{
                interface \\{name} {{ string op(\\{name}* p, optional(1) string q) throws \\Raised; }}
            }}\n"
        )
        .replace("\\Raised", "Hostile::Raised")
    });
    format!(
        "[[\"suppress-warning:all\"]]\nmodule Hostile {{
            struct Structure {{ {members} }}
            class Base {{ {members} }}
            class Derived extends Base {{ int more; }}
            class Tagged {{ {tagged} }}
            exception Raised {{ {tagged} }}
            exception Plain {{ {members} }}
            enum Enumeration {{ {enumerators} }}
            interface Operations {{ {operations} }}
            interface Parameters {{
                void plain({plain});
                void optionals({optional});
                void results({out});
                void optionalResults({out_optional});
            }}
            {types}
        }}\n"
    )
}

/// Keywords of Rust, names of its prelude, and names that generated code gives to its own.
const NAMES: &[&str] = &[
    "abstract",
    "any",
    "anyClass",
    "as",
    "async",
    "await",
    "base",
    "become",
    "box",
    "break",
    "buffer",
    "builtin",
    "call",
    "class",
    "classFormat",
    "classInfo",
    "classReader",
    "classTable",
    "classes",
    "clone",
    "codegen",
    "connection",
    "const",
    "continue",
    "contracts",
    "core",
    "crate",
    "current",
    "debug",
    "decode",
    "decodeError",
    "decoder",
    "default",
    "deref",
    "dispatch",
    "do",
    "drop",
    "dyn",
    "else",
    "encode",
    "encodeMembers",
    "encodeParameters",
    "encoder",
    "enum",
    "eq",
    "err",
    "error",
    "exception",
    "extends",
    "extern",
    "f",
    "f32",
    "false",
    "final",
    "floe",
    "fmt",
    "fn",
    "for",
    "format",
    "from",
    "fromProxy",
    "future",
    "gen",
    "hash",
    "i32",
    "if",
    "impl",
    "in",
    "into",
    "invoke",
    "invokeError",
    "kind",
    "know",
    "let",
    "link",
    "loop",
    "macro",
    "match",
    "member0",
    "members",
    "method",
    "mod",
    "move",
    "mut",
    "name",
    "nilable",
    "none",
    "ok",
    "operation",
    "operationInfo",
    "operationMode",
    "option",
    "override",
    "partialEq",
    "priv",
    "proxy",
    "pub",
    "reader",
    "ref",
    "reply",
    "request",
    "result",
    "return",
    "returned",
    "self",
    "send",
    "servant",
    "slice",
    "some",
    "source",
    "static",
    "std",
    "str",
    "string",
    "struct",
    "super",
    "sync",
    "systemException",
    "tagged",
    "target",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "u8",
    "unknownSlice",
    "unsafe",
    "unsized",
    "use",
    "value",
    "vec",
    "virtual",
    "where",
    "while",
    "writer",
    "yield",
];
