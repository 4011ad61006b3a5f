//! A contract: a checked model, ready for values, and the search for what it defines.

use std::sync::{Arc, OnceLock, Weak};

use floe_slice::model::{DefinitionId, DefinitionKind, Member, Model, Primitive, Type};
use floe_wire::{Decoder, Encoder};

use crate::builtin;
use crate::class::ClassIndex;
use crate::ice::{decode_whole, encode_whole};
use crate::layout::{Layout, Layouts, Record};
use crate::value::ValueWriter;
use crate::walk::Subject;
use crate::{DecodeValueError, EncodeValueError, LookupError, Operation, Unsupported, Value};

/// A Slice model, prepared for values of its types. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Contract {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    model: Model,
    layouts: Layouts,
    /// The members that each class and exception declares itself.
    records: Vec<Option<Record>>,
    /// Those with the members of all bases in front, made when they are first needed.
    whole_records: Vec<OnceLock<Record>>,
    classes: ClassIndex,
}

/// A type of a [`Contract`] that is known to be supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType(Type);

impl DataType {
    /// The type as the model has it.
    pub fn get(self) -> Type {
        self.0
    }
}

impl Contract {
    /// Prepares a model.
    pub fn new(model: Model) -> Self {
        let layouts = Layouts::new(&model);
        let records = model.iter().map(|(id, definition)| {
            let members = own_members(&model, id)?.iter();
            let members = members.map(|member| layouts.member(member, &model));
            Some(Record::new(
                &definition.scoped,
                "member",
                members.collect(),
                None,
            ))
        });
        let records: Vec<Option<Record>> = records.collect();
        let inner = Arc::new_cyclic(|inner: &Weak<Inner>| Inner {
            classes: ClassIndex::new(&model, inner),
            whole_records: records.iter().map(|_| OnceLock::new()).collect(),
            records,
            layouts,
            model,
        });
        Self { inner }
    }

