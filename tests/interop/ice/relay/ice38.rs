//! The same with Ice 3.8 for Python, which Debian does not have: `cargo xtask interop-38` provides it.

use super::relayed_by_floe;
use crate::values::ice38::ice;

/// Ice 3.8 itself keeps no slices of exceptions, and sends all of them sliced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_between_peers_of_ice_3_8() {
    let said = relayed_by_floe(&ice()).await;
    let line = |call: &str| {
        let line = said.iter().find_map(|line| line.strip_prefix(call));
        line.unwrap_or_else(|| panic!("{call} is among {said:#?}"))
    };
    let whole = "KeptMost why=most level=3 more=most text code=- node=node#0 again=- last=next#1";
    assert_eq!(line("1.1 fail most: "), whole);
    assert_eq!(
        line("1.0 fail most: ").split(' ').next(),
        Some("KeptNearer")
    );
    assert_eq!(line("1.1 fail cutMore: ").split(' ').next(), Some("Cut"));
}
