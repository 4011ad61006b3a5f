//! Building graphs of instances, cycles included.

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::sync::{Arc, Weak};

use super::instance::{Group, Held, Member, Slot};
use super::link::LinkTarget;
use super::links::Links;
use super::promise::Promises;
use super::{AnyClass, Class, ClassType, Extends, Link, UnknownSlice};
use crate::encoding::EncodeError;

/// A builder of instances that refer to one another in any way, cycles included.
///
/// [`add`](Self::add) gives a [`Draft`] for each instance. Until the graph is finished you can change
/// an instance, and link it to others with [`Draft::link`].
///
/// The instances of a graph live together: all of them live as long as a link or a [`Ref`](super::Ref) outside of the
/// graph holds any of them. Build instances that need no cycle with [`Link::new`]; each of those lives only as long as
/// it is used.
///
/// ```
/// # use floe_wire::encoding::{Class, ClassInfo, ClassReader, ClassTable, Classes};
/// # use floe_wire::{DecodeError, Encoder};
/// use floe_wire::encoding::{Graph, Link};
///
/// # static CLASSES: ClassTable = ClassTable::new(&[ClassInfo::of::<Station>()], &[]);
/// #
/// # impl Class for Station {
/// #     const TYPE_ID: &'static str = "::Demo::Station";
/// #     fn classes() -> &'static dyn Classes { &CLASSES }
/// #     fn encode_members(&self, encoder: &mut Encoder<'_>) {
/// #         encoder.put(&self.name);
/// #         encoder.put(&self.next);
/// #     }
/// #     fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
/// #         let (name, next) = reader.slice("::Demo::Station", |decoder| Ok((decoder.get()?, decoder.get()?)))?;
/// #         Ok(Self { name, next })
/// #     }
/// # }
/// // class Station { string name; Station next; }
/// #[derive(Debug, Clone, PartialEq, Default)]
/// struct Station {
///     name: String,
///     next: Link<Station>,
/// }
///
/// let mut graph = Graph::new();
/// let north = graph.add(Station { name: "North".to_owned(), next: Link::nil() });
/// let south = graph.add(Station { name: "South".to_owned(), next: north.link() });
/// graph[&north].next = south.link();
/// graph.finish()?;
///
/// let line: Link<Station> = north.link();
/// drop((north, south));
/// let south = line.get().and_then(|north| north.next.get()).expect("the next station");
/// drop(line);
/// assert_eq!(south.next.get().expect("still there").name, "North");
/// # Ok::<(), floe_wire::EncodeError>(())
/// ```
#[derive(Default)]
#[must_use = "links to its instances lead nowhere until the graph is finished"]
pub struct Graph {
    instances: Vec<Drafted>,
    promises: Promises,
}

/// An instance of a graph under construction, returned by [`Graph::add`].
///
/// A draft is not part of the graph: once the graph is finished, a draft keeps its instances alive.
pub struct Draft<T: ClassType + ?Sized> {
    promises: Promises,
    slot: Weak<Slot>,
    index: usize,
    class: PhantomData<fn() -> Box<T>>,
}

/// The graph's record of an instance.
struct Drafted {
    slot: Arc<Slot>,
    content: Option<(Box<dyn AnyClass>, Vec<UnknownSlice>)>,
}

impl Graph {
    /// A graph without instances.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an instance.
    pub fn add<T: Class>(&mut self, value: T) -> Draft<T> {
        let draft = self.draft();
        self.instances[draft.index].content = Some((Box::new(value), Vec::new()));
        draft
    }

    /// Adds an instance whose value comes later, by [`fill`](Self::fill) or [`fill_any`](Self::fill_any).
    pub fn draft<T: ClassType + ?Sized>(&mut self) -> Draft<T> {
        let slot = Arc::new(Slot::empty());
        let draft = Draft {
            promises: self.promises.clone(),
            slot: Arc::downgrade(&slot),
            index: self.instances.len(),
            class: PhantomData,
        };
        let content = None;
        self.instances.push(Drafted { slot, content });
        draft
    }

    /// Sets the value of a draft, and replaces the one that it may have.
    ///
    /// # Panics
    /// If the draft belongs to another graph.
    pub fn fill<T: Class>(&mut self, draft: &Draft<T>, value: T) {
        let position = self.position(draft);
        self.instances[position].content = Some((Box::new(value), Vec::new()));
    }

    /// Sets the value of a draft to an instance of a class that is not known when the program is compiled. `unknown`
    /// are the slices that a peer sent of classes that this program does not know, most derived first.
    ///
    /// # Panics
    /// If the draft belongs to another graph.
    pub fn fill_any(
        &mut self,
        draft: &Draft<dyn AnyClass>,
        value: Box<dyn AnyClass>,
        unknown: Vec<UnknownSlice>,
    ) {
        let position = self.position(draft);
        self.instances[position].content = Some((value, unknown));
    }

