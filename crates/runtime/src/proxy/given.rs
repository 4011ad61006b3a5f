//! Proxies that peers have given to this program, which must not lead back to it.
//!
//! A server that calls what its clients name calls with its own rights: an object of its own communicator would take the
//! call for one of the program itself. So an adapter can refuse such calls, and a proxy can be marked as given.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use floe_wire::reference::{Endpoint, Target};
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

use super::Proxy;
use crate::connection::{Connection, ConnectionCore};
use crate::deadline;
use crate::error::LocalError;
use crate::transport;

/// Says whether a proxy may use a connection, by the endpoint that was tried and the address to which it leads.
pub type ConnectionJudge = Arc<dyn Fn(&Endpoint, SocketAddr) -> bool + Send + Sync>;

impl Proxy {
    /// Returns the proxy with a judge of its connections. A name is judged by the address to which it leads, at the time of
    /// the connection, so it does not matter what a name service said before, or a locator.
    #[must_use]
    pub fn as_judged(&self, judge: ConnectionJudge) -> Self {
        self.with_options(|options| options.judge = Some(judge))
    }

    /// Returns the proxy marked as one that a peer has given. It never calls an adapter of its communicator that refuses
    /// such calls ([`Adapter::refuse_given`](crate::Adapter::refuse_given)), whatever its endpoints, a name service or a
    /// locator say: each new connection is judged by the address to which it leads.
    #[must_use]
    pub fn as_given(&self) -> Self {
        self.with_options(|options| options.is_given = true)
    }

    /// Returns true if the proxy leads now to an adapter of its communicator that refuses calls by given proxies. Names of
    /// hosts are resolved. A locator is not asked.
    ///
    /// # Errors
    /// [`LocalError::Connect`] if none of its hosts has an address, or [`LocalError::ConnectTimeout`] if the name service
    /// does not answer in time. It has the time of one connection for all hosts.
    pub async fn leads_back(&self) -> Result<bool, LocalError> {
        let Some(communicator) = self.communicator() else {
            return Ok(false);
        };
        let core = communicator.core();
        if core
            .adapter_of(self.reference())
            .is_some_and(|it| it.refuses_given())
        {
            return Ok(true);
        }
        let Target::Direct(endpoints) = &self.reference().target else {
            return Ok(false);
        };
        let (mut failed, mut has_place) = (None, endpoints.is_empty());
        let limit = communicator.settings().connect_timeout;
        let deadline = deadline::after(limit);
        for endpoint in endpoints {
            if let Endpoint::Unix(unix) = endpoint {
                has_place = true;
                if core.refuses_given_at(&|place| place.is_file(Path::new(&unix.path))) {
                    return Ok(true);
                }
                continue;
            }
            let Some((host, port)) = endpoint.host().zip(endpoint.port()) else {
                // Nothing is ever sent to an endpoint of an unknown kind.
                has_place = true;
                continue;
            };
            let shown = || endpoint.to_string();
            let resolving = async {
                let is_name = host.parse::<IpAddr>().is_err();
                let _permit = match is_name {
                    true => LOOKUPS.acquire().await.ok(),
                    false => None,
                };
                transport::resolve(host, port).await
            };
            match timeout_at(deadline, resolving).await {
                Ok(Ok(addresses)) => {
                    has_place = true;
                    let leads_back = |address: &SocketAddr| {
                        core.refuses_given_at(&|place| {
                            place.is_at(*address, endpoint.is_datagram())
                        })
                    };
                    if addresses.iter().any(leads_back) {
                        return Ok(true);
                    }
                }
                Ok(Err(error)) => {
                    failed = Some(LocalError::Connect {
                        endpoint: shown(),
                        source: Arc::new(error),
                    });
                }
                Err(_) => {
                    failed = Some(LocalError::ConnectTimeout {
                        endpoint: shown(),
                        after: limit,
                    });
                }
            }
        }
        match failed.filter(|_| !has_place) {
            Some(error) => Err(error),
            None => Ok(false),
        }
    }

    /// Checks the connection that was found by an endpoint, if the proxy was given or has a judge.
    ///
    /// # Errors
    /// It leads to an adapter that refuses calls by given proxies, or the judge refuses it.
    pub(super) fn check_given(
        &self,
        endpoint: &Endpoint,
        connection: &Arc<ConnectionCore>,
    ) -> Result<(), LocalError> {
        if let Some(judge) = &self.inner.options.judge {
            let info = Connection::new(connection.clone()).info();
            let is_refused = info
                .remote_address
                .is_some_and(|address| !judge(endpoint, address));
            if is_refused {
                return Err(refused(endpoint, REJECTED));
            }
        }
        let core = match self.communicator() {
            Some(communicator) if self.inner.options.is_given => communicator.core(),
            _ => return Ok(()),
        };
        let leads_back = match endpoint {
            Endpoint::Unix(unix) => {
                core.refuses_given_at(&|place| place.is_file(Path::new(&unix.path)))
            }
            _ => {
                let info = Connection::new(connection.clone()).info();
                info.remote_address.is_some_and(|address| {
                    core.refuses_given_at(&|place| place.is_at(address, endpoint.is_datagram()))
                })
            }
        };
        if !leads_back {
            return Ok(());
        }
        Err(refused(endpoint, LEADS_BACK))
    }
}

fn refused(endpoint: &Endpoint, why: &'static str) -> LocalError {
    LocalError::Connect {
        endpoint: endpoint.to_string(),
        source: Arc::new(io::Error::new(io::ErrorKind::PermissionDenied, why)),
    }
}

const REJECTED: &str = "the address to which it leads is rejected";

/// How many names are resolved at a time. Each look-up keeps a thread that may block, and a peer chooses the name and with it the
/// server that may not answer.
static LOOKUPS: Semaphore = Semaphore::const_new(8);

const LEADS_BACK: &str = "it leads back to this program, which does not call its own objects by proxies that others have given";
