//! Where software and debuggers find a register by its number. (IHI 0014, 3.2)

use super::version::Version;

/// A way to the registers. A unit has one of them, or JTAG and one of the others. (Table 3-1)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Scan chain 6 of the JTAG TAP. (3.2.1)
    Jtag,
    /// Coprocessor 14. (3.2.2)
    Coprocessor,
    /// Memory-mapped registers. (3.2.3)
    Memory,
}

impl Route {
    /// The first version that has it.
    pub const fn first(self) -> Version {
        match self {
            Route::Jtag => Version::V1_0,
            Route::Coprocessor => Version::V3_1,
            Route::Memory => Version::V3_2,
        }
    }

    /// Whether it leads to the register `number` in `version`.
    pub const fn reaches(self, number: u16, version: Version) -> bool {
        match self {
            Route::Jtag => Scan::of(number, None).is_some(),
            Route::Coprocessor => Coprocessor::of(number, version).is_some(),
            Route::Memory => version.since(Version::V3_2) && number <= 0x3ff,
        }
    }
}

/// The operands of MCR and MRC for coprocessor 14, opcode 1 being 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coprocessor {
    /// CRn.
    pub crn: u8,
    /// CRm.
    pub crm: u8,
    /// Opcode 2.
    pub opcode2: u8,
}

impl Coprocessor {
    /// The operands for the register `number`: CRn is bits \[9:7], opcode 2 bits \[6:4], CRm bits
    /// \[3:0]. Registers above 0x7f are not reached in ETMv3.1 and ETMv3.2, and none before.
    /// (3.2.2)
    pub const fn of(number: u16, version: Version) -> Option<Coprocessor> {
        let full = version.since(Version::V3_3);
        if number > 0x3ff || !version.since(Version::V3_1) || number > 0x7f && !full {
            return None;
        }
        Some(Coprocessor {
            crn: (number >> 7 & 0b111) as u8,
            crm: (number & 0xf) as u8,
            opcode2: (number >> 4 & 0b111) as u8,
        })
    }

    /// The register number.
    pub const fn number(self) -> u16 {
        (self.crn as u16 & 0b111) << 7 | (self.opcode2 as u16 & 0b111) << 4 | self.crm as u16 & 0xf
    }

    /// The instruction that reads the register to `rt`.
    pub fn read(self, rt: u8) -> String {
        self.instruction("MRC", rt)
    }

    /// The instruction that writes the register from `rt`.
    pub fn write(self, rt: u8) -> String {
        self.instruction("MCR", rt)
    }

    fn instruction(self, name: &str, rt: u8) -> String {
        let Coprocessor { crn, crm, opcode2 } = self;
        format!("{name} p14, 1, r{rt}, c{crn}, c{crm}, {opcode2}")
    }
}

/// A word of the JTAG scan chain 6: data \[31:0], register \[38:32], write \[39]. It takes effect
/// in the state UPDATE-DR. (3.2.1)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The value to write.
    pub data: u32,
    /// The register: 0x00 to 0x7f.
    pub number: u8,
    /// The register is written; otherwise it is read.
    pub write: bool,
}

impl Scan {
    /// The scan that writes `data` to the register `number`, or reads it for `None`. Registers
    /// above 0x7f are not reached.
    pub const fn of(number: u16, data: Option<u32>) -> Option<Scan> {
        if number > 0x7f {
            return None;
        }
        let (data, write) = match data {
            Some(data) => (data, true),
            None => (0, false),
        };
        Some(Scan { data, number: number as u8, write })
    }

    /// The 40 bits.
    pub const fn bits(self) -> u64 {
        self.data as u64 | (self.number as u64 & 0x7f) << 32 | (self.write as u64) << 39
    }

    /// The scan with these 40 bits.
    pub const fn from_bits(bits: u64) -> Scan {
        Scan { data: bits as u32, number: (bits >> 32 & 0x7f) as u8, write: bits >> 39 & 1 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, Table 3-1: the ways, the first version, and the registers that are reached both by
    /// a debugger and by software.
    #[test]
    fn table_3_1() {
        use Route::{Coprocessor, Jtag, Memory};
        let rows: [(&[Route], Version, u16); 5] = [
            (&[Jtag], Version::V1_0, 0x7f),
            (&[Jtag, Coprocessor], Version::V3_1, 0x7f),
            (&[Coprocessor], Version::V3_1, 0x7f),
            (&[Jtag, Memory], Version::V3_2, 0x7f),
            (&[Memory], Version::V3_2, 0x3ff),
        ];
        for (routes, first, last) in rows {
            assert_eq!(routes.iter().map(|route| route.first()).max(), Some(first), "{routes:?}");
            for version in Version::ALL {
                for number in 0..0x400 {
                    let reached = routes.iter().all(|route| route.reaches(number, version));
                    // From ETMv3.3, coprocessor instructions reach all registers.
                    let last = match routes {
                        [Coprocessor] if version >= Version::V3_3 => 0x3ff,
                        _ => last,
                    };
                    let want = version >= first && number <= last;
                    assert_eq!(reached, want, "{routes:?} {version} {number:#x}");
                }
            }
        }
    }

    /// IHI 0014, 3.2.2 and Examples 3-4 and 3-6: number, CRn, CRm, opcode 2.
    #[test]
    fn coprocessor() {
        for (number, crn, crm, opcode2) in [
            (0x000, 0, 0, 0),
            (0x079, 0, 9, 7),
            (0x080, 1, 0, 0),
            (0x0c0, 1, 0, 4),
            (0x0c2, 1, 2, 4),
            (0x0c5, 1, 5, 4),
            (0x3ff, 7, 15, 7),
        ] {
            let want = Coprocessor { crn, crm, opcode2 };
            assert_eq!(Coprocessor::of(number, Version::V3_4), Some(want), "{number:#x}");
        }
        for number in 0..0x400 {
            let of = |version| Coprocessor::of(number, version).map(Coprocessor::number);
            assert_eq!(of(Version::V3_3), Some(number));
            assert_eq!(of(Version::V3_2), (number < 0x80).then_some(number));
            assert_eq!(of(Version::V3_0), None);
        }
        let lock = Coprocessor::of(0x0c0, Version::V3_3).unwrap();
        assert_eq!(lock.write(1), "MCR p14, 1, r1, c1, c0, 4");
        assert_eq!(
            Coprocessor::of(0xc2, Version::V3_3).unwrap().read(2),
            "MRC p14, 1, r2, c1, c2, 4"
        );
    }

    #[test]
    fn scans() {
        let scan = Scan::of(0x08, Some(0x6f)).unwrap();
        assert_eq!(scan.bits(), 0x88_0000_006f);
        assert_eq!(Scan::of(0x04, None).map(Scan::bits), Some(0x04_0000_0000));
        assert_eq!(Scan::from_bits(scan.bits()), scan);
        assert_eq!(Scan::of(0x80, None), None);
    }
}
