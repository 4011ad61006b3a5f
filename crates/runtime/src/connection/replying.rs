//! Replies on their way to the peer.

use std::sync::Arc;

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, Outcome, SystemException, reply};

use super::{Connection, Shared};
use crate::adapter::Response;

impl Connection {
    /// Appends replies, of which `twoway_count` end a dispatch, and writes them. `replies` is empty
    /// afterwards, and may have another allocation. Whether there is room for more.
    pub(super) fn send_replies(
        self: &Arc<Self>,
        replies: &mut Buffer,
        twoway_count: usize,
    ) -> bool {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if machine.is_closed() {
            replies.clear();
            return true;
        }
        self.compress_stream(replies);
        output.append_replies(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(output.bytes());
        }
        let has_room = output.replies_len() <= self.settings.output_limit;
        let batch = output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(batch);
        }
        has_room
    }

    pub(super) async fn wait_for_reply_room(&self) {
        let limit = self.settings.output_limit;
        if self.lock().output.replies_len() > limit {
            self.wait_for_output(|shared| shared.output.replies_len() <= limit)
                .await;
        }
    }
}

/// The bytes of the reply; meaningless for a oneway request.
pub(crate) fn encode_reply(
    request: &IncomingRequest,
    result: Result<Response, SystemException>,
) -> Buffer {
    match result {
        Ok(response) => response.into_parts().buffer,
        Err(exception) => encode_exception(request, exception),
    }
}

pub(super) fn encode_exception(request: &IncomingRequest, exception: SystemException) -> Buffer {
    let exception = exception.with_target(&request.target());
    let mut buffer = Buffer::default();
    let written = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    if let Err(error) = written {
        let exception = SystemException::UnknownLocalException(error.to_string());
        // A short text always has an encoding.
        let _ = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    }
    buffer
}
