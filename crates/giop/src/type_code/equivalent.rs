//! When two types have the same values.

use super::{TypeCode, TypeName, TypePath};

impl TypeCode {
    /// Returns true if both types have the same values, in the same bytes: `equivalent` of a TypeCode, and more than that.
    ///
    /// Aliases are looked through, and names of members do not count. Two repository ids must be equal if both are there;
    /// the members must be equivalent even then, because a reader of the one type would read the bytes of the other.
    ///
    /// Source: CORBA 3.0.3, 4.11.1 "equivalent".
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let mut comparison = Comparison { pairs: Vec::new() };
        comparison.are_equivalent(TypePath::new(self), TypePath::new(other))
    }
}

struct Comparison {
    /// The pairs of types that are being compared: where recursion leads back to one of them, it holds if the pair does.
    pairs: Vec<(*const TypeCode, *const TypeCode)>,
}

impl Comparison {
    fn are_equivalent(&mut self, one: TypePath<'_>, other: TypePath<'_>) -> bool {
        if let TypeCode::Alias { original, .. } = one.code {
            let inner = one.inner(original);
            return inner.is_some_and(|inner| self.are_equivalent(inner, other));
        }
        if let TypeCode::Alias { original, .. } = other.code {
            let inner = other.inner(original);
            return inner.is_some_and(|inner| self.are_equivalent(one, inner));
        }
        let pair = (std::ptr::from_ref(one.code), std::ptr::from_ref(other.code));
        if self.pairs.contains(&pair) {
            return true;
        }
        self.pairs.push(pair);
        let is_one = self.have_equivalent_parts(one, other);
        self.pairs.pop();
        is_one
    }

    fn have_equivalent_parts(&mut self, one: TypePath<'_>, other: TypePath<'_>) -> bool {
        match (one.code, other.code) {
            (TypeCode::Struct(a), TypeCode::Struct(b))
            | (TypeCode::Except(a), TypeCode::Except(b)) => {
                let mut members = a.members.iter().zip(&b.members);
                agree(&a.name, &b.name)
                    && a.members.len() == b.members.len()
                    && members.all(|(a, b)| self.inner((one, &a.code), (other, &b.code)))
            }
            (TypeCode::Union(a), TypeCode::Union(b)) => {
                let mut cases = a.cases.iter().zip(&b.cases).enumerate();
                agree(&a.name, &b.name)
                    && a.default == b.default
                    && a.cases.len() == b.cases.len()
                    && self.inner((one, &a.discriminator), (other, &b.discriminator))
                    && cases.all(|(at, (x, y))| {
                        let is_label_one = Some(at) == a.default || x.label == y.label;
                        is_label_one && self.inner((one, &x.code), (other, &y.code))
                    })
            }
            (TypeCode::Enum(a), TypeCode::Enum(b)) => {
                agree(&a.name, &b.name) && a.enumerators.len() == b.enumerators.len()
            }
            (
                TypeCode::Sequence { element: a, bound },
                TypeCode::Sequence {
                    element: b,
                    bound: other_bound,
                },
            ) => bound == other_bound && self.inner((one, a), (other, b)),
            (
                TypeCode::Array { element: a, len },
                TypeCode::Array {
                    element: b,
                    len: other_len,
                },
            ) => len == other_len && self.inner((one, a), (other, b)),
            (TypeCode::Named(kind, a), TypeCode::Named(other_kind, b)) => {
                kind == other_kind && agree(a, b)
            }
            (
                TypeCode::ValueBox { name: a, boxed: x },
                TypeCode::ValueBox { name: b, boxed: y },
            ) => agree(a, b) && self.inner((one, x), (other, y)),
            (TypeCode::Value(a), TypeCode::Value(b)) => {
                let mut members = a.members.iter().zip(&b.members);
                agree(&a.name, &b.name)
                    && (a.is_event, a.modifier) == (b.is_event, b.modifier)
                    && a.members.len() == b.members.len()
                    && self.inner((one, &a.base), (other, &b.base))
                    && members.all(|(a, b)| self.inner((one, &a.code), (other, &b.code)))
            }
            // What is left has no parts but numbers.
            (one, other) => one == other,
        }
    }

    fn inner<'a>(
        &mut self,
        (one, a): (TypePath<'a>, &'a TypeCode),
        (other, b): (TypePath<'a>, &'a TypeCode),
    ) -> bool {
        match (one.inner(a), other.inner(b)) {
            (Some(a), Some(b)) => self.are_equivalent(a, b),
            _ => false,
        }
    }
}

/// True if two repository ids are one, or one of them is not known.
fn agree(one: &TypeName, other: &TypeName) -> bool {
    one.id == other.id || one.id.is_empty() || other.id.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::Member;
    use super::*;

    fn point(members: &[(&str, TypeCode)]) -> TypeCode {
        let members = members
            .iter()
            .map(|(name, code)| Member::new(name, code.clone()));
        TypeCode::structure(TypeName::scoped("Demo", "Point"), members.collect())
    }

    fn alias(name: &str, original: TypeCode) -> TypeCode {
        TypeCode::Alias {
            name: TypeName::scoped("Demo", name),
            original: original.into(),
        }
    }

    /// A struct with a sequence of itself, which stands so many aliases deep.
    fn tree(aliases: usize) -> TypeCode {
        let mut parts = TypeCode::sequence(TypeCode::Recursive(2 + aliases));
        for _ in 0..aliases {
            parts = alias("Trees", parts);
        }
        TypeCode::structure(
            TypeName::scoped("Demo", "Tree"),
            vec![Member::new("parts", parts)],
        )
    }

    #[test]
    fn aliases_and_names_of_members_do_not_count() {
        let plain = point(&[("x", TypeCode::Long)]);
        let renamed = point(&[("y", alias("Length", TypeCode::Long))]);
        assert!(plain.is_equivalent(&renamed));
        assert!(alias("P", renamed).is_equivalent(&plain));
        assert!(tree(0).is_equivalent(&tree(2)));
    }

    #[test]
    fn a_type_of_the_same_id_with_other_members_is_another_one() {
        let plain = point(&[("x", TypeCode::Long)]);
        for other in [
            point(&[("x", TypeCode::Short)]),
            point(&[]),
            point(&[("x", TypeCode::Long), ("y", TypeCode::Long)]),
            TypeCode::Long,
            tree(0),
        ] {
            assert!(!plain.is_equivalent(&other), "{other:?}");
            assert!(!other.is_equivalent(&plain), "{other:?}");
        }
        let named = |id: &str| match point(&[("x", TypeCode::Long)]) {
            TypeCode::Struct(mut of) => {
                id.clone_into(&mut of.name.id);
                TypeCode::Struct(of)
            }
            other => other,
        };
        assert!(!plain.is_equivalent(&named("IDL:Other/Point:1.0")));
        assert!(plain.is_equivalent(&named("")));
    }

    #[test]
    fn bounds_and_lengths_count() {
        let bounded = |bound| TypeCode::Sequence {
            element: TypeCode::Octet.into(),
            bound,
        };
        assert!(bounded(1).is_equivalent(&bounded(1)));
        assert!(!bounded(1).is_equivalent(&bounded(0)));
        assert!(!TypeCode::String(3).is_equivalent(&TypeCode::STRING));
    }
}
