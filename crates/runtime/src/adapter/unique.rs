//! Registering servants under unique identities.

use floe_wire::reference::Identity;

use super::Adapter;
use crate::dispatch::Dispatcher;
use crate::error::AdapterError;
use crate::proxy::Proxy;

impl Adapter {
    /// Registers a servant for a unique identity, and returns a proxy to it.
    ///
    /// Wrap the servant in the dispatcher of its interface, as for [`Adapter::add`]:
    ///
    /// ```compile_fail,E0277
    /// struct Station;
    ///
    /// fn add(adapter: &floe::Adapter) {
    ///     let _ = adapter.add_unique(Station);
    /// }
    /// ```
    ///
    /// # Errors
    /// A program cannot cause any. The type is that of [`Adapter::add`].
    #[doc(alias = "addWithUUID")]
    pub fn add_unique(&self, servant: impl Dispatcher) -> Result<Proxy, AdapterError> {
        self.add(Identity::new(unique_name()), servant)
    }
}

/// A random UUID, of version 4.
///
/// # Panics
/// If the system has no random numbers.
pub(crate) fn unique_name() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has random numbers to give");
    let random = u128::from_be_bytes(bytes);
    let uuid = random & !(0xf000 << 64) & !(0xc000 << 48) | (0x4000 << 64) | (0x8000 << 48);
    let hex = format!("{uuid:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_name_is_a_random_uuid() {
        let name = unique_name();
        let lens: Vec<usize> = name.split('-').map(str::len).collect();
        assert_eq!(lens, [8, 4, 4, 4, 12], "{name}");
        assert!(name[14..].starts_with('4'), "{name}");
        assert!("89ab".contains(&name[19..20]), "{name}");
        assert_ne!(name, unique_name());
    }
}
