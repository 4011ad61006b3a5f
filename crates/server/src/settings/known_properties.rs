//! The properties of Ice, IceStorm and Glacier2 that `floe serve --config` reads, in the order of the reference. A property that
//! is not here is not read.

/// A property that is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownProperty {
    /// The name, without that of the service. Capitals between dots, such as `VIEW`, stand for any name.
    pub(crate) name: &'static str,
    /// The kind of its value, and the unit.
    pub(crate) unit: &'static str,
    /// The value that holds if it is not set.
    pub(crate) default: &'static str,
    /// The setting of `floe.toml` that means the same; empty if there is none.
    pub(crate) setting: &'static str,
    /// A note on what the setting does not say.
    pub(crate) note: &'static str,
    /// A value that is accepted.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests set each property to it"))]
    pub(crate) example: &'static str,
}

const fn property(
    name: &'static str,
    unit: &'static str,
    default: &'static str,
    setting: &'static str,
    note: &'static str,
    example: &'static str,
) -> KnownProperty {
    KnownProperty {
        name,
        unit,
        default,
        setting,
        note,
        example,
    }
}

/// Returns true if these contain a property of this name.
pub(super) fn is_known(known: &[KnownProperty], name: &str) -> bool {
    known.iter().any(|property| property.name == name)
}

/// The names of these.
pub(super) fn names(known: &[KnownProperty]) -> Vec<&'static str> {
    known.iter().map(|property| property.name).collect()
}

const TCP: &str = "tcp -h 127.0.0.1 -p 10000";
const FLAG: &str = "0 or 1";

/// Those of an IceStorm, with the name of its service and a dot in front.
#[rustfmt::skip]
pub(crate) const OF_ICESTORM: &[KnownProperty] = &[
    property("TopicManager.Endpoints", "endpoints", "required", "listen", "", TCP),
    property("TopicManager.PublishedEndpoints", "endpoints", "", "published-endpoints", "", TCP),
    property("Publish.Endpoints", "endpoints", "", "publish-listen", "", TCP),
    property("Publish.PublishedEndpoints", "endpoints", "", "publish-published-endpoints", "", TCP),
    property("TopicManager.AdapterId", "text", "", "adapter-id", "", "A"),
    property("TopicManager.ReplicaGroupId", "text", "", "replica-group-id", "", "A"),
    property("Publish.AdapterId", "text", "", "publish-adapter-id", "", "A"),
    property("Publish.ReplicaGroupId", "text", "", "publish-replica-group-id", "", "A"),
    property("InstanceName", "text", "IceStorm", "instance", "", "Demo"),
    property("Transient", FLAG, "0", "data", "1 keeps topics in memory.", "1"),
    property("LMDB.Path", "directory", "the service's name", "data", "", "db"),
    property("Flush.Timeout", "milliseconds", "1000", "delivery.flush-interval", "", "500"),
    property("Send.Timeout", "milliseconds", "60000", "delivery.send-timeout", "-1 and 0 mean never.", "500"),
    property("Send.QueueSizeMax", "events", "100000", "queue.events", "-1 is refused with a warning: queues have limits.", "500"),
    property("Send.QueueSizeMaxPolicy", "RemoveSubscriber or DropEvents", "RemoveSubscriber with Send.QueueSizeMax, otherwise DropEvents", "queue.overflow", "", "DropEvents"),
    property("Discard.Interval", "seconds", "60", "delivery.discard-interval", "", "5"),
    property("NodeId", "-1", "-1", "", "Other values are refused: hubs have no replicas.", "-1"),
];

