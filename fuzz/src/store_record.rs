//! Records of the store of a hub.

use floe_hub::inspect_store_record;

/// Reads `input` as a record of each kind, with a checksum and without.
///
/// Whatever the bytes are, this must end without a panic. What was read is written as it was read.
pub(crate) fn run(input: &[u8]) {
    for kind in 0..4 {
        if let Some(written) = inspect_store_record(kind, input) {
            let again = inspect_store_record(kind, &written);
            assert_eq!(again, Some(written), "the same record");
        }
    }
}
