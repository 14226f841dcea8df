//! The implementation and the programming of an ETMv4 or an ETE.

use tracewright_base::{CoreType, MissingRegister, Profile, Waypoints};

/// The registers of a trace unit, as recorded in the capture, and its core.
///
/// Register names and field positions are those of IHI 0064 (ETMv4) and the Arm ARM chapter D24
/// (ETE). Each method names its field; a method with `enabled` in its comment reads TRCCONFIGR, the
/// others read the implemented features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The unit is an ETE.
    ete: bool,
    /// The core, if the capture records it.
    core: Option<CoreType>,
    /// TRCCONFIGR: what is traced.
    pub trcconfigr: u32,
    /// TRCTRACEIDR: the ATB id.
    pub trctraceidr: u32,
    /// TRCIDR0: the implemented features.
    pub trcidr0: u32,
    /// TRCIDR1: architecture version of an ETMv4.
    pub trcidr1: u32,
    /// TRCIDR2: sizes.
    pub trcidr2: u32,
    /// TRCIDR8: MAXSPEC.
    pub trcidr8: u32,
    /// TRCIDR9 to TRCIDR13: the ranges of keys, for data trace and conditional trace.
    pub trcidr9_13: [u32; 5],
    /// TRCDEVARCH: architecture version of an ETE.
    pub trcdevarch: u32,
    /// An option of the decoder, not of the unit: a range ends at each waypoint before a source
    /// address, not only at the source address.
    pub split_source_ranges: bool,
}

/// Which loads and stores are P0 elements. (TRCIDR0.INSTP0, TRCCONFIGR.INSTP0)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstP0 {
    /// Neither.
    Neither,
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Loads and stores.
    Both,
}

/// The Q elements of the unit. (TRCIDR0.QSUPP, bits \[16:15])
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QSupport {
    /// There are no Q packets.
    None,
    /// Q elements have a count of instructions.
    Counted,
    /// Q elements have no count.
    Uncounted,
    /// Both.
    Both,
}

/// The default of TRCIDR1: ETMv4.0.
const TRCIDR1_DEFAULT: u32 = 0x4100_f403;
/// The default of TRCDEVARCH: ETE 1.0.
const TRCDEVARCH_DEFAULT: u32 = 0x4770_5a13;

