//! The registers of the Trace Buffer Unit, and those fields of other registers that it reads.

use tracewright_base::{fields, registers};

use crate::register::{Register, RegisterRow};

/// The feature in whose presence a register exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// FEAT_TRBE.
    Trbe,
    /// FEAT_TRBE_EXT: External mode.
    External,
    /// FEAT_TRBE_EXC: exceptions instead of interrupts.
    Exceptions,
    /// FEAT_TRBE_MPAM.
    Mpam,
    /// FEAT_TRF: the filter of self-hosted trace.
    Filter,
}

const STATUS: &[tracewright_base::Field] = fields! {
    MSS2[55:32] "more of the syndrome";
    EC[31:26] "class of the event" {
        0x00 "other event", 0x1e "granule protection check", 0x1f "IMPLEMENTATION DEFINED",
        0x24 "stage 1 Data Abort", 0x25 "stage 2 Data Abort",
    };
    DAT[23] "accepted trace that is not in memory (external view)" {0 "none", 1 "there is some"};
    IRQ[22] "management event" {0 "none", 1 "recorded"};
    TRG[21] "Detected Trigger" {0 "none", 1 "observed"};
    WRAP[20] "write pointer" {0 "did not wrap", 1 "wrapped"};
    EA[18] "External abort" {0 "none", 1 "reported"};
    S[17] "collection" {0 "not stopped", 1 "stopped"};
    MSS[15:6] "syndrome of the event";
    BSC[5:0] "status code (EC 0), or fault status code (EC 0x24, 0x25)" {
        0 "not stopped, or access not allowed", 1 "buffer filled", 2 "Trigger Event",
        3 "Manual Stop", 4 "buffer too large",
    };
};

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];
const ALLOWED: &[(u64, &str)] = &[(0, "prohibited"), (1, "allowed")];
const SPACES: &[(u64, &str)] = &[(0, "Secure"), (1, "Non-secure"), (2, "Root"), (3, "Realm")];

/// A register of 64 bits, with its offset in the external view.
const fn register(row: RegisterRow) -> Register<Feature> {
    Register { bits: 64, ..Register::of(row, Feature::Trbe) }
}

impl Register<Feature> {
    const fn only(mut self, versions: Feature) -> Self {
        self.versions = versions;
        self
    }
}

