//! Words that the program itself wrote into the trace.

/// Where a software write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// ITM stimulus port `port` (0 to 31) of `page` (0 to 7). The page is `None` until the trace has
    /// said it; a unit with no more than 32 ports has page 0 only.
    Port {
        /// Stimulus port page.
        page: Option<u8>,
        /// Port in the page.
        port: u8,
    },
    /// STM master and channel; each is `None` until the trace has said it.
    Master {
        /// Master identifier.
        master: Option<u16>,
        /// Channel of the master.
        channel: Option<u16>,
    },
}

/// One software write.
// Packed so that an element stays within 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C, packed(4))]
pub struct Software {
    value: u64,
    timestamp: u64,
    /// Where it went.
    pub channel: Channel,
    /// Width of the data in bits: 0 where there is none, 4, 8, 16, 32 or 64; 40 for some frequencies;
    /// any multiple of 4 for a USER packet.
    pub bits: u8,
    flags: u16,
}

impl Software {
    /// The packet was a marked one (STP "M").
    pub const MARKER: u16 = 1;
    /// The packet was a trigger; `value` is its payload.
    pub const TRIGGER: u16 = 2;
    /// Packets were lost before this one.
    pub const AFTER_OVERFLOW: u16 = 4;
    /// The packet was a frequency; `value` is in hertz.
    pub const FREQUENCY: u16 = 8;
    /// A master reports an error; `value` is its payload.
    pub const MASTER_ERROR: u16 = 16;
    /// The trace unit reports an error of its own; `value` is its payload.
    pub const GLOBAL_ERROR: u16 = 32;
    /// The packet was a FLAG.
    pub const FLAG: u16 = 64;
    /// The packet was a USER packet.
    pub const USER: u16 = 128;
    /// A channel reports an error; `value` is its payload.
    pub const CHANNEL_ERROR: u16 = 512;
    /// The same place in several traces; `value` says which one.
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

    /// The same write with the timestamp that came with it.
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

    /// The timestamp that came with it.
    pub const fn time(&self) -> Option<u64> {
        if self.has(Self::TIMED) { Some(self.timestamp) } else { None }
    }

    /// Whether `flag`, one of the constants, is set.
    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
