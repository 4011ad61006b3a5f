//! The subcommands, a file each.

pub(crate) mod call;
mod completions;
mod decode;
mod demo;
mod echo;
mod encode;
#[cfg(feature = "lab")]
mod lab;
mod ping;
mod proxy;
mod publish;
mod serve;
mod slice;
mod subscribe;
mod topic;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// What `floe` can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    #[command(subcommand)]
    Topic(topic::Topic),
    Pub(publish::Publish),
    Sub(subscribe::Subscribe),
    Call(call::Call),
    Ping(ping::Ping),
    Echo(echo::Echo),
    #[command(subcommand)]
    Proxy(proxy::Proxy),
    Decode(decode::Decode),
    Encode(encode::Encode),
    #[command(subcommand)]
    Slice(slice::Slice),
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(lab::Lab),
    Completions(completions::Completions),
}

/// Runs a subcommand.
///
/// # Errors
/// [`Failure`] with a message and an exit code.
pub(crate) fn run(command: Command, output: &Output) -> Result<Exit, Failure> {
    match command {
        Command::Demo(demo) => demo.run(output),
        Command::Serve(serve) => serve.run(output),
        Command::Pub(publish) => publish.run(output),
        Command::Sub(subscribe) => subscribe.run(output),
        Command::Call(call) => call.run(output),
        Command::Ping(ping) => ping.run(output),
        Command::Echo(echo) => echo.run(output),
        Command::Proxy(proxy) => proxy.run(output),
        Command::Decode(decode) => decode.run(output),
        Command::Encode(encode) => encode.run(output),
        Command::Slice(slice) => slice.run(output),
        Command::Topic(topic) => topic.run(output),
        #[cfg(feature = "lab")]
        Command::Lab(lab) => lab.run(output),
        Command::Completions(completions) => completions.run(output),
    }
}
