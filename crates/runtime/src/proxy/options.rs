//! The local options of a proxy, which are never sent.

use std::sync::Arc;
use std::time::Duration;

use floe_wire::message::Context;

use super::compression::Compress;
use super::given::ConnectionJudge;
use crate::communicator::Communicator;
use crate::connection::ConnectionCore;
use crate::invoker::Interceptors;
use crate::router::Router;
use crate::settings::{EndpointSelection, Settings};

/// The options of a proxy besides its reference.
#[derive(Clone)]
pub(crate) struct ProxyOptions {
    pub(crate) context: Context,
    pub(crate) timeout: Option<Duration>,
    pub(crate) polling: Duration,
    /// True if collocated calls may skip the wire.
    pub(crate) is_collocated: bool,
    /// True if a peer has given the proxy, so that it does not call adapters which refuse that.
    pub(crate) is_given: bool,
    /// Says which of the connections that it finds it may use.
    pub(crate) judge: Option<ConnectionJudge>,
    pub(crate) interceptors: Interceptors,
    /// The only connection that it uses, if it is bound to one.
    pub(crate) fixed: Option<Arc<ConnectionCore>>,
    /// The router of its requests.
    pub(crate) router: Option<Arc<Router>>,
    /// Proxies with different ids use different connections.
    pub(crate) connection_id: Arc<str>,
    /// True if the proxy keeps using its last connection, without selecting an endpoint again.
    pub(crate) is_connection_cached: bool,
    pub(crate) selection: EndpointSelection,
    pub(crate) prefer_secure: bool,
    /// How long a cached answer of the locator is valid for this proxy.
    pub(crate) locator_cache_timeout: Option<Duration>,
    pub(crate) compress: Compress,
}

impl ProxyOptions {
    pub(crate) fn of(communicator: Option<&Communicator>) -> Self {
        match communicator {
            Some(communicator) => {
                let settings = communicator.settings();
                let options = Self::new(settings);
                let routers = || communicator.core().routers();
                let of = |router| routers().of(router, &options.connection_id);
                Self {
                    router: settings.router.as_ref().map(of),
                    ..options
                }
            }
            None => Self::new(&Settings::default()),
        }
    }

    fn new(settings: &Settings) -> Self {
        Self {
            context: Context::new(),
            timeout: settings.invocation_timeout,
            polling: settings.polling,
            is_collocated: settings.collocation_optimized,
            is_given: false,
            judge: None,
            interceptors: settings.interceptors.clone(),
            fixed: None,
            router: None,
            connection_id: "".into(),
            is_connection_cached: true,
            selection: settings.endpoint_selection,
            prefer_secure: settings.prefer_secure,
            locator_cache_timeout: settings.locator_cache_timeout,
            compress: Compress::default(),
        }
    }
}