    /// Returns true if both are the same contract.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.inner.model
    }

    /// The type of this name: `int`, `::M::T`, `M::T`, `Object*`, `M::I*`.
    ///
    /// # Errors
    /// [`LookupError::NoSuchType`], [`LookupError::Unsupported`].
    pub fn data_type(&self, name: &str) -> Result<DataType, LookupError> {
        let r#type = self.parse_type(name).ok_or_else(|| {
            let types = self.names(|kind| {
                !matches!(
                    kind,
                    DefinitionKind::Const(_)
                        | DefinitionKind::Exception(_)
                        | DefinitionKind::Interface(_)
                )
            });
            LookupError::NoSuchType {
                name: name.to_owned(),
                types,
            }
        })?;
        Ok(self.check(r#type)?)
    }

    /// Checks that values of a type of this contract's model are supported.
    ///
    /// # Errors
    /// [`Unsupported`] says what in it is not.
    pub fn check(&self, r#type: Type) -> Result<DataType, Unsupported> {
        self.layout(r#type).map(|_| DataType(r#type))
    }

    /// Reads a value, as the only one: of encoding 1.0 also the class instances that follow.
    ///
    /// # Errors
    /// [`DecodeValueError`] with the path to the part whose bytes make no sense.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn decode<'a>(
        &'a self,
        r#type: DataType,
        decoder: &mut Decoder<'a>,
    ) -> Result<Value, DecodeValueError> {
        let mut writer = ValueWriter::default();
        let layout = self.layout_of(r#type);
        decode_whole(self, &Subject::Value(&layout), decoder, &mut writer)
            .map_err(|located| DecodeValueError::located(*located, "value"))?;
        Ok(writer.into_value())
    }

    /// Appends a value, as the only one: in encoding 1.0 also the class instances that follow. After
    /// an error the bytes in the encoder have no meaning.
    ///
    /// Instances are written in the format that [`Encoder::set_class_format`] sets.
    ///
    /// # Errors
    /// [`EncodeValueError`] if the value is of another type.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn encode(
        &self,
        r#type: DataType,
        value: &Value,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), EncodeValueError> {
        let layout = self.layout_of(r#type);
        encode_whole(&Subject::Value(&layout), value, encoder)
            .map_err(|located| EncodeValueError::located(*located, "value"))
    }

    /// Finds an operation by its name: in any interface, or in that of a qualified name `M::I::op`.
    ///
    /// It also finds the operations of every object (`ice_ping`, `ice_isA`, `ice_id`, `ice_ids`).
    ///
    /// # Errors
    /// [`LookupError`]: no such operation, more than one, or one with unsupported types.
    pub fn operation(&self, name: &str) -> Result<Operation, LookupError> {
        let none: [&str; 0] = [];
        self.operation_of_object(&none, name)
    }

    /// Finds an operation of an object with these type ids (the answer of `ice_ids`).
    ///
    /// If the contract has any of the types, the operation must be one of theirs; if it has none,
    /// any interface of the contract will do, as for [`Contract::operation`].
    ///
    /// # Errors
    /// As [`Contract::operation`].
    pub fn operation_of_object(
        &self,
        type_ids: &[impl AsRef<str>],
        name: &str,
    ) -> Result<Operation, LookupError> {
        if let Some((interface, name)) = name.rsplit_once("::") {
            return self.operation_in(&[self.interface(interface)?], name, true);
        }
        if let Some(operation) = builtin::operation(name) {
            return Ok(operation);
        }
        let known = type_ids.iter().filter_map(|type_id| {
            let id = self.model().find(type_id.as_ref());
            id.filter(|id| self.is_interface(*id))
        });
        let known: Vec<DefinitionId> = known.collect();
        if known.is_empty() {
            let all: Vec<DefinitionId> = self.interfaces().collect();
            return self.operation_in(&all, name, false);
        }
        self.operation_in(&known, name, true)
    }

    /// The type ids of the interfaces, in order of definition.
    pub fn interface_names(&self) -> Vec<&str> {
        self.interfaces()
            .map(|id| self.model().definition(id).scoped.as_str())
            .collect()
    }

    /// The operations of an interface, inherited ones first, as they are declared.
    ///
    /// # Errors
    /// [`LookupError::NoSuchInterface`].
    pub fn signatures(&self, interface: &str) -> Result<Vec<String>, LookupError> {
        let interface = self.interface(interface)?;
        let operations = self.model().all_operations(interface);
        Ok(operations
            .into_iter()
            .map(|(_, operation)| self.signature(operation))
            .collect())
    }

    /// The layout of a type.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn layout_of(&self, r#type: DataType) -> Arc<Layout> {
        let layout = self.layout(r#type.get());
        layout.expect("the type was checked when it was looked up in this contract")
    }

    fn layout(&self, r#type: Type) -> Result<Arc<Layout>, Unsupported> {
        self.inner.layouts.of(r#type, self.model())
    }

    pub(crate) fn layouts(&self) -> &Layouts {
        &self.inner.layouts
    }

    /// The members that a class or exception declares itself.
    pub(crate) fn own_record(&self, id: DefinitionId) -> &Record {
        let record = self.inner.records[id.0].as_ref();
        record.expect("the callers know that it is a class or exception")
    }

    /// The members of a class or exception, those of bases first.
    pub(crate) fn whole_record(&self, id: DefinitionId) -> &Record {
        self.inner.whole_records[id.0].get_or_init(|| {
            let chain = match &self.model().definition(id).kind {
                DefinitionKind::Exception(_) => self.model().exception_chain(id),
                _ => self.class_chain(id),
            };
            let levels = chain.iter().rev().map(|id| self.own_record(*id));
            let members = levels.flat_map(|level| level.members().iter().cloned());
            let name = self.own_record(id).name();
            Record::new(name, "member", members.collect(), None)
        })
    }

    /// The classes that a decoder can make instances of.
    pub(crate) fn classes(&self) -> &ClassIndex {
        &self.inner.classes
    }

    fn parse_type(&self, name: &str) -> Option<Type> {
        let mut primitives = Primitive::ALL.into_iter();
        if let Some(primitive) = primitives.find(|primitive| primitive.keyword() == name) {
            return Some(Type::Primitive(primitive));
        }
        if ["Object", "Value"].contains(&name) {
            return Some(Type::AnyClass);
        }
        match name.strip_suffix('*').map(str::trim_end) {
            Some("Object") => Some(Type::ObjectProxy),
            Some(interface) => {
                let id = self.model().find(interface);
                id.filter(|id| self.is_interface(*id)).map(Type::Proxy)
            }
            None => self.model().find(name).map(Type::Named),
        }
    }

    fn interface(&self, name: &str) -> Result<DefinitionId, LookupError> {
        let found = self.model().find(name).filter(|id| self.is_interface(*id));
        // A simple name will do where only one interface has it.
        let mut namesakes = self
            .interfaces()
            .filter(|id| self.model().definition(*id).name == name);
        let only = namesakes.next().filter(|_| namesakes.next().is_none());
        found.or(only).ok_or_else(|| LookupError::NoSuchInterface {
            name: name.to_owned(),
            interfaces: self.names(|kind| matches!(kind, DefinitionKind::Interface(_))),
        })
    }

    /// Finds an operation in one of these interfaces; `are_given` if they, and no others, were
    /// asked for.
    fn operation_in(
        &self,
        interfaces: &[DefinitionId],
        name: &str,
        are_given: bool,
    ) -> Result<Operation, LookupError> {
        let mut found: Vec<DefinitionId> = Vec::new();
        let mut operations: Vec<String> = Vec::new();
        for interface in interfaces {
            for (declared_by, operation) in self.model().all_operations(*interface) {
                if operation.name == name && !found.contains(&declared_by) {
                    found.push(declared_by);
                }
                if !operations.contains(&operation.name) {
                    operations.push(operation.name.clone());
                }
            }
        }
        let name = name.to_owned();
        match found.as_slice() {
            [] => Err(LookupError::NoSuchOperation {
                name,
                interfaces: self.scoped(interfaces.iter().filter(|_| are_given)),
                operations,
            }),
            [interface] => Ok(Operation::new(self, *interface, &name)?),
            several => Err(LookupError::Ambiguous {
                interfaces: self.scoped(several.iter()),
                name,
            }),
        }
    }

    fn scoped<'a>(&self, ids: impl Iterator<Item = &'a DefinitionId>) -> Vec<String> {
        ids.map(|id| self.model().definition(*id).scoped.clone())
            .collect()
    }

    fn interfaces(&self) -> impl Iterator<Item = DefinitionId> {
        let ids = self.model().iter().map(|(id, _)| id);
        ids.filter(|id| self.is_interface(*id))
    }

    fn is_interface(&self, id: DefinitionId) -> bool {
        matches!(
            self.model().definition(id).kind,
            DefinitionKind::Interface(_)
        )
    }

    pub(crate) fn names(&self, is_wanted: impl Fn(&DefinitionKind) -> bool) -> Vec<String> {
        let definitions = self.model().definitions.iter();
        definitions
            .filter(|definition| is_wanted(&definition.kind))
            .map(|definition| definition.scoped.clone())
            .collect()
    }
}

/// The members that a class or exception declares itself; `None` of anything else.
fn own_members(model: &Model, id: DefinitionId) -> Option<&[Member]> {
    match &model.definition(id).kind {
        DefinitionKind::Class(class) => Some(&class.members),
        DefinitionKind::Exception(exception) => Some(&exception.members),
        _ => None,
    }
}
