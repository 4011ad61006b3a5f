//! Compression as an argument: with what requests are compressed, and what a server offers.

use clap::{Args, ValueEnum};
use floe::{Compression, Settings, TypedProxy};

/// Whether and how requests are compressed.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct CompressArgument {
    /// Compresses requests of 100 bytes and more; with bzip2 where the proxy does not offer what is
    /// named [default: as the endpoint says, -z]
    #[arg(long, value_name = "NAME", value_enum)]
    compress: Option<Compress>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Compress {
    /// Not at all, whatever the endpoint says
    None,
    /// As Ice does
    Bzip2,
    /// Between Floe peers
    Zstd,
    /// Between Floe peers
    Brotli,
    /// Each message coded against those before it; between Floe peers
    ZstdStream,
}

impl CompressArgument {
    /// The same object, requests compressed as the argument says.
    pub(crate) fn apply<P: TypedProxy>(self, proxy: P) -> P {
        match self.compress {
            Option::None => proxy,
            Some(Compress::None) => proxy.ice_compress(false),
            Some(Compress::Bzip2) => proxy.ice_compression(Compression::Bzip2),
            Some(Compress::Zstd) => proxy.ice_compression(Compression::Zstd),
            Some(Compress::Brotli) => proxy.ice_compression(Compression::Brotli),
            Some(Compress::ZstdStream) => proxy.ice_compression(Compression::ZstdStream),
        }
    }
}

/// What a server offers beyond bzip2.
#[derive(Debug, Clone, Args)]
pub(crate) struct OfferArgument {
    /// Says in proxies that these are understood, for Floe peers; separated by commas. bzip2 needs
    /// no offer
    #[arg(long, value_name = "NAMES", value_enum, value_delimiter = ',')]
    offer: Vec<Offer>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Offer {
    Zstd,
    Brotli,
    /// Each message coded against those before it
    ZstdStream,
}

impl OfferArgument {
    /// Puts the offer into the settings of a communicator.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        let named = self.offer.iter().map(|offer| match offer {
            Offer::Zstd => Compression::Zstd,
            Offer::Brotli => Compression::Brotli,
            Offer::ZstdStream => Compression::ZstdStream,
        });
        settings.compressions = named.collect();
    }
}

/// The name of a compression, as the arguments have it.
pub(crate) fn name(compression: Compression) -> &'static str {
    match compression {
        Compression::Bzip2 => "bzip2",
        Compression::Zstd => "zstd",
        Compression::Brotli => "brotli",
        Compression::ZstdStream => "zstd-stream",
        _ => "another",
    }
}
