//! Instances of classes that a contract defines, and the classes that a decoder finds in it.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use floe_slice::model::{Class, DefinitionId, DefinitionKind, Model, Type};
use floe_wire::encoding::{AnyClass, ClassFactory, ClassId, ClassReader, Classes, Link};
use floe_wire::{DecodeError, EncodeError, Encoder};

use crate::contract::Inner;
use crate::ice::{Trail, decode_slots, encode_slots};
use crate::wording::join;
use crate::{Contract, EncodeValueError, Record, Value};

/// An instance of a class of a [`Contract`]: what the links of [`Value::Instance`] lead to.
///
/// ```
/// use floe_dynamic::{Contract, Instance, Value};
/// use floe_slice::check_source;
///
/// let slice = b"module M { class Shape { string name; } class Circle extends Shape { int r; } }";
/// let contract = Contract::new(check_source(slice).model);
/// let members = vec![Value::String("c".to_owned()), Value::Int(5)];
/// let circle = Instance::new(&contract, "::M::Circle", members).expect("it has two members");
/// let circle = Value::Instance(circle.share());
/// let shape = contract.data_type("M::Shape")?;
/// assert_eq!(
///     contract.value_to_json(shape, &circle).to_string(),
///     r#"{"$class":"::M::Circle","name":"c","r":5}"#
/// );
/// # Ok::<(), floe_dynamic::LookupError>(())
/// ```
#[derive(Clone)]
pub struct Instance {
    contract: Contract,
    class: DefinitionId,
    /// The members that the class declares itself, in order.
    members: Vec<Value>,
    base: Option<Box<Self>>,
}

impl Instance {
    /// An instance with these members, those of bases first; [`Value::Unset`] for optional ones
    /// without a value. `None` if there is no such class, or if it has another number of members.
    ///
    /// Members of other types than declared are found when the instance is encoded.
    pub fn new(contract: &Contract, type_id: &str, members: Vec<Value>) -> Option<Self> {
        let class = contract.class(type_id)?;
        let chain = contract.class_chain(class);
        let counts = chain
            .iter()
            .map(|id| contract.own_record(*id).members().len());
        (counts.sum::<usize>() == members.len()).then(|| Self::of(contract, &chain, members))
    }

    /// A link to the instance that shares it.
    pub fn share(self) -> Link<dyn AnyClass> {
        Link::any(Box::new(self), Vec::new())
    }

    /// The instance, if it is one of this kind: what a decoder with other classes made is not.
    pub fn cast(instance: &dyn AnyClass) -> Option<&Self> {
        (instance as &dyn Any).downcast_ref()
    }

    /// The members with their names, those of bases first.
    pub fn members(&self) -> Vec<(&str, &Value)> {
        let levels = self.bases_first().into_iter();
        let named = levels.flat_map(|level| {
            let names = level.record().members().iter().map(|member| member.name());
            names.zip(&level.members)
        });
        named.collect()
    }

    /// The instance with members that have been counted; the most derived class is first.
    pub(crate) fn of(contract: &Contract, chain: &[DefinitionId], mut members: Vec<Value>) -> Self {
        let (class, bases) = chain.split_first().expect("a chain begins with its class");
        let own_count = contract.own_record(*class).members().len();
        let own = members.split_off(members.len() - own_count);
        let base = (!bases.is_empty()).then(|| Box::new(Self::of(contract, bases, members)));
        Self {
            contract: contract.clone(),
            class: *class,
            members: own,
            base,
        }
    }

    pub(crate) fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The parts of the instance, that of the first base first.
    pub(crate) fn bases_first(&self) -> Vec<&Self> {
        let levels = std::iter::successors(Some(self), |level| level.base.as_deref());
        let mut levels: Vec<&Self> = levels.collect();
        levels.reverse();
        levels
    }

    /// The members that the class declares itself.
    pub(crate) fn record(&self) -> &Record {
        self.contract.own_record(self.class)
    }

    pub(crate) fn own(&self) -> &[Value] {
        &self.members
    }
}

impl AnyClass for Instance {
    fn class_type_id(&self) -> &str {
        &self.contract.model().definition(self.class).scoped
    }

    fn compact_id(&self) -> Option<i32> {
        definition(self.contract.model(), self.class)?.compact_id
    }

    fn base(&self) -> Option<&dyn AnyClass> {
        self.base.as_deref().map(|base| base as &dyn AnyClass)
    }

    fn encode_members(&self, encoder: &mut Encoder<'_>) {
        if let Err(located) = encode_slots(self.record(), &self.members, encoder) {
            let error = EncodeValueError::located(*located, "");
            let problem = format!("{}{error}", self.class_type_id());
            encoder.fail(EncodeError::NotOfType(problem));
        }
    }

    fn equals(&self, other: &dyn AnyClass) -> bool {
        Self::cast(other) == Some(self)
    }
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.class_type_id() == other.class_type_id()
            && self.members == other.members
            && self.base == other.base
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(self.class_type_id());
        for (name, value) in self.members() {
            shown.field(name, value);
        }
        shown.finish()
    }
}

