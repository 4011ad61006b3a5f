//! Rings with Ice 3.8 for Python, which Debian does not have: `cargo xtask interop-38` provides it.

use super::agree;
use crate::values::ice38::ice;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_rings_are_kept_and_sent_as_ice_3_8_does() {
    agree(ice()).await;
}
