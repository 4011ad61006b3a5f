//! CosNaming: names that lead to objects, in contexts within contexts.
//!
//! Bindings are kept in memory. A context of another server may be bound, too: a name that leads through it raises
//! `CannotProceed` with that context, and the client goes on there.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use bytes::Bytes;

use super::references::dispatch_object;
use super::{Raised, References};
use crate::any::Value;
use crate::cdr::{DecodeError, Decoder, EncodeError, Encoder};
use crate::reference::Ior;
use crate::system_exception::SystemExceptionKind;
use crate::type_code::{Member, NamedKind, TypeCode, TypeName};

/// The repository id of a naming context.
pub const CONTEXT_ID: &str = "IDL:omg.org/CosNaming/NamingContext:1.0";
/// The repository id of a naming context that also knows names as text.
pub const CONTEXT_EXT_ID: &str = "IDL:omg.org/CosNaming/NamingContextExt:1.0";
const ITERATOR_ID: &str = "IDL:omg.org/CosNaming/BindingIterator:1.0";
const SCOPE: &str = "omg.org/CosNaming/NamingContext";

/// The key of the root, by which `corbaloc::host:port/NameService` finds it.
pub const ROOT_KEY: &[u8] = b"NameService";

/// The most components of a name; paths in use have a handful.
pub const NAME_COMPONENTS_MAX: usize = 64;
/// The most bindings of a naming service. A binding takes up to some kilobytes.
pub const BINDINGS_MAX: usize = 16_384;
/// The most contexts of a naming service.
pub const CONTEXTS_MAX: usize = 4_096;
/// The most iterators over long lists at a time; further ones end the oldest.
pub const ITERATORS_MAX: usize = 64;

/// A component of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct NameComponent {
    pub id: String,
    pub kind: String,
}

/// A name: a path of components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(pub Vec<NameComponent>);

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = decoder.count(10, NAME_COMPONENTS_MAX, "name")?;
        let components = (0..count).map(|_| {
            let id = decoder.string("id of a name")?;
            let kind = decoder.string("kind of a name")?;
            Ok(NameComponent { id, kind })
        });
        components.collect::<Result<_, _>>().map(Self)
    }

    /// Appends the name.
    ///
    /// # Errors
    /// [`EncodeError`].
    pub fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.len_of("name", self.0.len())?;
        self.0.iter().try_for_each(|component| {
            encoder.string(&component.id)?;
            encoder.string(&component.kind)
        })
    }

    /// Parses a name as text: `id.kind/id.kind`, where a backslash escapes `.`, `/` and itself. `None` if it is none.
    ///
    /// Source: Naming Service 1.3, 2.4.
    pub fn parse(text: &str) -> Option<Self> {
        let mut components = Vec::new();
        let mut parts = vec![String::new()];
        let mut characters = text.chars();
        loop {
            let next = characters.next();
            let last = parts.last_mut()?;
            match next {
                Some('\\') => match characters.next()? {
                    escaped @ ('.' | '/' | '\\') => last.push(escaped),
                    _ => return None,
                },
                Some('.') => parts.push(String::new()),
                None | Some('/') => {
                    let parts = std::mem::replace(&mut parts, vec![String::new()]);
                    let (id, kind) = match <[String; 2]>::try_from(parts) {
                        Ok([id, kind]) if id.is_empty() || !kind.is_empty() => (id, kind),
                        Ok(_) => return None,
                        Err(parts) => {
                            let [id] = <[String; 1]>::try_from(parts).ok()?;
                            // An empty component is written as a dot.
                            (!id.is_empty()).then_some((id, String::new()))?
                        }
                    };
                    components.push(NameComponent { id, kind });
                }
                Some(other) => last.push(other),
            }
            if next.is_none() {
                return (components.len() <= NAME_COMPONENTS_MAX).then_some(Self(components));
            }
        }
    }
}

