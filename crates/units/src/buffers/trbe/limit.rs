//! TRBLIMITR_EL1: the Limit pointer, the modes and the enables.

/// TRBLIMITR_EL1. (Arm ARM, D24.4.3)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit(pub u64);

/// What the unit does when the write pointer reaches the Limit pointer: TRBLIMITR_EL1.FM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillMode {
    /// Collection stops, and an interrupt is requested.
    Fill,
    /// Collection continues from the Base pointer, and an interrupt is requested.
    Wrap,
    /// Collection continues from the Base pointer without an interrupt.
    Circular,
}

/// What the unit does on a Trigger Event: TRBLIMITR_EL1.TM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerMode {
    /// The trace unit is flushed, collection stops, and an interrupt is requested.
    Stop,
    /// The trace unit is flushed, and an interrupt is requested.
    Irq,
    /// Nothing.
    Ignore,
}

impl FillMode {
    /// All modes.
    pub const ALL: [FillMode; 3] = [FillMode::Fill, FillMode::Wrap, FillMode::Circular];

    /// The value of the field FM.
    pub const fn bits(self) -> u64 {
        match self {
            FillMode::Fill => 0b00,
            FillMode::Wrap => 0b01,
            FillMode::Circular => 0b11,
        }
    }
}

impl TriggerMode {
    /// All modes.
    pub const ALL: [TriggerMode; 3] = [TriggerMode::Stop, TriggerMode::Irq, TriggerMode::Ignore];

    /// The value of the field TM.
    pub const fn bits(self) -> u64 {
        match self {
            TriggerMode::Stop => 0b00,
            TriggerMode::Irq => 0b01,
            TriggerMode::Ignore => 0b11,
        }
    }
}

impl Limit {
    /// Bits that enable the unit: XE and E.
    pub(super) const ENABLES: u64 = 1 << 6 | 1;

    /// Fill mode with the Limit pointer `limit`, ignored triggers and virtual addresses.
    pub const fn fill(limit: u64) -> Limit {
        Limit(limit & !0xfff).with_trigger(TriggerMode::Ignore)
    }

    /// The register with field FM.
    pub const fn with_fill(self, mode: FillMode) -> Limit {
        Limit(self.0 & !(0b11 << 1) | mode.bits() << 1)
    }

    /// The register with field TM.
    pub const fn with_trigger(self, mode: TriggerMode) -> Limit {
        Limit(self.0 & !(0b11 << 3) | mode.bits() << 3)
    }

    /// The register with E set.
    pub const fn enabled(self) -> Limit {
        Limit(self.0 | 1)
    }

    /// LIMIT, bits \[63:12]: the address after the last byte of the buffer.
    pub const fn pointer(self) -> u64 {
        self.0 & !0xfff
    }

    /// XE, bit \[6]: enables the unit in External mode.
    pub const fn external(self) -> bool {
        self.0 >> 6 & 1 != 0
    }

    /// nVM, bit \[5]: the pointers are not virtual addresses.
    pub const fn not_virtual(self) -> bool {
        self.0 >> 5 & 1 != 0
    }

    /// TM, bits \[4:3]. `None` for the reserved value.
    pub const fn trigger(self) -> Option<TriggerMode> {
        match self.0 >> 3 & 0b11 {
            0b00 => Some(TriggerMode::Stop),
            0b01 => Some(TriggerMode::Irq),
            0b11 => Some(TriggerMode::Ignore),
            _ => None,
        }
    }

    /// FM, bits \[2:1]. `None` for the reserved value.
    pub const fn fill_mode(self) -> Option<FillMode> {
        match self.0 >> 1 & 0b11 {
            0b00 => Some(FillMode::Fill),
            0b01 => Some(FillMode::Wrap),
            0b11 => Some(FillMode::Circular),
            _ => None,
        }
    }

    /// E, bit \[0]: enables the unit in Self-hosted mode.
    pub const fn self_hosted(self) -> bool {
        self.0 & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D24.4.3: the values of FM and TM, the reserved ones among them.
    #[test]
    fn modes() {
        for mode in FillMode::ALL {
            assert_eq!(Limit(0xffff_f000).with_fill(mode).fill_mode(), Some(mode));
        }
        for mode in TriggerMode::ALL {
            assert_eq!(Limit(0xffff_f01f).with_trigger(mode).trigger(), Some(mode));
        }
        assert_eq!((Limit(0b10 << 1).fill_mode(), Limit(0b10 << 3).trigger()), (None, None));
    }

    /// D24.4.3: each field at its bits.
    #[test]
    fn fields() {
        let all = Limit(0x1234_5678_9abc_d07f);
        assert_eq!(all.pointer(), 0x1234_5678_9abc_d000);
        assert!(all.external() && all.not_virtual() && all.self_hosted());
        let none = Limit(!0x7f);
        assert!(!none.external() && !none.not_virtual() && !none.self_hosted());
    }
}
