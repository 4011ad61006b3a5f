//! Types and operations as they are written in Slice, for messages and help.

use floe_slice::model::{Operation, Parameter, Type};

use crate::Contract;

impl Contract {
    /// A type as written in Slice, definitions by their full names.
    pub(crate) fn type_name(&self, r#type: Type) -> String {
        match r#type {
            Type::Primitive(primitive) => primitive.keyword().to_owned(),
            Type::ObjectProxy => "Object*".to_owned(),
            Type::Named(id) => self.model().definition(id).scoped.clone(),
            Type::Proxy(id) => format!("{}*", self.model().definition(id).scoped),
            _ => "Value".to_owned(),
        }
    }

    /// An operation as declared: `idempotent string greet(string name, out int length) throws ::M::E`.
    pub(crate) fn signature(&self, operation: &Operation) -> String {
        let idempotent = if operation.is_idempotent {
            "idempotent "
        } else {
            ""
        };
        let returned = operation.returns.as_ref();
        let returned = returned.map_or("void".to_owned(), |returned| {
            tagged(returned.tag) + &self.type_name(returned.r#type)
        });
        let parameters = operation.parameters.iter();
        let parameters: Vec<String> = parameters.map(|known| self.parameter(known)).collect();
        let throws = operation.throws.iter();
        let throws: Vec<&str> = throws
            .map(|id| self.model().definition(*id).scoped.as_str())
            .collect();
        let throws = match throws.as_slice() {
            [] => String::new(),
            throws => format!(" throws {}", throws.join(", ")),
        };
        let (name, parameters) = (&operation.name, parameters.join(", "));
        format!("{idempotent}{returned} {name}({parameters}){throws}")
    }

    fn parameter(&self, parameter: &Parameter) -> String {
        let out = if parameter.is_out { "out " } else { "" };
        let tag = tagged(parameter.tag);
        let r#type = self.type_name(parameter.r#type);
        format!("{out}{tag}{type} {}", parameter.name)
    }
}

fn tagged(tag: Option<i32>) -> String {
    tag.map_or(String::new(), |tag| format!("optional({tag}) "))
}
