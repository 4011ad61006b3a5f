//! The part of an event's parameters that the body of a message holds: the struct, if there is one parameter and that is a
//! struct, and otherwise all of them.

use std::fmt;

use floe_dynamic::{Cause, IceReadError, IceReader, IceWriter, Reader, WalkError, Writer, walk};
use floe_wire::encoding::{Encapsulation, EncodeError, Encoder, EncodingVersion};

use super::error::{EventError, MessageProblem};
use crate::core::mapping::{EventKind, Payload};

/// Where paths begin.
pub(super) const ROOT: &str = "body";

/// Writes the payload of an event, whose parameters are a whole encapsulation.
///
/// # Errors
/// [`EventError`]
pub(super) fn write<W: Writer>(
    kind: &EventKind,
    parameters: &[u8],
    writer: &mut W,
) -> Result<(), EventError>
where
    W::Error: fmt::Display,
{
    let walked = match kind.payload() {
        Payload::Struct(_) => write_struct(kind, parameters, writer),
        Payload::Parameters => kind.write_to(parameters, writer),
    };
    walked.map_err(|error| {
        let text = format!("{}: {error}", kind.name());
        match error.cause {
            Cause::Read(_) => EventError::NotOfContract(text),
            Cause::Write(_) => EventError::CannotBeSaid(text),
        }
    })
}

fn write_struct<W: Writer>(
    kind: &EventKind,
    parameters: &[u8],
    writer: &mut W,
) -> Result<(), WalkError<IceReadError, W::Error>> {
    let at_root = |error: floe_wire::DecodeError| WalkError {
        path: ROOT.to_owned(),
        cause: Cause::Read(error.into()),
    };
    let opened = Encapsulation::parse(parameters).and_then(|it| it.decoder());
    let mut decoder = opened.map_err(at_root)?;
    let operation = kind.operation();
    let mut reader = IceReader::new(operation.contract(), &mut decoder);
    let layout = operation.inputs().members()[0].layout();
    walk(layout, &mut reader, writer)?;
    decoder.finish().map_err(at_root)
}

/// Reads the payload of an event: its parameters, as a whole encapsulation.
///
/// # Errors
/// [`MessageProblem`]; `describe` makes the text of the reader's error, which may have paths of its own.
pub(super) fn read<R: Reader>(
    kind: &EventKind,
    reader: &mut R,
    describe: impl FnOnce(&str, &R::Error) -> String,
) -> Result<Vec<u8>, MessageProblem> {
    let read = match kind.payload() {
        Payload::Struct(_) => read_struct(kind, reader),
        Payload::Parameters => kind.read_from(reader),
    };
    read.map_err(|error| {
        let path = error.path.split_once(['.', '[']);
        let path = path.map_or(String::new(), |(root, _)| {
            error.path[root.len()..].to_owned()
        });
        let path = format!("{ROOT}{path}");
        MessageProblem::new(match &error.cause {
            Cause::Read(error) => describe(&path, error),
            Cause::Write(error) => format!("{path}: {error}"),
        })
    })
}

fn read_struct<R: Reader>(
    kind: &EventKind,
    reader: &mut R,
) -> Result<Vec<u8>, WalkError<R::Error, EncodeError>> {
    let layout = kind.operation().inputs().members()[0].layout();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, ENCODING);
    let mut walked = Ok(());
    encoder.encapsulation(ENCODING, |encoder| {
        walked = walk(layout, reader, &mut IceWriter::new(encoder));
    });
    let at_root = |cause| WalkError {
        path: ROOT.to_owned(),
        cause,
    };
    walked.map_err(|error| WalkError {
        path: error.path,
        cause: match error.cause {
            Cause::Read(error) => Cause::Read(error),
            Cause::Write(never) => match never {},
        },
    })?;
    let finished = encoder.finish();
    finished.map_err(|error| at_root(Cause::Write(error)))?;
    Ok(bytes)
}

/// The encoding of events that come from another world.
const ENCODING: EncodingVersion = EncodingVersion::V1_1;
