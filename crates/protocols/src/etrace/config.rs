//! What is known of a trace unit: widths, options, and the choices that its version leaves open.
//!
//! A value comes from four places, each over the one before: the [`Profile`]'s defaults, parameters by
//! name ([`PARAMETERS`], from registers, a file or the command line), and, as the trace runs, support
//! packets. Names are those of the specification without their `_p`.

mod choice;
mod profile;
mod table;
mod text;

use alloc::format;

use tracewright_base::{Isa, Register, Waypoints};

use tracewright_isa::rv::Extensions;

use super::packet::fields::sign_extend;

pub use choice::{
    Compression, Difference, Framing, LoopLabel, MessageType, OptionBits, Padding, Profile, Reset,
    Sync, TrapPacket, Version,
};
pub use profile::{UnknownUnit, units};
pub use table::{PARAMETERS, Parameter};
pub use text::{Malformed, TEXTS, Wrong};

/// The registers, as the list of protocols wants them: one for each parameter.
pub const REGISTERS: &[Register] = &table::registers();

/// Everything that is known of a trace unit before its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Which packets it writes.
    pub version: Version,
    /// Whose unit it is.
    pub profile: Profile,
    /// RV64, else RV32.
    pub rv64: bool,
    /// What opcodes mean beyond the standard ones: Zcmp and Zcmt, and the processor's own.
    pub extensions: Extensions,
    /// How packets are delimited.
    pub link: Link,
    /// Widths of fields, in bits.
    pub widths: Widths,
    /// What the support packet is like.
    pub support: SupportLayout,
    /// Run-time options, until a support packet says otherwise.
    pub options: Options,
    /// What the specification leaves open.
    pub choices: Choices,
    /// Where traps go: for packets that leave the address out.
    pub vectors: Vectors,
    /// Data trace.
    pub data: Data,
    /// The ingress port and the filters, as discovery reports them.
    pub port: Port,
    /// What a support packet changed, until a packet of format 3 bears it out: one that was damaged
    /// must not change how all that follows is read.
    pub before: Option<Learned>,
}

/// What support packets tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The optional modes.
    pub options: Options,
    /// Widths of fields. (2.1)
    pub widths: Widths,
}

impl Default for Params {
    /// E-Trace 2.0 as its specification has it, on RV64.
    fn default() -> Self {
        Params::spec(Version::V2_0, true)
    }
}

/// How packets are delimited, and what stands before their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// What comes before each payload.
    pub framing: Framing,
    /// Width of the source's number in the encapsulation, 0 to 16 bits.
    pub source_width: u8,
    /// The source's number: messages of others are not this unit's, where several share a stream.
    pub source: u16,
    /// Bytes of a timestamp in the encapsulation, where the header says that there is one; 0 to 8.
    pub timestamp_bytes: u8,
    /// Width of the packet type at the start of the payload, 0 to 2 bits.
    pub type_width: u8,
    /// The first byte begins a packet. Else alignment is looked for.
    pub aligned: bool,
    /// The trace id (ATB id) that carries it.
    pub trace_id: u8,
}

/// Widths of packet fields. (Table 3.7 of 0.026; "Discovery of encoder parameters")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// `iaddress_width`: width of an instruction address, 2 to 64 bits.
    pub iaddress: u8,
    /// `iaddress_lsb`: the lowest address bit that packets have, 0 to 3.
    pub iaddress_lsb: u8,
    /// `context_width`, 1 to 32; 0 where packets have no context.
    pub context: u8,
    /// `time_width`, 1 to 64; 0 where packets have no time.
    pub time: u8,
    /// `privilege_width`, 1 to 4.
    pub privilege: u8,
    /// `ecause_width`, 1 to 16; up to 64 for PULP.
    pub ecause: u8,
    /// Width of a trap value: that of an address, or 0 (`notval`).
    pub tval: u8,
    /// `return_stack_size`: the return stack has 2 to this power entries; 0 is none.
    pub return_stack_size: u8,
    /// `call_counter_size`: the call counter has this many bits; 0 is none.
    pub call_counter_size: u8,
    /// `bpred_size`: the branch predictor has 2 to this power entries; 0 is none.
    pub bpred_size: u8,
    /// `cache_size`: the jump target cache has 2 to this power entries; 0 is none.
    pub cache_size: u8,
    /// `f0s_width`: width of the sub-format of format 0; 0 where there is but one.
    pub f0s: u8,
}

