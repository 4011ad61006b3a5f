//! Stock programs of JMS at a bridge.
