//! `floe cert ca`: a CA of one's own.

use clap::Args;
use clap::builder::RangedI64ValueParser;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, KeyUsagePurpose};

use super::subject::{Organization, parse_part};
use super::{CA, DAYS_MAX, Made, Place, not_made, set_validity};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Makes a CA: its certificate ca.pem, for everyone who must trust it, and its key ca.key, which signs others
///
/// Keep ca.key away from servers: whoever has it can make a certificate for any name.
#[derive(Debug, Args)]
pub(crate) struct Ca {
    /// The name of the CA
    #[arg(default_value = "Floe CA", value_parser = parse_part)]
    name: String,

    /// How long it is valid, in days
    #[arg(long, value_name = "COUNT", default_value_t = 3650, value_parser = RangedI64ValueParser::<u32>::new().range(1..=DAYS_MAX))]
    days: u32,

    #[command(flatten)]
    organization: Organization,

    #[command(flatten)]
    place: Place,
}

impl Ca {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let mut params = CertificateParams::default();
        params.distinguished_name = self.organization.subject(&self.name);
        // It signs certificates of servers and clients, and no other CAs.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let until = set_validity(&mut params, self.days, None);
        let key = KeyPair::generate().map_err(|error| not_made(&error))?;
        let certificate = params.self_signed(&key).map_err(|error| not_made(&error))?;
        let made = Made {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            until,
        };
        self.place.write(CA, &made, output)?;
        Ok(Exit::Success)
    }
}
