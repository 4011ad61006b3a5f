//! What a user of the hub can do.