/// Prints the name as [`Name::parse`] takes it.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escape = |text: &str| {
            let mut escaped = String::with_capacity(text.len());
            for character in text.chars() {
                if matches!(character, '.' | '/' | '\\') {
                    escaped.push('\\');
                }
                escaped.push(character);
            }
            escaped
        };
        for (at, component) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("/")?;
            }
            f.write_str(&escape(&component.id))?;
            if !component.kind.is_empty() || component.id.is_empty() {
                write!(f, ".{}", escape(&component.kind))?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Binding {
    reference: Ior,
    is_context: bool,
}

type Bindings = BTreeMap<NameComponent, Binding>;

/// The rest of a list of bindings, as a client fetches it.
#[derive(Debug)]
struct BindingIterator {
    key: Bytes,
    rest: std::vec::IntoIter<(NameComponent, bool)>,
}

/// A naming service.
#[derive(Debug)]
pub struct NamingService {
    references: References,
    contexts: HashMap<Bytes, Bindings>,
    binding_count: usize,
    iterators: Vec<BindingIterator>,
    /// The number in the key of the next context or iterator.
    next: u64,
}

impl NamingService {
    /// A service with an empty root.
    pub fn new(references: References) -> Self {
        let root = (Bytes::from_static(ROOT_KEY), Bindings::new());
        Self {
            references,
            contexts: HashMap::from([root]),
            binding_count: 0,
            iterators: Vec::new(),
            next: 1,
        }
    }

    /// The reference to the root.
    pub fn root(&self) -> Ior {
        self.references
            .to(CONTEXT_EXT_ID, Bytes::from_static(ROOT_KEY))
    }

    /// Returns true if the object with this key belongs to the service.
    pub fn has(&self, key: &[u8]) -> bool {
        self.contexts.contains_key(key) || self.iterators.iter().any(|one| one.key == key)
    }

    /// Binds an object below the root, and replaces one that is bound there.
    ///
    /// # Errors
    /// As `rebind` of the service raises them.
    pub fn bind(&mut self, name: &Name, reference: Ior) -> Result<(), Raised> {
        let binding = Binding {
            reference,
            is_context: false,
        };
        self.bind_in(ROOT_KEY, &name.0, binding, true)
    }

    /// The object that a name below the root leads to.
    ///
    /// # Errors
    /// As `resolve` of the service raises them.
    pub fn resolve(&self, name: &Name) -> Result<Ior, Raised> {
        self.resolve_in(ROOT_KEY, &name.0)
    }

    /// Executes an operation of the object with this key.
    ///
    /// # Errors
    /// [`Raised`]. The results are then to be forgotten.
    pub fn dispatch(
        &mut self,
        key: &[u8],
        operation: &str,
        arguments: &mut Decoder<'_>,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        if let Some(at) = self.iterators.iter().position(|one| one.key == key) {
            return self.dispatch_iterator(at, operation, arguments, results);
        }
        if !self.contexts.contains_key(key) {
            return Err(Raised::system(SystemExceptionKind::ObjectNotExist));
        }
        match operation {
            "bind" | "rebind" | "bind_context" | "rebind_context" => {
                let name = Name::decode(arguments)?;
                let binding = Binding {
                    reference: Ior::decode(arguments)?,
                    is_context: operation.ends_with("_context"),
                };
                self.bind_in(key, &name.0, binding, operation.starts_with("re"))
            }
            "resolve" => {
                let name = Name::decode(arguments)?;
                Ok(self.resolve_in(key, &name.0)?.encode(results)?)
            }
            "unbind" => {
                let name = Name::decode(arguments)?;
                let (context, last) = self.context_of(key, &name.0)?;
                let bindings = self.contexts.get_mut(&context);
                let removed = bindings.and_then(|bindings| bindings.remove(&last));
                self.binding_count -= usize::from(removed.is_some());
                removed
                    .map(drop)
                    .ok_or_else(|| not_found(MISSING_NODE, &[last]))
            }
            "new_context" => Ok(self.new_context()?.encode(results)?),
            "bind_new_context" => {
                let name = Name::decode(arguments)?;
                // Otherwise a context would be left that nobody can reach.
                let (context, last) = self.context_of(key, &name.0)?;
                if self
                    .contexts
                    .get(&context)
                    .is_some_and(|bindings| bindings.contains_key(&last))
                {
                    return Err(already_bound());
                }
                let reference = self.new_context()?;
                let binding = Binding {
                    reference: reference.clone(),
                    is_context: true,
                };
                self.bind_in(key, &name.0, binding, false)?;
                Ok(reference.encode(results)?)
            }
            "destroy" => {
                let is_empty = self.contexts.get(key).is_some_and(Bindings::is_empty);
                match is_empty {
                    false => Err(Raised::user(SCOPE, "NotEmpty", Vec::new())),
                    true if key == ROOT_KEY => {
                        Err(Raised::system(SystemExceptionKind::NoPermission))
                    }
                    true => {
                        self.contexts.remove(key);
                        Ok(())
                    }
                }
            }
            "list" => {
                let count_max = arguments.ulong("number of bindings")?;
                self.list(key, count_max as usize, results)
            }
            "to_string" => {
                let name = Name::decode(arguments)?;
                match name.0.is_empty() {
                    true => Err(invalid_name()),
                    false => Ok(results.string(&name.to_string())?),
                }
            }
            "to_name" => {
                let text = arguments.string("name")?;
                Ok(Name::parse(&text)
                    .ok_or_else(invalid_name)?
                    .encode(results)?)
            }
            "resolve_str" => {
                let text = arguments.string("name")?;
                let name = Name::parse(&text).ok_or_else(invalid_name)?;
                Ok(self.resolve_in(key, &name.0)?.encode(results)?)
            }
            _ => {
                let interfaces = [CONTEXT_ID, CONTEXT_EXT_ID];
                match dispatch_object(&interfaces, operation, arguments, results)? {
                    true => Ok(()),
                    false => Err(Raised::system(SystemExceptionKind::BadOperation)),
                }
            }
        }
    }

    /// The key of the context in which the last component of a name is bound, and that component.
    fn context_of(
        &self,
        key: &[u8],
        name: &[NameComponent],
    ) -> Result<(Bytes, NameComponent), Raised> {
        let (last, path) = name.split_last().ok_or_else(invalid_name)?;
        let mut context = Bytes::copy_from_slice(key);
        for (at, component) in path.iter().enumerate() {
            let bindings = self.contexts.get(&context);
            let binding = bindings.and_then(|bindings| bindings.get(component));
            let rest = &name[at..];
            let binding = binding.ok_or_else(|| not_found(MISSING_NODE, rest))?;
            if !binding.is_context {
                return Err(not_found(NOT_CONTEXT, rest));
            }
            let own = self.references.key_of(&binding.reference);
            let own = own.filter(|key| self.contexts.contains_key(*key));
            context = own
                .cloned()
                .ok_or_else(|| cannot_proceed(binding.reference.clone(), &name[at + 1..]))?;
        }
        Ok((context, last.clone()))
    }

    fn resolve_in(&self, key: &[u8], name: &[NameComponent]) -> Result<Ior, Raised> {
        let (context, last) = self.context_of(key, name)?;
        let bindings = self.contexts.get(&context);
        let binding = bindings.and_then(|bindings| bindings.get(&last));
        let binding = binding.ok_or_else(|| not_found(MISSING_NODE, &[last]))?;
        Ok(binding.reference.clone())
    }

    fn bind_in(
        &mut self,
        key: &[u8],
        name: &[NameComponent],
        binding: Binding,
        may_replace: bool,
    ) -> Result<(), Raised> {
        let (context, last) = self.context_of(key, name)?;
        if binding.is_context && binding.reference.is_nil() {
            return Err(Raised::system(SystemExceptionKind::BadParam));
        }
        let is_full = self.binding_count >= BINDINGS_MAX;
        let bindings = self.contexts.entry(context).or_default();
        match bindings.get(&last) {
            Some(_) if !may_replace => return Err(already_bound()),
            // A context is only replaced by a context, and an object by an object.
            Some(old) if old.is_context != binding.is_context => {
                let why = if old.is_context {
                    NOT_OBJECT
                } else {
                    NOT_CONTEXT
                };
                return Err(not_found(why, &[last]));
            }
            Some(_) => {}
            None if is_full => return Err(Raised::system(SystemExceptionKind::ImpLimit)),
            None => self.binding_count += 1,
        }
        bindings.insert(last, binding);
        Ok(())
    }

    fn new_key(&mut self, kind: &str) -> Bytes {
        let number = self.next;
        self.next += 1;
        format!("{}/{kind}/{number}", String::from_utf8_lossy(ROOT_KEY)).into()
    }

    fn new_context(&mut self) -> Result<Ior, Raised> {
        if self.contexts.len() >= CONTEXTS_MAX {
            return Err(Raised::system(SystemExceptionKind::ImpLimit));
        }
        let key = self.new_key("context");
        self.contexts.insert(key.clone(), Bindings::new());
        Ok(self.references.to(CONTEXT_EXT_ID, key))
    }

    fn list(&mut self, key: &[u8], count_max: usize, results: &mut Encoder) -> Result<(), Raised> {
        let bindings = self.contexts.get(key).into_iter().flatten();
        let all = bindings.map(|(name, binding)| (name.clone(), binding.is_context));
        let mut rest = all.collect::<Vec<_>>().into_iter();
        put_bindings(&rest.by_ref().take(count_max).collect::<Vec<_>>(), results)?;
        if rest.len() == 0 {
            return Ok(Ior::NIL.encode(results)?);
        }
        if self.iterators.len() >= ITERATORS_MAX {
            self.iterators.remove(0);
        }
        let key = self.new_key("iterator");
        self.iterators.push(BindingIterator {
            key: key.clone(),
            rest,
        });
        Ok(self.references.to(ITERATOR_ID, key).encode(results)?)
    }

    fn dispatch_iterator(
        &mut self,
        at: usize,
        operation: &str,
        arguments: &mut Decoder<'_>,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        let rest = &mut self.iterators[at].rest;
        match operation {
            "next_one" => {
                let next = rest.next();
                results.boolean(next.is_some());
                // A result is due even if there is none.
                let empty = NameComponent {
                    id: String::new(),
                    kind: String::new(),
                };
                Ok(put_binding(&next.unwrap_or((empty, false)), results)?)
            }
            "next_n" => {
                let count_max = arguments.ulong("number of bindings")?;
                let taken: Vec<_> = rest.by_ref().take(count_max as usize).collect();
                results.boolean(!taken.is_empty());
                put_bindings(&taken, results)
            }
            "destroy" => {
                self.iterators.remove(at);
                Ok(())
            }
            _ => match dispatch_object(&[ITERATOR_ID], operation, arguments, results)? {
                true => Ok(()),
                false => Err(Raised::system(SystemExceptionKind::BadOperation)),
            },
        }
    }
}

