//! The relay with Ice 3.8 for Python, which Debian does not have: `cargo xtask interop-38` provides it.

use super::{Slice, line, relayed_by_floe};
use crate::values::ice38::ice;

/// Ice 3.8 itself keeps no slices of exceptions, and sends all of them sliced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_between_peers_of_ice_3_8() {
    let said = relayed_by_floe(&ice(), Slice::Any).await;
    let whole = "KeptMost why=most level=3 more=most text code=- node=node#0 again=- last=next#1";
    assert_eq!(line(&said, "1.1 fail most"), whole);
    assert!(line(&said, "1.0 fail most").starts_with("KeptNearer "));
    assert!(line(&said, "1.1 fail cutMore").starts_with("Cut "));
    assert_eq!(
        line(&said, "1.1 makeSaved"),
        "SavedMore name=saved node=node#0"
    );
    assert_eq!(
        line(&said, "1.1 makeLost"),
        "LostMore name=lost node=node#0"
    );
    let said = relayed_by_floe(&ice(), Slice::V37).await;
    assert_eq!(line(&said, "1.1 makeLost"), "Lost name=lost");
}
