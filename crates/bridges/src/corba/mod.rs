//! CORBA programs: suppliers and consumers of event channels, over IIOP.
//!
//! ```text
//! supplier --push(any)--> ProxyPushConsumer --> topic of the hub --> subscription for each consumer --push(any)--> consumer
//! ```
//!
//! - [`settings`]: `[bridge.corba]`; `own_address`: the addresses of this computer
//! - [`world`]: the server; `objects`: naming service and channels; `channel`: one channel
//! - `mapping`: names, and events as values of `any`; `types`: their TypeCodes; [`codec`]: their bytes
//! - `refusal`: the exceptions that a program gets
//! - `link`: sockets and sessions

pub mod codec;
pub mod settings;
pub mod world;

mod channel;
mod link;
mod mapping;
mod objects;
mod own_address;
mod refusal;
mod types;

pub use mapping::CHANNEL_NAME_LEN_MAX;
pub use refusal::MINOR;
pub use settings::Settings;
pub use world::Corba;