fn put_bindings(bindings: &[(NameComponent, bool)], results: &mut Encoder) -> Result<(), Raised> {
    results.len_of("list of bindings", bindings.len())?;
    bindings
        .iter()
        .try_for_each(|binding| Ok(put_binding(binding, results)?))
}

/// A name of one component, and 1 for a context.
fn put_binding(binding: &(NameComponent, bool), results: &mut Encoder) -> Result<(), EncodeError> {
    Name(vec![binding.0.clone()]).encode(results)?;
    results.ulong(binding.1.into());
    Ok(())
}

const MISSING_NODE: u32 = 0;
const NOT_CONTEXT: u32 = 1;
const NOT_OBJECT: u32 = 2;

fn invalid_name() -> Raised {
    Raised::user(SCOPE, "InvalidName", Vec::new())
}

fn already_bound() -> Raised {
    Raised::user(SCOPE, "AlreadyBound", Vec::new())
}

fn not_found(why: u32, rest: &[NameComponent]) -> Raised {
    let reasons = ["missing_node", "not_context", "not_object"];
    let code = TypeCode::enumeration(TypeName::scoped(SCOPE, "NotFoundReason"), &reasons);
    let members = vec![
        (Member::new("why", code), Value::Enum(why)),
        rest_of_name(rest),
    ];
    Raised::user(SCOPE, "NotFound", members)
}

