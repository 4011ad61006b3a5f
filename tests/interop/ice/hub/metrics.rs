//! Metrics of a hub and of an IceStorm, read by an unmodified Ice program and compared member by member.

use std::fs;

use floe_tests::hub::Hub;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// The views, in the words of Ice.
const PROPERTIES: &str = "\
IceMX.Metrics.Each.Map.Topic.GroupBy=id
IceMX.Metrics.Each.Map.Subscriber.GroupBy=id
IceMX.Metrics.Sum.Map.Topic.GroupBy=service
IceMX.Metrics.Kind.Map.Subscriber.GroupBy=parent|identity/facet|encoding|mode|link|state
IceMX.Metrics.Asked.Map.Subscriber.GroupBy=qos.reliability|qos.retryCount
IceMX.Metrics.Off.Map.Topic.GroupBy=id
IceMX.Metrics.Off.Disabled=1
";

/// Returns the lines of a program that reads metrics at this facet of an administrative object.
fn converse(ice: &Ice, manager: &str, admin: &str, facet: &str) -> Vec<String> {
    let (identity, endpoints) = admin.split_once(':').expect("a proxy has endpoints");
    let identity = identity.split(' ').next().expect("an identity");
    let admin = format!("{identity} -f {facet}:{endpoints}");
    let mut python = ice.peer("metrics", Language::Python);
    Peer::start("the reader of metrics", python.args([manager, &admin])).succeed()
}

#[test]
fn metrics_of_a_hub_are_those_of_an_icestorm() {
    let Some(ice) = Ice::or_skip() else { return };
    let admin = "Ice.Admin.Enabled=1\nIce.Admin.InstanceName=Storm\nIce.Admin.Endpoints=tcp -h 127.0.0.1 -p 0\n";
    let storm = ice.start_storm_with(&format!("{admin}{PROPERTIES}"));
    let facet = "IceBox.Service.IceStorm.Metrics";
    let storm_admin = format!("Storm/admin:{}", storm.endpoint_of("Ice.Admin"));
    let expected = converse(&ice, storm.manager(), &storm_admin, facet);
    assert_eq!(expected.last().map(String::as_str), Some("done"));

    let file = workspace::target_dir().join("metrics.config");
    let properties =
        format!("{admin}{PROPERTIES}IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\n");
    fs::write(&file, properties).expect("the target folder can be written");
    let config = file.to_str().expect("its path is text");
    for facet in [facet, "Metrics"] {
        let mut hub = Hub::start(&["--config", config]);
        let manager = hub.manager();
        let told = hub.peer().errors_with("the administrative object is ");
        let hub_admin = told.split("the administrative object is ").nth(1);
        let hub_admin = hub_admin.and_then(|rest| rest.lines().next());
        let came = converse(&ice, &manager, hub_admin.expect("a proxy"), facet);
        for (expected, came) in expected.iter().zip(&came) {
            assert_eq!(came, expected, "{facet}");
        }
        assert_eq!(came.len(), expected.len());
    }
}
