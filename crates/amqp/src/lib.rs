//! AMQP 1.0.

#![forbid(unsafe_code)]

pub mod codec;
pub mod condition;
pub mod connection;
pub mod frame;
pub mod jms;
pub mod limits;
pub mod message;
pub mod performative;
pub mod sasl;
pub mod terminus;