fn cannot_proceed(context: Ior, rest: &[NameComponent]) -> Raised {
    let name = TypeName {
        id: CONTEXT_ID.to_owned(),
        name: "NamingContext".to_owned(),
    };
    let code = TypeCode::Named(NamedKind::ObjectReference, name);
    let context = Value::Reference(Box::new(context));
    let members = vec![(Member::new("cxt", code), context), rest_of_name(rest)];
    Raised::user(SCOPE, "CannotProceed", members)
}

fn rest_of_name(rest: &[NameComponent]) -> (Member, Value) {
    let members = vec![
        Member::new("id", TypeCode::STRING),
        Member::new("kind", TypeCode::STRING),
    ];
    let component = TypeName::scoped("omg.org/CosNaming", "NameComponent");
    let code = TypeCode::sequence(TypeCode::structure(component, members));
    let components = rest.iter().map(|component| {
        let (id, kind) = (component.id.clone(), component.kind.clone());
        Value::Struct(vec![Value::String(id), Value::String(kind)])
    });
    (
        Member::new("rest_of_name", code),
        Value::Sequence(components.collect()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdr::{Endian, Format};
    use crate::reference::IiopProfile;

    fn name(text: &str) -> Name {
        Name::parse(text).expect(text)
    }

    fn service() -> NamingService {
        let profile = IiopProfile::new("here", 2809, Bytes::new()).expect("it is short");
        NamingService::new(References::new(profile))
    }

    fn elsewhere() -> Ior {
        let profile = IiopProfile::new("elsewhere", 1, Bytes::from_static(b"k"));
        Ior::new("IDL:X:1.0", profile.expect("it is short"))
    }

    /// Calls an operation of the root; the results or the name of the exception.
    fn call(
        service: &mut NamingService,
        operation: &str,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<Vec<u8>, String> {
        let format = Format::utf8(Endian::Little);
        let (mut arguments, mut results) = (Encoder::new(format), Encoder::new(format));
        write(&mut arguments).expect("they are short");
        let bytes = arguments.into_bytes();
        let mut arguments = Decoder::new(&bytes, format);
        let done = service.dispatch(ROOT_KEY, operation, &mut arguments, &mut results);
        done.map_err(|raised| raised.to_string())?;
        Ok(results.into_bytes())
    }

    #[test]
    fn names_survive_their_text() {
        for text in ["a", "a.b", "a.b/c", ".", ".k", r"a\.b\/c\\d.k"] {
            assert_eq!(name(text).to_string(), text);
        }
        for text in ["", "/", "a/", "a.", "a.b.c", r"a\", r"a\x"] {
            assert_eq!(Name::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_through_new_contexts_leads_to_its_object() {
        let mut service = service();
        let bind = |encoder: &mut Encoder| name("events").encode(encoder);
        call(&mut service, "bind_new_context", bind).expect("it is free");
        assert!(call(&mut service, "bind_new_context", bind).is_err());
        service
            .bind(&name("events/ticks"), elsewhere())
            .expect("it is free");
        assert_eq!(service.resolve(&name("events/ticks")), Ok(elsewhere()));
        let missing = service
            .resolve(&name("events/none"))
            .expect_err("it is not bound");
        assert!(missing.to_string().contains("NotFound"));
    }

    #[test]
    fn a_context_of_another_server_is_where_the_client_goes_on() {
        let mut service = service();
        let bind = |encoder: &mut Encoder| {
            name("far").encode(encoder)?;
            elsewhere().encode(encoder)
        };
        call(&mut service, "bind_context", bind).expect("it is free");
        let raised = service
            .resolve(&name("far/a/b"))
            .expect_err("it is elsewhere");
        let Raised::User(exception) = raised else {
            panic!("{raised:?}")
        };
        let Value::Struct(members) = &exception.1 else {
            panic!("{exception:?}")
        };
        assert_eq!(members[0], Value::Reference(Box::new(elsewhere())));
        let Value::Sequence(rest) = &members[1] else {
            panic!("{members:?}")
        };
        assert_eq!(rest.len(), 2);
    }

    #[test]
    fn a_long_list_goes_on_in_an_iterator() {
        let mut service = service();
        for text in ["a", "b", "c"] {
            service.bind(&name(text), elsewhere()).expect("it is free");
        }
        let bytes = call(&mut service, "list", |encoder| {
            encoder.ulong(2);
            Ok(())
        });
        let bytes = bytes.expect("it lists");
        let mut results = Decoder::new(&bytes, Format::utf8(Endian::Little));
        assert_eq!(results.ulong("count"), Ok(2));
        assert_eq!(service.iterators.len(), 1);
        assert_eq!(service.iterators[0].rest.len(), 1);
    }

    #[test]
    fn bindings_have_a_limit() {
        let mut service = service();
        service.binding_count = BINDINGS_MAX;
        let raised = service
            .bind(&name("a"), elsewhere())
            .expect_err("it is full");
        assert!(raised.to_string().starts_with("IMP_LIMIT"));
    }
}
