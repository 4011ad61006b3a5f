//! Reconnecting to a lost hub: the argument for it, which failures are worth another try, and the pause between tries.

use std::time::Duration;

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output;

/// The argument that turns reconnecting off.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReconnectArgument {
    /// Ends when the connection to the hub is lost, instead of waiting until the hub is back
    #[arg(long)]
    no_reconnect: bool,
}

impl ReconnectArgument {
    /// Returns true if to come back after this.
    pub(crate) fn is_wanted(self) -> bool {
        !self.no_reconnect
    }
}

/// Tries something again until it succeeds or cannot any more; says once why it must wait.
///
/// A topic that is missing is waited for: a hub without `--data` forgets its topics when it restarts.
///
/// # Errors
/// A failure that another try would meet again.
pub(crate) async fn until_it_succeeds<T>(
    mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut tries = 0;
    let mut told = String::new();
    loop {
        let failure = match attempt().await {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        if !may_pass(&failure) {
            return Err(failure);
        }
        let reason = failure.message();
        if told != reason && failure.exit() == Exit::NotFound {
            output::talk(format_args!("{reason}: waiting for it"));
        }
        reason.clone_into(&mut told);
        tokio::time::sleep(pause(tries)).await;
        tries = tries.saturating_add(1);
    }
}

/// How long to pause after this many tries that came to nothing.
pub(crate) fn pause(tries: u32) -> Duration {
    PAUSE_MIN.saturating_mul(1 << tries.min(10)).min(PAUSE_MAX)
}

/// Returns true if another try may succeed although nobody changes what was asked.
fn may_pass(failure: &Failure) -> bool {
    failure.is_of_connection() || matches!(failure.exit(), Exit::NotFound | Exit::TimedOut)
}

/// The pause after the first try.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_may_pass_is_tried_again_and_a_refusal_is_not() {
        let mut left = 3;
        let done = until_it_succeeds(async || {
            left -= 1;
            match left {
                0 => Ok(7),
                _ => Err(Failure::not_found("no topic `t`")),
            }
        });
        assert_eq!(done.await.ok(), Some(7));
        let mut count = 0;
        let refused: Result<(), Failure> = until_it_succeeds(async || {
            count += 1;
            Err(Failure::new(Exit::Refused, "declined"))
        })
        .await;
        assert_eq!(refused.map_err(|it| it.exit()), Err(Exit::Refused));
        assert_eq!(count, 1);
    }
}
