//! TRBSR_ELx: the status of the unit, and the syndrome of a management event.

use super::memory::{Fault, Stage};

/// TRBSR_EL1, TRBSR_EL2 or TRBSR_EL3. (Arm ARM, D24.4.7 to D24.4.9)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u64);

/// Why collection stopped: the fields EC and MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// EC 0, BSC 0: the memory was not allowed to be accessed, or collection did not stop.
    NotAllowed,
    /// EC 0, BSC 1: the write pointer wrapped in Fill mode.
    Filled,
    /// EC 0, BSC 2: a Trigger Event.
    Triggered,
    /// EC 0, BSC 3: a Manual Stop of an external debugger.
    ManualStop,
    /// EC 0, BSC 4: the buffer is larger than the largest size.
    TooLarge,
    /// EC 0x1e: a granule protection check failed, other than a granule protection fault.
    GranuleCheck,
    /// EC 0x1f: an IMPLEMENTATION DEFINED event.
    Implementation,
    /// EC 0x24: a stage 1 Data Abort with this fault status code.
    Stage1(u8),
    /// EC 0x25: a stage 2 Data Abort with this fault status code.
    Stage2(u8),
}

impl Cause {
    /// The cause of a fault of a write.
    pub(super) const fn of(fault: Fault) -> Cause {
        match fault.stage {
            Stage::Stage1 => Cause::Stage1(fault.code),
            Stage::Stage2 => Cause::Stage2(fault.code),
            Stage::Granule => Cause::GranuleCheck,
        }
    }
}

impl Status {
    const EC: u32 = 26;
    /// IRQ, bit \[22].
    pub const IRQ: u64 = 1 << 22;
    /// TRG, bit \[21].
    pub const TRG: u64 = 1 << 21;
    /// WRAP, bit \[20].
    pub const WRAP: u64 = 1 << 20;
    /// EA, bit \[18].
    pub const EA: u64 = 1 << 18;
    /// S, bit \[17].
    pub const S: u64 = 1 << 17;
    /// The fields that a management event for an unknown reason makes unknown: EC and MSS, and S
    /// and WRAP, which are set or unchanged.
    pub const SYNDROME: u64 = 0x3f << 26 | Status::S | Status::WRAP | 0xffff;

    /// IRQ: a management event was recorded.
    pub const fn irq(self) -> bool {
        self.0 & Status::IRQ != 0
    }

    /// TRG: a Detected Trigger was observed.
    pub const fn triggered(self) -> bool {
        self.0 & Status::TRG != 0
    }

    /// WRAP: the write pointer wrapped.
    pub const fn wrapped(self) -> bool {
        self.0 & Status::WRAP != 0
    }

    /// EA: an External abort was reported to the unit.
    pub const fn external_abort(self) -> bool {
        self.0 & Status::EA != 0
    }

    /// S: collection is stopped.
    pub const fn stopped(self) -> bool {
        self.0 & Status::S != 0
    }

    /// DAT, bit \[23] of the external view: accepted trace is not yet written to memory.
    pub const fn data_pending(self) -> bool {
        self.0 >> 23 & 1 != 0
    }

    /// EC and MSS, or `None` for reserved values.
    pub const fn cause(self) -> Option<Cause> {
        let code = (self.0 & 0x3f) as u8;
        Some(match (self.0 >> Status::EC & 0x3f, code) {
            (0x00, 0) => Cause::NotAllowed,
            (0x00, 1) => Cause::Filled,
            (0x00, 2) => Cause::Triggered,
            (0x00, 3) => Cause::ManualStop,
            (0x00, 4) => Cause::TooLarge,
            (0x1e, _) => Cause::GranuleCheck,
            (0x1f, _) => Cause::Implementation,
            (0x24, code) => Cause::Stage1(code),
            (0x25, code) => Cause::Stage2(code),
            _ => return None,
        })
    }