impl Link {
    /// Messages have the numbers of their sources.
    pub const fn has_sources(&self) -> bool {
        self.source_width > 0 && matches!(self.framing, Framing::Encapsulated | Framing::Siemens)
    }

    /// Two units can share a stream: what stands before their payloads is alike.
    pub fn shares(&self, other: &Link) -> bool {
        (self.framing, self.source_width, self.timestamp_bytes)
            == (other.framing, other.source_width, other.timestamp_bytes)
            && self.has_sources()
    }
}

impl Widths {
    /// Width of an address field; 0 where an address has no more bits than are left out.
    #[inline]
    pub const fn address(&self) -> u32 {
        self.iaddress.saturating_sub(self.iaddress_lsb) as u32
    }
}

/// What the support packet has where the specification lets the unit decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportLayout {
    /// Width of `encoder_mode`.
    pub mode_width: u8,
    /// The bits of `ioptions`.
    pub ioptions: OptionBits,
    /// It ends with `denable`, `dloss` and `doptions`.
    pub data: bool,
    /// Width of `doptions`.
    pub doptions_width: u8,
    /// Its options take effect. Else those that were given stay.
    pub believed: bool,
}

/// The optional modes of an encoder. ("Optional and run-time configurable modes")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Targets of jumps that AUIPC or LUI right before makes known are not traced.
    pub sijump: bool,
    /// Returns that go where they were called from are not traced.
    pub implicit_return: bool,
    /// The address of a trap handler is not traced where the cause tells it.
    pub implicit_exception: bool,
    /// Branches that a predictor foresees are counted.
    pub branch_prediction: bool,
    /// Jumps to targets that a cache holds are traced by their place in it.
    pub jump_target_cache: bool,
    /// Addresses are never differences.
    pub full_address: bool,
    /// There is no periodic resynchronisation. (2.1)
    pub resync_disabled: bool,
    /// Packets count implicit returns (`irets`), not the depth of the stack (`irdepth`). (2.1)
    pub iret_ext: bool,
}

/// What the specification leaves open, contradicts itself in, or a unit does its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// What a differential address is the difference of.
    pub difference: Difference,
    /// The `encoder_mode` of a draft support packet that means full addresses; 4 is none of them.
    pub full_mode: u8,
    /// What sign compression leaves out.
    pub compression: Compression,
    /// How payloads are filled up to whole bytes.
    pub padding: Padding,
    /// Where 0.026 packets say what kind of message they are.
    pub message_type: MessageType,
    /// When the decoder stops at an address that it meets before it is jumped to.
    pub loop_label: LoopLabel,
    /// 0.026: packets with an address may be notifications, which nothing marks.
    pub notifications: bool,
    /// Packets have no `irreport` and `irdepth`.
    pub no_irreport: bool,
    /// `irdepth` is all ones where there is nothing to report.
    pub irdepth_ones: bool,
    /// `notify` is the flag itself, not its difference to the bit before.
    pub plain_notify: bool,
    /// What the trap packet has.
    pub trap: TrapPacket,
    /// The trap packet of an interrupt has a trap value, too.
    pub tval_always: bool,
    /// When the branch predictor forgets.
    pub predictor_reset: Reset,
    /// Every address that is reported enters the jump target cache, not only jump targets.
    pub cache_all: bool,
    /// ECALL and EBREAK are retired before their exception.
    pub ecall_retires: bool,
    /// The unit sends a start for what trapped where one is due, as at the target of a trap return, though it was not
    /// retired; and it names what trapped, and tells of a trap twice, where another follows at once: as the reference
    /// flow does.
    pub start_unretired: bool,
    /// The decoder does not say what a start named. The packets are those of one that was retired
    /// before the next one trapped: only who knows the program can tell.
    pub drop_unretired: bool,
    /// What trapped is in the stream of instructions, and is named where one would be; and a start follows each trap
    /// packet, for the second instruction of the handler: as PULP's `trace_debugger` has it.
    pub trapped_in_stream: bool,
    /// What the resynchronisation period counts.
    pub resync: Sync,
    /// The resynchronisation period, in its unit.
    pub resync_max: u32,
    /// Predicted branches that the decoder follows for one packet.
    pub longest_count: u32,
    /// 0.026: a context packet is sent only once all branches are reported.
    pub context_flushes: bool,
    /// 0.026, Table 3.4: termination type 4 is an unpredictable call.
    pub itype4_call: bool,
}

