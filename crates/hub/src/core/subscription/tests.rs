//! Tests of subscriptions.
