//! Data accesses of the program.

/// The direction of a data access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Unknown: the trace does not report the direction, and the instruction cannot be read.
    #[default]
    Unknown,
    /// A read of memory or a coprocessor.
    Read,
    /// A write to memory or a coprocessor.
    Write,
}

/// One data access. Fields that the trace does not report are `None` in the accessors.
// Packed, so that an element has at most 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C, packed(4))]
pub struct Access {
    address: u64,
    value: u64,
    by: u64,
    known: u8,
    /// Size in bytes: 1, 2, 4 or 8; 0 if unknown.
    pub size: u8,
    /// The direction.
    pub direction: Direction,
    /// Properties of the access, from the constants.
    pub flags: u8,
}

impl Access {
    /// A coprocessor register transfer: it has a value and no address.
    pub const COPROCESSOR: u8 = 1;
    /// An access of a load or store multiple, other than the first.
    pub const CONTINUED: u8 = 2;
    /// The value was traced late, out of order.
    pub const LATE: u8 = 4;
    /// A store-exclusive that failed: memory was not written.
    pub const STORE_FAILED: u8 = 8;
    /// The trace unit did not trace the value.
    pub const VALUE_NOT_TRACED: u8 = 16;
    /// The trace unit suppressed data accesses after this one because its FIFO was full.
    pub const SUPPRESSED: u8 = 32;
    /// The access is big-endian: the most significant byte of the value has the lowest address.
    pub const BIG_ENDIAN: u8 = 64;
    /// A stacking access of exception entry or return (M profile).
    pub const EXCEPTION: u8 = 128;

    /// An access of `size` bytes (0 if unknown) with `flags`, and all other fields unknown.
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

    /// The value.
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

    /// The same access with an unknown address.
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
