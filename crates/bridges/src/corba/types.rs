//! TypeCodes of a contract's types: what `omniidl` makes of the text that `floe slice idl --corba` writes.

use std::collections::HashMap;
use std::sync::Arc;

use floe_codegen::foreign::{Made, Naming, Payload, World};
use floe_giop::type_code::{
    EnumType, Member, StructType, TypeCode, TypeName, UnionCase, UnionType,
};
use floe_slice::model::{DefinitionId, DefinitionKind, Model, Primitive, Type};

use crate::core::mapping::EventTypes;

/// The TypeCode of a topic's events.
///
/// A class in it stands for nothing: such a topic is refused before.
pub(super) fn event_type_code(events: &EventTypes) -> Arc<TypeCode> {
    let model = events.contract().model();
    let mut types = Types {
        model,
        naming: Naming::new(model, World::Idl),
        made: HashMap::new(),
    };
    match events.only() {
        Some(_) => types.payload(events, 0),
        None => types.choice(events),
    }
}

struct Types<'m> {
    model: &'m Model,
    naming: Naming<'m>,
    /// Definitions that were met before: a TypeCode shares what repeats.
    made: HashMap<DefinitionId, Arc<TypeCode>>,
}

impl Types<'_> {
    /// The struct of one kind of event.
    fn payload(&mut self, events: &EventTypes, kind: usize) -> Arc<TypeCode> {
        let event = &events.kinds()[kind];
        let made = Made::Parameters(event.name().to_owned());
        match event.payload() {
            Payload::Struct(id) => self.definition(id),
            Payload::Parameters => {
                let owner = event.interface();
                let spelled = self.naming.made(owner, made).to_owned();
                let operations = self.model.own_operations(owner);
                let mut operations = operations.iter();
                let operation = operations
                    .find(|operation| operation.name == event.name())
                    .expect("the kind is an operation of this interface");
                let fields: Vec<_> = operation
                    .inputs()
                    .map(|input| {
                        let made =
                            Made::OptionalParameter(event.name().to_owned(), input.name.clone());
                        let code = self.r#type(input.r#type);
                        let code = match input.tag {
                            None => code,
                            Some(_) => self.optional(owner, made, code),
                        };
                        (input.name.as_str(), code)
                    })
                    .collect();
                self.structure(owner, spelled, fields)
            }
        }
    }

    /// The union of several kinds of events.
    fn choice(&mut self, events: &EventTypes) -> Arc<TypeCode> {
        let id = events.interface();
        let names: Vec<&str> = events.kinds().iter().map(|kind| kind.name()).collect();
        let enumerators = names.iter().map(|name| {
            let made = Made::OperationEnumerator((*name).to_owned());
            self.naming.made(id, made).to_owned()
        });
        let discriminator = TypeCode::Enum(EnumType {
            enumerators: enumerators.collect(),
            name: self.name(id, self.naming.made(id, Made::Operation)),
        });
        let spelled = self.naming.made(id, Made::Event).to_owned();
        let members = self.naming.members(&spelled, names.iter().copied());
        let cases = members.into_iter().enumerate().map(|(at, name)| UnionCase {
            label: at as i128,
            name,
            code: self.payload(events, at),
        });
        let cases = cases.collect();
        Arc::new(TypeCode::Union(Box::new(UnionType {
            name: self.name(id, &spelled),
            discriminator: Arc::new(discriminator),
            default: None,
            cases,
        })))
    }

    fn r#type(&mut self, r#type: Type) -> Arc<TypeCode> {
        match r#type {
            Type::Primitive(primitive) => Arc::new(primitive_code(primitive)),
            Type::Named(id) => self.definition(id),
            // A proxy is its text; the empty one is nil.
            _ => Arc::new(TypeCode::STRING),
        }
    }

    fn definition(&mut self, id: DefinitionId) -> Arc<TypeCode> {
        if let Some(code) = self.made.get(&id) {
            return Arc::clone(code);
        }
        let spelled = self.naming.definition(id).to_owned();
        let code = match &self.model.definition(id).kind {
            DefinitionKind::Enum(of) => {
                let names = of
                    .enumerators
                    .iter()
                    .map(|it| Made::Enumerator(it.name.clone()));
                let names = names.map(|made| self.naming.made(id, made).to_owned());
                Arc::new(TypeCode::Enum(EnumType {
                    enumerators: names.collect(),
                    name: self.name(id, &spelled),
                }))
            }
            DefinitionKind::Struct(of) => {
                let members = of.members.iter();
                let fields = members.map(|it| (it.name.as_str(), self.r#type(it.r#type)));
                let fields = fields.collect();
                self.structure(id, spelled, fields)
            }
            DefinitionKind::Sequence(of) => {
                let element = self.r#type(of.element);
                self.alias(id, &spelled, TypeCode::sequence(element))
            }
            DefinitionKind::Dictionary(of) => {
                let entry = self.naming.made(id, Made::Entry).to_owned();
                let fields = vec![
                    ("key", self.r#type(of.key)),
                    ("value", self.r#type(of.value)),
                ];
                let entry = self.structure(id, entry, fields);
                self.alias(id, &spelled, TypeCode::sequence(entry))
            }
            _ => Arc::new(TypeCode::STRING),
        };
        self.made.insert(id, Arc::clone(&code));
        code
    }

    /// A struct that is named in the module of a definition.
    fn structure(
        &self,
        id: DefinitionId,
        spelled: String,
        fields: Vec<(&str, Arc<TypeCode>)>,
    ) -> Arc<TypeCode> {
        let names = fields.iter().map(|(name, _)| *name);
        let names = self.naming.members(&spelled, names);
        let codes = fields.into_iter().map(|(_, code)| code);
        let members = names.into_iter().zip(codes);
        let mut members: Vec<_> = members.map(|(name, code)| Member { name, code }).collect();
        if members.is_empty() {
            members.push(Member::new(NOTHING, TypeCode::Octet));
        }
        Arc::new(TypeCode::Struct(StructType {
            name: self.name(id, &spelled),
            members,
        }))
    }

    /// The sequence of at most one value that IDL has for a parameter that may be unset.
    fn optional(&self, id: DefinitionId, made: Made, element: Arc<TypeCode>) -> Arc<TypeCode> {
        let spelled = self.naming.made(id, made).to_owned();
        self.alias(id, &spelled, TypeCode::Sequence { element, bound: 1 })
    }

    fn alias(&self, id: DefinitionId, spelled: &str, original: TypeCode) -> Arc<TypeCode> {
        Arc::new(TypeCode::Alias {
            name: self.name(id, spelled),
            original: Arc::new(original),
        })
    }

    fn name(&self, id: DefinitionId, spelled: &str) -> TypeName {
        let mut path = self.naming.modules_of(id);
        path.push(spelled);
        TypeName {
            id: format!("IDL:{}:1.0", path.join("/")),
            name: spelled.to_owned(),
        }
    }
}

/// The member of a struct without members, because IDL has none such.
const NOTHING: &str = "nothing";

fn primitive_code(primitive: Primitive) -> TypeCode {
    match primitive {
        Primitive::Bool => TypeCode::Boolean,
        Primitive::Byte => TypeCode::Octet,
        Primitive::Short => TypeCode::Short,
        Primitive::Int => TypeCode::Long,
        Primitive::Long => TypeCode::LongLong,
        Primitive::Float => TypeCode::Float,
        Primitive::Double => TypeCode::Double,
        Primitive::String => TypeCode::STRING,
    }
}