/// Those of the administrative object and its metrics.
#[rustfmt::skip]
pub(crate) const OF_ADMIN: &[KnownProperty] = &[
    property("Ice.Admin.Enabled", FLAG, "1", "", "0 turns the administrative object off.", "0"),
    property("Ice.Admin.Endpoints", "endpoints", "", "admin.listen", "", TCP),
    property("Ice.Admin.InstanceName", "text", "the hub's", "admin.instance", "", "Metrics"),
    property("IceMX.Metrics.VIEW.GroupBy", "attributes", "id", "metrics.VIEW.group", "", "id"),
    property("IceMX.Metrics.VIEW.RetainDetached", "count", "10", "metrics.VIEW.retained", "", "3"),
    property("IceMX.Metrics.VIEW.Disabled", FLAG, "0", "metrics.VIEW.enabled", "", "1"),
    property("IceMX.Metrics.VIEW.Map.Topic.GroupBy", "attributes", "id", "metrics.VIEW.topics", "", "id"),
    property("IceMX.Metrics.VIEW.Map.Topic.RetainDetached", "count", "that of the view", "", "The number of empty metrics objects that the map keeps.", "3"),
    property("IceMX.Metrics.VIEW.Map.Topic.Disabled", FLAG, "0", "", "1 leaves the map out.", "1"),
    property("IceMX.Metrics.VIEW.Map.Subscriber.GroupBy", "attributes", "id", "metrics.VIEW.subscribers", "", "id"),
    property("IceMX.Metrics.VIEW.Map.Subscriber.RetainDetached", "count", "that of the view", "", "The number of empty metrics objects that the map keeps.", "3"),
    property("IceMX.Metrics.VIEW.Map.Subscriber.Disabled", FLAG, "0", "", "1 leaves the map out.", "1"),
    property("IceMX.Metrics.VIEW.Map.Session.GroupBy", "attributes", "id", "metrics.VIEW.sessions", "", "id"),
    property("IceMX.Metrics.VIEW.Map.Session.RetainDetached", "count", "that of the view", "", "The number of empty metrics objects that the map keeps.", "1"),
    property("IceMX.Metrics.VIEW.Map.Session.Disabled", FLAG, "0", "", "1 leaves the map out.", "1"),
];

/// Those of Ice and IceSSL, beside IceStorm's or Glacier2's.
#[rustfmt::skip]
pub(crate) const OF_ICE: &[KnownProperty] = &[
    property("Ice.Default.Host", "host", "all interfaces", "", "The host of endpoints without -h.", "127.0.0.1"),
    property("Ice.Default.Protocol", "tcp, ssl, ws or wss", "tcp", "", "The transport of endpoints that begin with default.", "ssl"),
    property("Ice.Default.Locator", "proxy", "", "locator", "", "IceGrid/Locator:tcp -h 127.0.0.1 -p 4061"),
    property("Ice.Default.LocatorCacheTimeout", "seconds", "-1", "locator-cache-timeout", "-1 means never.", "5"),
    property("Ice.Default.PreferSecure", FLAG, "0", "", "1 tries encrypted endpoints of subscribers first.", "1"),
    property("Ice.Default.EndpointSelection", "Random or Ordered", "Random", "", "The order in which endpoints of subscribers are tried.", "Ordered"),
    property("Ice.IPv6", FLAG, "1", "", "0 listens on IPv4 alone where all interfaces are meant.", "0"),
    property("Ice.MessageSizeMax", "kilobytes", "1024", "connections.message-bytes", "0 means 2 GiB.", "2048"),
    property("Ice.TCP.RcvSize", "bytes", "the system's", "connections.receive-buffer", "0 leaves it to the system.", "65536"),
    property("Ice.TCP.SndSize", "bytes", "the system's", "connections.send-buffer", "0 leaves it to the system.", "65536"),
    property("Ice.UDP.RcvSize", "bytes", "the system's", "", "The receive buffer of sockets for datagrams.", "65536"),
    property("Ice.UDP.SndSize", "bytes", "the system's", "", "The send buffer of sockets for datagrams.", "65536"),
    property("Ice.Override.Compress", FLAG, "", "", "Whether events are compressed, whatever proxies say.", "1"),
    property("Ice.Override.Secure", "0", "0", "", "1 is refused.", "0"),
    property("IceSSL.DefaultDir", "directory", "", "", "Where relative names of certificates start.", "certs"),
    property("IceSSL.CAs", "file", "", "tls.ca", "", "ca.pem"),
    property("IceSSL.CertAuthFile", "file", "", "tls.ca", "The older name of IceSSL.CAs.", "ca.pem"),
    property("IceSSL.CertFile", "file", "", "tls.cert", "", "own.pem"),
    property("IceSSL.KeyFile", "file", "", "tls.key", "", "own.key"),
    property("IceSSL.Password", "text", "", "", "The password of a .p12 file.", "secret"),
    property("IceSSL.CheckCertName", FLAG, "0", "tls.any-host", "1 accepts a certificate only for the host of the endpoint.", "1"),
    property("IceSSL.VerifyPeer", "0, 1 or 2", "2", "tls.client-certificates", "not-asked, verified, required.", "1"),
    property("IceSSL.TrustOnly.Server", "distinguished names", "", "access.rule[].certificate", "The clients that the hub trusts.", "CN=a"),
    property("IceSSL.TrustOnly", "distinguished names", "", "access.rule[].certificate", "As IceSSL.TrustOnly.Server: servers and subscribers are not checked, with a warning.", "CN=a"),
    property("IceSSL.TrustOnly.Client", "distinguished names", "", "", "Ignored with a warning: subscribers and servers are checked by IceSSL.CAs alone.", "CN=a"),
    property("IceSSL.UsePlatformCAs", "0", "0", "", "1 is refused.", "0"),
];

