//! A peer of the newer version of the contract.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
pub(crate) mod contract {
    floe::include_contract!("NewerValues");
}

/// Members that the older version lacks.
macro_rules! if_newer {
    ($($newer:tt)*) => { $($newer)* };
}

/// Members that only the older version has.
macro_rules! if_older {
    ($($older:tt)*) => {};
}

macro_rules! with_classes {
    ($macro:ident) => {
        $macro! { Node Empty Shape Circle Kept Square Sample Optionals KeptMore KeptMost Ring Alone AloneById }
    };
}

macro_rules! with_exceptions {
    ($macro:ident) => {
        $macro! { Failed FailedAt FailedDeep FailedNewer }
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
