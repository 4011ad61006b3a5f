//! Writes a random contract that is legal: a definition uses only those before it, by their whole names.

use std::fmt::Write;

use super::names::{self, Taken};
use super::random::Random;

/// A contract of this seed, with or without classes.
pub(super) fn contract(seed: u64, has_classes: bool) -> String {
    let mut writer = Writer {
        has_classes,
        random: Random::new(seed),
        text: "[[\"suppress-warning:all\"]]\n[[\"underscore\"]]\n".to_owned(),
        types: Vec::new(),
        keys: Vec::new(),
        enums: Vec::new(),
        exceptions: Vec::new(),
        interfaces: Vec::new(),
        classes: Vec::new(),
    };
    let mut taken = Taken::default();
    for _ in 0..=writer.random.below(2) {
        writer.module("", &mut taken, 0);
    }
    writer.text
}

struct Writer {
    has_classes: bool,
    random: Random,
    text: String,
    /// Types of members and elements, by their whole names.
    types: Vec<String>,
    /// Those that a dictionary can have as keys.
    keys: Vec<String>,
    /// Enumerations with their enumerators.
    enums: Vec<(String, Vec<String>)>,
    /// Exceptions with the names of their members, inherited ones included.
    exceptions: Vec<(String, Taken)>,
    /// Interfaces with the names of their operations.
    interfaces: Vec<(String, Taken)>,
    /// Classes with the names of their members.
    classes: Vec<(String, Taken)>,
}

impl Writer {
    fn module(&mut self, around: &str, siblings: &mut Taken, depth: usize) {
        let name = names::fresh(&mut self.random, siblings);
        let scope = format!("{around}::{name}");
        self.line(&format!("module \\{name} {{"));
        let mut taken = Taken::default();
        for _ in 0..3 + self.random.below(8) {
            if depth < 3 && self.random.once_in(6) {
                self.module(&scope, &mut taken, depth + 1);
                continue;
            }
            let name = names::fresh(&mut self.random, &mut taken);
            self.definition(&name, &format!("{scope}::{name}"));
        }
        self.line("}");
    }

    fn definition(&mut self, name: &str, scoped: &str) {
        self.comment();
        if self.random.once_in(8) {
            let metadata = ["deprecated", "deprecated:gone \\\"soon\\\"", "cpp:const"];
            let metadata = self.random.pick(&metadata);
            self.line(&format!("[\"{metadata}\"]"));
        }
        match self.random.below(12) {
            0 => self.constant(name),
            1 => self.enumeration(name, scoped),
            2 | 3 => self.structure(name, scoped),
            4 => self.sequence(name, scoped),
            5 => self.dictionary(name, scoped),
            6 | 7 => self.exception(name, scoped),
            8 if self.has_classes => self.class(name, scoped),
            8 => self.structure(name, scoped),
            _ => self.interface(name, scoped),
        }
    }