/// The classes of a contract, by what peers call them.
#[derive(Debug)]
pub(crate) struct ClassIndex {
    classes: Vec<ContractClass>,
    by_name: HashMap<Arc<str>, usize>,
    by_compact_id: HashMap<i32, usize>,
    by_definition: HashMap<DefinitionId, usize>,
}

/// A class, ready to make instances.
#[derive(Debug)]
struct ContractClass {
    contract: Weak<Inner>,
    class: DefinitionId,
    type_id: Arc<str>,
}

impl ClassIndex {
    pub(crate) fn new(model: &Model, contract: &Weak<Inner>) -> Self {
        let mut index = Self {
            classes: Vec::new(),
            by_name: HashMap::new(),
            by_compact_id: HashMap::new(),
            by_definition: HashMap::new(),
        };
        for (id, named) in model.iter() {
            let Some(class) = definition(model, id).filter(|class| class.is_complete) else {
                continue;
            };
            let position = index.classes.len();
            let type_id: Arc<str> = named.scoped.as_str().into();
            index.by_name.insert(Arc::clone(&type_id), position);
            index.by_definition.insert(id, position);
            if let Some(compact_id) = class.compact_id {
                index.by_compact_id.insert(compact_id, position);
            }
            index.classes.push(ContractClass {
                contract: Weak::clone(contract),
                class: id,
                type_id,
            });
        }
        index
    }

    /// The type id of a class; `None` for what stands for any class: one that is only declared, or
    /// an interface by value.
    pub(crate) fn type_id(&self, id: DefinitionId) -> Option<&Arc<str>> {
        let position = self.by_definition.get(&id)?;
        Some(&self.classes[*position].type_id)
    }

    /// The class of this type id.
    pub(crate) fn class(&self, type_id: &str) -> Option<DefinitionId> {
        let position = self.by_name.get(type_id)?;
        Some(self.classes[*position].class)
    }

    /// The one class whose name without modules this is.
    pub(crate) fn only_namesake(&self, name: &str) -> Option<DefinitionId> {
        let is_namesake = |type_id: &str| type_id.rsplit("::").next() == Some(name);
        let mut namesakes = self.classes.iter().filter(|one| is_namesake(&one.type_id));
        let only = namesakes.next().filter(|_| namesakes.next().is_none());
        only.map(|one| one.class)
    }

    /// The type ids, in order of definition.
    pub(crate) fn type_ids(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().map(|class| &*class.type_id)
    }
}

impl Classes for ClassIndex {
    fn find(&self, id: ClassId<'_>) -> Option<&dyn ClassFactory> {
        let position = match id {
            ClassId::Name(type_id) => self.by_name.get(type_id),
            ClassId::Compact(compact_id) => self.by_compact_id.get(&compact_id),
        };
        position.map(|position| &self.classes[*position] as &dyn ClassFactory)
    }
}

impl ClassFactory for ContractClass {
    fn decode(&self, reader: &mut ClassReader<'_, '_>) -> Result<Box<dyn AnyClass>, DecodeError> {
        let inner = self.contract.upgrade();
        let contract = Contract::from_inner(inner.expect("whoever decodes holds the contract"));
        let mut members = Vec::new();
        let chain = contract.class_chain(self.class);
        for id in &chain {
            members.push(slice(&contract, *id, reader)?);
        }
        let members = members.into_iter().rev().flatten().collect();
        Ok(Box::new(Instance::of(&contract, &chain, members)))
    }
}

/// Reads the members that one class declares.
fn slice(
    contract: &Contract,
    class: DefinitionId,
    reader: &mut ClassReader<'_, '_>,
) -> Result<Vec<Value>, DecodeError> {
    let record = contract.own_record(class);
    reader.slice(record.name(), |decoder| {
        decode_slots(record, decoder).map_err(|located| Trail::leave(decoder.context(), *located))
    })
}

impl Contract {
    /// The class of this type id, the leading `::` included.
    pub(crate) fn class(&self, type_id: &str) -> Option<DefinitionId> {
        self.classes().class(type_id)
    }

    /// A class and its bases, most derived first.
    pub(crate) fn class_chain(&self, class: DefinitionId) -> Vec<DefinitionId> {
        let base = |id: &DefinitionId| definition(self.model(), *id)?.base;
        std::iter::successors(Some(class), base).collect()
    }

    /// Returns true if instances of this class are instances of the type.
    pub(crate) fn is_class_of(&self, class: DefinitionId, r#type: Type) -> bool {
        match r#type {
            Type::Named(wanted) if self.classes().type_id(wanted).is_some() => {
                self.class_chain(class).contains(&wanted)
            }
            _ => true,
        }
    }

    /// The classes that there are, for a message.
    pub(crate) fn list_classes(&self) -> String {
        let type_ids: Vec<&str> = self.classes().type_ids().collect();
        join(&type_ids)
    }
}

fn definition(model: &Model, id: DefinitionId) -> Option<&Class> {
    match &model.definition(id).kind {
        DefinitionKind::Class(class) => Some(class),
        _ => None,
    }
}
