//! Software writes: data that the program writes into the trace.

/// The destination of a software write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// ITM stimulus port `port` (0 to 31) of `page` (0 to 7). The page is `None` until the trace
    /// reports it; a unit with up to 32 ports has page 0 only.
    Port {
        /// Stimulus port page.
        page: Option<u8>,
        /// Port in the page.
        port: u8,
    },
    /// STM master and channel; each is `None` until the trace reports it.
    Master {
        /// Master identifier.
        master: Option<u16>,
        /// Channel of the master.
        channel: Option<u16>,
    },
}

/// One software write.
// Packed, so that an element has at most 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C, packed(4))]
pub struct Software {
    value: u64,
    timestamp: u64,
    /// The destination.
    pub channel: Channel,
    /// Width of the data in bits: 0 without data, 4, 8, 16, 32 or 64; 40 for some frequencies; any
    /// multiple of 4 for a USER packet.
    pub bits: u8,
    flags: u16,
}

impl Software {
    /// The packet is marked (STP "M").
    pub const MARKER: u16 = 1;
    /// The packet is a trigger; `value` is its payload.
    pub const TRIGGER: u16 = 2;
    /// Packets were lost before this one.
    pub const AFTER_OVERFLOW: u16 = 4;
    /// The packet is a frequency; `value` is in hertz.
    pub const FREQUENCY: u16 = 8;
    /// A master reports an error; `value` is its payload.
    pub const MASTER_ERROR: u16 = 16;
    /// The trace unit reports a global error; `value` is its payload.
    pub const GLOBAL_ERROR: u16 = 32;
    /// The packet is a FLAG.
    pub const FLAG: u16 = 64;
    /// The packet is a USER packet.
    pub const USER: u16 = 128;
    /// A channel reports an error; `value` is its payload.
    pub const CHANNEL_ERROR: u16 = 512;
    /// A synchronization point of several traces; `value` identifies it.
    pub const CROSS_SYNC: u16 = 1024;
    const TIMED: u16 = 256;

    /// A write of the low `bits` bits of `value` to `channel`.
    pub const fn new(channel: Channel, bits: u8, value: u64) -> Self {
        Software { value, timestamp: 0, channel, bits, flags: 0 }
    }

    /// The same write with `flag`, one of the constants.
    #[must_use]
    pub const fn with(mut self, flag: u16) -> Self {
        self.flags |= flag;
        self
    }

    /// The same write with a timestamp.
    #[must_use]
    pub const fn at_time(mut self, timestamp: u64) -> Self {
        self.timestamp = timestamp;
        self.flags |= Self::TIMED;
        self
    }

    /// The data, in the low `bits` bits.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The timestamp of the write, if its packet has one.
    pub const fn time(&self) -> Option<u64> {
        if self.has(Self::TIMED) { Some(self.timestamp) } else { None }
    }

    /// Whether `flag`, one of the constants, is set.
    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