    /// Completes all instances. From now on, links lead to them, and they cannot be changed.
    ///
    /// # Errors
    /// [`EncodeError`] if a draft has no instance, if an instance outside of the graph would be part of a cycle, or if
    /// an instance cannot be encoded. Links to the instances then stay empty.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.settle_links()?;
        let members = self.instances.into_iter().map(|drafted| {
            let (value, unknown) = drafted.content?;
            Some(Member {
                slot: drafted.slot,
                value,
                unknown,
            })
        });
        let members = members
            .collect::<Option<Vec<_>>>()
            .ok_or(EncodeError::IncompleteInstance)?;
        self.promises.keep(Group::of(members));
        Ok(())
    }

    /// Finds the links inside instances of the graph, so that these do not hold the graph.
    fn settle_links(&self) -> Result<(), EncodeError> {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for drafted in &self.instances {
            let (value, unknown) = drafted
                .content
                .as_ref()
                .ok_or(EncodeError::IncompleteInstance)?;
            let links = Links::of(&**value, unknown)?;
            if !links.promised.iter().all(|it| it.is_of(&self.promises)) {
                let class = value.class_type_id().to_owned();
                return Err(EncodeError::OtherGraph(class));
            }
            inside.extend(links.promised);
            outside.extend(links.lone);
        }
        self.check_outside(outside)?;
        inside.iter().for_each(|promise| promise.stay_inside());
        Ok(())
    }

    /// Checks that no reachable instance outside of the graph has a link to an unfinished one.
    fn check_outside(&self, mut outside: Vec<Held>) -> Result<(), EncodeError> {
        let mut seen = HashSet::new();
        while let Some(held) = outside.pop() {
            if !seen.insert(held.address()) {
                continue;
            }
            let instance = held.instance();
            let links = Links::of(&*instance.value, &instance.unknown)?;
            if let Some(promise) = links.promised.first() {
                let class = instance.value.class_type_id().to_owned();
                return Err(match promise.is_of(&self.promises) {
                    true => EncodeError::OutsideGraph(class),
                    false => EncodeError::OtherGraph(class),
                });
            }
            outside.extend(links.lone);
        }
        Ok(())
    }

    fn position<T: ClassType + ?Sized>(&self, draft: &Draft<T>) -> usize {
        assert!(
            self.promises.is(&draft.promises),
            "the draft belongs to another graph"
        );
        draft.index
    }
}

/// The instance of a draft.
///
/// # Panics
/// If the draft belongs to another graph, or has no instance yet.
impl<T: Class> Index<&Draft<T>> for Graph {
    type Output = T;

    fn index(&self, draft: &Draft<T>) -> &T {
        let content = &self.instances[self.position(draft)].content;
        let value = content.as_ref().map(|(value, _)| &**value as &dyn Any);
        let value = value.and_then(|value| value.downcast_ref());
        value.expect("the draft has an instance")
    }
}

impl<T: Class> IndexMut<&Draft<T>> for Graph {
    fn index_mut(&mut self, draft: &Draft<T>) -> &mut T {
        let position = self.position(draft);
        let content = &mut self.instances[position].content;
        let value = content
            .as_mut()
            .map(|(value, _)| &mut **value as &mut dyn Any);
        let value = value.and_then(|value| value.downcast_mut());
        value.expect("the draft has an instance")
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("instances", &self.instances.len())
            .finish_non_exhaustive()
    }
}

impl<T: Class> Draft<T> {
    /// A link to the instance, typed as its class or as a base of that.
    pub fn link<U: ClassType + ?Sized>(&self) -> Link<U>
    where
        T: Extends<U>,
    {
        self.link_as()
    }
}

impl Draft<dyn AnyClass> {
    /// A link to the instance, like [`Draft::link`] for an instance of a known class.
    pub fn link_any(&self) -> Link<dyn AnyClass> {
        self.link_as()
    }
}

impl<T: ClassType + ?Sized> Draft<T> {
    fn link_as<U: ClassType + ?Sized>(&self) -> Link<U> {
        let promise = self.promises.promise(&self.slot, self.index);
        Link::new_in(LinkTarget::Promised(promise))
    }
}

impl<T: ClassType + ?Sized> Clone for Draft<T> {
    fn clone(&self) -> Self {
        Self {
            promises: self.promises.clone(),
            slot: Weak::clone(&self.slot),
            index: self.index,
            class: PhantomData,
        }
    }
}

impl<T: ClassType + ?Sized> fmt::Debug for Draft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Draft").field(&self.index).finish()
    }
}
