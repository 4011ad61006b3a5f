//! All names of a contract in another world.
//!
//! Modules and definitions keep their names before anything that is made for them. A made name is the name of the
//! definition, an underscore, and the part: `Sensor_Event`. Names of Slice have no underscore unless a contract asks for
//! that, and one that is in the way gets the made name an underscore more.

use std::collections::BTreeMap;

use floe_slice::model::{DefinitionId, DefinitionKind, Model};

use super::names::{NameScope, World};

/// The spellings of all modules, definitions and made types of a model. They do not depend on what is generated.
#[derive(Debug)]
pub struct Naming<'m> {
    model: &'m Model,
    world: World,
    /// By the Slice names of the module and those around it: its own spelling.
    modules: BTreeMap<Vec<String>, String>,
    /// By the index of the definition.
    definitions: Vec<String>,
    made: BTreeMap<(DefinitionId, Made), String>,
}

/// A name that is made because Slice has none for it; it stands in the module of the definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// The type of the events of an interface: `Sensor_Event`.
    Event,
    /// The enumeration of the operations of an interface: `Sensor_Operation`.
    Operation,
    /// The pair of a dictionary: `Ages_Entry`.
    Entry,
    /// The parameters of the operation: `Sensor_sampled`.
    Parameters(String),
    /// The enumerator of the operation: `Sensor_Operation_sampled`.
    OperationEnumerator(String),
    /// The enumerator, where enumerators stand beside their enumeration: `Side_buy`.
    Enumerator(String),
    /// A member of an exception that may be unset, where that needs a type: `Rejected_reason_Optional`.
    OptionalMember(String),
    /// A parameter of an operation that may be unset: `Sensor_sampled_unit_Optional`.
    OptionalParameter(String, String),
    /// A result of an operation that may be unset: `Sensor_sampled_Optional`.
    OptionalResult(String),
}

impl<'m> Naming<'m> {
    /// Names everything.
    pub fn new(model: &'m Model, world: World) -> Self {
        let mut naming = Self {
            model,
            world,
            modules: BTreeMap::new(),
            definitions: Vec::new(),
            made: BTreeMap::new(),
        };
        let mut scopes = BTreeMap::from([(Vec::new(), NameScope::new(world))]);
        for (_, definition) in model.iter() {
            naming.open(&definition.modules, &mut scopes);
            let scope = scopes.get_mut(&definition.modules).expect("it was opened");
            naming.definitions.push(scope.add(&definition.name));
        }
        for (id, definition) in model.iter() {
            let scope = scopes.get_mut(&definition.modules).expect("it was opened");
            for made in naming.parts(id) {
                let name = scope.add(&made.name(&definition.name));
                naming.made.insert((id, made), name);
            }
        }
        naming
    }

    /// Names a module and those around it.
    fn open(&mut self, modules: &[String], scopes: &mut BTreeMap<Vec<String>, NameScope>) {
        for depth in 1..=modules.len() {
            let path = &modules[..depth];
            if self.modules.contains_key(path) {
                continue;
            }
            let around = scopes.get_mut(&path[..depth - 1]).expect("it was opened");
            let spelled = around.add(&path[depth - 1]);
            scopes.insert(path.to_vec(), NameScope::within(self.world, &spelled));
            self.modules.insert(path.to_vec(), spelled);
        }
    }

    /// The made names of a definition.
    fn parts(&self, id: DefinitionId) -> Vec<Made> {
        let mut parts = Vec::new();
        match &self.model.definition(id).kind {
            DefinitionKind::Dictionary(_) => parts.push(Made::Entry),
            DefinitionKind::Enum(of) if self.world == World::Idl => {
                let names = of.enumerators.iter().map(|it| it.name.clone());
                parts.extend(names.map(Made::Enumerator));
            }
            DefinitionKind::Exception(of) => {
                let optional = of.members.iter().filter(|it| it.tag.is_some());
                parts.extend(optional.map(|it| Made::OptionalMember(it.name.clone())));
            }
            DefinitionKind::Interface(_) => {
                parts.extend([Made::Event, Made::Operation]);
                for operation in self.model.own_operations(id) {
                    let name = &operation.name;
                    parts.push(Made::Parameters(name.clone()));
                    if operation
                        .returns
                        .as_ref()
                        .is_some_and(|it| it.tag.is_some())
                    {
                        parts.push(Made::OptionalResult(name.clone()));
                    }
                    let optional = operation.parameters.iter().filter(|it| it.tag.is_some());
                    let made = |of: String| Made::OptionalParameter(name.clone(), of);
                    parts.extend(optional.map(|it| made(it.name.clone())));
                }
                let operations = self.model.all_operations(id).into_iter();
                let names = operations.map(|(_, it)| it.name.clone());
                parts.extend(names.map(Made::OperationEnumerator));
            }
            _ => {}
        }
        parts
    }

    /// The world that the names are for.
    pub fn world(&self) -> World {
        self.world
    }

    /// The spelling of a module, given by its Slice name and those around it, outermost first.
    ///
    /// # Panics
    /// If the model has no such module.
    pub fn module(&self, path: &[String]) -> &str {
        &self.modules[path]
    }

    /// The spellings of the modules around a definition, outermost first.
    pub fn modules_of(&self, id: DefinitionId) -> Vec<&str> {
        let modules = &self.model.definition(id).modules;
        let depths = 1..=modules.len();
        depths.map(|depth| self.module(&modules[..depth])).collect()
    }

    /// The spelling of the simple name of a definition.
    pub fn definition(&self, id: DefinitionId) -> &str {
        &self.definitions[id.0]
    }

    /// The spelling of the simple name of something that was made for a definition.
    ///
    /// # Panics
    /// If the definition has no such part.
    pub fn made(&self, id: DefinitionId, made: Made) -> &str {
        &self.made[&(id, made)]
    }

    /// The spellings of names within a definition or made type, in order.
    pub fn members<'n>(&self, owner: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let mut scope = NameScope::within(self.world, owner);
        names.map(|name| scope.add(name)).collect()
    }
}

/// The XML namespace of the module of a definition: `BASE:Demo:Inner`.
pub fn namespace(naming: &Naming<'_>, base: &str, id: DefinitionId) -> String {
    format!("{base}:{}", naming.modules_of(id).join(":"))
}

impl Made {
    /// The name before it is spelled.
    fn name(&self, definition: &str) -> String {
        match self {
            Self::Event => format!("{definition}_Event"),
            Self::Operation => format!("{definition}_Operation"),
            Self::Entry => format!("{definition}_Entry"),
            Self::Parameters(name) | Self::Enumerator(name) => format!("{definition}_{name}"),
            Self::OperationEnumerator(name) => format!("{definition}_Operation_{name}"),
            Self::OptionalMember(name) | Self::OptionalResult(name) => {
                format!("{definition}_{name}_Optional")
            }
            Self::OptionalParameter(operation, name) => {
                format!("{definition}_{operation}_{name}_Optional")
            }
        }
    }
}
