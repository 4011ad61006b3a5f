//! Parameters and results of an operation: their types, and how they stand on the wire.
//!
//! Values that are always present come first: the in-parameters, or the out-parameters and then the return
//! value. Tagged ones follow in order of their tags, and in encoding 1.0 the class instances.

use floe_slice::model::{Operation, Parameter, Type};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::parameter_names;
use crate::names;
use crate::rust::members::tag_literal;
use crate::rust::own_metadata::is_nonnull;
use crate::rust::scope::{Scope, snake_ident};

/// A parameter or result.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) name: Ident,
    r#type: Type,
    tag: Option<i32>,
    /// True if it is a proxy that is never nil.
    is_nonnull: bool,
}

/// The values that travel in one direction.
pub(super) struct Values {
    /// As they stand in the text of a method: a return value before the out-parameters.
    pub(super) as_written: Vec<Value>,
    as_encoded: Vec<Value>,
    /// The names that locals have to avoid.
    taken: Vec<String>,
}

impl Value {
    fn of(parameter: &Parameter) -> Self {
        Self {
            name: snake_ident(&parameter.name, &parameter.metadata),
            r#type: parameter.r#type,
            tag: parameter.tag,
            is_nonnull: is_nonnull(&parameter.metadata),
        }
    }

    /// The type of a parameter of a servant, and of a result.
    pub(super) fn owned(&self, scope: &Scope<'_>) -> TokenStream {
        match self.present(scope) {
            Some(proxy) => proxy,
            None => scope.owned_or_unset(self.r#type, self.tag),
        }
    }

    /// The type of a parameter of a proxy's method.
    pub(super) fn borrowed(&self, scope: &Scope<'_>) -> TokenStream {
        match self.present(scope) {
            Some(proxy) => quote!(&'call #proxy),
            None => scope.borrowed(self.r#type, self.tag),
        }
    }

    /// A parameter of a proxy's method as a value that encodes itself, and the type of that.
    fn parameter(&self, scope: &Scope<'_>) -> (TokenStream, TokenStream) {
        let name = &self.name;
        match self.is_nonnull {
            true => (quote!(#name), self.borrowed(scope)),
            false => scope.parameter(self.r#type, self.tag, name),
        }
    }

    /// The type of a proxy that is never nil, if it is one.
    fn present(&self, scope: &Scope<'_>) -> Option<TokenStream> {
        self.is_nonnull.then(|| scope.proxy(self.r#type)).flatten()
    }
}

impl Values {
    /// The in-parameters.
    pub(super) fn inputs(operation: &Operation) -> Self {
        let values: Vec<Value> = operation.inputs().map(Value::of).collect();
        Self::new(operation, values.clone(), values)
    }

    /// The return value and the out-parameters.
    pub(super) fn results(operation: &Operation) -> Self {
        let returned = operation.returns.iter().map(|returned| Value {
            name: names::fresh("returned", &parameter_names(operation)),
            r#type: returned.r#type,
            tag: returned.tag,
            is_nonnull: is_nonnull(&operation.metadata),
        });
        let returned: Vec<Value> = returned.collect();
        let outputs: Vec<Value> = operation.outputs().map(Value::of).collect();
        let as_written = [returned.clone(), outputs.clone()].concat();
        Self::new(operation, as_written, [outputs, returned].concat())
    }

    fn new(operation: &Operation, as_written: Vec<Value>, mut as_encoded: Vec<Value>) -> Self {
        as_encoded.sort_by_key(|value| value.tag.map_or((0, 0), |tag| (1, tag)));
        Self {
            as_written,
            as_encoded,
            taken: parameter_names(operation),
        }
    }

    /// The names, as they stand in the text.
    pub(super) fn names(&self) -> Vec<&Ident> {
        self.as_written.iter().map(|value| &value.name).collect()
    }

    /// Returns true if a proxy's method borrows any of them.
    pub(super) fn borrow(&self, scope: &Scope<'_>) -> bool {
        let mut values = self.as_written.iter();
        values.any(|value| scope.is_borrowed(value.r#type))
    }

    /// The closure that decodes all values and gives them as one value or a tuple.
    pub(super) fn decode(&self, scope: &Scope<'_>) -> TokenStream {
        let root = scope.root();
        let [first, others @ ..] = self.as_encoded.as_slice() else {
            return quote!(#root::codegen::nothing);
        };
        if others.is_empty() && !self.uses_classes(scope) {
            if first.tag.is_none() {
                return quote!(#root::codegen::one);
            }
            let get = get(&quote!(decoder), first);
            return quote!(|decoder| #get);
        }
        if self.is_in_wire_order() && !self.uses_classes(scope) {
            let are_required = self.as_encoded.iter().all(|value| value.tag.is_none());
            if are_required && self.as_encoded.len() <= VALUES_MAX {
                return quote!(#root::codegen::all);
            }
            let gets = self
                .as_encoded
                .iter()
                .map(|value| get(&quote!(decoder), value));
            return quote!(|decoder| Ok((#(#gets?),*)));
        }
        let decoder = names::fresh("decoder", &self.taken);
        let know = scope.know_classes(self.uses_classes(scope), quote!(#decoder));
        let gets = self.as_encoded.iter().map(|value| {
            let (name, r#type) = (&value.name, value.owned(scope));
            let get = get(&quote!(#decoder), value);
            quote!(let #name: #r#type = #get?;)
        });
        let finish = self
            .has_instances(scope)
            .then(|| quote!(#decoder.finish_classes()?;));
        let tuple = super::tuple(&self.names());
        quote! {
            |#decoder| {
                #know
                #(#gets)*
                #finish
                Ok(#tuple)
            }
        }
    }

    /// The parameters of a proxy's method as one value that `floe::codegen` encodes, and its type.
    pub(super) fn as_parameters(
        &self,
        scope: &Scope<'_>,
        is_sliced: bool,
    ) -> (TokenStream, TokenStream) {
        let root = scope.root();
        let tuples = self.as_encoded.chunks(VALUES_MAX).map(|values| {
            let parameters = values.iter().map(|value| value.parameter(scope));
            let (parameters, types): (Vec<_>, Vec<_>) = parameters.unzip();
            (one_tuple(&parameters), one_tuple(&types))
        });
        let joined = tuples
            .rev()
            .reduce(|(rest, rest_type), (first, first_type)| {
                (
                    quote!(#root::codegen::Joined(#first, #rest)),
                    quote!(#root::codegen::Joined<#first_type, #rest_type>),
                )
            });
        let (parameters, r#type) = joined.unwrap_or((quote!(()), quote!(())));
        if !self.uses_classes(scope) {
            return (parameters, r#type);
        }
        let has_required = self.has_instances(scope);
        let parameters = quote! {
            #root::codegen::WithInstances {
                parameters: #parameters,
                is_sliced: #is_sliced,
                has_required: #has_required,
            }
        };
        (parameters, quote!(#root::codegen::WithInstances<#r#type>))
    }

    /// The closure that encodes the values that a servant returned.
    pub(super) fn encode_owned(&self, scope: &Scope<'_>, is_sliced: bool) -> TokenStream {
        if self.as_encoded.is_empty() {
            return quote!(|_, _| {});
        }
        if let [one] = self.as_encoded.as_slice()
            && one.tag.is_none()
            && !self.uses_classes(scope)
        {
            let root = scope.root();
            return quote!(#root::codegen::put_one);
        }
        let encoder = names::fresh("encoder", &self.taken);
        let pattern = super::tuple(&self.names());
        let puts = self.as_encoded.iter().map(|value| {
            let name = &value.name;
            match value.tag.map(tag_literal) {
                None => quote!(#encoder.put(#name);),
                Some(tag) => quote!(#encoder.tagged(#tag, #name.as_ref());),
            }
        });
        let body = self.around(scope, is_sliced, &encoder, quote!(#(#puts)*));
        quote!(|#pattern, #encoder| { #body })
    }

    /// Returns the code that class instances need before and after the values.
    fn around(
        &self,
        scope: &Scope<'_>,
        is_sliced: bool,
        encoder: &Ident,
        puts: TokenStream,
    ) -> TokenStream {
        let root = scope.root();
        let format = (is_sliced && self.uses_classes(scope))
            .then(|| quote!(#encoder.set_class_format(#root::encoding::ClassFormat::Sliced);));
        let finish = self
            .has_instances(scope)
            .then(|| quote!(#encoder.finish_classes();));
        quote!(#format #puts #finish)
    }

    fn is_in_wire_order(&self) -> bool {
        let encoded = self.as_encoded.iter().map(|value| &value.name);
        encoded.eq(self.as_written.iter().map(|value| &value.name))
    }

    fn uses_classes(&self, scope: &Scope<'_>) -> bool {
        let mut values = self.as_encoded.iter();
        values.any(|value| scope.model.uses_classes(value.r#type))
    }

    /// Returns true if encoding 1.0 has instances behind the values: tagged ones are not written there.
    fn has_instances(&self, scope: &Scope<'_>) -> bool {
        let mut required = self.as_encoded.iter().filter(|value| value.tag.is_none());
        required.any(|value| scope.model.uses_classes(value.r#type))
    }
}

/// Also one item as a tuple.
fn one_tuple(items: &[TokenStream]) -> TokenStream {
    match items {
        [one] => quote!((#one,)),
        several => quote!((#(#several),*)),
    }
}

fn get(decoder: &TokenStream, value: &Value) -> TokenStream {
    match value.tag.map(tag_literal) {
        None => quote!(#decoder.get()),
        Some(tag) => quote!(#decoder.tagged(#tag)),
    }
}

/// `floe::codegen` has `Parameters` and `Values` for so many.
const VALUES_MAX: usize = 12;
