//! The fill level of the FIFO between a trace unit and its transport.

/// The FIFO before the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// The size in bytes; 0 for no limit.
    pub bytes: u32,
    /// The number of cycles in which one byte leaves, at least 1.
    pub drain: u32,
    /// The processor waits while there is no room (`stall`). Else packets are lost.
    pub stall: bool,
}

impl Default for FifoSettings {
    /// No limit.
    fn default() -> Self {
        FifoSettings { bytes: 0, drain: 4, stall: false }
    }
}

/// The fill level. Packets that the FIFO accepts are output at once.
#[derive(Clone, Debug)]
pub(crate) struct FillLevel {
    settings: FifoSettings,
    /// The number of bytes in the FIFO.
    level: u32,
    /// Cycles since the last byte left.
    since: u32,
    /// The number of cycles for which the processor waited.
    waited: u64,
}

impl FillLevel {
    /// An empty FIFO of at least `least` bytes.
    pub(crate) fn new(settings: FifoSettings, least: u32) -> Self {
        let bytes = if settings.bytes > 0 { settings.bytes.max(least) } else { 0 };
        let settings = FifoSettings { bytes, drain: settings.drain.max(1), ..settings };
        FillLevel { settings, level: 0, since: 0, waited: 0 }
    }

    /// Whether the FIFO has no limit.
    pub(crate) const fn is_unlimited(&self) -> bool {
        self.settings.bytes == 0
    }

    /// Advances the time by `cycles`.
    pub(crate) fn advance(&mut self, cycles: u64) {
        if self.is_unlimited() {
            return;
        }
        let cycles = cycles + u64::from(self.since);
        let bytes = cycles / u64::from(self.settings.drain);
        self.level = u64::from(self.level).saturating_sub(bytes) as u32;
        self.since = (cycles % u64::from(self.settings.drain)) as u32;
    }

    /// The number of cycles for which the processor has to wait, so that `most` bytes fit.
    pub(crate) fn stalls(&self, most: u32) -> u64 {
        let FifoSettings { bytes, drain, stall } = self.settings;
        if !stall || bytes == 0 {
            return 0;
        }
        let over = self.level.saturating_sub(bytes.saturating_sub(most));
        (u64::from(over) * u64::from(drain)).saturating_sub(self.since.into())
    }

    /// The processor waits for `cycles`.
    pub(crate) fn wait(&mut self, cycles: u64) {
        self.waited += cycles;
    }

    /// The number of cycles for which the processor waited.
    pub(crate) const fn waited(&self) -> u64 {
        self.waited
    }

    /// Whether the FIFO is at most half full, so that the packets with which trace resumes fit.
    pub(crate) const fn has_room(&self) -> bool {
        self.level <= self.settings.bytes / 2
    }

    /// Whether `len` bytes fit. A processor that waits has made room.
    pub(crate) const fn fits(&self, len: u32) -> bool {
        self.is_unlimited() || self.settings.stall || self.level + len <= self.settings.bytes
    }

    /// `len` bytes enter.
    pub(crate) fn push(&mut self, len: u32) {
        if !self.is_unlimited() {
            self.level += len;
        }
    }

    /// All bytes leave.
    pub(crate) fn empty(&mut self) {
        self.level = 0;
    }
}
