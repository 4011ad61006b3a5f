//! The addresses of this computer: ORBs put them into references instead of those of loopback.

use std::net::{IpAddr, UdpSocket};

/// True if an address is one of this computer.
pub(super) fn is_of_this_computer(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_one_place = !address.is_unspecified() && !address.is_multicast();
    // The system lets a socket have no other.
    address.is_loopback() || is_one_place && UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_and_all_places_are_none_of_this_computer() {
        for (address, is_own) in [
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("0.0.0.0", false),
            ("::", false),
            ("239.255.0.1", false),
            ("192.0.2.1", false),
        ] {
            let address = address.parse().expect("it is an address");
            assert_eq!(is_of_this_computer(address), is_own, "{address}");
        }
    }
}
