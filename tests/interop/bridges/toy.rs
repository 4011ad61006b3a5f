//! A world without sockets: what the hub sends ends in a queue, and the test publishes by a call.

use std::sync::Mutex;

use floe::hub::Qos;
use floe_bridges::core::mapping::Finding;
use floe_bridges::core::origin::Echo;
use floe_bridges::hub::TopicPlan;
use floe_bridges::{Delivery, Port, Running, StartError, World, WorldFuture, WorldState};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The world, and what its test needs of it.
pub(crate) struct Toy {
    echo: Echo,
    out: mpsc::UnboundedSender<Delivery>,
    port: Mutex<Option<oneshot::Sender<Port>>>,
}

struct Served(JoinHandle<()>);

impl Toy {
    /// The world, its events, and its port once it is started.
    pub(crate) fn new(
        echo: Echo,
    ) -> (
        Box<Self>,
        mpsc::UnboundedReceiver<Delivery>,
        oneshot::Receiver<Port>,
    ) {
        let (out, events) = mpsc::unbounded_channel();
        let (port, started) = oneshot::channel();
        let toy = Self {
            echo,
            out,
            port: Mutex::new(Some(port)),
        };
        (Box::new(toy), events, started)
    }
}

impl World for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn place(&self) -> String {
        "box".to_owned()
    }

    fn echo(&self) -> Echo {
        self.echo
    }

    fn judge(&self, _: &TopicPlan) -> Vec<Finding> {
        Vec::new()
    }

    fn start(
        self: Box<Self>,
        mut ports: Vec<Port>,
    ) -> WorldFuture<'static, Result<Box<dyn Running>, StartError>> {
        Box::pin(async move {
            let port = ports.pop().expect("it has a topic");
            let mut events = port.subscribe(Qos::new()).await.map_err(StartError::new)?;
            let sender = self.port.lock().expect("nobody panics").take();
            let _ = sender.expect("it starts once").send(port);
            let task = tokio::spawn(async move {
                while let Some(batch) = events.next_batch().await {
                    events.port().account().send_out(batch.len() as u64);
                    for delivery in batch {
                        let _ = self.out.send(delivery);
                    }
                }
            });
            Ok(Box::new(Served(task)) as Box<dyn Running>)
        })
    }
}

impl Running for Served {
    fn address(&self) -> Option<String> {
        None
    }

    fn state(&self) -> WorldState {
        WorldState::default()
    }

    fn shut_down(self: Box<Self>) -> WorldFuture<'static, ()> {
        self.0.abort();
        Box::pin(async {})
    }
}
