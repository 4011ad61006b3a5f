//! Bytes as a Slice source file.

use floe_slice::breaking::compare;
use floe_slice::{check_source, format};

/// Compiles `input`, renders what the compiler says, compares the model with itself, and lays the
/// text out twice.
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
    let changes = compare(&compilation.model, &compilation.model);
    let is_same = changes.is_empty() || compilation.has_errors();
    assert!(is_same, "nothing has changed: {changes:?}");
    if let Some(formatted) = std::str::from_utf8(input)
        .ok()
        .and_then(|it| format(it).ok())
    {
        assert_eq!(
            format(&formatted).as_ref(),
            Ok(&formatted),
            "laid out twice"
        );
    }
}