/// Where traps go, as the CSRs have it; `None` where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vectors {
    /// `mtvec`.
    pub machine: Option<u64>,
    /// `stvec`.
    pub supervisor: Option<u64>,
    /// `vstvec`.
    pub guest: Option<u64>,
}

/// Data trace. ("Data Trace Encoder Output Packets")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// `daddress_width`, 1 to 64.
    pub address_width: u8,
    /// `data_width`, 8 to 64.
    pub width: u8,
    /// `lrid_width`: width of a load request's number, 0 to 6.
    pub lrid_width: u8,
    /// Loads are traced in two packets: request and data.
    pub split: bool,
    /// Width of `format`: 2, or 3 where there are atomics, CSR accesses or split loads.
    pub format_width: u8,
    /// Width of `diff` in packets without an address, 1 or 2.
    pub diff_width: u8,
    /// Packets have no address.
    pub no_address: bool,
    /// Packets have no data.
    pub no_data: bool,
    /// Where `diff` says XOR, data are a difference.
    pub arithmetic: bool,
    /// `format` and `subformat` as the extension for several accesses has them. (2.1)
    pub mmacas: bool,
}

/// The ingress port and the filters of a unit, as discovery reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// `itype_width`, 3 or 4.
    pub itype_width: u8,
    /// `iretire_width`, 1 to 8.
    pub iretire_width: u8,
    /// `ilastsize_width`.
    pub ilastsize_width: u8,
    /// `ntkn_width`, 1 to 5. (0.026)
    pub ntkn_width: u8,
    /// `context_type_width`, `ctype_width`.
    pub ctype_width: u8,
    /// `taken_branches`, `retires`: blocks in a cycle, 1 to 8.
    pub taken_branches: u8,
    /// `user_width`, `impdef_width`, 0 to 256.
    pub user_width: u16,
    /// Comparators, 0 to 16.
    pub comparators: u8,
    /// Filters, 0 to 16.
    pub filters: u8,
    /// `ecause_choice`: bits of a cause that choose one of many, 0 to 6.
    pub ecause_choice: u8,
    /// `filter_context`.
    pub filter_context: bool,
    /// `filter_ecause`: 2 to this power nested exceptions, 0 to 15.
    pub filter_ecause: u8,
    /// `filter_interrupt`.
    pub filter_interrupt: bool,
    /// `filter_privilege`.
    pub filter_privilege: bool,
    /// `filter_tval`.
    pub filter_tval: bool,
}

impl Params {
    /// Reads parameters from registers by name, over the defaults of `version` and `profile`.
    ///
    /// # Errors
    /// [`UnknownUnit`] where the profile does not exist in that version.
    pub fn from_registers(register: &dyn Fn(&str) -> Option<u64>) -> Result<Self, UnknownUnit> {
        let find = |parameter: &Parameter| {
            let Register { name, aliases, .. } = parameter.register;
            // The specification's names end in `_p`, and so do those of `.scf` files.
            let either = |name: &str| register(name).or_else(|| register(&format!("{name}_p")));
            either(name).or_else(|| aliases.iter().find_map(|alias| either(alias)))
        };
        let known = |name: &str| table::named(name).and_then(&find);
        let version = known("version").and_then(Version::of_number);
        let profile = known("profile").and_then(Profile::of_number).unwrap_or_default();
        let wide = known("xlen").map(|xlen| xlen > 32);
        let wide = wide.or(known("iaddress_width").map(|width| width > 32));
        let version = version.unwrap_or(profile.version());
        let mut params = Params::new(version, profile, wide.unwrap_or(profile.is_wide()))?;
        for parameter in PARAMETERS {
            if let Some(value) = find(parameter).filter(|value| parameter.takes(*value)) {
                (parameter.set)(&mut params, value);
            }
        }
        Ok(params)
    }