impl Config {
    /// Reads the registers of an ETMv4. Registers that a capture may omit have defaults: TRCIDR1
    /// 0x4100F403 (version 4.0), TRCIDR8 to TRCIDR13 zero (nothing is speculative, no keys), and
    /// TRCTRACEIDR zero, for trace that is in no frames.
    ///
    /// # Errors
    /// [`MissingRegister`] without TRCCONFIGR, TRCIDR0 or TRCIDR2.
    pub fn etmv4(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, MissingRegister> {
        Self::read(false, core, register)
    }

    /// Reads the registers of an ETE: as [`etmv4`](Self::etmv4), and TRCDEVARCH, by default
    /// 0x47705A13 (version 1.0).
    ///
    /// # Errors
    /// [`MissingRegister`] without TRCCONFIGR, TRCIDR0 or TRCIDR2.
    pub fn ete(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, MissingRegister> {
        Self::read(true, core, register)
    }

    fn read(
        ete: bool,
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, MissingRegister> {
        let needed = |name, about| match register(name) {
            Some(value) => Ok(value as u32),
            None => Err(MissingRegister { name, about }),
        };
        let or = |name, default| register(name).map_or(default, |value| value as u32);
        Ok(Config {
            ete,
            core,
            trcconfigr: needed("TRCCONFIGR", "what is traced")?,
            trctraceidr: or("TRCTRACEIDR", 0),
            trcidr0: needed("TRCIDR0", "what the unit can trace")?,
            trcidr1: or("TRCIDR1", TRCIDR1_DEFAULT),
            trcidr2: needed("TRCIDR2", "the sizes of addresses and identifiers")?,
            trcidr8: or("TRCIDR8", 0),
            trcidr9_13: [
                or("TRCIDR9", 0),
                or("TRCIDR10", 0),
                or("TRCIDR11", 0),
                or("TRCIDR12", 0),
                or("TRCIDR13", 0),
            ],
            trcdevarch: or("TRCDEVARCH", TRCDEVARCH_DEFAULT),
            split_source_ranges: false,
        })
    }

    /// What is assumed of registers that a complete capture has. TRCIDR9 to TRCIDR13 describe
    /// packets that are parsed without them; an ETE has its version in TRCDEVARCH.
    pub(super) const fn assumptions(&self) -> &'static [(&'static str, &'static str)] {
        const SPECULATION: (&str, &str) = ("TRCIDR8", "0 (no instruction is speculative)");
        match self.ete {
            true => &[SPECULATION],
            false => &[("TRCIDR1", "0x4100f403 (ETMv4.0)"), SPECULATION],
        }
    }

    /// The unit is an ETE.
    #[inline]
    pub const fn is_ete(&self) -> bool {
        self.ete
    }

    /// The traced core, if the capture records it.
    pub const fn core(&self) -> Option<CoreType> {
        self.core
    }

    /// The core is of the M profile: T32 only, exceptions by number.
    pub fn microcontroller(&self) -> bool {
        self.core.is_some_and(|core| core.profile == Profile::Microcontroller)
    }

    /// Architecture version, major times 16 plus minor: `0x40` to `0x46` for ETMv4.0 to 4.6, `0x50`
    /// on for ETE 1.0 on. ETMv4 has it in TRCIDR1 bits \[11:4], ETE in TRCDEVARCH bits \[19:12].
    #[inline]
    pub const fn version(&self) -> u8 {
        if self.ete {
            (self.trcdevarch >> 12 & 0xf) as u8 * 16 | (self.trcdevarch >> 16 & 0xf) as u8
        } else {
            (self.trcidr1 >> 4) as u8
        }
    }

    /// The trace id (ATB id). (TRCTRACEIDR.TRACEID, bits \[6:0])
    pub const fn trace_id(&self) -> u8 {
        (self.trctraceidr & 0x7f) as u8
    }

    /// The instructions that end a block: always ISB; WFI, WFE, WFIT and WFET if TRCIDR2.WFXMODE is
    /// 1; TSTART for an ETE; the loads and stores of an ETMv4 that are P0 elements.
    pub fn waypoints(&self) -> Waypoints {
        let p0 = if self.has_load_store_p0() { self.load_store_p0() } else { InstP0::Neither };
        let wait = self.wait_is_waypoint();
        let transaction = self.ete;
        Waypoints {
            isb: true,
            wait,
            timed_wait: wait,
            transaction,
            loads: matches!(p0, InstP0::Loads | InstP0::Both),
            stores: matches!(p0, InstP0::Stores | InstP0::Both),
            ..Waypoints::BRANCHES
        }
    }

    /// Loads or stores are P0 elements.
    pub(super) fn has_load_store_p0(&self) -> bool {
        let traced = self.load_store_p0() != InstP0::Neither;
        traced && self.can_trace_load_store_as_p0() && !self.ete
    }

    // TRCIDR0.

    /// Which loads and stores can be P0 elements. (TRCIDR0.INSTP0, bits \[2:1]: 0b11 both, else
    /// none)
    pub const fn can_trace_load_store_as_p0(&self) -> bool {
        self.trcidr0 >> 1 & 0b11 == 0b11
    }

    /// The unit can trace data. (TRCIDR0.TRCDATA, bits \[4:3]: 0b11 yes, 0b00 no)
    pub const fn can_trace_data(&self) -> bool {
        self.trcidr0 >> 3 & 0b11 == 0b11
    }

    /// Branch broadcasting is implemented. (TRCIDR0.TRCBB, bit \[5])
    pub const fn has_branch_broadcast(&self) -> bool {
        self.trcidr0 >> 5 & 1 != 0
    }

    /// Conditional non-branch instructions can be traced. (TRCIDR0.TRCCOND, bit \[6])
    pub const fn can_trace_conditions(&self) -> bool {
        self.trcidr0 >> 6 & 1 != 0
    }

    /// Cycle counting is implemented. (TRCIDR0.TRCCCI, bit \[7])
    pub const fn can_count_cycles(&self) -> bool {
        self.trcidr0 >> 7 & 1 != 0
    }

    /// The return stack is implemented. (TRCIDR0.RETSTACK, bit \[9])
    pub const fn has_return_stack(&self) -> bool {
        self.trcidr0 >> 9 & 1 != 0
    }

    /// Events in the trace: 1 to 4. (TRCIDR0.NUMEVENT, bits \[11:10], plus 1)
    pub const fn events(&self) -> u8 {
        (self.trcidr0 >> 10 & 0b11) as u8 + 1
    }

    /// Conditional results are APSR flags, not pass or fail. (TRCIDR0.CONDTYPE, bits \[13:12]:
    /// 0b01)
    pub const fn condition_is_flags(&self) -> bool {
        self.trcidr0 >> 12 & 0b11 == 0b01
    }

    /// The form of Q elements. (TRCIDR0.QSUPP, bits \[16:15])
    pub const fn q_support(&self) -> QSupport {
        match self.trcidr0 >> 15 & 0b11 {
            0b00 => QSupport::None,
            0b01 => QSupport::Counted,
            0b10 => QSupport::Uncounted,
            _ => QSupport::Both,
        }
    }

    /// The version has Timestamp Marker packets: from ETMv4.6 and from ETE 1.1 on.
    pub const fn knows_timestamp_marker(&self) -> bool {
        self.version() >= if self.ete { 0x51 } else { 0x46 }
    }

    /// Timestamps come with Timestamp Marker packets. (TRCIDR0.TSMARK, bit \[23])
    pub const fn has_timestamp_marker(&self) -> bool {
        self.trcidr0 >> 23 & 1 != 0
    }

    /// Bits of a timestamp: 48 or 64, 0 if there are no timestamps. (TRCIDR0.TSSIZE, bits \[28:24])
    pub const fn timestamp_bits(&self) -> u8 {
        match self.trcidr0 >> 24 & 0x1f {
            0b0_0110 => 48,
            0b0_1000 => 64,
            _ => 0,
        }
    }

    /// Commit mode 1: Cycle Count packets commit nothing. (TRCIDR0.COMMOPT, bit \[29]; it is valid
    /// only if cycle counting is implemented)
    #[inline]
    pub const fn commit_mode_1(&self) -> bool {
        self.trcidr0 >> 29 & 1 != 0 && self.can_count_cycles()
    }

    /// Transaction Start is a P0 element. (TRCIDR0.COMMTRANS, bit \[30], is 0)
    pub const fn transaction_start_is_p0(&self) -> bool {
        self.trcidr0 >> 30 & 1 == 0
    }

    // TRCIDR2.

    /// Instruction addresses have 64 bits, not 32. (TRCIDR2.IASIZE, bits \[4:0]: 0b01000 or
    /// 0b00100)
    pub const fn addresses_64(&self) -> bool {
        self.trcidr2 & 0x1f == 0b0_1000
    }

    /// Bytes of a context identifier: 0 or 4. (TRCIDR2.CIDSIZE, bits \[9:5]: 0 or 0b00100) In an
    /// ETE it is 4, even if the field is 0. (Arm ARM K10.5.2.14.9)
    #[inline]
    pub const fn context_id_bytes(&self) -> u8 {
        if self.ete || self.trcidr2 >> 5 & 0x1f == 0b0_0100 { 4 } else { 0 }
    }

    /// Bytes of a virtual machine identifier: 0, 1, 2 or 4. (TRCIDR2.VMIDSIZE, bits \[14:10]; 2 and
    /// 4 from ETMv4.1 on) In an ETE it is 4 if the field is 0. (Arm ARM K10.5.2.14.9) Captures of
    /// ETMv4 units whose type is recorded as ETE have smaller ones.
    #[inline]
    pub const fn vmid_bytes(&self) -> u8 {
        match self.trcidr2 >> 10 & 0x1f {
            1 => 1,
            2 if self.version() > 0x40 => 2,
            4 if self.version() > 0x40 => 4,
            _ if self.ete => 4,
            _ => 0,
        }
    }

    /// Bits of the cycle counter: 12 to 20. (TRCIDR2.CCSIZE, bits \[28:25], plus 12)
    pub const fn cycle_counter_bits(&self) -> u8 {
        (self.trcidr2 >> 25 & 0xf) as u8 + 12
    }

    /// The possible identifiers of the virtual machine. (TRCIDR2.VMIDOPT, bits
    /// \[30:29]: 0 VTTBR_EL2.VMID, 1 selected by TRCCONFIGR.VMIDOPT, 2 CONTEXTIDR_EL2)
    pub const fn vmid_options(&self) -> u8 {
        (self.trcidr2 >> 29 & 0b11) as u8
    }

    /// WFI and WFE (and WFIT, WFET) are P0 instructions. (TRCIDR2.WFXMODE, bit \[31], from 4.3 on)
    pub const fn wait_is_waypoint(&self) -> bool {
        self.trcidr2 >> 31 & 1 != 0 && self.version() >= 0x43
    }

    // TRCIDR8 and on.

    /// The maximum number of uncommitted P0 elements. (TRCIDR8.MAXSPEC, bits \[31:0])
    #[inline]
    pub const fn max_speculation(&self) -> u32 {
        self.trcidr8
    }

    // TRCCONFIGR.

    /// Which loads and stores are P0 elements, enabled. (TRCCONFIGR.INSTP0, bits \[2:1])
    pub const fn load_store_p0(&self) -> InstP0 {
        match self.trcconfigr >> 1 & 0b11 {
            0b00 => InstP0::Neither,
            0b01 => InstP0::Loads,
            0b10 => InstP0::Stores,
            _ => InstP0::Both,
        }
    }

    /// Branch broadcasting is enabled. (TRCCONFIGR.BB, bit \[3])
    pub const fn branch_broadcast(&self) -> bool {
        self.trcconfigr >> 3 & 1 != 0
    }

    /// Cycle counting is enabled. (TRCCONFIGR.CCI, bit \[4])
    pub const fn cycle_counting(&self) -> bool {
        self.trcconfigr >> 4 & 1 != 0
    }

    /// Context identifiers are traced, enabled. (TRCCONFIGR.CID, bit \[6])
    pub const fn context_id(&self) -> bool {
        self.trcconfigr >> 6 & 1 != 0
    }

    /// Virtual machine identifiers are traced, enabled. (TRCCONFIGR.VMID, bit \[7])
    pub const fn vmid(&self) -> bool {
        self.trcconfigr >> 7 & 1 != 0
    }

    /// Conditional non-branch instructions are traced, enabled. (TRCCONFIGR.COND, bits \[10:8]: 1
    /// loads, 2 stores, 3 both, 7 all)
    pub const fn conditions(&self) -> bool {
        self.can_trace_conditions() && matches!(self.trcconfigr >> 8 & 0b111, 1 | 2 | 3 | 7)
    }

    /// Timestamps are enabled. (TRCCONFIGR.TS, bit \[11])
    pub const fn timestamps(&self) -> bool {
        self.trcconfigr >> 11 & 1 != 0
    }

    /// The return stack is implemented and enabled. (TRCCONFIGR.RS, bit \[12])
    pub const fn return_stack(&self) -> bool {
        self.has_return_stack() && self.trcconfigr >> 12 & 1 != 0
    }

    /// Q elements are enabled. (TRCCONFIGR.QE, bits \[14:13]: 0 none, 1 with a count, 3 with or
    /// without; 2 is reserved)
    pub const fn q_elements(&self) -> u8 {
        (self.trcconfigr >> 13 & 0b11) as u8
    }

    /// The virtual machine identifier is CONTEXTIDR_EL2: selected (TRCCONFIGR.VMIDOPT, bit \[15])
    /// or the only option (TRCIDR2.VMIDOPT is 2).
    pub const fn vmid_is_context_id(&self) -> bool {
        match self.vmid_options() {
            0 => false,
            1 => self.trcconfigr >> 15 & 1 != 0,
            _ => true,
        }
    }

    /// The unit sends a data stream, whose trace ID is the next: an ETMv4 with TRCCONFIGR.DA or DV.
    pub const fn has_data_stream(&self) -> bool {
        !self.ete && self.trcconfigr >> 16 & 0b11 != 0
    }

    /// Data addresses (TRCCONFIGR.DA, bit \[16]) or values (DV, bit \[17]) are traced, enabled.
    pub fn data_trace(&self) -> bool {
        self.can_trace_data()
            && self.load_store_p0() != InstP0::Neither
            && self.trcconfigr >> 16 & 0b11 != 0
    }
}
