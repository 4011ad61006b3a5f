//! Recordings, as `floe replay` reads them.

#[path = "../../crates/cli/src/recording/framing.rs"]
mod framing;
#[path = "../../crates/cli/src/recording/reader.rs"]
mod reader;
#[path = "../../crates/cli/src/recording/unpacked.rs"]
mod unpacked;

use reader::{RecordedEvent, RecordingReader};

/// Reads `input` as a recording.
///
/// Whatever the bytes are, this must end without a panic, and each event is one that can be published.
pub(crate) fn run(input: &[u8]) {
    let mut reader = RecordingReader::new(input);
    let mut len = 0;
    let mut has_failed = false;
    loop {
        match reader.next() {
            // Its topic and its time can be any.
            Ok(Some(RecordedEvent { bytes, .. })) => {
                assert!(floe::forwarding::EventParts::parse(&bytes).is_ok());
                len += bytes.len();
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                has_failed = true;
                break;
            }
        }
    }
    let holds = |name: &[u8]| input.windows(name.len()).any(|part| part == name);
    // What is compressed can be of any length.
    let is_compressed = holds(b"lz4") || holds(b"zstd");
    assert!(len <= input.len() || is_compressed, "nothing is read twice");
    assert!(reader.skipped() <= input.len() as u64 || is_compressed);
    assert!(
        !(reader.is_cut() && has_failed),
        "a cut recording is read as far as it goes"
    );
}
