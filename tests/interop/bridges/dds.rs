//! Stock programs of DDS at a bridge.
