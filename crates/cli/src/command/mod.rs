//! The subcommands, a file each.

mod access;
mod backup;
#[cfg(feature = "bridges")]
mod bridge;
pub(crate) mod call;
#[cfg(feature = "tls")]
mod cert;
mod cheat;
mod completions;
mod config;
mod context;
mod decode;
mod demo;
mod dlq;
mod doctor;
mod durable_rows;
mod echo;
mod encode;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "man")]
mod man;
mod migrate;
#[cfg(not(feature = "bridges"))]
mod no_bridges;
#[cfg(any(not(feature = "lab"), test))]
mod no_lab;
#[cfg(not(feature = "recordings"))]
mod no_recordings;
#[cfg(not(feature = "tls"))]
mod no_tls;
mod ping;
mod problems;
mod proxy;
mod publish;
#[cfg(feature = "recordings")]
mod record;
#[cfg(feature = "recordings")]
mod replay;
mod serve;
mod slice;
mod status;
mod subscribe;
#[cfg(feature = "tls")]
mod token;
mod topic;

use clap::Subcommand;
#[cfg(not(feature = "bridges"))]
use no_bridges as bridge;
#[cfg(not(feature = "lab"))]
use no_lab as lab;
#[cfg(not(feature = "recordings"))]
use no_recordings::{record, replay};
#[cfg(not(feature = "tls"))]
use no_tls::{cert, token};

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// The subcommands of `floe`.
///
/// The arguments of a subcommand are built when it is called: building all of them would be most of what the start of a hub
/// executes, and so keeps in memory. Therefore the list of subcommands takes its lines from here, and a subcommand with
/// subcommands of its own is a field of a variant: clap defers no variant that is `#[command(subcommand)]` itself.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Shows typed events at work: a hub, a publisher of this machine's telemetry, three subscribers
    Demo(demo::Demo),
    /// Runs a hub, and a gateway if the configuration has one, until SIGTERM or SIGINT (Ctrl-C)
    Serve(serve::Serve),
    /// Lists, creates, shows, links and removes topics of a hub or an IceStorm
    Topic {
        #[command(subcommand)]
        command: topic::Topic,
    },
    /// Lists, publishes again and deletes dead letters: events that a durable subscription could not deliver
    Dlq {
        #[command(subcommand)]
        command: dlq::Dlq,
    },
    /// Copies all that a hub keeps on disk to a folder, while the hub goes on
    Backup(backup::Backup),
    /// Puts a backup in place as the data directory of a hub, or only verifies it
    Restore(backup::Restore),
    /// Makes the topics, subscribers and links of an IceStorm again at a hub
    Migrate(migrate::Migrate),
    /// Publishes typed events to a topic of a hub or an IceStorm
    Pub(publish::Publish),
    /// Subscribes to topics of a hub or an IceStorm, and shows their events
    Sub(subscribe::Subscribe),
    /// Records the events of topics in an MCAP file, for `floe replay` and other tools
    Record(record::Record),
    /// Publishes the events of an MCAP file that `floe record` made
    Replay(replay::Replay),
    /// Invokes an operation of any Ice or Floe server
    Call(call::Call),
    /// Measures how long calls take to an Ice or Floe server and back
    Ping(ping::Ping),
    /// Serves an object that returns what it gets, for `floe ping --sizes`
    Echo(echo::Echo),
    /// Shows the parts of proxies, and the objects that they lead to
    Proxy {
        #[command(subcommand)]
        command: proxy::Proxy,
    },
    /// Decodes bytes from the wire to JSON, for debugging
    Decode(decode::Decode),
    /// Encodes JSON to the bytes of the wire, for debugging
    Encode(encode::Encode),
    /// Checks, formats, compares and documents Slice files, and generates Rust, JSON, IDL or WSDL
    Slice {
        #[command(subcommand)]
        command: slice::Slice,
    },
    /// Lets programs of DDS, CORBA, JMS and SOAP publish and subscribe at a hub
    Bridge {
        #[cfg_attr(feature = "bridges", command(subcommand))]
        #[cfg_attr(not(feature = "bridges"), command(flatten))]
        command: bridge::Bridge,
    },
    /// Measures Floe beside its peers and beside the machine's own limit
    Lab {
        #[cfg_attr(feature = "lab", command(subcommand))]
        #[cfg_attr(not(feature = "lab"), command(flatten))]
        command: lab::Lab,
    },
    /// Shows the state of the hub in a few lines
    Status(status::Status),
    /// Finds problems of the hub and this computer, and says what to do
    Doctor(doctor::Doctor),
    /// Gives names to hubs, with the router to each, certificates and contracts, for short commands
    Context {
        #[command(subcommand)]
        command: context::Context,
    },
    /// Shows the daily commands on one page
    Cheat(cheat::Cheat),
    /// Writes the manual pages of the command and its subcommands
    #[cfg(feature = "man")]
    #[command(hide = true)]
    Man(man::Man),
    /// Shows what the access rules of a hub allow
    Access {
        #[command(subcommand)]
        command: access::Access,
    },
    /// Makes certificates for ssl and wss: a CA of your own, and those of servers and clients
    Cert {
        #[cfg_attr(feature = "tls", command(subcommand))]
        #[cfg_attr(not(feature = "tls"), command(flatten))]
        command: cert::Cert,
    },
    /// Makes the key of an issuer, signs tokens with it, and shows what a token says
    Token {
        #[cfg_attr(feature = "tls", command(subcommand))]
        #[cfg_attr(not(feature = "tls"), command(flatten))]
        command: token::Token,
    },
    /// Lists the settings of floe.toml, and prints its JSON schema
    Config {
        #[command(subcommand)]
        command: config::Config,
    },
    /// Prints completions for a shell
    Completions(completions::Completions),
}

