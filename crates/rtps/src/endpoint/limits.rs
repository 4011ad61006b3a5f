//! How much an endpoint keeps.

/// How much one endpoint keeps, and how it cuts what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointLimits {
    /// The most samples: in the history of a writer, or in the queue of a reader. Default: 4,096, which is a second of a
    /// fast sensor.
    pub samples_max: usize,
    /// The most bytes of payload of these samples; one sample is always let in. Default: 16 MiB, two of the longest.
    pub bytes_max: usize,
    /// The longest payload that a reader takes or a writer accepts. Default: 8 MiB, the longest event that the hub takes.
    pub sample_len_max: usize,
    /// The most bytes that a reader holds of samples that are not whole, or whose turn has not come; all writers
    /// together. Default: 32 MiB.
    pub reorder_bytes_max: usize,
    /// The most endpoints of others that an endpoint is matched with. Default: 256.
    pub matches_max: usize,
    /// How many bytes a writer sends to a reliable reader before that acknowledges some. Default: 96 KiB, which the
    /// receive buffer of a Linux socket holds (208 KiB with what the kernel adds to each datagram).
    pub send_window: u64,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self {
            samples_max: 4096,
            bytes_max: 16 << 20,
            sample_len_max: 8 << 20,
            reorder_bytes_max: 32 << 20,
            matches_max: 256,
            send_window: 96 << 10,
        }
    }
}