    fn constant(&mut self, name: &str) {
        let (r#type, value) = self.primitive_value();
        self.line(&format!("const {type} \\{name} = {value};"));
    }

    fn enumeration(&mut self, name: &str, scoped: &str) {
        let mut taken = Taken::default();
        let mut enumerators = Vec::new();
        let mut list = Vec::new();
        let mut value = 0;
        for _ in 0..=self.random.below(9) {
            let enumerator = names::fresh(&mut self.random, &mut taken);
            let mut spelled = format!("\\{enumerator}");
            if self.random.once_in(4) {
                value += self.random.below(1000);
                spelled += &format!(" = {value}");
            }
            value += 1;
            enumerators.push(enumerator);
            list.push(spelled);
        }
        self.line(&format!("enum \\{name} {{ {} }}", list.join(", ")));
        self.types.push(scoped.to_owned());
        self.keys.push(scoped.to_owned());
        self.enums.push((scoped.to_owned(), enumerators));
    }

    fn structure(&mut self, name: &str, scoped: &str) {
        let is_key = self.random.once_in(4);
        if !is_key && self.random.once_in(4) {
            self.line("[\"rust:derive:PartialEq\"]");
        }
        self.line(&format!("struct \\{name} {{"));
        let mut taken = Taken::default();
        for _ in 0..=self.random.below(6) {
            match is_key {
                true => {
                    let (r#type, member) = (self.key(), names::fresh(&mut self.random, &mut taken));
                    self.line(&format!("{type} \\{member};"));
                }
                false => self.member(&mut taken, None),
            }
        }
        self.line("}");
        self.types.push(scoped.to_owned());
        if is_key {
            self.keys.push(scoped.to_owned());
        }
    }

    fn sequence(&mut self, name: &str, scoped: &str) {
        let element = self.any_type();
        self.line(&format!("sequence<{element}> \\{name};"));
        self.types.push(scoped.to_owned());
    }

    fn dictionary(&mut self, name: &str, scoped: &str) {
        let (key, value) = (self.key(), self.any_type());
        self.line(&format!("dictionary<{key}, {value}> \\{name};"));
        self.types.push(scoped.to_owned());
    }

    fn exception(&mut self, name: &str, scoped: &str) {
        if self.random.once_in(5) {
            self.line("[\"preserve-slice\"]");
        }
        let bases = self.exceptions.clone();
        let (base, mut taken) = self.base(&bases, "extends");
        self.line(&format!("exception \\{name}{base} {{"));
        self.members_with_tags(&mut taken);
        self.line("}");
        self.exceptions.push((scoped.to_owned(), taken));
    }

    fn class(&mut self, name: &str, scoped: &str) {
        let bases = self.classes.clone();
        let (base, mut taken) = self.base(&bases, "extends");
        // One that is declared can be used by its own members.
        if self.random.once_in(2) {
            self.line(&format!("class \\{name};"));
            self.types.push(scoped.to_owned());
        }
        self.line(&format!("class \\{name}{base} {{"));
        self.members_with_tags(&mut taken);
        // Classes of Ice 3.7 have operations and proxies.
        if self.random.once_in(4) {
            taken.add(name);
            self.operation(&mut taken, false);
        }
        self.line("}");
        self.types.push(scoped.to_owned());
        if self.random.once_in(6) {
            self.types.push(format!("{scoped}*"));
        }
        self.classes.push((scoped.to_owned(), taken));
    }

    /// The base of a class or an exception, if it has one, and the names that it takes.
    fn base(&mut self, bases: &[(String, Taken)], word: &str) -> (String, Taken) {
        if bases.is_empty() || self.random.once_in(2) {
            return (String::new(), Taken::default());
        }
        let (base, taken) = &bases[self.random.below(bases.len())];
        (format!(" {word} {base}"), taken.clone())
    }

    fn members_with_tags(&mut self, taken: &mut Taken) {
        let mut tag = 0;
        for _ in 0..self.random.below(6) {
            let is_tagged = self.random.once_in(3);
            tag += 1 + self.random.below(50);
            self.member(taken, is_tagged.then_some(tag));
        }
    }

    fn member(&mut self, taken: &mut Taken, tag: Option<usize>) {
        self.comment();
        let name = names::fresh(&mut self.random, taken);
        let tag = tag
            .map(|tag| format!("optional({tag}) "))
            .unwrap_or_default();
        let line = match self.random.below(4) {
            0 => {
                let (r#type, value) = self.primitive_value();
                format!("{tag}{type} \\{name} = {value};")
            }
            _ => {
                let r#type = self.any_type();
                format!("{tag}{type} \\{name};")
            }
        };
        self.line(&line);
    }

    fn interface(&mut self, name: &str, scoped: &str) {
        let is_event = self.random.once_in(3);
        let mut bases = Vec::new();
        let mut taken = Taken::default();
        for _ in 0..self.random.below(4) {
            let Some(index) = self.interfaces.len().checked_sub(1) else {
                break;
            };
            let index = self.random.below(index + 1);
            let (base, names) = &self.interfaces[index];
            if taken.add_all(names) {
                bases.push(base.clone());
            }
        }
        if self.random.once_in(3) {
            self.line(&format!("interface \\{name};"));
            self.types.push(format!("{scoped}*"));
        }
        let extends = match bases.as_slice() {
            [] => String::new(),
            bases => format!(" extends {}", bases.join(", ")),
        };
        if self.random.once_in(5) {
            self.line("[\"format:sliced\"]");
        }
        self.line(&format!("interface \\{name}{extends} {{"));
        taken.add(name);
        for _ in 0..self.random.below(6) {
            self.operation(&mut taken, is_event);
        }
        self.line("}");
        self.types.push(format!("{scoped}*"));
        self.interfaces.push((scoped.to_owned(), taken));
    }

    fn operation(&mut self, taken: &mut Taken, is_event: bool) {
        self.comment();
        let name = names::fresh(&mut self.random, taken);
        let mut parameters = Taken::default();
        let mut tag = 0;
        let mut list = Vec::new();
        for _ in 0..self.parameter_count() {
            list.push(self.parameter(&mut parameters, &mut tag));
        }
        let returned = match !is_event && self.random.once_in(2) {
            true => {
                for _ in 0..self.parameter_count() {
                    list.push(format!("out {}", self.parameter(&mut parameters, &mut tag)));
                }
                self.tagged_type(&mut tag)
            }
            false => "void".to_owned(),
        };
        let throws = match !is_event && !self.exceptions.is_empty() && self.random.once_in(2) {
            true => {
                let mut thrown: Vec<String> = Vec::new();
                for _ in 0..=self.random.below(4) {
                    let index = self.random.below(self.exceptions.len());
                    thrown.push(self.exceptions[index].0.clone());
                }
                thrown.sort();
                thrown.dedup();
                format!(" throws {}", thrown.join(", "))
            }
            false => String::new(),
        };
        let idempotent = match self.random.once_in(4) {
            true => "idempotent ",
            false => "",
        };
        let list = list.join(", ");
        self.line(&format!("{idempotent}{returned} \\{name}({list}){throws};"));
    }

    /// Mostly few, now and then more than tuples have methods for.
    fn parameter_count(&mut self) -> usize {
        match self.random.once_in(15) {
            true => self.random.below(18),
            false => self.random.below(4),
        }
    }

    fn parameter(&mut self, taken: &mut Taken, tag: &mut usize) -> String {
        let name = names::fresh(&mut self.random, taken);
        format!("{} \\{name}", self.tagged_type(tag))
    }

    fn tagged_type(&mut self, tag: &mut usize) -> String {
        let r#type = self.any_type();
        *tag += 1 + self.random.below(9);
        match self.random.once_in(5) {
            true => format!("optional({tag}) {type}"),
            false => r#type,
        }
    }

    fn any_type(&mut self) -> String {
        match self.types.is_empty() || self.random.once_in(3) {
            true => match self.random.pick(PRIMITIVES) {
                "Value" if !self.has_classes => "Object*".to_owned(),
                primitive => primitive.to_owned(),
            },
            // Rather one of the last ones, so that types are built on one another.
            false => {
                let back = self.random.below(self.types.len().min(8));
                self.types[self.types.len() - 1 - back].clone()
            }
        }
    }

    fn key(&mut self) -> String {
        match self.keys.is_empty() || self.random.once_in(2) {
            true => self.random.pick(KEYS).to_owned(),
            false => self.keys[self.random.below(self.keys.len())].clone(),
        }
    }

    /// A type that a constant can have, and one of its values.
    fn primitive_value(&mut self) -> (String, String) {
        if !self.enums.is_empty() && self.random.once_in(3) {
            let (scoped, enumerators) = &self.enums[self.random.below(self.enums.len())];
            let enumerator = &enumerators[self.random.below(enumerators.len())];
            return (scoped.clone(), format!("{scoped}::{enumerator}"));
        }
        let (r#type, value) = self.random.pick(VALUES);
        (r#type.to_owned(), value.to_owned())
    }

    fn comment(&mut self) {
        if self.random.once_in(5) {
            let comment = self.random.pick(COMMENTS);
            self.line(comment);
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string takes any text");
    }
}

const PRIMITIVES: &[&str] = &[
    "bool", "byte", "short", "int", "long", "float", "double", "string", "Object*", "Value",
];

const KEYS: &[&str] = &["bool", "byte", "short", "int", "long", "string"];

const VALUES: &[(&str, &str)] = &[
    ("bool", "true"),
    ("bool", "false"),
    ("byte", "255"),
    ("short", "-32768"),
    ("int", "-2147483648"),
    ("int", "0"),
    ("long", "-9223372036854775808"),
    ("long", "9223372036854775807"),
    ("float", "1.5e10"),
    ("float", "-0.0"),
    ("double", "1e300"),
    ("double", "3"),
    ("string", "\"\""),
    (
        "string",
        "\"a \\\"quoted\\\" \\\\ { } line\\n of \u{e9}\u{4e2d} text\"",
    ),
    (
        "string",
        "\"a text that is so long that it does not fit into a line of a hundred columns together with its name and its type\"",
    ),
];

const COMMENTS: &[&str] = &[
    "/** Plain. */",
    "/// Ends with a backslash \\",
    "/**\n * Code:\n * ```\n * let x = 1;\n * ```\n * @param unknown it is not there\n * @see #nothing\n */",
    "/** [a link](nowhere) <b>bold</b> `tick \\u{0} {braces} \"quotes\" */",
    "// no documentation",
];