/// The registers: those of the external view by offset, then the others. (Arm ARM, table D6-4)
pub static REGISTERS: &[Register<Feature>] = registers! { register:
    TRBBASER_EL1 | TRBBASER 0x000 RW "Base pointer" "Arm ARM, D24.4.1" {
        BASE[63:12] "address of the first byte, shifted right by 12";
    },
    TRBPTR_EL1 | TRBPTR 0x008 RW "write pointer" "Arm ARM, D24.4.6" {
        PTR[63:0] "address of the next byte to write";
    },
    TRBLIMITR_EL1 | TRBLIMITR 0x010 RW "Limit pointer, modes and enables" "Arm ARM, D24.4.3" {
        LIMIT[63:12] "address after the last byte, shifted right by 12";
        XE[6] "enabled in External mode" YES;
        nVM[5] "addresses" {0 "virtual", 1 "physical, or intermediate physical"};
        TM[4:3] "trigger mode" {0 "stop on trigger", 1 "IRQ on trigger", 3 "ignore trigger"};
        FM[2:1] "buffer mode" {0 "Fill mode", 1 "Wrap mode", 3 "Circular Buffer mode"};
        E[0] "enabled in Self-hosted mode" YES;
    },
    TRBSR_EL1 | TRBSR 0x018 RW "status and syndrome" "Arm ARM, D24.4.7" = STATUS,
    TRBTRG_EL1 | TRBTRG 0x020 RW "Trigger Counter" "Arm ARM, D24.4.10" {
        TRG[31:0] "bytes of trace from a Detected Trigger to a Trigger Event";
    },
    TRBMAR_EL1 | TRBMAR 0x028 RW "memory attributes, where the addresses are not virtual"
        "Arm ARM, D24.4.4" {
        PAS[11:10] "physical address space in External mode" SPACES;
        SH[9:8] "shareability" {0 "Non-shareable", 2 "Outer Shareable", 3 "Inner Shareable"};
        Attr[7:0] "memory type, as in MAIR_ELx" {
            0x00 "Device-nGnRnE", 0x04 "Device-nGnRE", 0x44 "Normal, Non-cacheable",
            0xff "Normal, Write-Back, Read- and Write-Allocate",
        };
    },
    TRBIDR_EL1 | TRBIDR 0x030 RO "what the unit implements" "Arm ARM, D24.4.2" {
        MaxBuffSize[47:32] "largest buffer; 0 for no limit";
        MPAM[15:12] "MPAM in External mode" {0 "none", 1 "default values", 2 "TRBMPAM_EL1"};
        EA[11:8] "External aborts of writes" {0 "not described", 1 "ignored", 2 "SError exception"};
        AddrMode[7:6] "addresses" {0 "virtual and physical", 1 "virtual", 2 "physical"};
        F[5] "hardware management of Access flag and dirty state" YES;
        P[4] "programming" {0 "allowed", 1 "not allowed"};
        Align[3:0] "alignment of TRBPTR_EL1 and TRBTRG_EL1: log2 of bytes";
    },
    TRBCR 0x038 WO "control by an external debugger" "Arm ARM, H9.4.7" {
        ManStop[0] "flush and stop collection" YES;
    }.only(Feature::External),
    TRBMPAM_EL1 | TRBMPAM 0x040 RW "MPAM of writes in External mode" "Arm ARM, D24.4.5" {
        EN[26] "PARTID, PMG and MPAM_SP are used" YES;
        MPAM_SP[25:24] "space of PARTID" SPACES;
        PMG[23:16] "performance monitoring group";
        PARTID[15:0] "partition";
    }.only(Feature::Mpam),
    TRBITCTRL 0xf00 RW "integration mode" "Arm ARM, H9.4" {
        IME[0] "integration mode" YES;
    }.only(Feature::External),
    TRBSR_EL2 RW "status and syndrome of events for EL2"
        "Arm ARM, D24.4.8" = STATUS.only(Feature::Exceptions),
    TRBSR_EL3 RW "status and syndrome of events for EL3"
        "Arm ARM, D24.4.9" = STATUS.only(Feature::Exceptions),
    TRFCR_EL1 RW "filter of trace at EL1 and EL0" "Arm ARM, D24.4.74" {
        DnVM[11] "physical pointers disabled, for nested virtualization" YES;
        KE[10] "exceptions to EL1 unmasked by PSTATE.PM" YES;
        EE[9:8] "exceptions to EL1" {0 "disabled", 3 "enabled"};
        TS[6:5] "timestamps" {1 "virtual", 2 "guest physical", 3 "physical"};
        E1TRE[1] "trace at EL1" ALLOWED;
        E0TRE[0] "trace at EL0" ALLOWED;
    }.only(Feature::Filter),
    TRFCR_EL2 RW "filter of trace at EL2, and of EL0 in its host" "Arm ARM, D24.4.75" {
        DnVM[11] "physical pointers disabled" YES;
        KE[10] "exceptions to EL2 unmasked by PSTATE.PM" YES;
        EE[9:8] "exceptions to EL2" {0 "disabled", 1 "delegated", 2 "enabled", 3 "trap all"};
        TS[6:5] "timestamps" {0 "TRFCR_EL1", 1 "virtual", 2 "guest physical", 3 "physical"};
        CX[3] "CONTEXTIDR_EL2 and VMID" ALLOWED;
        E2TRE[1] "trace at EL2" ALLOWED;
        E0HTRE[0] "trace at EL0 under HCR_EL2.TGE" ALLOWED;
    }.only(Feature::Filter),
    MDCR_EL2 RW "debug configuration: the fields of the trace buffer" "Arm ARM, D24.3.17" {
        E2TB[25:24] "owning Exception level" {
            0 "EL2 where enabled", 2 "EL1, accesses trapped", 3 "EL1",
        };
    }.only(Feature::Filter),
    MDCR_EL3 RW "debug configuration: the fields of the trace buffer" "Arm ARM, D24.3.18" {
        TRBEE[54:53] "exceptions to EL3" {0 "disabled", 1 "delegated", 2 "enabled", 3 "trap all"};
        ETBAD[49:48] "external access to the registers" {
            0 "Root only", 1 "Root and Realm", 2 "Root and Secure", 3 "all",
        };
        NSTBE[26] "owner with NSTB is Realm" YES;
        NSTB[25:24] "owning Security state where NSTBE is 0" {
            0 "Secure, accesses trapped", 1 "Secure", 2 "Non-secure, accesses trapped",
            3 "Non-secure",
        };
        STE[18] "trace in Secure state" ALLOWED;
        RLTE[0] "trace in Realm state" ALLOWED;
    }.only(Feature::Filter),
};

/// The fields of register `name` with the value `value` in words: name, value, and the word for it
/// where there is one. `None` where the table has no such register.
pub fn describe(name: &str, value: u64) -> Option<Vec<(&'static str, u64, Option<&'static str>)>> {
    let register = REGISTERS.iter().find(|register| register.is_named(name))?;
    let fields = register.fields.iter().map(|field| {
        let bits = field.of(value);
        let abort = field.name == "BSC" && matches!(value >> 26 & 0x3f, 0x24 | 0x25);
        let word = if abort { super::status::fault_name(bits as u8) } else { field.word(bits) };
        (field.name, bits, word)
    });
    Some(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of each register do not overlap, and descend.
    #[test]
    fn fields_descend() {
        for register in REGISTERS {
            let mut above = 64;
            for field in register.fields {
                assert!(field.high < above && field.low <= field.high, "{}", register.name);
                above = field.low;
            }
        }
    }

    /// Arm ARM, table D6-4: the offsets of the external view.
    #[test]
    fn offsets() {
        let offsets: Vec<_> = REGISTERS.iter().filter_map(|register| register.offset).collect();
        assert_eq!(offsets, [0, 8, 0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x40, 0xf00]);
    }

    #[test]
    fn in_words() {
        let fields = describe("trblimitr_el1", 0xffff_8000_1234_501b).unwrap();
        let words: Vec<_> = fields.iter().filter_map(|(_, _, word)| *word).collect();
        assert_eq!(words, ["no", "virtual", "ignore trigger", "Wrap mode", "yes"]);
        let fault = describe("TRBSR_EL1", 0x9042_0007).unwrap();
        assert_eq!(fault.last(), Some(&("BSC", 7, Some("translation fault, level 3"))));
        assert_eq!(describe("TRBX", 0), None);
    }
}
