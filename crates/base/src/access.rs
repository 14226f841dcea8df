//! Data that the program read or wrote.

/// Which way data moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Not known: the trace does not say, and the instruction could not be read.
    #[default]
    Unknown,
    /// Memory or a coprocessor was read.
    Read,
    /// Memory or a coprocessor was written.
    Write,
}

/// One data access. What the trace did not say is `None` in the accessors.
// Packed so that an element stays within 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C, packed(4))]
pub struct Access {
    address: u64,
    value: u64,
    by: u64,
    known: u8,
    /// Bytes moved: 1, 2, 4 or 8; 0 where not known.
    pub size: u8,
    /// Which way.
    pub direction: Direction,
    /// What kind of access: see the constants.
    pub flags: u8,
}

impl Access {
    /// A coprocessor register transfer: it has a value and no address.
    pub const COPROCESSOR: u8 = 1;
    /// One of several accesses of a load or store multiple, not the first.
    pub const CONTINUED: u8 = 2;
    /// The value came late, out of order.
    pub const LATE: u8 = 4;
    /// A store-exclusive that failed: memory was not written.
    pub const STORE_FAILED: u8 = 8;
    /// The trace unit chose not to trace the value.
    pub const VALUE_NOT_TRACED: u8 = 16;
    /// The trace unit lost data accesses after this one for lack of room.
    pub const SUPPRESSED: u8 = 32;
    /// The access is big-endian: the value's bytes are in memory in the order of the number.
    pub const BIG_ENDIAN: u8 = 64;
    /// The processor itself made it, when it took an exception or returned from one (M profile).
    pub const EXCEPTION: u8 = 128;

    /// An access of `size` bytes (0 where that is not known), with `flags`; nothing else is known.
    pub const fn new(direction: Direction, size: u8, flags: u8) -> Self {
        Access { address: 0, value: 0, by: 0, known: 0, size, direction, flags }
    }

    const ADDRESS: u8 = 1;
    const VALUE: u8 = 2;
    const BY: u8 = 4;

    /// The data address, in bytes.
    pub const fn address(&self) -> Option<u64> {
        if self.known & Self::ADDRESS != 0 { Some(self.address) } else { None }
    }

    /// The value that moved.
    pub const fn value(&self) -> Option<u64> {
        if self.known & Self::VALUE != 0 { Some(self.value) } else { None }
    }

    /// The address of the instruction that made the access.
    pub const fn by(&self) -> Option<u64> {
        if self.known & Self::BY != 0 { Some(self.by) } else { None }
    }

    /// The same access at `address`.
    #[must_use]
    pub const fn at(mut self, address: u64) -> Self {
        self.address = address;
        self.known |= Self::ADDRESS;
        self
    }

    /// The same access, nobody knows where.
    #[must_use]
    pub const fn nowhere(mut self) -> Self {
        self.address = 0;
        self.known &= !Self::ADDRESS;
        self
    }

    /// The same access with `value`.
    #[must_use]
    pub const fn of(mut self, value: u64) -> Self {
        self.value = value;
        self.known |= Self::VALUE;
        self
    }

    /// The same access, made by the instruction at `pc`.
    #[must_use]
    pub const fn made_by(mut self, pc: u64) -> Self {
        self.by = pc;
        self.known |= Self::BY;
        self
    }

    /// Whether `flag`, one of the constants, is set.
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}
