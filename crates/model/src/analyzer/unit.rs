//! What the analyzer must know of the trace unit. (K10.5.1.3, Table K10-1)

/// The static information about a trace unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The unit is an ETE: it has transactions and source addresses, and no Exception Return
    /// packets.
    pub ete: bool,
    /// TRCIDR8.MAXSPEC.
    pub max_spec_depth: u32,
    /// TRCIDR0.COMMOPT is 1: Cycle Count packets do not commit.
    pub commit_mode_1: bool,
    /// TRCIDR0.COMMTRANS is 0: Transaction Start is a P0 element.
    pub transaction_start_is_p0: bool,
    /// Bytes of the context identifier. (TRCIDR2.CIDSIZE)
    pub context_id_bytes: u32,
    /// Bytes of the virtual context identifier. (TRCIDR2.VMIDSIZE)
    pub vmid_bytes: u32,
    /// TRCIDR2.WFXMODE: WFI, WFE, WFIT and WFET are P0 instructions.
    pub wfx: bool,
    /// The return stack is implemented and enabled. (TRCIDR0.RETSTACK, TRCCONFIGR.RS)
    pub return_stack: bool,
}

impl Unit {
    /// The information in the registers of a unit; an absent register is zero.
    pub fn read(ete: bool, register: &dyn Fn(&str) -> u32) -> Unit {
        let (id0, id2) = (register("TRCIDR0"), register("TRCIDR2"));
        Unit {
            ete,
            max_spec_depth: register("TRCIDR8"),
            commit_mode_1: id0 >> 29 & 1 == 1,
            transaction_start_is_p0: id0 >> 30 & 1 == 0,
            context_id_bytes: id2 >> 5 & 0x1f,
            vmid_bytes: id2 >> 10 & 0x1f,
            wfx: id2 >> 31 == 1,
            return_stack: id0 >> 9 & 1 == 1 && register("TRCCONFIGR") >> 12 & 1 == 1,
        }
    }
}
