//! The operations that every object has, and that no contract declares.

use std::sync::LazyLock;

use floe_slice::check_source;

use crate::{Contract, Operation};

/// Source: Ice manual, "Object Operations".
const SLICE: &str = r#"
[["ice-prefix"]]
module Ice
{
    /** Some type ids, sorted. */
    sequence<string> TypeIds;

    /** What every object is. */
    interface \Object
    {
        /** Does nothing: whether the object is there. */
        ["nonmutating"] idempotent void ice_ping();

        /** Whether the object has this type. */
        ["nonmutating"] idempotent bool ice_isA(string id);

        /** The most derived type of the object. */
        ["nonmutating"] idempotent string ice_id();

        /** All types of the object. */
        ["nonmutating"] idempotent TypeIds ice_ids();
    }
}
"#;

static OBJECT: LazyLock<Contract> =
    LazyLock::new(|| Contract::new(check_source(SLICE.as_bytes()).model));

/// The operation of this name, if every object has it.
pub(crate) fn operation(name: &str) -> Option<Operation> {
    let is_builtin = ["ice_ping", "ice_isA", "ice_id", "ice_ids"].contains(&name);
    is_builtin.then(|| {
        let found = OBJECT.operation(&format!("::Ice::Object::{name}"));
        found.expect("the Slice text above declares it")
    })
}
