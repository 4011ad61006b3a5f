//! Contenders of the scenario `rpc`: a server and a client each.

pub(crate) mod case;
mod floe;
mod floor;
mod ice;

pub(crate) use floe::{FLOE, FLOE_THREADS};
pub(crate) use floor::FLOOR;
pub(crate) use ice::ICE;

/// Where a server of this process listens: a name that no other has.
fn socket_path(contender: &str) -> String {
    let name = format!("floe-lab-{contender}-{}.socket", std::process::id());
    std::env::temp_dir().join(name).display().to_string()
}
