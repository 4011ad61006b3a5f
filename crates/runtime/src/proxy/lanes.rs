//! Where the oneways of a thread went last: what sends one after another needs no look at the connection.
//!
//! A lane is taken only by messages that join others in the output. It may be one of a connection that has ended,
//! which takes none.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use floe_wire::encoding::Encoder;
use floe_wire::message::RequestId;

use super::{Inner, OperationInfo, Proxy};
use crate::connection::{Appended, Connection, Extended, Failure, Outlet};

/// Where a proxy sends its oneways.
struct Lane {
    /// What keeps its place in memory from being another proxy's.
    proxy: Weak<Inner>,
    outlet: Arc<Outlet>,
}

/// Lanes that a thread knows, each in the place that the proxy's address gives it.
const LANES: usize = 8;

thread_local! {
    static KNOWN: RefCell<[Option<Lane>; LANES]> = const { RefCell::new([const { None }; LANES]) };
}

impl Proxy {
    /// Appends a oneway to others that are about to leave; false, and nothing is done, if there are none, or if it
    /// must go another way.
    ///
    /// # Errors
    /// It was appended, and then the connection was lost.
    #[inline]
    pub(super) fn extend_burst(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
    ) -> Result<bool, Box<Failure>> {
        let Some(head) = self.head_of(operation) else {
            return Ok(false);
        };
        let extended = KNOWN.try_with(|known| {
            let known = known.try_borrow().ok()?;
            let lane = known[self.lane()].as_ref()?;
            if !std::ptr::eq(lane.proxy.as_ptr(), Arc::as_ptr(&self.inner)) {
                return None;
            }
            let write = |buffer: &mut _| head.write(buffer, RequestId::ONEWAY, encode);
            Some(match lane.outlet.extend_burst(write) {
                Extended::No => return None,
                Extended::Joined => None,
                Extended::Enough(sent) => Some((sent, lane.outlet.clone())),
            })
        });
        match extended {
            Ok(Some(None)) => Ok(true),
            Ok(Some(Some((sent, outlet)))) => self.send_joined(sent, &outlet),
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Writes what was appended to this outlet.
    #[inline(never)]
    fn send_joined(&self, sent: Appended<()>, outlet: &Arc<Outlet>) -> Result<bool, Box<Failure>> {
        // If its connection has ended, or the proxy has another one meanwhile, whoever was about to write the others
        // writes this, or the end has said how many bytes could not be sent. Nobody may send it twice.
        let connection = self.known_connection().map(|found| found.connection);
        if let Some(connection) = connection.filter(|it| Arc::ptr_eq(it.outlet(), outlet)) {
            connection.send_appended(sent).map_err(Box::new)?;
        }
        Ok(true)
    }

    /// Notes where oneways go that need neither a look at the endpoints nor compression.
    pub(super) fn remember_lane(&self, connection: &Connection) {
        let _ = KNOWN.try_with(|known| {
            let Ok(mut known) = known.try_borrow_mut() else {
                return;
            };
            let place = &mut known[self.lane()];
            let outlet = connection.outlet();
            let is_known = place.as_ref().is_some_and(|lane| {
                std::ptr::eq(lane.proxy.as_ptr(), Arc::as_ptr(&self.inner))
                    && Arc::ptr_eq(&lane.outlet, outlet)
            });
            if !is_known {
                *place = Some(Lane {
                    proxy: Arc::downgrade(&self.inner),
                    outlet: outlet.clone(),
                });
            }
        });
    }

    /// Its place among the lanes of a thread.
    #[inline]
    fn lane(&self) -> usize {
        (Arc::as_ptr(&self.inner) as usize / 64) % LANES
    }
}
