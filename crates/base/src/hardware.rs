//! What the debug hardware of a Cortex-M (DWT and ITM) reports beside software writes.

/// A hardware source packet as the wire has it. (Armv7-M ARM, appendix D4, "Hardware source packet")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Discriminator, header bits \[7:3].
    pub discriminator: u8,
    /// Payload size: 1, 2 or 4 bytes.
    pub size: u8,
    /// Payload, little-endian.
    pub value: u32,
    /// Packets were lost before this one.
    pub after_overflow: bool,
}

/// What a [`Hardware`] packet means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dwt {
    /// Counters that wrapped: bit 0 CPI, 1 exception overhead, 2 sleep, 3 LSU, 4 folded, 5 cycles.
    Counters(u8),
    /// Exception `number`: 1 entered, 2 exited, 3 returned to; 0 is reserved.
    Exception {
        /// Exception number (IPSR).
        number: u16,
        /// What happened, bits \[13:12] of the payload.
        function: u8,
    },
    /// A sample of the program counter.
    PcSample(u32),
    /// A sample taken while the processor slept.
    Sleep,
    /// A sample that was refused: the processor was not allowed to tell.
    Prohibited,
    /// Comparator matched: address of the instruction that accessed data.
    DataPc {
        /// Which comparator, 0 to 3.
        comparator: u8,
        /// Program counter.
        pc: u32,
    },
    /// Comparator matched, without an address (Armv8-M).
    DataMatch {
        /// Which comparator, 0 to 3.
        comparator: u8,
    },
    /// Comparator matched: low 16 bits of the data address.
    DataAddress {
        /// Which comparator, 0 to 3.
        comparator: u8,
        /// Address bits \[15:0].
        offset: u16,
    },
    /// Comparator matched: the value.
    DataValue {
        /// Which comparator, 0 to 3.
        comparator: u8,
        /// A write, else a read.
        write: bool,
        /// 1, 2 or 4 bytes.
        size: u8,
        /// The value.
        value: u32,
    },
    /// A discriminator that the architecture reserves.
    Reserved,
}

/// How late a local timestamp is. (Armv7-M ARM, D4, "Local timestamp packet format 1", TC)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeDelay {
    /// Generated with the packet before it.
    None,
    /// The timestamp was delayed.
    Timestamp,
    /// The packet before it was delayed.
    Packet,
    /// Both were delayed.
    Both,
}

/// A local timestamp: ticks since the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Timestamp clock ticks since the last local timestamp.
    pub delta: u32,
    /// Sum of all deltas since the stream was synchronised.
    pub total: u64,
    /// How late it is.
    pub delay: TimeDelay,
}
