//! Constants and default values.

use super::scope::ScopeId;
use super::{Checker, Context};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Const, ConstValue, DefinitionId, DefinitionKind, Metadata, Primitive, Type};
use crate::parse::ast::{AnnotatedType, Name, ScopedName, Value, ValueKind};

impl Checker {
    pub(super) fn constant(
        &mut self,
        name: &Name,
        r#type: &AnnotatedType,
        value: &Value,
        context: Context,
    ) -> Option<DefinitionKind> {
        self.check_type_metadata(&r#type.metadata);
        let of_local = Context {
            is_local: true,
            ..context
        };
        let resolved = self.resolve_type(&r#type.r#type, of_local)?;
        if let Type::Named(id) = resolved
            && self.facts[id.0].is_local
            && let Some(own) = self.own_id(name, context)
        {
            // What has a local type is as little to the world as its type.
            self.facts[own.0].is_local = true;
        }
        let found = self.value(resolved, value, context);
        if let (Some(_), ValueKind::Name(name)) = (&found, &value.kind) {
            self.keep_meaning(name, context);
        }
        Some(DefinitionKind::Const(Const {
            r#type: resolved,
            value: found?,
        }))
    }

    /// The value of a constant that is found outside of its module gives the first part of its name a
    /// meaning there: the module may have defined something else under that name neither before nor
    /// after.
    fn keep_meaning(&mut self, name: &ScopedName, context: Context) {
        let Some(first) = name.parts.first().filter(|_| !name.is_absolute) else {
            return;
        };
        let Some(found) = self.scope_of_value(name, context) else {
            return;
        };
        if found == context.scope {
            return;
        }
        let key = first.text.to_ascii_lowercase();
        let scope = self.scopes.get_mut(context.scope);
        let Some(place) = scope.introduced.get(&key).copied() else {
            let used = (first.text.clone(), first.span);
            scope.used.entry(key).or_insert(used);
            return;
        };
        let message = format!("`{}` means something else in this module", first.text);
        let diagnostic = Diagnostic::new(Code::ChangedMeaning, name.span, message)
            .label(place, "it means this")
            .help("rename it, or write the name from the outermost module on: `::Module::Name`");
        self.report(diagnostic);
    }

    /// Returns true if the first part of a value's name gets a meaning by it. That of an enumerator without its
    /// enum does not.
    pub(super) fn gives_meaning(&self, name: &ScopedName, context: Context) -> bool {
        self.scope_of_value(name, context).is_some()
    }

    /// Where the first part of the name of a constant, or of an enumerator with its enum, is found.
    fn scope_of_value(&self, name: &ScopedName, context: Context) -> Option<ScopeId> {
        let of_enumerator = || {
            let (scope, ..) = self.enum_before(name, context)?;
            Some(scope)
        };
        let definition = self.definitions_named(name, context).next();
        definition.map(|(scope, _)| scope).or_else(of_enumerator)
    }

    /// The value of an initializer for a type; `None` if it does not fit, which is reported.
    pub(super) fn value(
        &mut self,
        r#type: Type,
        value: &Value,
        context: Context,
    ) -> Option<ConstValue> {
        match r#type {
            Type::Primitive(primitive) => self.primitive_value(primitive, value, context),
            Type::Named(id) if matches!(self.definition(id).kind, DefinitionKind::Enum(_)) => {
                self.enumerator_value(id, value, context)
            }
            _ => {
                let name = self.type_text(r#type);
                let message = format!("a value of type `{name}` cannot be written in Slice");
                let help = "constants and defaults are booleans, numbers, strings and enumerators";
                self.error(Code::BadInitializer, value.span, message, help);
                None
            }
        }
    }

    fn primitive_value(
        &mut self,
        primitive: Primitive,
        value: &Value,
        context: Context,
    ) -> Option<ConstValue> {
        let (found, place) = match &value.kind {
            ValueKind::Bool(value) => (ConstValue::Bool(*value), None),
            ValueKind::Integer(value) => (ConstValue::Integer(*value), None),
            ValueKind::Float(value) => (ConstValue::Float(*value), None),
            ValueKind::String(value) => (ConstValue::String(value.clone()), None),
            ValueKind::Name(name) => self.named_value(name, context)?,
        };
        let problem = match (primitive, &found) {
            (Primitive::Bool, ConstValue::Bool(_)) | (Primitive::String, ConstValue::String(_)) => {
                return Some(found);
            }
            (_, ConstValue::Integer(integer)) if integer_range(primitive).is_some() => {
                return self.in_range(primitive, *integer, value.span);
            }
            (Primitive::Float | Primitive::Double, ConstValue::Float(float)) => {
                return self.float_value(primitive, *float, value.span);
            }
            (Primitive::Float | Primitive::Double, ConstValue::Integer(integer)) => {
                return self.float_value(primitive, *integer as f64, value.span);
            }
            (_, found) => self.value_noun(found),
        };
        self.report_misfit(primitive.keyword(), &problem, value.span, place);
        None
    }

    /// The value of a name, and where that is defined.
    fn named_value(
        &mut self,
        name: &ScopedName,
        context: Context,
    ) -> Option<(ConstValue, Option<Span>)> {
        // An enumerator is no number, but what it is makes a better message than an unknown name.
        if let Some((of, index)) = self.enumerator_of_name(name, None, context) {
            let place = self.enumeration_of(of)?.enumerators.get(index)?.span;
            return Some((ConstValue::Enumerator { of, index }, Some(place)));
        }
        let id = self.find_constant(name, context)?;
        Some((self.constant_value(id)?, Some(self.definition(id).span)))
    }

    /// Reports a value that is of another kind than its type.
    fn report_misfit(&mut self, wanted: &str, found: &str, span: Span, place: Option<Span>) {
        let article = if wanted == "int" { "an" } else { "a" };
        let message = format!("{article} `{wanted}` is needed here, and this is {found}");
        let help = match wanted {
            "bool" => "write `true` or `false`",
            "string" => "write the value in quotes",
            "float" | "double" => "write a number such as `1.5`",
            _ => "write an integer",
        };
        let mut diagnostic = Diagnostic::new(Code::BadInitializer, span, message).help(help);
        if let Some(place) = place {
            diagnostic = diagnostic.label(place, "defined here");
        }
        self.report(diagnostic);
    }

    fn value_noun(&self, value: &ConstValue) -> String {
        match value {
            ConstValue::Bool(_) => "a boolean".to_owned(),
            ConstValue::Integer(_) => "an integer".to_owned(),
            ConstValue::Float(_) => "a floating-point number".to_owned(),
            ConstValue::String(_) => "a string".to_owned(),
            ConstValue::Enumerator { of, .. } => {
                format!("an enumerator of `{}`", self.definition(*of).name)
            }
        }
    }

    fn in_range(&mut self, primitive: Primitive, value: i64, span: Span) -> Option<ConstValue> {
        let (low, high) = integer_range(primitive)?;
        if (low..=high).contains(&value) {
            return Some(ConstValue::Integer(value));
        }
        let keyword = primitive.keyword();
        let message = format!("{value} does not fit in `{keyword}`");
        let help = format!("`{keyword}` is from {low} to {high}");
        self.error(Code::OutOfRange, span, message, &help);
        None
    }

    /// A value that a `float` or `double` holds.
    ///
    /// Observed: slice2cpp and slice2py of Ice 3.7.8 ask of a `float` too only whether a double holds it, and
    /// give `3.4e39` and `1e-50` to the compilers of their languages, of which some refuse it and some make
    /// infinity and 0 of it. That is no meaning to share: the reference of the language calls it an error.
    fn float_value(&mut self, primitive: Primitive, value: f64, span: Span) -> Option<ConstValue> {
        if primitive == Primitive::Double {
            return Some(ConstValue::Float(value));
        }
        let rounded = value as f32;
        if rounded.is_infinite() || rounded == 0.0 && value != 0.0 {
            let message = format!("{value:e} does not fit in `float`");
            self.error(Code::OutOfRange, span, message, "use `double`");
            return None;
        }
        Some(ConstValue::Float(f64::from(rounded)))
    }

    /// The value that a name stands for: of a constant, or of an enumerator, of the enum `of` if
    /// several have one of that name.
    pub(super) fn constant_or_enumerator(
        &mut self,
        name: &ScopedName,
        of: Option<DefinitionId>,
        context: Context,
    ) -> Option<ConstValue> {
        if let Some((of, index)) = self.enumerator_of_name(name, of, context) {
            self.check_hidden_enumerator(of, name, context);
            self.warn_without_enum(of, name, context);
            return Some(ConstValue::Enumerator { of, index });
        }
        let id = self.find_constant(name, context)?;
        self.constant_value(id)
    }

    fn find_constant(&mut self, name: &ScopedName, context: Context) -> Option<DefinitionId> {
        let id = self.find_definition(name, context, "constant")?;
        if self.unseen == Some(id) {
            let message = format!("constant `{}` refers to itself", name.text());
            let help = "give it a value, or the name of a constant that stands before it";
            self.error(Code::BadInitializer, name.span, message, help);
            return None;
        }
        if matches!(self.definition(id).kind, DefinitionKind::Const(_)) {
            return Some(id);
        }
        let message = format!("`{}` is {} and not a constant", name.text(), self.noun(id));
        let diagnostic = Diagnostic::new(Code::WrongKind, name.span, message)
            .label(self.definition(id).span, "defined here");
        self.report(diagnostic);
        None
    }

    pub(super) fn constant_value(&self, id: DefinitionId) -> Option<ConstValue> {
        match &self.definition(id).kind {
            DefinitionKind::Const(constant) => Some(constant.value.clone()),
            _ => None,
        }
    }

    /// The integer that an enumerator's value, a tag or a compact id is given by.
    pub(super) fn integer(&mut self, value: &Value, context: Context) -> Option<i64> {
        let name = match &value.kind {
            ValueKind::Integer(integer) => return Some(*integer),
            ValueKind::Name(name) => name,
            _ => return None,
        };
        if let Some((of, index)) = self.enumerator_of_name(name, None, context) {
            self.check_hidden_enumerator(of, name, context);
            match self.is_with_enum(of, name, context) {
                true => self.note_use(name, context),
                false => self.check_one_meaning(of, name, context)?,
            }
            self.warn_without_enum(of, name, context);
            let enumerator = self.enumeration_of(of)?.enumerators.get(index)?;
            return Some(i64::from(enumerator.value));
        }
        let id = self.find_constant(name, context)?;
        let found = self.constant_value(id)?;
        if let ConstValue::Integer(integer) = found {
            return Some(integer);
        }
        let found = self.value_noun(&found);
        let message = format!("an integer is needed here, and this is {found}");
        let diagnostic = Diagnostic::new(Code::BadInitializer, value.span, message)
            .label(self.definition(id).span, "defined here")
            .help("name an integer constant or an enumerator");
        self.report(diagnostic);
        None
    }

    pub(super) fn check_type_metadata(&mut self, metadata: &[Metadata]) {
        self.check_metadata(metadata, super::metadata::Place::Type);
    }
}

/// The smallest and largest value of an integral type.
fn integer_range(primitive: Primitive) -> Option<(i64, i64)> {
    match primitive {
        Primitive::Byte => Some((0, 255)),
        Primitive::Short => Some((i16::MIN.into(), i16::MAX.into())),
        Primitive::Int => Some((i32::MIN.into(), i32::MAX.into())),
        Primitive::Long => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}
