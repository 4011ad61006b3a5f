//! The one type of the events of an interface: see `foreign/event.rs`.

use floe_slice::model::{DefinitionId, Operation};

use super::data::Field;
use super::text::written;
use super::{Generator, Idl};
use crate::foreign::{EventOperation, EventType, Made, Payload, event_type, payload};

impl Generator<'_> {
    /// The types that events of an interface need; none if one of its operations answers.
    pub(super) fn events(&mut self, id: DefinitionId) {
        let model = self.model;
        let Ok(Some(event)) = event_type(model, id) else {
            return;
        };
        for operation in model.own_operations(id) {
            if payload(model, operation) == Payload::Parameters {
                self.parameters(id, operation);
            }
        }
        if let EventType::Choice(operations) = event {
            self.choice(id, &operations);
        }
    }

    fn parameters(&mut self, id: DefinitionId, operation: &Operation) {
        let inputs = operation.inputs();
        let fields: Vec<Field> = inputs
            .map(|it| Field {
                name: &it.name,
                doc: it.doc.as_deref(),
                r#type: it.r#type,
                optional: it.tag.map(|_| {
                    let made = Made::OptionalParameter(operation.name.clone(), it.name.clone());
                    (id, made)
                }),
            })
            .collect();
        let made = Made::Parameters(operation.name.clone());
        let name = self.naming.made(id, made).to_owned();
        self.text.blank();
        self.text.line(&format!(
            "/// An event `{}` of `{}`.",
            operation.name,
            self.model.definition(id).scoped
        ));
        if self.idl == Idl::Dds {
            self.comment_below(operation);
        }
        self.fields("struct", &name, &fields);
    }

    /// The comment of an operation that is nowhere else.
    fn comment_below(&mut self, operation: &Operation) {
        if let Some(doc) = &operation.doc {
            self.text.line("///");
            self.text.doc(Some(doc));
        }
    }

    fn choice(&mut self, id: DefinitionId, operations: &[EventOperation<'_>]) {
        let scoped = &self.model.definition(id).scoped;
        let enumerators: Vec<(String, Option<&str>)> = operations
            .iter()
            .map(|it| {
                let made = Made::OperationEnumerator(it.operation.name.clone());
                (written(self.naming.made(id, made)), None)
            })
            .collect();
        let name = written(self.naming.made(id, Made::Operation));
        self.text.blank();
        self.text
            .line(&format!("/// The operations of `{scoped}`."));
        self.enumerators(&name, &enumerators);

        let name = self.naming.made(id, Made::Event).to_owned();
        let names = operations.iter().map(|it| it.operation.name.as_str());
        let names = self.naming.members(&name, names);
        let is_final = if self.idl == Idl::Dds { "@final " } else { "" };
        let switch = self.made_path(id, Made::Operation);
        self.text.blank();
        self.text.line(&format!("/// An event of `{scoped}`."));
        if self.idl == Idl::Dds
            && let Some(doc) = &self.model.definition(id).doc
        {
            self.text.line("///");
            self.text.doc(Some(doc));
        }
        self.text.open(&format!(
            "{is_final}union {} switch ({switch}) {{",
            written(&name)
        ));
        for (of, name) in operations.iter().zip(names) {
            let case = Made::OperationEnumerator(of.operation.name.clone());
            let case = self.made_path(id, case);
            let r#type = match of.payload {
                Payload::Struct(id) => self.path(id),
                Payload::Parameters => {
                    let made = Made::Parameters(of.operation.name.clone());
                    self.made_path(of.interface, made)
                }
            };
            self.text
                .line(&format!("case {case}: {} {};", r#type, written(&name)));
        }
        self.text.close("};");
    }
}
