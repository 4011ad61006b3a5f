//! `floe cert server`: the certificate of a server.

use clap::Args;
use clap::builder::RangedI64ValueParser;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyUsagePurpose};

use super::authority::Authority;
use super::host::Host;
use super::subject::{Organization, parse_name};
use super::{DAYS_MAX, Place, not_made};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Makes the certificate and key of a server, signed by your CA: server.pem and server.key
///
/// The server may use it for its own calls, too: a hub calls its subscribers with it.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The names and addresses by which clients reach the server, such as hub.example.org or 192.0.2.7
    #[arg(required = true, value_name = "HOST", value_parser = Host::parse)]
    hosts: Vec<Host>,

    /// The name of the files, without their ends
    #[arg(long, value_name = "NAME", default_value = "server", value_parser = parse_name)]
    name: String,

    /// How long it is valid, in days, but not longer than the CA
    #[arg(long, value_name = "COUNT", default_value_t = 365, value_parser = RangedI64ValueParser::<u32>::new().range(1..=DAYS_MAX))]
    days: u32,

    #[command(flatten)]
    organization: Organization,

    #[command(flatten)]
    place: Place,
}

impl Server {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let authority = Authority::read(&self.place)?;
        let mut params = CertificateParams::default();
        // A common name is short, and the hosts are among the other names.
        let host = self.hosts[0].to_string();
        let name = if host.len() <= 64 { &host } else { &self.name };
        params.distinguished_name = self.organization.subject(name);
        let hosts = self.hosts.iter().map(Host::of_certificate);
        let hosts = hosts.collect::<Result<_, _>>();
        params.subject_alt_names = hosts.map_err(|error| not_made(&error))?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let made = authority.sign(params, self.days)?;
        self.place.write(&self.name, &made, output)?;
        Ok(Exit::Success)
    }
}
