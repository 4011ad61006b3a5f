//! The world of SOAP programs.

use std::net::SocketAddr;
use std::sync::Arc;

use floe_codegen::{WsdlOptions, generate_notification_wsdl};
use tokio::net::TcpListener;

use super::link::{Broker, PLACE, Server};
use super::mapping;
use super::settings::SoapSettings;
use crate::core::mapping::Finding;
use crate::core::origin::Echo;
use crate::hub::{Port, TopicPlan};
use crate::world::{PEERS_LISTED_MAX, Running, StartError, World, WorldFuture, WorldState};

/// A broker of WS-Notification, which is not started yet.
#[derive(Debug)]
pub struct SoapWorld {
    settings: SoapSettings,
}

impl SoapWorld {
    /// A broker by these settings, whose topics are those of the bridge.
    pub fn new(settings: SoapSettings) -> Self {
        Self { settings }
    }
}

impl World for SoapWorld {
    fn name(&self) -> &'static str {
        "soap"
    }

    fn place(&self) -> String {
        self.settings.listen.to_string()
    }

    fn echo(&self) -> Echo {
        Echo::ToAll
    }

    fn judge(&self, topic: &TopicPlan) -> Vec<Finding> {
        mapping::judge(topic, &self.settings.namespace)
    }

    fn start(
        self: Box<Self>,
        ports: Vec<Port>,
    ) -> WorldFuture<'static, Result<Box<dyn Running>, StartError>> {
        Box::pin(async move {
            let wsdl = wsdl(&ports, &self.settings.namespace)?;
            let listen = self.settings.listen;
            let listener = TcpListener::bind(listen).await;
            let listener = listener.map_err(|error| {
                StartError::new(format!(
                    "cannot listen at {listen} for HTTP: {error}; set listen of [bridge.soap]"
                ))
            })?;
            let own = listener.local_addr();
            let own = own.map_err(|error| {
                StartError::new(format!("the system does not say where it listens: {error}"))
            })?;
            let settings = Arc::new(self.settings);
            let broker = Broker::new(ports, settings.clone(), own, wsdl);
            let server = Server::start(listener, settings, broker.clone());
            let server =
                server.map_err(|error| StartError::new(format!("cannot serve HTTP: {error}")))?;
            let running: Box<dyn Running> = Box::new(Served {
                server,
                broker,
                own,
            });
            Ok(running)
        })
    }
}

/// The WSDL of all topics. Their contracts are one.
fn wsdl(ports: &[Port], namespace: &str) -> Result<String, StartError> {
    let options = WsdlOptions::new().namespace(namespace).address(PLACE);
    let interfaces: Vec<_> = ports.iter().map(|it| it.events().interface()).collect();
    let Some(first) = ports.first() else {
        return Ok(String::new());
    };
    let model = first.events().contract().model();
    generate_notification_wsdl(model, &interfaces, &options).map_err(|findings| {
        let messages: Vec<_> = findings.iter().map(|it| it.message.clone()).collect();
        StartError::new(messages.join("; "))
    })
}

/// A broker that is served.
struct Served {
    server: Server,
    broker: Arc<Broker>,
    own: SocketAddr,
}

impl Running for Served {
    fn address(&self) -> Option<String> {
        Some(self.own.to_string())
    }

    fn state(&self) -> WorldState {
        let (peers, peer_count) = self.broker.peers(PEERS_LISTED_MAX);
        WorldState {
            peers,
            peer_count,
            trouble: None,
        }
    }

    fn shut_down(self: Box<Self>) -> WorldFuture<'static, ()> {
        Box::pin(async move {
            self.server.stop().await;
            self.broker.end();
        })
    }
}
