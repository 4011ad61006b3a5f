//! One process of a contender: what `floe lab contender` runs, without the rest of `floe`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The lab starts its own binary as `PROGRAM lab contender ...`.
    let arguments = arguments.strip_prefix(&["lab".to_owned(), "contender".to_owned()]);
    match floe_lab::contender_main(arguments.unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
