//! Registers of ETMv1 and ETMv2, and the properties of the core that their trace does not contain.
//! (IHI 0014, 3.5)

use tracewright_base::{Field, Register, fields};
use tracewright_frames::cycles::Width;
use tracewright_units::etm::registers::{self, Kind};
use tracewright_units::etm::version::Version;

/// ETMCR. (IHI 0014, 3.5.1, "ETM Control Register")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(pub u32);

impl Control {
    /// PortSize, bits \[6:4]: TRACEPKT pins. A reserved size is read as 16.
    pub const fn width(self) -> Width {
        match Width::of_control(self.0) {
            Some(width) => width,
            None => Width::W16,
        }
    }
    /// MonitorCPRT, bit \[1]: coprocessor register transfers are traced.
    pub const fn coprocessor(self) -> bool {
        self.0 >> 1 & 1 != 0
    }
    /// Bit \[2]: data values are traced.
    pub const fn values(self) -> bool {
        self.0 >> 2 & 1 != 0
    }
    /// Bit \[3]: data addresses are traced.
    pub const fn addresses(self) -> bool {
        self.0 >> 3 & 1 != 0
    }
    /// Stall, bit \[7]: the processor waits when the FIFO is nearly full.
    pub const fn stall(self) -> bool {
        self.0 >> 7 & 1 != 0
    }
    /// Bit \[8]: the addresses of direct branches are traced as well.
    pub const fn branch_output(self) -> bool {
        self.0 >> 8 & 1 != 0
    }
    /// Bit \[12]: every cycle is traced.
    pub const fn cycle_accurate(self) -> bool {
        self.0 >> 12 & 1 != 0
    }
    /// ContextIDSize, bits \[15:14]: bytes of a context ID that are traced: 0, 1, 2 or 4.
    pub const fn context_bytes(self) -> usize {
        match self.0 >> 14 & 0b11 {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => 4,
        }
    }
}

/// Properties of the core that decoding needs and the trace does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// HIVECS: exception vectors are at 0xffff0000, not at 0.
    pub high_vectors: bool,
    /// Data in memory are big endian.
    pub big_endian: bool,
    /// Words that LDC and STC of coprocessor n transfer, bits \[4n+3:4n]; 0 where not known.
    pub coprocessor_words: u64,
}

impl Core {
    pub(crate) fn new(register: &dyn Fn(&str) -> Option<u64>) -> Self {
        let bit = |name| register(name).is_some_and(|value| value & 1 != 0);
        Core {
            high_vectors: bit("HIVECS"),
            big_endian: bit("BIGEND"),
            coprocessor_words: register("LDCWORDS").unwrap_or(0),
        }
    }

    /// Words that LDC and STC of `coprocessor` transfer; `None` where not known.
    pub const fn words(&self, coprocessor: u32) -> Option<u8> {
        match self.coprocessor_words >> (coprocessor * 4 & 63) & 0xf {
            0 => None,
            words => Some(words as u8),
        }
    }
}

/// A register of the table of ETM registers, with its `N` fields in a version.
pub(crate) const fn register<const N: usize>(
    kind: &Kind,
    required: bool,
    fields: &'static [Field; N],
) -> Register {
    let shown = kind.register;
    Register { name: shown.name, aliases: shown.aliases, about: shown.about, required, fields }
}

const CONTROL: &[Field; 13] = &registers::CONTROL.fields_of(Version::V2_1);
const CONFIGURATION: &[Field; 10] = &registers::CONFIGURATION.fields_of(Version::V1_3);

/// ETMCR. (IHI 0014, Table 3-5)
pub(crate) const ETMCR: Register = register(&registers::CONTROL, true, CONTROL);

/// ETMCCR of ETMv1. (IHI 0014, 3.5.2)
pub(crate) const ETMCCR: Register = Register {
    about: "implemented features; for ETMv1 also the version",
    ..register(&registers::CONFIGURATION, true, CONFIGURATION)
};

/// The core's HIVECS pin.
pub(crate) const HIVECS: Register = Register {
    name: "HIVECS",
    aliases: &["VINITHI"],
    about: "pin of the core: base of the exception vectors; 0 without this register",
    required: false,
    fields: fields! { HIVECS[0] "exception vectors" {0 "at 0", 1 "at 0xffff0000"} },
};

/// The core's data endianness.
pub(crate) const BIGEND: Register = Register {
    name: "BIGEND",
    aliases: &["BIGENDINIT"],
    about: "byte order of data in memory; little endian without this register",
    required: false,
    fields: fields! { BIGEND[0] "data are" {0 "little endian", 1 "big endian"} },
};

/// The transfer sizes of LDC and STC.
pub(crate) const COPROCESSORS: Register = Register {
    name: "LDCWORDS",
    aliases: &[],
    about: "words that LDC and STC of coprocessor n transfer, 4 bits each from bit 4n; 0: unknown",
    required: false,
    fields: &[],
};
