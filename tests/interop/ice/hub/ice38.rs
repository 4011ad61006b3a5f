//! A hub with publishers and subscribers of Ice 3.8 for Python, which Debian does not have: `cargo xtask interop-38`
//! provides it.

use floe_tests::hub::Hub;
use floe_tests::ice::Language::Python;

use super::{COUNT, assert_got_all};
use crate::values::ice38::ice;

#[test]
fn events_reach_ice_3_8_subscribers_in_every_mode() {
    let (ice, hub) = (ice(), Hub::start(&[]));
    let manager = hub.manager();
    for mode in ["twoway", "ordered", "oneway", "batch"] {
        let subscriber = ice.start_subscriber(Python, &manager, mode, mode, COUNT);
        let publisher_mode = if mode == "ordered" { "twoway" } else { mode };
        let publisher = ice.start_publisher(Python, &manager, mode, publisher_mode, COUNT);
        assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
        assert_got_all(subscriber, COUNT, mode);
    }
}
