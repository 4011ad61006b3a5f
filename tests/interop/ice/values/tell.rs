//! How values are told as text, the same in each language: `values.py` says how a text looks.

use std::collections::BTreeMap;
use std::fmt::Write;

use floe::classes::{AnyClass, ClassType, Link, Ref};
use floe::{InvokeError, LocalError, Proxy, SystemException};

use super::contract::values::*;

pub(crate) type Any = Link<dyn AnyClass>;

/// Tells values as text, and remembers which instances it told.
#[derive(Default)]
pub(crate) struct Teller {
    text: String,
    instances: Vec<Ref<dyn AnyClass>>,
}

/// A value that can be told as text.
pub(crate) trait Tell {
    fn tell(&self, teller: &mut Teller);
}

/// Members that are told between parentheses, behind the name of their type.
trait Members {
    fn members(&self) -> Vec<&dyn Tell>;
}

/// Values told with one numbering of instances, with spaces between.
pub(crate) fn told(values: &[&dyn Tell]) -> String {
    let mut teller = Teller::default();
    teller.list(values, " ");
    teller.text
}

impl Teller {
    fn put(&mut self, text: impl std::fmt::Display) {
        write!(self.text, "{text}").expect("a string can be written");
    }

    fn list(&mut self, values: &[&dyn Tell], separator: &str) {
        for (at, value) in values.iter().enumerate() {
            self.put(if at == 0 { "" } else { separator });
            value.tell(self);
        }
    }

    fn named(&mut self, name: &str, members: &[&dyn Tell]) {
        self.put(name);
        self.put("(");
        self.list(members, ",");
        self.put(")");
    }

    fn instance(&mut self, instance: Ref<dyn AnyClass>) {
        if let Some(at) = self.instances.iter().position(|it| it.ptr_eq(&instance)) {
            self.put(format_args!("#{}", at + 1));
            return;
        }
        self.instances.push(instance.clone());
        let number = self.instances.len();
        macro_rules! find {
            ($($class:ident)*) => {
                $(if let Some(found) = exactly::<$class>(&instance) {
                    let name = format!(concat!(stringify!($class), "#{}"), number);
                    return self.named(&name, &found.members());
                })*
            };
        }
        with_classes!(find);
        self.put(format_args!("?#{number}"));
    }
}

/// The instance if its class is `T` itself.
fn exactly<T: floe::classes::Class + ClassType>(instance: &Ref<dyn AnyClass>) -> Option<Ref<T>> {
    (instance.class_type_id() == T::TYPE_ID)
        .then(|| instance.cast())
        .flatten()
}

macro_rules! display {
    ($($type:ty)*) => {
        $(impl Tell for $type {
            fn tell(&self, teller: &mut Teller) {
                teller.put(self);
            }
        })*
    };
}

display! { bool u8 i16 i32 i64 }

/// Quarters below a thousand look alike in all languages; the bits of others do.
impl Tell for f64 {
    fn tell(&self, teller: &mut Teller) {
        if self.is_nan() {
            teller.put("nan");
        } else if self.abs() < 1000.0 && (self * 4.0).fract() == 0.0 {
            teller.put(self);
        } else {
            teller.put(format_args!("{:016x}", self.to_bits()));
        }
    }
}

impl Tell for f32 {
    fn tell(&self, teller: &mut Teller) {
        f64::from(*self).tell(teller);
    }
}

impl Tell for String {
    fn tell(&self, teller: &mut Teller) {
        teller.put(format_args!("\"{self}\""));
    }
}

impl Tell for Shade {
    fn tell(&self, teller: &mut Teller) {
        teller.put(match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Glowing => "glowing",
        });
    }
}

impl<T: Tell> Tell for Option<T> {
    fn tell(&self, teller: &mut Teller) {
        match self {
            Some(value) => value.tell(teller),
            None => teller.put("unset"),
        }
    }
}

impl Tell for Option<Proxy> {
    fn tell(&self, teller: &mut Teller) {
        match self {
            Some(proxy) => teller.put(&proxy.reference().identity),
            None => teller.put("nil"),
        }
    }
}

