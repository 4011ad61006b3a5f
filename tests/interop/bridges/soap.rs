//! Stock programs of SOAP at a bridge.
