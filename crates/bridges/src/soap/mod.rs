//! SOAP programs: this end is their WS-Notification broker.
