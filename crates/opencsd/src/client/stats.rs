//! Statistics that a client reads.

/// Statistics of a decoder, `ocsd_decode_stats_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DecodeStats {
    version: u32,
    revision: u16,
    /// Bytes of the source.
    pub channel_total: u64,
    /// Bytes before a synchronisation.
    pub channel_unsynced: u64,
    /// Reserved packet headers.
    pub bad_headers: u32,
    /// Invalid packets.
    pub bad_sequences: u32,
    /// Those of the formatter, which are the same for all sources.
    pub link: LinkStats,
}

/// Statistics of the formatter, `ocsd_demux_stats_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LinkStats {
    /// Bytes of sources with a decoder.
    pub with_decoder: u64,
    /// Bytes of sources without a decoder.
    pub without_decoder: u64,
    /// Bytes of reserved trace IDs.
    pub reserved: u64,
    /// Bytes before the first trace ID.
    pub unknown: u64,
    /// Bytes of frames that are not data.
    pub frame: u64,
}

impl Default for DecodeStats {
    fn default() -> Self {
        DecodeStats {
            version: crate::client::VERSION,
            revision: 1,
            channel_total: 0,
            channel_unsynced: 0,
            bad_headers: 0,
            bad_sequences: 0,
            link: LinkStats::default(),
        }
    }
}

const _: () = assert!(size_of::<DecodeStats>() == 72);