    /// What support packets tell of, as it is.
    pub const fn learned(&self) -> Learned {
        Learned { options: self.options, widths: self.widths }
    }

    /// The instruction set of the processor.
    #[inline]
    pub const fn isa(&self) -> Isa {
        if self.rv64 { Isa::Rv64 } else { Isa::Rv32 }
    }

    /// The draft's packets.
    #[inline]
    pub const fn is_draft(&self) -> bool {
        matches!(self.version, Version::Draft)
    }

    /// Payloads come right after a header byte, and begin with their format.
    #[inline(always)]
    pub(super) const fn has_short_packets(&self) -> bool {
        self.link.source_width == 0 && !self.is_draft()
    }

    /// Whether the decoder leaves out instructions that the `reference-flow` encoder reports although
    /// they trapped: those of a start packet, and those before a second trap that comes at once.
    #[inline]
    pub(super) const fn drops_unretired(&self) -> bool {
        self.choices.start_unretired && self.choices.drop_unretired
    }

    /// Whether packets may report a trapped instruction as if it had been retired, so that the decoder
    /// has to find out which.
    #[inline]
    pub(super) const fn reports_trapped(&self) -> bool {
        self.choices.trapped_in_stream || self.drops_unretired()
    }

    /// Whether the decoder needs the reason for which an address was reported.
    #[inline]
    pub(super) const fn needs_report_reason(&self) -> bool {
        self.is_draft() || self.drops_unretired()
    }

    /// The header of a packet tells te_support from te_inst. (0.026)
    pub(super) const fn names_support(&self) -> bool {
        let header = matches!(self.choices.message_type, MessageType::Header);
        self.is_draft() && header && matches!(self.link.framing, Framing::Siemens)
    }

    /// Width of `irdepth`, or of `irets`. ("Format 2 packets")
    #[inline]
    pub const fn irdepth_width(&self) -> u32 {
        let Widths { return_stack_size, call_counter_size, .. } = self.widths;
        if self.options.iret_ext {
            8
        } else if return_stack_size > 0 {
            (return_stack_size + 1 + call_counter_size) as u32
        } else {
            call_counter_size as u32
        }
    }

    /// Nothing but branches ends a block.
    pub const fn waypoints(&self) -> Waypoints {
        Waypoints::BRANCHES
    }

    /// The address that the bits of a full address mean. Where packets have fewer bits than an address
    /// of the processor, a virtual address is taken for what it was cut from, of 39 bits or more: its
    /// top bit repeats.
    #[inline]
    pub const fn full_address(&self, bits: u64) -> u64 {
        let address = bits << self.widths.iaddress_lsb;
        match self.widths.iaddress {
            width @ 39..=63 if self.rv64 => sign_extend(address, width as u32),
            _ => address,
        }
    }

    /// Where a trap of `cause` goes, if the CSRs are known. ("Implicit exception mode"; Privileged
    /// ISA, `mtvec`: MODE, bits \[1:0], is 1 where interrupts are vectored.)
    pub const fn vector(&self, privilege: u8, interrupt: bool, cause: u64) -> Option<u64> {
        let base = match privilege {
            1 => self.vectors.supervisor,
            2 | 5 => self.vectors.guest,
            _ => self.vectors.machine,
        };
        match base {
            Some(base) if base & 0b11 == 1 && interrupt => {
                Some((base & !0b11).wrapping_add(cause.wrapping_mul(4)))
            }
            Some(base) => Some(base & !0b11),
            None => None,
        }
    }
}