    /// The register with EC and MSS.
    pub const fn with_cause(self, cause: Cause) -> Status {
        let (class, code) = match cause {
            Cause::NotAllowed => (0x00, 0),
            Cause::Filled => (0x00, 1),
            Cause::Triggered => (0x00, 2),
            Cause::ManualStop => (0x00, 3),
            Cause::TooLarge => (0x00, 4),
            Cause::GranuleCheck => (0x1e, 0),
            Cause::Implementation => (0x1f, 0),
            Cause::Stage1(code) => (0x24, code),
            Cause::Stage2(code) => (0x25, code),
        };
        let others = self.0 & !(0x3f << Status::EC | 0xffff);
        Status(others | class << Status::EC | code as u64)
    }
}

/// The fault status codes of EC 0x24 and 0x25. (Arm ARM, D24.4.7, FSC)
pub(super) const FAULTS: &[(u64, &str)] = &[
    (0x00, "address size fault, level 0"),
    (0x01, "address size fault, level 1"),
    (0x02, "address size fault, level 2"),
    (0x03, "address size fault, level 3"),
    (0x04, "translation fault, level 0"),
    (0x05, "translation fault, level 1"),
    (0x06, "translation fault, level 2"),
    (0x07, "translation fault, level 3"),
    (0x08, "access flag fault, level 0"),
    (0x09, "access flag fault, level 1"),
    (0x0a, "access flag fault, level 2"),
    (0x0b, "access flag fault, level 3"),
    (0x0c, "permission fault, level 0"),
    (0x0d, "permission fault, level 1"),
    (0x0e, "permission fault, level 2"),
    (0x0f, "permission fault, level 3"),
    (0x10, "synchronous External abort"),
    (0x11, "asynchronous External abort"),
    (0x14, "External abort on a table walk, level 0"),
    (0x15, "External abort on a table walk, level 1"),
    (0x16, "External abort on a table walk, level 2"),
    (0x17, "External abort on a table walk, level 3"),
    (0x21, "alignment fault"),
    (0x28, "granule protection fault"),
    (0x30, "TLB conflict"),
    (0x31, "unsupported atomic hardware update"),
];

/// The name of a fault status code, if the table has one.
pub(super) fn fault_name(code: u8) -> Option<&'static str> {
    FAULTS.iter().find(|(value, _)| *value == u64::from(code)).map(|(_, name)| *name)
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fault = |code| fault_name(code).unwrap_or("reserved fault status code");
        match *self {
            Cause::NotAllowed => f.write_str("access not allowed"),
            Cause::Filled => f.write_str("the buffer is full"),
            Cause::Triggered => f.write_str("Trigger Event"),
            Cause::ManualStop => f.write_str("Manual Stop"),
            Cause::TooLarge => f.write_str("the buffer is too large"),
            Cause::GranuleCheck => f.write_str("granule protection check"),
            Cause::Implementation => f.write_str("IMPLEMENTATION DEFINED event"),
            Cause::Stage1(code) => write!(f, "stage 1 Data Abort: {}", fault(code)),
            Cause::Stage2(code) => write!(f, "stage 2 Data Abort: {}", fault(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D24.4.7: EC and MSS of each event, written and read back beside the other fields.
    #[test]
    fn causes() {
        for (cause, bits) in [
            (Cause::NotAllowed, 0x0000_0000),
            (Cause::Filled, 0x0000_0001),
            (Cause::Triggered, 0x0000_0002),
            (Cause::ManualStop, 0x0000_0003),
            (Cause::TooLarge, 0x0000_0004),
            (Cause::GranuleCheck, 0x7800_0000),
            (Cause::Implementation, 0x7c00_0000),
            (Cause::Stage1(0x07), 0x9000_0007),
            (Cause::Stage2(0x0f), 0x9400_000f),
        ] {
            let others = Status::IRQ | Status::TRG | Status::WRAP | Status::EA | Status::S;
            let status = Status(others | 0xfc00_ffff).with_cause(cause);
            assert_eq!(status.0, others | bits, "{cause}");
            assert_eq!(status.cause(), Some(cause));
        }
        assert_eq!(Status(0x05).cause(), None);
    }
}
