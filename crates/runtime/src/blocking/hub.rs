//! A hub for programs without async.

use super::{Communicator, Wait};
use crate::hub::{HubClient, HubError};

impl Communicator {
    /// Connects to the hub at an address, such as `localhost:10000`. Wait for its futures with [`Wait::wait`], and for
    /// events with [`Subscription::blocking_iter`](crate::hub::Subscription::blocking_iter):
    ///
    /// ```no_run
    /// use floe::blocking::{Communicator, Wait};
    /// use floe::hub::HubError;
    ///
    /// # fn run() -> Result<(), HubError> {
    /// let communicator = Communicator::new();
    /// let topic = communicator.hub("localhost:10000")?.topic("ticker").wait()?;
    /// println!("publisher: {}", topic.publisher::<floe::Proxy>().wait()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`HubError::Address`] or [`HubError::Hub`].
    pub fn hub(&self, address: &str) -> Result<HubClient, HubError> {
        HubClient::connect_with(self.as_async(), address).wait()
    }
}
