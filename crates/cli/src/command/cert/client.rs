//! `floe cert client`: the certificate of a client.

use clap::Args;
use clap::builder::RangedI64ValueParser;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyUsagePurpose};

use super::authority::Authority;
use super::subject::{Organization, parse_name};
use super::{DAYS_MAX, Place};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Makes the certificate and key of a client, signed by your CA: NAME.pem and NAME.key
///
/// Access rules of a hub see the subject CN=NAME.
#[derive(Debug, Args)]
pub(crate) struct Client {
    /// The name of the client, which is that of the files, too
    #[arg(value_parser = parse_name)]
    name: String,

    /// How long it is valid, in days, but not longer than the CA
    #[arg(long, value_name = "COUNT", default_value_t = 365, value_parser = RangedI64ValueParser::<u32>::new().range(1..=DAYS_MAX))]
    days: u32,

    #[command(flatten)]
    organization: Organization,

    #[command(flatten)]
    place: Place,
}

impl Client {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let authority = Authority::read(&self.place)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = self.organization.subject(&self.name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let made = authority.sign(params, self.days)?;
        self.place.write(&self.name, &made, output)?;
        Ok(Exit::Success)
    }
}
