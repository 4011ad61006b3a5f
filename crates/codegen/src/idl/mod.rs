//! A contract in IDL: the data types of DDS topics (IDL 4), or data types and interfaces of CORBA (IDL 2).
//!
//! ```text
//! mod.rs         modules, and what stands in them
//! data.rs        enumerations, structures, collections, constants
//! events.rs      the one type of the events of an interface
//! interface.rs   exceptions and interfaces (CORBA)
//! text.rs        lines, comments, keywords
//! ```
//!
//! Names and the form of events come from `foreign/`. Types are written by their whole names, with a leading `::`: a
//! name without it would count as one of the scope that it is used in, where no member could have it.
//!
//! Source: OMG IDL 4.2; CORBA 2.6, chapter 3; DDS-XTypes 1.3, 7.3.1 (annotations).

mod data;
mod events;
mod interface;
mod text;

use floe_slice::Model;
use floe_slice::diagnostic::Diagnostic;
use floe_slice::model::{DefinitionId, DefinitionKind, Primitive, Type};

use crate::foreign::{Made, Naming, Target, World, content};
use text::{IdlText, written};

/// A kind of IDL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idl {
    /// IDL 4 with annotations of DDS-XTypes. It has the data types of topics, and no interfaces.
    Dds,
    /// IDL 2, as of CORBA 2.6: no annotations.
    Corba,
}

/// The main files of a model, and what they use, as one file of IDL, with a warning for each definition that is left
/// out.
///
/// ```
/// let contract = b"module Demo { enum Side { buy, sell } struct Tick { Side side; } }";
/// let compilation = floe_slice::check_source(contract);
/// let (idl, _) = floe_codegen::generate_idl(&compilation.model, floe_codegen::Idl::Dds).unwrap();
/// assert!(idl.contains("enum Side { Side_buy, Side_sell };"));
/// assert!(idl.contains("::Demo::Side side;"));
/// ```
///
/// # Errors
/// An error for each class: IDL could hold it, but nothing that a graph of instances needs.
pub fn generate_idl(model: &Model, idl: Idl) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
    let target = match idl {
        Idl::Dds => Target::Dds,
        Idl::Corba => Target::Corba,
    };
    let content = content(model, target)?;
    let mut generator = Generator {
        model,
        idl,
        naming: Naming::new(model, World::Idl),
        text: IdlText::new(model),
    };
    // An interface names exceptions that derive from the declared ones, which may stand behind it in Slice.
    let is_interface = |id: &DefinitionId| {
        let kind = &model.definition(*id).kind;
        idl == Idl::Corba && matches!(kind, DefinitionKind::Interface(_))
    };
    let (interfaces, data): (Vec<_>, Vec<_>) =
        content.definitions.into_iter().partition(is_interface);
    for id in data.into_iter().chain(interfaces) {
        generator.definition(id);
    }
    Ok((generator.text.finish(), content.warnings))
}

struct Generator<'m> {
    model: &'m Model,
    idl: Idl,
    naming: Naming<'m>,
    text: IdlText,
}

impl Generator<'_> {
    fn definition(&mut self, id: DefinitionId) {
        let model = self.model;
        let definition = model.definition(id);
        let modules: Vec<String> = self
            .naming
            .modules_of(id)
            .into_iter()
            .map(written)
            .collect();
        self.text.enter(&modules);
        match &definition.kind {
            DefinitionKind::Const(of) => self.constant(id, of),
            DefinitionKind::Enum(of) => self.enumeration(id, of),
            DefinitionKind::Struct(of) => self.structure(id, of),
            DefinitionKind::Sequence(of) => self.sequence(id, of),
            DefinitionKind::Dictionary(of) => self.dictionary(id, of),
            DefinitionKind::Exception(_) => self.exception(id),
            DefinitionKind::Interface(of) if of.is_complete => {
                if self.idl == Idl::Corba {
                    self.optionals_of_operations(id);
                    self.interface(id, of);
                }
                self.events(id);
            }
            _ => {}
        }
    }

    /// The name of a definition as it is declared.
    fn name(&self, id: DefinitionId) -> String {
        written(self.naming.definition(id))
    }

    /// The whole name of a definition.
    fn path(&self, id: DefinitionId) -> String {
        self.in_module_of(id, self.naming.definition(id))
    }

    /// The whole name of something made for a definition.
    fn made_path(&self, id: DefinitionId, made: Made) -> String {
        self.in_module_of(id, self.naming.made(id, made))
    }

    fn in_module_of(&self, id: DefinitionId, name: &str) -> String {
        let modules = self.naming.modules_of(id);
        let names = modules.into_iter().chain([name]);
        names.map(|it| format!("::{}", written(it))).collect()
    }

    /// A type where it is used.
    fn r#type(&self, r#type: Type) -> String {
        match r#type {
            Type::Primitive(primitive) => keyword(primitive).to_owned(),
            Type::Named(id) => self.path(id),
            // A proxy is its text; the empty one is nil.
            _ => "string".to_owned(),
        }
    }
}

fn keyword(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "boolean",
        Primitive::Byte => "octet",
        Primitive::Short => "short",
        Primitive::Int => "long",
        Primitive::Long => "long long",
        Primitive::Float => "float",
        Primitive::Double => "double",
        Primitive::String => "string",
    }
}
