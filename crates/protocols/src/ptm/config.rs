//! Configuration registers of a PTM.

use tracewright_base::{Field, MissingRegister, Register, Waypoints};
use tracewright_units::ptm::registers;

/// The configuration of a PTM: its registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// ETMCR: how the unit was programmed.
    pub control: u32,
    /// ETMCCER: the features of the unit.
    pub extension: u32,
    /// ETMIDR: the version of the unit; `None` where the capture does not have it.
    pub id: Option<u32>,
    /// ETMTRACEIDR: the trace ID.
    pub trace_id: u32,
}

impl Config {
    /// Reads the configuration from registers by name.
    ///
    /// # Errors
    /// [`MissingRegister`] where a register that decoding needs is absent.
    pub fn from_registers(register: &dyn Fn(&str) -> Option<u64>) -> Result<Self, MissingRegister> {
        let read = |at: usize| {
            let Register { name, about, required, .. } = REGISTERS[at];
            match REGISTERS[at].read(register) {
                None if required => Err(MissingRegister { name, about }),
                value => Ok(value.map(|v| v as u32)),
            }
        };
        Ok(Config {
            control: read(0)?.unwrap_or(0),
            extension: read(1)?.unwrap_or(0),
            id: read(2)?,
            trace_id: read(3)?.unwrap_or(0),
        })
    }

    /// ETMCR bit \[12]: packets have cycle counts.
    #[inline]
    pub const fn counts_cycles(&self) -> bool {
        self.control >> 12 & 1 != 0
    }

    /// ETMCR bits \[15:14]: bytes of CONTEXTIDR that are traced: 0, 1, 2 or 4.
    #[inline]
    pub const fn context_id_bytes(&self) -> usize {
        (1 << (self.control >> 14 & 0b11)) >> 1
    }

    /// ETMCR bit \[30], PFTv1.1: virtual machine IDs are traced.
    #[inline]
    pub const fn vmid(&self) -> bool {
        self.control >> 30 & 1 != 0
    }

    /// ETMCR bit \[29]: a return whose target the return stack predicts is an atom.
    #[inline]
    pub const fn uses_return_stack(&self) -> bool {
        self.control >> 29 & 1 != 0
    }

    /// ETMCCER bit \[29]: width of a timestamp, 48 or 64 bits. (PFTv1.0: always 48)
    #[inline]
    pub const fn timestamp_bits(&self) -> u8 {
        if self.extension >> 29 & 1 != 0 { 64 } else { 48 }
    }

    /// ETMCCER bit \[28]: timestamps are natural binary numbers, else Gray code. (PFTv1.0: always
    /// Gray code)
    #[inline]
    pub const fn timestamps_are_binary(&self) -> bool {
        self.extension >> 28 & 1 != 0
    }

    /// ETMIDR bits \[7:4]: the minor version, 0 for PFTv1.0 and 1 for PFTv1.1; `None` where the
    /// capture does not have the register.
    pub const fn minor_version(&self) -> Option<u8> {
        match self.id {
            Some(id) => Some((id >> 4 & 0xf) as u8),
            None => None,
        }
    }

    /// ETMTRACEIDR bits \[6:0].
    pub const fn atb_id(&self) -> u8 {
        (self.trace_id & 0x7f) as u8
    }

    /// ISB is always a waypoint; DSB and DMB are waypoints if ETMCCER bit \[24] is set.
    pub const fn waypoints(&self) -> Waypoints {
        let barrier = self.extension >> 24 & 1 != 0;
        Waypoints { isb: true, barrier, ..Waypoints::BRANCHES }
    }
}

/// The registers, in the order of [`Config`]'s fields. (IHI 0035, "Register descriptions")
pub const REGISTERS: &[Register] = &[
    register("ETMCR", "Main Control Register", true, registers::CONTROL),
    register("ETMCCER", "Configuration Code Extension Register", true, registers::EXTENSION),
    register("ETMIDR", "ID Register", false, registers::IDENTIFICATION),
    register("ETMTRACEIDR", "CoreSight Trace ID Register", false, registers::TRACE_ID),
];

const fn register(
    name: &'static str,
    about: &'static str,
    required: bool,
    fields: &'static [Field],
) -> Register {
    Register { name, aliases: &[], about, required, fields }
}