/// Those of a Glacier2, with `Glacier2.` in front.
#[rustfmt::skip]
pub(crate) const OF_GLACIER2: &[KnownProperty] = &[
    property("Client.Endpoints", "endpoints", "required", "gateway.listen", "", TCP),
    property("Client.PublishedEndpoints", "endpoints", "", "gateway.published-endpoints", "", TCP),
    property("Server.Endpoints", "endpoints", "", "gateway.server-listen", "", TCP),
    property("Server.PublishedEndpoints", "endpoints", "", "gateway.server-published-endpoints", "", TCP),
    property("InstanceName", "text", "Glacier2", "gateway.instance", "", "Demo"),
    property("SessionTimeout", "seconds", "0", "gateway.session-timeout", "0 means never.", "30"),
    property("Client.ACM.Timeout", "seconds", "60", "gateway.idle-timeout", "0 means never.", "30"),
    property("SessionManager", "proxy", "", "gateway.session-manager", "", "m:tcp -h 127.0.0.1 -p 1"),
    property("SSLSessionManager", "proxy", "", "gateway.certificate-session-manager", "", "m:tcp -h 127.0.0.1 -p 1"),
    property("PermissionsVerifier", "proxy", "", "gateway.verifier", "INSTANCE/NullPermissionsVerifier means accept-all.", "v:tcp -h 127.0.0.1 -p 1"),
    property("SSLPermissionsVerifier", "proxy", "", "gateway.certificate-verifier", "INSTANCE/NullSSLPermissionsVerifier means accept-all.", "v:tcp -h 127.0.0.1 -p 1"),
    property("CryptPasswords", "file", "", "gateway.passwords", "", "passwords"),
    property("AddConnectionContext", "0, 1 or 2", "0", "gateway.connection-context", "off, all, application.", "1"),
    property("ReturnClientProxy", FLAG, "0", "", "1 returns a proxy to the router from getClientProxy, otherwise nil. Both mean the same to a client.", "1"),
    property("RoutingTable.MaxSize", "count", "1000", "gateway.routing-table", "", "9"),
    property("Filter.Address.Accept", "rules", "", "gateway.filter.accept-addresses", "", "a"),
    property("Filter.Address.Reject", "rules", "", "gateway.filter.reject-addresses", "", "a"),
    property("Filter.ProxySizeMax", "bytes", "", "gateway.filter.proxy-bytes", "", "500"),
    property("Filter.Category.Accept", "categories", "", "gateway.filter.accept-categories", "", "a"),
    property("Filter.Category.AcceptUser", "0, 1 or 2", "0", "gateway.filter.accept-user", "no, name, underscored.", "1"),
    property("Filter.Identity.Accept", "identities", "", "gateway.filter.accept-identities", "", "a/b"),
    property("Filter.AdapterId.Accept", "adapter ids", "", "gateway.filter.accept-adapter-ids", "", "A"),
    property("Client.ForwardContext", FLAG, "0", "gateway.to-servers.forward-context", "", "1"),
    property("Client.Buffered", FLAG, "1", "gateway.to-servers.buffered", "", "0"),
    property("Client.SleepTime", "milliseconds", "0", "gateway.to-servers.sleep-time", "", "20"),
    property("Client.AlwaysBatch", FLAG, "0", "gateway.to-servers.batching", "off, always.", "1"),
    property("Server.ForwardContext", FLAG, "0", "gateway.to-clients.forward-context", "", "1"),
    property("Server.Buffered", FLAG, "1", "gateway.to-clients.buffered", "", "0"),
    property("Server.SleepTime", "milliseconds", "0", "gateway.to-clients.sleep-time", "", "20"),
    property("Server.AlwaysBatch", FLAG, "0", "gateway.to-clients.batching", "off, always.", "1"),
];
