//! Compression as an argument: the algorithm for requests, and the algorithms that a server offers.

use clap::builder::{EnumValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use floe::settings::Compression;
use floe::{Settings, TypedProxy};

use crate::tls::FULL_BUILD;

/// The compression of requests.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct CompressArgument {
    /// Compresses requests of 100 bytes and more. Uses bzip2 if the proxy does not offer the named compression
    /// [default: as the endpoint says, -z]
    #[arg(long, value_name = "NAME", value_parser = EnumValueParser::<Compress>::new().try_map(Compress::if_built))]
    compress: Option<Compress>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Compress {
    /// No compression, whatever the endpoint says
    None,
    /// As Ice does
    Bzip2,
    /// Between Floe peers
    Zstd,
    /// Between Floe peers
    Brotli,
    /// Each message is compressed against earlier ones; between Floe peers
    ZstdStream,
    /// Alike requests of a batch are compressed together; between Floe peers
    ZstdBatch,
}

impl Compress {
    fn named(self) -> Option<Compression> {
        match self {
            Self::None => None,
            Self::Bzip2 => Some(Compression::Bzip2),
            Self::Zstd => Some(Compression::Zstd),
            Self::Brotli => Some(Compression::Brotli),
            Self::ZstdStream => Some(Compression::ZstdStream),
            Self::ZstdBatch => Some(Compression::ZstdBatch),
        }
    }

    fn if_built(self) -> Result<Self, String> {
        self.named().map_or(Ok(()), check_built).map(|()| self)
    }
}

impl CompressArgument {
    /// Returns the proxy with requests compressed as the argument says.
    pub(crate) fn apply<P: TypedProxy>(self, proxy: P) -> P {
        let Some(compress) = self.compress else {
            return proxy;
        };
        match compress.named() {
            Some(compression) => proxy.ice_compression(compression),
            None => proxy.ice_compress(false),
        }
    }
}

/// The compressions that a server offers beyond bzip2.
#[derive(Debug, Clone, Args)]
pub(crate) struct OfferArgument {
    /// Compressions to offer to Floe peers in proxies, separated by commas. bzip2 needs no offer
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = EnumValueParser::<Offer>::new().try_map(Offer::if_built))]
    offer: Vec<Offer>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Offer {
    Zstd,
    Brotli,
    /// Each message is compressed against earlier ones
    ZstdStream,
    /// Alike requests of a batch are compressed together
    ZstdBatch,
}

impl OfferArgument {
    /// Puts the offer into the settings of a communicator.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        settings.compressions = self.offer.iter().map(|offer| offer.named()).collect();
    }
}

impl Offer {
    fn named(self) -> Compression {
        match self {
            Self::Zstd => Compression::Zstd,
            Self::Brotli => Compression::Brotli,
            Self::ZstdStream => Compression::ZstdStream,
            Self::ZstdBatch => Compression::ZstdBatch,
        }
    }

    fn if_built(self) -> Result<Self, String> {
        check_built(self.named()).map(|()| self)
    }
}

/// # Errors
/// This build does not have the compression: what to do about it.
fn check_built(compression: Compression) -> Result<(), String> {
    match compression.is_built() {
        true => Ok(()),
        false => Err(format!(
            "this build has no {}; {FULL_BUILD}",
            name(compression)
        )),
    }
}

/// The name of a compression, as the arguments have it.
pub(crate) fn name(compression: Compression) -> &'static str {
    compression.as_str()
}
