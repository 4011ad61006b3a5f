//! `floe cert`: a CA of one's own, and certificates that it signs.
//!
//! - `cert/authority.rs`: the CA, as it is read from its files
//! - `cert/host.rs`: the hosts of a server
//! - `cert/subject.rs`: who a certificate is for

mod authority;
mod ca;
mod client;
mod host;
mod server;
mod subject;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use rcgen::CertificateParams;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::pem_file::{self, PemFile};

/// Makes certificates for ssl and wss: a CA of your own, and those of servers and clients
#[derive(Debug, Subcommand)]
pub(crate) enum Cert {
    Ca(ca::Ca),
    Server(server::Server),
    Client(client::Client),
}

impl Cert {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::Ca(ca) => ca.run(output),
            Self::Server(server) => server.run(output),
            Self::Client(client) => client.run(output),
        }
    }
}

/// Where certificates are kept.
#[derive(Debug, Args)]
struct Place {
    /// The folder with ca.pem and ca.key, where the new files go, too
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,

    /// Overwrites files of the same name
    #[arg(long)]
    force: bool,
}

/// A certificate and its key, in PEM.
struct Made {
    certificate: String,
    key: String,
    until: SystemTime,
}

impl Place {
    fn certificate(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.pem"))
    }

    fn key(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.key"))
    }

    /// Writes both files, and says which.
    fn write(&self, name: &str, made: &Made, output: &Output) -> Result<(), Failure> {
        let (certificate, key) = (self.certificate(name), self.key(name));
        let files = [
            PemFile {
                path: &key,
                text: &made.key,
                is_secret: true,
            },
            PemFile {
                path: &certificate,
                text: &made.certificate,
                is_secret: false,
            },
        ];
        pem_file::write_all(&files, self.force)?;
        let shown = |path: &Path| path.display().to_string();
        let days = made
            .until
            .duration_since(SystemTime::now())
            .map_or(0, |left| left.as_secs().div_ceil(DAY));
        if output.format() == Format::Table {
            let (certificate, key) = (shown(&certificate), shown(&key));
            return output.line(format_args!(
                "{certificate} is valid for {days} days; {key} is its key, which only you can read"
            ));
        }
        let told = json!({"certificate": shown(&certificate), "key": shown(&key), "days": days});
        output.value(&told, &told["certificate"])
    }
}

/// Sets from when to when a certificate is valid, and returns the end.
///
/// It begins an hour ago, since clocks differ.
fn set_validity(
    params: &mut CertificateParams,
    days: u32,
    limit: Option<SystemTime>,
) -> SystemTime {
    let now = SystemTime::now();
    let end = now + Duration::from_secs(u64::from(days) * DAY);
    let end = limit.map_or(end, |limit| end.min(limit));
    params.not_before = (now - EARLIER).into();
    params.not_after = end.into();
    end
}

fn not_made(error: &rcgen::Error) -> Failure {
    Failure::new(
        Exit::Failure,
        format_args!("cannot make the certificate: {error}"),
    )
}

/// The names of the files of a CA.
const CA: &str = "ca";

/// In seconds.
const DAY: u64 = 24 * 3600;

/// By how much a certificate begins before it is made.
const EARLIER: Duration = Duration::from_secs(3600);

/// The longest validity, in days: beyond 2049, dates are written in another form, which not all read.
const DAYS_MAX: i64 = 20 * 365;
