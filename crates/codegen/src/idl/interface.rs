//! Exceptions and interfaces of CORBA.

use floe_slice::model::{DefinitionId, DefinitionKind, Interface, Member, Operation};

use super::data::Field;
use super::text::written;
use super::{Generator, Idl};
use crate::foreign::{Made, throws};

impl Generator<'_> {
    /// An exception with the members of all that it extends: IDL knows no bases of exceptions.
    pub(super) fn exception(&mut self, id: DefinitionId) {
        if self.idl == Idl::Dds {
            return;
        }
        let members = members(self, id);
        let fields: Vec<Field> = members
            .iter()
            .map(|(owner, it)| Field {
                name: &it.name,
                doc: it.doc.as_deref(),
                r#type: it.r#type,
                optional: it
                    .tag
                    .map(|_| (*owner, Made::OptionalMember(it.name.clone()))),
            })
            .collect();
        for (owner, member) in &members {
            if member.tag.is_some() && *owner == id {
                self.optional(id, member.r#type, Made::OptionalMember(member.name.clone()));
            }
        }
        self.begin(id);
        let name = self.naming.definition(id).to_owned();
        self.fields("exception", &name, &fields);
    }

    /// The sequences of at most one value that the operations of an interface need.
    pub(super) fn optionals_of_operations(&mut self, id: DefinitionId) {
        let model = self.model;
        for operation in model.own_operations(id) {
            let name = &operation.name;
            if let Some(returned) = operation.returns.as_ref().filter(|it| it.tag.is_some()) {
                self.optional(id, returned.r#type, Made::OptionalResult(name.clone()));
            }
            for it in operation.parameters.iter().filter(|it| it.tag.is_some()) {
                let made = Made::OptionalParameter(name.clone(), it.name.clone());
                self.optional(id, it.r#type, made);
            }
        }
    }

    pub(super) fn interface(&mut self, id: DefinitionId, of: &Interface) {
        let model = self.model;
        let name = self.naming.definition(id);
        let all = model.all_operations(id);
        let names = all.iter().map(|(_, it)| it.name.as_str());
        let names = self.naming.members(name, names);
        let bases: Vec<String> = of.bases.iter().map(|base| self.path(*base)).collect();
        let bases = match bases.is_empty() {
            true => String::new(),
            false => format!(" : {}", bases.join(", ")),
        };
        let head = format!("interface {}{bases} {{", written(name));
        self.begin(id);
        self.text.open(&head);
        for ((owner, operation), name) in all.iter().zip(names) {
            if *owner == id {
                self.operation(id, operation, &name);
            }
        }
        self.text.close("};");
    }

    fn operation(&mut self, id: DefinitionId, operation: &Operation, name: &str) {
        let returned = match &operation.returns {
            None => "void".to_owned(),
            Some(it) if it.tag.is_some() => {
                self.made_path(id, Made::OptionalResult(operation.name.clone()))
            }
            Some(it) => self.r#type(it.r#type),
        };
        // The operation is a scope of its own, whose name its parameters may have.
        let names = operation.parameters.iter().map(|it| it.name.as_str());
        let names = self.naming.members("", names);
        let parameters = operation.parameters.iter().zip(names).map(|(it, name)| {
            let direction = if it.is_out { "out" } else { "in" };
            let r#type = match it.tag {
                None => self.r#type(it.r#type),
                Some(_) => {
                    let made = Made::OptionalParameter(operation.name.clone(), it.name.clone());
                    self.made_path(id, made)
                }
            };
            format!("{direction} {} {}", r#type, written(&name))
        });
        let parameters: Vec<String> = parameters.collect();
        let raises = throws(self.model, operation);
        let raises: Vec<String> = raises.iter().map(|it| self.path(*it)).collect();
        let raises = match raises.is_empty() {
            true => String::new(),
            false => format!(" raises ({})", raises.join(", ")),
        };
        let line = format!(
            "{returned} {}({}){raises};",
            written(name),
            parameters.join(", ")
        );
        self.text.doc(operation.doc.as_deref());
        self.text.line(&line);
    }
}

/// All members of an exception with the exception that declares each, those of the outermost base first.
fn members<'m>(generator: &Generator<'m>, id: DefinitionId) -> Vec<(DefinitionId, &'m Member)> {
    let model = generator.model;
    let chain = model.exception_chain(id).into_iter().rev();
    chain
        .flat_map(|owner| match &model.definition(owner).kind {
            DefinitionKind::Exception(of) => of.members.iter().map(|it| (owner, it)).collect(),
            _ => Vec::new(),
        })
        .collect()
}
