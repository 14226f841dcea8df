//! The registers of the trace unit that determine the meaning of its trace.

/// The static information about a trace unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// ETMCR. (3.5.1)
    pub control: u32,
    /// ETMIDR. (3.5.18)
    pub id: u32,
    /// ETMCCER. (3.5.19; bits \[29:28] from issue Q)
    pub extension: u32,
    /// The processor is of the M profile. (7.5)
    pub m_profile: bool,
}

impl Unit {
    const fn control_bit(&self, n: u32) -> bool {
        self.control >> n & 1 == 1
    }

    /// The minor architecture version: ETMIDR bits \[7:4].
    pub const fn minor(&self) -> u32 {
        self.id >> 4 & 0xf
    }

    /// Data tracing is enabled: data values, data addresses, or CPRTs. (7.4)
    pub const fn data(&self) -> bool {
        self.values() || self.addresses() || self.control_bit(1)
    }

    /// Data packets have values. Where only CPRTs are traced, the text leaves it open, and they
    /// have.
    pub const fn values(&self) -> bool {
        self.control_bit(2) || self.control_bit(1) && !self.control_bit(3)
    }

    /// Data packets have addresses.
    pub const fn addresses(&self) -> bool {
        self.control_bit(3)
    }

    /// Cycle-accurate tracing.
    pub const fn cycle_accurate(&self) -> bool {
        self.control_bit(12)
    }

    /// Bytes of a Context ID. (Table 4-3)
    pub const fn context_id_bytes(&self) -> u32 {
        [0, 1, 2, 4][self.control as usize >> 14 & 0b11]
    }

    /// Data-only mode. (7.4.10)
    pub const fn data_only(&self) -> bool {
        self.control_bit(20)
    }

    /// Virtual machine IDs are traced. (issue Q)
    pub const fn vmid(&self) -> bool {
        self.control_bit(30)
    }

    /// An LSM with the PC in its list loads the PC first: bit \[16] of ETMIDR, and note c of the
    /// table of its values.
    pub const fn loads_pc_first(&self) -> bool {
        self.id >> 16 & 1 == 1 || self.id == 0x4100_3210
    }

    /// Each 32-bit Thumb instruction is traced as two. (4.5.4)
    pub const fn thumb_halves(&self) -> bool {
        self.id >> 18 & 1 == 0
    }

    /// The alternative address compression scheme, from ETMv3.4. (7.3.5)
    pub const fn alternative(&self) -> bool {
        self.minor() >= 4 && self.id >> 20 & 1 == 1
    }
}
