//! Subscribers of Ice that a hub finds by IceGrid alone: their proxies say in which adapter they are, and not where.

use std::fs;

use floe_tests::hub::Hub;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;

use super::{COUNT, assert_got_all};

#[test]
fn ice_subscribers_are_found_by_a_real_icegrid() {
    let Some(ice) = Ice::or_skip() else { return };
    let grid = ice.start_grid();
    let mut hub = Hub::start(&["--verbose", "--locator", grid.locator()]);
    let manager = hub.manager();
    for language in Language::ALL {
        for mode in ["twoway", "ordered", "oneway", "batch"] {
            let name = format!("located-{mode}-{language:?}");
            let config = workspace::target_dir().join(format!("{name}.config"));
            let properties = format!(
                "Ice.Default.Locator={}\nSubscriber.AdapterId={name}\n",
                grid.locator()
            );
            fs::write(&config, properties).expect("the target folder can be written");
            let mut subscriber = ice.peer("subscriber", language);
            subscriber
                .args([&manager, &name, mode, &COUNT.to_string()])
                .arg(format!("--Ice.Config={}", config.display()));
            let mut subscriber = Peer::start("the Ice subscriber", &mut subscriber);
            subscriber.ready();
            // Its proxy has no endpoints.
            hub.peer().errors_with(&format!("@ {name}"));
            let publisher = ice.start_publisher(language, &manager, &name, "twoway", COUNT);
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
            assert_got_all(subscriber, COUNT, &name);
            fs::remove_file(&config).expect("it is there");
        }
    }
}
