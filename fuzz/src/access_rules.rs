//! Texts as an operator writes them into `floe.toml` about access.

use floe_access::{Access, Action, Caller, Place, Settings};

/// Reads `input` as a `floe.toml`, and asks the rules that are in it.
///
/// Whatever the text is, this must end without a panic. A text without a rule allows all, and each decision names a rule of
/// the text.
pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(settings) = Settings::parse(text) else {
        return;
    };
    let no_files = |_: &std::path::Path, _| Err("there are no files".to_owned());
    let Ok(access) = Access::load(&settings, &no_files) else {
        return;
    };
    let mut ann = Caller::anonymous(Place::At([10, 1, 2, 3].into()));
    let anonymous = ann.clone();
    ann.user = Some("ann".to_owned());
    ann.certificate = "CN=ann,O=ZeroC".parse().ok();
    for caller in [ann, anonymous, Caller::anonymous(Place::Here)] {
        for action in Action::ALL {
            let decision = access.decide(&caller, action, "telemetry.cpu");
            assert!(decision.is_allowed || !access.is_open());
            if let floe_access::Decided::Rule { line, .. } = decision.decided {
                let line = text.lines().nth(line - 1).expect("the line is there");
                assert!(line.contains("rule"), "{line}");
            }
        }
    }
}