impl Command {
    /// Returns true if it asks a hub or a server, and so takes these from a context.
    pub(crate) fn asks_others(&self) -> bool {
        if let Self::Bridge { command } = self {
            return command.asks_others();
        }
        matches!(
            self,
            Self::Topic { .. }
                | Self::Dlq { .. }
                | Self::Backup(_)
                | Self::Migrate(_)
                | Self::Pub(_)
                | Self::Sub(_)
                | Self::Record(_)
                | Self::Replay(_)
                | Self::Call(_)
                | Self::Ping(_)
                | Self::Proxy { .. }
                | Self::Status(_)
                | Self::Doctor(_)
        )
    }
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
        Command::Record(record) => record.run(output),
        Command::Replay(replay) => replay.run(output),
        Command::Call(call) => call.run(output),
        Command::Ping(ping) => ping.run(output),
        Command::Echo(echo) => echo.run(output),
        Command::Proxy { command } => command.run(output),
        Command::Decode(decode) => decode.run(output),
        Command::Encode(encode) => encode.run(output),
        Command::Slice { command } => command.run(output),
        Command::Topic { command } => command.run(output),
        Command::Dlq { command } => command.run(output),
        Command::Backup(backup) => backup.run(output),
        Command::Restore(restore) => restore.run(output),
        Command::Migrate(migrate) => migrate.run(output),
        Command::Bridge { command } => command.run(output),
        Command::Lab { command } => command.run(output),
        Command::Status(status) => status.run(output),
        Command::Doctor(doctor) => doctor.run(output),
        Command::Context { command } => command.run(output),
        Command::Cheat(cheat) => cheat.run(output),
        #[cfg(feature = "man")]
        Command::Man(man) => man.run(),
        Command::Access { command } => command.run(output),
        Command::Cert { command } => command.run(output),
        Command::Token { command } => command.run(output),
        Command::Config { command } => command.run(output),
        Command::Completions(completions) => completions.run(output),
    }
}

// A build without them says in their own help how to get them.
#[cfg(all(test, feature = "recordings", feature = "lab", feature = "tls"))]
mod tests {
    use clap::CommandFactory;

    use crate::Arguments;

    #[test]
    fn the_list_of_subcommands_says_of_each_what_its_own_help_says() {
        let listed = Arguments::command();
        let mut built = Arguments::command();
        built.build();
        let own: Vec<_> = built.get_subcommands().collect();
        assert!(listed.get_subcommands().count() > 10);
        for listed in listed.get_subcommands() {
            let own = own.iter().find(|own| own.get_name() == listed.get_name());
            let about = own
                .expect("it is built")
                .get_about()
                .map(ToString::to_string);
            assert!(about.is_some());
            assert_eq!(listed.get_about().map(ToString::to_string), about);
        }
    }
}
