//! The configuration of an ETMv4's data stream, from its registers.

use tracewright_base::{MissingRegister, Register, RegisterRow, register};

/// The configuration of a data stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// TRCTRACEIDR: the trace id of the instruction stream.
    pub trace_id: u32,
    /// TRCCONFIGR, if the capture has it: what is traced.
    pub configuration: Option<u32>,
}

impl Config {
    /// Reads the configuration from registers by name.
    ///
    /// # Errors
    /// [`MissingRegister`] if a required register is absent.
    pub fn from_registers(register: &dyn Fn(&str) -> Option<u64>) -> Result<Self, MissingRegister> {
        let Register { name, about, .. } = TRCTRACEIDR;
        let trace_id = register(name).ok_or(MissingRegister { name, about })? as u32;
        let configuration = register(TRCCONFIGR.name).map(|value| value as u32);
        Ok(Config { trace_id, configuration })
    }

    /// The trace ID of the data: that of the instructions, TRCTRACEIDR bits \[6:0], with bit 0 set.
    /// Bit 0 of the register is 0 if data are traced.
    pub const fn data_id(&self) -> u8 {
        (self.trace_id & 0x7f) as u8 | 1
    }

    /// TRCCONFIGR.DA, bit \[16]: data addresses are traced; `None` if the capture does not record
    /// it.
    pub const fn traces_addresses(&self) -> Option<bool> {
        match self.configuration {
            Some(configuration) => Some(configuration >> 16 & 1 != 0),
            None => None,
        }
    }

    /// TRCCONFIGR.DV, bit \[17]: data values are traced; `None` if the capture does not record it.
    pub const fn traces_values(&self) -> Option<bool> {
        match self.configuration {
            Some(configuration) => Some(configuration >> 17 & 1 != 0),
            None => None,
        }
    }
}

const OFF_ON: &[(u64, &str)] = &[(0, "off"), (1, "on")];

const fn needed(row: RegisterRow) -> Register {
    row.required(true)
}

const fn optional(row: RegisterRow) -> Register {
    row.required(false)
}

const TRCTRACEIDR: Register = register! { needed:
    TRCTRACEIDR 0x040 RW "the id of the instruction stream; the data stream has the next"
        "IHI 0064, TRCTRACEIDR" { TRACEID[6:0] "even where data are traced" }
};

const TRCCONFIGR: Register = register! { optional:
    TRCCONFIGR 0x010 RW "what the unit was programmed to trace" "IHI 0064, TRCCONFIGR" {
        DV[17] "trace of data values" OFF_ON;
        DA[16] "trace of data addresses" OFF_ON;
        TS[11] "trace of timestamps" OFF_ON;
    }
};

/// The registers. (IHI 0064, "TRCTRACEIDR", "TRCCONFIGR")
pub const REGISTERS: &[Register] = &[TRCTRACEIDR, TRCCONFIGR];
