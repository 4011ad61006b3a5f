//! `floe token key`: the key of an issuer.

use std::path::PathBuf;

use clap::Args;
use rcgen::{KeyPair, PKCS_ED25519};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::pem_file::{self, PemFile};

/// Makes the key of an issuer of tokens: issuer.key, which signs, and issuer.pem, for the hubs that accept its tokens
///
/// Whoever has issuer.key can be anyone at these hubs. In floe.toml, `keys` of [access.tokens] names issuer.pem.
#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The folder for both files
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,

    /// Overwrites the files if there are some
    #[arg(long)]
    force: bool,
}

impl Key {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let made = KeyPair::generate_for(&PKCS_ED25519);
        let made =
            made.map_err(|error| Failure::new(Exit::Failure, error).when("cannot make a key"))?;
        let (private, public) = (self.dir.join("issuer.key"), self.dir.join("issuer.pem"));
        let files = [
            PemFile {
                path: &private,
                text: &made.serialize_pem(),
                is_secret: true,
            },
            PemFile {
                path: &public,
                text: &made.public_key_pem(),
                is_secret: false,
            },
        ];
        pem_file::write_all(&files, self.force)?;
        let (private, public) = (private.display().to_string(), public.display().to_string());
        if output.format() == Format::Table {
            output.line(format_args!(
                "{private} signs tokens, and only you can read it; {public} is for hubs: keys in [access.tokens]"
            ))?;
        } else {
            let told = json!({"private": private, "public": public});
            output.value(&told, &told["public"])?;
        }
        Ok(Exit::Success)
    }
}
