//! Stock programs of CORBA at a bridge.
