//! A peer of the older version of the contract.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
pub(crate) mod contract {
    floe::include_contract!("OlderValues");
}

/// Members that only the newer version has.
macro_rules! if_newer {
    ($($newer:tt)*) => {};
}

/// Members that the newer version has in another form.
macro_rules! if_older {
    ($($older:tt)*) => { $($older)* };
}

macro_rules! with_classes {
    ($macro:ident) => {
        $macro! { Node Empty Shape Circle Kept Square Sample Optionals }
    };
}

macro_rules! with_exceptions {
    ($macro:ident) => {
        $macro! { Failed FailedAt FailedDeep }
    };
}

#[path = "conversation.rs"]
pub(crate) mod conversation;
#[path = "samples.rs"]
pub(crate) mod samples;
#[path = "servant.rs"]
pub(crate) mod servant;
#[path = "tell.rs"]
pub(crate) mod tell;
