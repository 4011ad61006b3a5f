//! Bytes as a Slice source file.

use floe_slice::check_source;

/// Compiles `input` and renders what the compiler says.
///
/// Whatever the bytes are, this must end, and without a panic.
pub(crate) fn run(input: &[u8]) {
    let compilation = check_source(input);
    let rendered = compilation.render();
    assert_eq!(
        rendered.is_empty(),
        compilation.diagnostics.is_empty(),
        "every diagnostic is shown"
    );
}
