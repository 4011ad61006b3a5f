//! JMS and other programs that speak AMQP 1.0: this end is their broker.

mod settings;

pub use settings::Settings;