impl<T: Tell> Tell for Vec<T> {
    fn tell(&self, teller: &mut Teller) {
        let items: Vec<&dyn Tell> = self.iter().map(|item| item as &dyn Tell).collect();
        teller.put("[");
        teller.list(&items, ",");
        teller.put("]");
    }
}

impl<K: Tell, V: Tell> Tell for BTreeMap<K, V> {
    fn tell(&self, teller: &mut Teller) {
        teller.put("{");
        for (at, (key, value)) in self.iter().enumerate() {
            teller.put(if at == 0 { "" } else { "," });
            key.tell(teller);
            teller.put(":");
            value.tell(teller);
        }
        teller.put("}");
    }
}

impl<T: ClassType + ?Sized> Tell for Link<T> {
    fn tell(&self, teller: &mut Teller) {
        match self.cast::<dyn AnyClass>().and_then(|link| link.get()) {
            Some(instance) => teller.instance(instance),
            None => teller.put("nil"),
        }
    }
}

/// Tells a type by the list of its members, those of its base first.
macro_rules! members {
    ($($type:ident: $($member:ident)*;)*) => {
        $(impl Members for $type {
            fn members(&self) -> Vec<&dyn Tell> {
                vec![$(&self.$member),*]
            }
        })*
    };
}

members! {
    Pair: x y;
    Label: text shade;
    Held: before shape any value nodes index after;
    Node: name left right;
    Empty: ;
    Shape: id note mark;
    Circle: id note mark radius center;
    Kept: name other;
    Square: name other side corner;
    Sample: flag octet small number large ratio exact text shade pair label flags bytes shorts
        doubles strings shades pairs labels proxies table legend object nodes index node;
    Failed: why code;
}

if_newer! {
    members! {
        KeptMore: name other side corner third more note;
        KeptMost: name other side corner third more note most fourth fifth;
        Ring: id note mark radius center width inner;
        Alone: secret inside;
        AloneById: secret;
        Optionals: flag octet small number large ratio exact text shade pair label flags bytes
            shorts strings shades pairs labels table legend object between shape nodes new_first
            new_flag new_small new_number new_exact new_shade new_shorts new_strings new_node
            new_last;
        FailedAt: why code place more newer;
        FailedDeep: why code place more newer held labels shape;
        FailedNewer: why code place more newer held labels shape level last;
    }
}

if_older! {
    members! {
        Optionals: flag octet small number large ratio exact text shade pair label flags bytes
            shorts strings shades pairs labels table legend object between shape nodes;
        FailedAt: why code place more;
        FailedDeep: why code place more held labels shape;
    }
}

macro_rules! by_members {
    ($($type:ident)*) => {
        $(impl Tell for $type {
            fn tell(&self, teller: &mut Teller) {
                teller.named(stringify!($type), &self.members());
            }
        })*
    };
}

by_members! { Pair Label Held }
with_exceptions!(by_members);

/// Tells of a failure without its text.
impl Tell for InvokeError {
    fn tell(&self, teller: &mut Teller) {
        teller.put(match self {
            Self::System(SystemException::UnknownLocalException(_)) => "UnknownLocalException",
            Self::System(SystemException::UnknownException(_)) => "UnknownException",
            Self::System(SystemException::UnknownUserException(_))
            | Self::UndeclaredException { .. } => "UnknownUserException",
            Self::BadReply(_) => "cannot be decoded",
            Self::NotDispatched(LocalError::Encode(_)) => "cannot be encoded",
            other => return teller.put(format_args!("failed otherwise: {other:?}")),
        });
    }
}

/// Implements telling for the errors of operations, which have a variant for each exception.
macro_rules! failures {
    ($($exception:ident)*) => {
        impl Tell for FailedError {
            fn tell(&self, teller: &mut Teller) {
                match self {
                    $(Self::$exception(exception) => {
                        teller.put("throws ");
                        exception.tell(teller);
                    })*
                    Self::Invoke(error) => error.tell(teller),
                }
            }
        }
    };
}

with_exceptions!(failures);
