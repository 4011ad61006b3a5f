//! Logs the losses of a subscriber, and notifies the subscriber of them.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Instant;

use floe::{InvocationMode, InvokeError, TypedProxy};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::contracts::floe::LossListenerProxy;
use crate::core::{HOPS_MAX, OverflowNotice, OverflowPolicy, OverflowSummary};
use crate::service::count::{losses, number};
use crate::service::one_line::OneLine;
use crate::service::subscriber::Subscriber;

impl Subscriber {
    /// The subscriber and its topic, for the log.
    pub(crate) fn log_name(&self) -> impl Display {
        let (identity, topic) = (OneLine(self.identity()), self.topic());
        format!("\"{identity}\" of topic {topic:?}")
    }

    /// Logs what happened to the queue.
    #[cold]
    pub(crate) fn log_notice(&self, notice: OverflowNotice) {
        let name = self.log_name();
        match notice {
            OverflowNotice::Began { policy } => {
                let which = match policy {
                    OverflowPolicy::DropOldest => "its oldest events",
                    _ => "the newest events",
                };
                tracing::warn!("{name} loses {which}: its queue is full because it is too slow");
            }
            OverflowNotice::Ended { lost } => tracing::warn!(
                "{name} loses no more events: its queue has room again, after {lost} were lost"
            ),
            OverflowNotice::TooLong { len, max } => tracing::warn!(
                "{name} loses an event of {len} bytes: its queue holds at most {max} bytes: raise the limit \
                 of the hub (`floe serve --queue-bytes`), and floe.queueBytes if the subscriber sets a lower limit"
            ),
            OverflowNotice::Looped => tracing::warn!(
                "{name} loses events that have passed {HOPS_MAX} hubs: subscriptions between topics form a loop; remove one of \
                 them"
            ),
            OverflowNotice::Disconnected => {
                tracing::warn!("the subscription of {name} ends: its queue is full")
            }
        }
    }

    /// Does as [`Subscriber::log_notice`] for events that have just come. Much can happen to the queue in a short time,
    /// so later summaries log most of it.
    #[cold]
    pub(crate) fn log_notice_and_summaries(self: &Arc<Self>, notice: OverflowNotice) {
        self.log_notice(notice);
        // Without a runtime there is no timer. The end of the delivery logs the summary.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let interval = self.lock().subscription.await_summary();
        if let Some(interval) = interval {
            // No task waits for this one: the end of the delivery logs the last summary. It does not keep the
            // subscriber alive either.
            let own = Arc::downgrade(self);
            runtime.spawn(async move {
                loop {
                    sleep(interval).await;
                    let Some(own) = own.upgrade() else { return };
                    if !own.log_summary() {
                        return;
                    }
                }
            });
        }
    }

    /// Logs what happened to the queue since the last line. Returns true if there was anything.
    pub(crate) fn log_summary(&self) -> bool {
        let summary = self.lock().subscription.poll_summary(Instant::now());
        if let Some(summary) = summary {
            let name = self.log_name();
            tracing::warn!("since the last line about {name}: {}", Since(summary));
        }
        summary.is_some()
    }

    /// Notifies the subscriber of events that it lost. A failure is worth only a debug line: if the subscriber is gone,
    /// the next event fails too. If the notification surely did not arrive, the next one includes its count.
    pub(crate) async fn notify_lost(&self, count: u64) {
        let Some(facet) = &self.qos().lost_facet else {
            return;
        };
        let listener = self.proxy().ice_facet(facet);
        let listener = LossListenerProxy::from_proxy(match self.proxy().reference().mode {
            InvocationMode::BatchOneway => listener.ice_oneway(),
            InvocationMode::BatchDatagram => listener.ice_datagram(),
            _ => listener,
        });
        let total = losses(self.snapshot().accounts.lost);
        let notified = listener.lost(self.topic(), number(count), &total).await;
        let is_unnotified = notified
            .as_ref()
            .is_err_and(InvokeError::is_surely_not_dispatched);
        if let Err(error) = notified {
            let (name, error) = (self.log_name(), OneLine(error));
            tracing::debug!("could not notify {name} of {count} lost events: {error}");
        }
        if is_unnotified {
            self.lock().subscription.handle_unnotified(count);
        }
    }
}

/// A summary, in words.
struct Since(OverflowSummary);

impl Display for Since {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let OverflowSummary {
            count,
            lost,
            too_long_count,
            looped_count,
            lasts,
        } = self.0;
        if count > 0 {
            let times = if count == 1 { "time" } else { "times" };
            let lasts = if lasts { ", is still full" } else { "" };
            write!(
                f,
                "its queue was full {count} {times}{lasts}, and {lost} events were lost"
            )?;
        }
        if count > 0 && too_long_count > 0 {
            f.write_str("; ")?;
        }
        if too_long_count > 0 {
            let what = match too_long_count {
                1 => "event came that does",
                _ => "events came that do",
            };
            write!(f, "{too_long_count} {what} not fit into an empty queue")?;
        }
        if looped_count > 0 && count + too_long_count > 0 {
            f.write_str("; ")?;
        }
        if looped_count > 0 {
            let what = match looped_count {
                1 => "event was",
                _ => "events were",
            };
            write!(
                f,
                "{looped_count} {what} lost that had passed {HOPS_MAX} hubs"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_how_often_and_how_many_and_whether_it_lasts() {
        let summary = |count, lost, too_long_count, looped_count, lasts| {
            let summary = OverflowSummary {
                count,
                lost,
                too_long_count,
                looped_count,
                lasts,
            };
            Since(summary).to_string()
        };
        assert_eq!(
            summary(1, 5, 0, 0, false),
            "its queue was full 1 time, and 5 events were lost"
        );
        assert_eq!(
            summary(20, 400, 2, 0, true),
            "its queue was full 20 times, is still full, and 400 events were lost; 2 events came that do not \
             fit into an empty queue"
        );
        assert_eq!(
            summary(0, 0, 1, 0, true),
            "1 event came that does not fit into an empty queue"
        );
        assert_eq!(
            summary(0, 0, 1, 3, false),
            "1 event came that does not fit into an empty queue; 3 events were lost that had passed 16 hubs"
        );
    }
}
