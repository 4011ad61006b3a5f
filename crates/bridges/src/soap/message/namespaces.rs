//! The namespaces of what is said.

/// SOAP 1.1.
pub(crate) const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// SOAP 1.2.
pub(crate) const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";
/// Web Services Addressing 1.0.
pub(crate) const WSA: &str = "http://www.w3.org/2005/08/addressing";
/// Messages of Web Services Base Notification 1.3.
pub(crate) const WSNT: &str = "http://docs.oasis-open.org/wsn/b-2";
/// Its operations: the beginnings of their actions.
pub(crate) const WSN_ACTION: &str = "http://docs.oasis-open.org/wsn/bw-2";
/// Faults of Web Services Base Faults 1.2, which those of notifications are.
pub(crate) const BASE_FAULTS: &str = "http://docs.oasis-open.org/wsrf/bf-2";
/// Pull points that wait for events, as network cameras have them (ONVIF Core Specification, "Event handling").
pub(crate) const ONVIF_EVENTS: &str = "http://www.onvif.org/ver10/events/wsdl";
/// Details of our own.
pub(crate) const FLOE: &str = "urn:floe:soap";
/// Topic expressions that are one name, or a path of names.
pub(crate) const SIMPLE_TOPIC: &str = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Simple";
/// A path of names.
pub(crate) const CONCRETE_TOPIC: &str =
    "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete";
/// A path of names with wildcards.
pub(crate) const FULL_TOPIC: &str = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Full";
