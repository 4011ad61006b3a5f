//! Random values through values typed at run time: the bytes that Ice sent back become JSON and equal bytes again.

use floe::message::Outcome;
use floe::{EncodingVersion, OperationMode, TypedProxy};
use floe_dynamic::Contract;
use floe_slice::check_source;
use proptest::collection::vec;
use proptest::prelude::any;

use super::draw::Draw;
use super::random::{Python, failed, ice, parameters, random_instance, runner};

const COUNT: u32 = 1_000;

#[test]
fn dynamic_values_make_the_bytes_of_ice_again() {
    let Some(ice) = ice() else { return };
    let compiled = check_source(include_bytes!("Values.ice"));
    let contract = Contract::new(compiled.model);
    let python = Python::start(&ice);
    let peer = python.peer.as_proxy();
    let exchanged = runner(COUNT).run(&vec(any::<u64>(), 0..300), |tape| {
        let mut draw = Draw::new(&tape, true).without_nan();
        let (name, value, format) = random_instance(&mut draw);
        draw.finish();
        let operation = contract.operation(name).map_err(text)?;
        let sent = parameters(&value, format);
        let invocation = peer.invoke(name, OperationMode::Normal, &sent);
        let got = match python.runtime.block_on(invocation) {
            Ok(Some(Outcome::Returned(got))) => got,
            other => return Err(failed(format!("{name}: {other:?}"))),
        };
        let params = operation.decode_request(&sent).map_err(text)?;
        let params = operation.encode_request(&params, EncodingVersion::V1_1);
        let results = operation.decode_reply(&got).map_err(text)?;
        let results = operation.encode_reply(&results, EncodingVersion::V1_1);
        if params.map_err(text)? == sent && results.map_err(text)? == got {
            return Ok(());
        }
        Err(failed(format!("{name}: other bytes for {value:?}")))
    });
    exchanged.unwrap_or_else(|error| panic!("{error}"));
    python.end();
}

fn text(error: impl std::fmt::Display) -> proptest::test_runner::TestCaseError {
    failed(error.to_string())
}
