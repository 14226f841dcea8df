//! The parameters of a trace unit: widths, options, and the choices that its version leaves open.
//!
//! Later sources override earlier ones: the defaults of the version and the [`Profile`]; parameters
//! by name ([`PARAMETERS`], from registers, a file or the command line); and support packets in the
//! trace. Names are those of the specification without their `_p`.

mod choice;
mod profile;
mod spelling;
mod table;
mod text;

use tracewright_base::{Isa, Register, Waypoints};
use tracewright_isa::rv::Extensions;

use crate::bits::sign_extend;

pub use choice::{
    Compression, Difference, Framing, LoopLabel, MessageType, OptionBits, Padding, Profile, Reset,
    Sync, TrapPacket, Version,
};
pub use profile::{UnknownUnit, units};
pub use table::{PARAMETERS, Parameter};
pub use text::{Malformed, TEXTS, Wrong};

/// The registers of the protocol: one for each parameter.
pub const REGISTERS: &[Register] = &table::registers();

/// The parameters of a trace unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The version of its packets.
    pub version: Version,
    /// The vendor or tool of the unit.
    pub profile: Profile,
    /// RV64, else RV32.
    pub rv64: bool,
    /// Opcodes beyond the standard ones: Zcmp and Zcmt, and custom opcodes.
    pub extensions: Extensions,
    /// The framing of packets.
    pub link: Link,
    /// Widths of fields, in bits.
    pub widths: Widths,
    /// The layout of the support packet.
    pub support: SupportLayout,
    /// Run-time options, which support packets change.
    pub options: Options,
    /// Choices that the specification leaves open.
    pub choices: Choices,
    /// Trap vectors, for packets without the address of a handler.
    pub vectors: Vectors,
    /// Data trace.
    pub data: Data,
    /// The ingress port and the filters, as discovery reports them.
    pub port: Port,
    /// Messages that this project defines (no specification has them).
    pub own: OwnMessages,
    /// The values before the last support packet, until a packet of format 3 confirms the change. A
    /// damaged support packet must not change the decoding of all later packets.
    pub before: Option<Learned>,
}

/// The parameters that support packets change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The optional modes.
    pub options: Options,
    /// Widths of fields. (2.1)
    pub widths: Widths,
}

impl Default for Params {
    /// Profile `spec` of E-Trace 2.0 on RV64.
    fn default() -> Self {
        Params::spec(Version::V2_0, true)
    }
}

/// The framing of packets, and the fields before their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The header of a packet.
    pub framing: Framing,
    /// Width of the source number in the encapsulation, 0 to 16 bits.
    pub source_width: u8,
    /// The source number of this unit, where several share a stream.
    pub source: u16,
    /// Bytes of a timestamp in the encapsulation, in packets whose header announces one; 0 to 8.
    pub timestamp_bytes: u8,
    /// Width of the packet type at the start of the payload, 0 to 2 bits.
    pub type_width: u8,
    /// The first byte begins a packet. Else the decoder searches for alignment.
    pub aligned: bool,
    /// The trace ID (ATB ID).
    pub trace_id: u8,
}

/// Widths of packet fields. (Table 3.7 of 0.026; "Discovery of encoder parameters")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// `iaddress_width`: width of an instruction address, 2 to 64 bits.
    pub iaddress: u8,
    /// `iaddress_lsb`: the lowest address bit in packets, 0 to 3.
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
    /// `f0s_width`: width of the sub-format of format 0; 0 if there is only one. See
    /// [`Params::f0s_width`].
    pub f0s: u8,
}

impl Link {
    /// Whether messages have source numbers.
    pub const fn has_sources(&self) -> bool {
        self.source_width > 0 && matches!(self.framing, Framing::Encapsulated | Framing::Siemens)
    }

    /// Whether two units can share a stream: the fields before their payloads are the same.
    pub fn shares(&self, other: &Link) -> bool {
        (self.framing, self.source_width, self.timestamp_bytes)
            == (other.framing, other.source_width, other.timestamp_bytes)
            && self.has_sources()
    }
}

impl Widths {
    /// Width of an address field; 0 if all bits of an address are below `iaddress_lsb`.
    #[inline]
    pub const fn address(&self) -> u32 {
        self.iaddress.saturating_sub(self.iaddress_lsb) as u32
    }
}

/// The fields of the support packet that the specification leaves to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportLayout {
    /// Width of `encoder_mode`.
    pub mode_width: u8,
    /// The bits of `ioptions`.
    pub ioptions: OptionBits,
    /// The packet ends with `denable`, `dloss` and `doptions`.
    pub data: bool,
    /// Width of `doptions`.
    pub doptions_width: u8,
    /// The packet's options take effect. Else the given options stay.
    pub believed: bool,
}

/// The optional modes of an encoder. ("Optional and run-time configurable modes")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Targets of sequentially inferable jumps are not traced: an AUIPC or LUI right before the
    /// jump gives them.
    pub sijump: bool,
    /// Returns to the address of the last call are not traced.
    pub implicit_return: bool,
    /// The address of a trap handler is not traced if the cause determines it.
    pub implicit_exception: bool,
    /// Correctly predicted branches are counted.
    pub branch_prediction: bool,
    /// Jumps to cached targets are traced by the index of the target in the cache.
    pub jump_target_cache: bool,
    /// Addresses are never differences.
    pub full_address: bool,
    /// There is no periodic resynchronisation. (2.1)
    pub resync_disabled: bool,
    /// Packets count implicit returns (`irets`), not the depth of the stack (`irdepth`). (2.1)
    pub iret_ext: bool,
}

/// Behaviour that the specification leaves open or contradicts itself in, or that a unit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The operands of a differential address.
    pub difference: Difference,
    /// The `encoder_mode` of a draft support packet that means full addresses; 4 is none of them.
    pub full_mode: u8,
    /// The bits that sign compression omits.
    pub compression: Compression,
    /// The padding of payloads to whole bytes.
    pub padding: Padding,
    /// The place of `msg_type` in packets of 0.026.
    pub message_type: MessageType,
    /// The meaning of a reported address that the program reaches before a jump to it.
    pub loop_label: LoopLabel,
    /// 0.026: packets with an address may be notifications, which have no mark.
    pub notifications: bool,
    /// Packets have no `irreport` and `irdepth`.
    pub no_irreport: bool,
    /// `irdepth` is all ones without `irreport`.
    pub irdepth_ones: bool,
    /// `notify` is a plain flag, and not the difference to the bit before.
    pub plain_notify: bool,
    /// The layout of the trap packet.
    pub trap: TrapPacket,
    /// The trap packet of an interrupt has a trap value.
    pub tval_always: bool,
    /// When the branch predictor and the jump target cache are reset.
    pub predictor_reset: Reset,
    /// Every reported address enters the jump target cache, and not only jump targets.
    pub cache_all: bool,
    /// ECALL and EBREAK count as retired before their exception.
    pub ecall_retires: bool,
    /// Defects of the `reference-flow` encoder: it sends a due start packet for an instruction that
    /// trapped, as at the target of a trap return. Where another trap follows at once, it reports
    /// the trapped instruction, and the trap twice.
    pub start_unretired: bool,
    /// The decoder does not emit an instruction of a start packet that trapped. The packets are the
    /// same as for an instruction that was retired before the next one trapped: only the program's
    /// author knows which.
    pub drop_unretired: bool,
    /// PULP `trace_debugger`: a trapped instruction is in the stream of instructions, and is
    /// reported like one that was retired. A start packet for the second instruction of the handler
    /// follows each trap packet.
    pub trapped_in_stream: bool,
    /// The unit of the resynchronisation period.
    pub resync: Sync,
    /// The resynchronisation period in that unit.
    pub resync_max: u32,
    /// The most predicted branches that the decoder follows for one packet.
    pub longest_count: u32,
    /// 0.026: all branches are reported before a context packet.
    pub context_flushes: bool,
    /// 0.026, Table 3.4: termination type 4 is an unpredictable call.
    pub itype4_call: bool,
}

/// The trap vectors, as in the CSRs; `None` if not known.
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
    /// Width of `format`: 2, or 3 with atomics, CSR accesses or split loads.
    pub format_width: u8,
    /// Width of `diff` in packets without an address, 1 or 2.
    pub diff_width: u8,
    /// Packets have no address.
    pub no_address: bool,
    /// Packets have no data.
    pub no_data: bool,
    /// Data with the `diff` code of XOR are arithmetic differences.
    pub arithmetic: bool,
    /// `format` and `subformat` are those of the extension for several accesses. (2.1)
    pub mmacas: bool,
}

/// The messages that this project defines (no specification has them) and that a unit sends. 0.026
/// plans them in 3.1.4, 7.2 and 7.3 without a format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnMessages {
    /// A discovery packet before all others.
    pub discovery: bool,
    /// A count of cycles after each packet that reports an instruction.
    pub cycle_counts: bool,
    /// Fast profiling in place of instruction trace: 0 is off, 1 reports destinations, 2 sources
    /// too.
    pub profiling: u8,
}

impl OwnMessages {
    /// Whether the unit sends any.
    #[inline]
    pub const fn any(&self) -> bool {
        self.discovery || self.cycle_counts || self.profiling > 0
    }
}

/// The ingress port and the filters of a unit, as discovery reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// `minor_revision`, 0 to 15.
    pub minor_revision: u8,
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
            let either = |name: &str| {
                register(name).or_else(|| with_suffix(name, &mut [0; 64]).and_then(register))
            };
            either(name).or_else(|| aliases.iter().find_map(|alias| either(alias)))
        };
        let known = |name: &str| table::find(name).and_then(&find);
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

    /// What a user should know about decoding with these parameters.
    pub const fn note(&self) -> Option<&'static str> {
        let counter = self.options.implicit_return && self.widths.return_stack_size == 0;
        if counter && self.widths.call_counter_size > 0 {
            // "Implicit return mode": a unit with a counter does not compare the address.
            Some(
                "returns are implied by a counter of calls alone (call_counter_size without \
                 return_stack_size): after a return to another address than that of its call the \
                 decoded path is wrong, and no packet shows it",
            )
        } else {
            None
        }
    }

    /// The current values of the parameters that support packets change.
    pub const fn learned(&self) -> Learned {
        Learned { options: self.options, widths: self.widths }
    }

    /// The instruction set of the processor.
    #[inline]
    pub const fn isa(&self) -> Isa {
        if self.rv64 { Isa::Rv64 } else { Isa::Rv32 }
    }

    /// Whether the packets are those of the draft 0.026.
    #[inline]
    pub const fn is_draft(&self) -> bool {
        matches!(self.version, Version::Draft)
    }

    /// The width of the sub-format of format 0. Two modes with packets of that format need one bit,
    /// whatever the parameter is. ("Format 0 packets")
    pub const fn f0s_width(&self) -> u8 {
        match self.widths.f0s {
            0 if self.options.branch_prediction && self.options.jump_target_cache => 1,
            width => width,
        }
    }

    /// Whether nothing but the header byte is before the payload of a packet without a timestamp.
    #[inline(always)]
    pub(super) const fn has_short_packets(&self) -> bool {
        self.link.source_width == 0 && !self.is_draft()
    }

    /// Whether the decoder leaves out instructions that the `reference-flow` encoder reports
    /// although they trapped: those of a start packet, and those before a second trap that comes at
    /// once.
    #[inline]
    pub(super) const fn drops_unretired(&self) -> bool {
        self.choices.start_unretired && self.choices.drop_unretired
    }

    /// Whether packets may report a trapped instruction as if it had been retired, so that the
    /// decoder has to find out which.
    #[inline]
    pub(super) const fn reports_trapped(&self) -> bool {
        self.choices.trapped_in_stream || self.drops_unretired()
    }

    /// Whether the decoder needs the reason for which an address was reported.
    #[inline]
    pub(super) const fn needs_report_reason(&self) -> bool {
        self.is_draft() || self.drops_unretired()
    }

    /// Whether the header of a packet distinguishes te_support from te_inst. (0.026)
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

    /// The instructions that end a block: branches.
    pub const fn waypoints(&self) -> Waypoints {
        Waypoints::BRANCHES
    }

    /// The address of the bits of a full address field. If packets have fewer bits than an RV64
    /// address, but 39 or more, it is a truncated virtual address and is sign-extended.
    #[inline]
    pub const fn full_address(&self, bits: u64) -> u64 {
        let address = bits << self.widths.iaddress_lsb;
        match self.widths.iaddress {
            width @ 39..=63 if self.rv64 => sign_extend(address, width as u32),
            _ => address,
        }
    }

    /// The handler's address for a trap of `cause`, if the CSRs are known. ("Implicit exception
    /// mode"; Privileged ISA, `mtvec`: MODE, bits \[1:0], is 1 where interrupts are vectored.)
    pub const fn vector(&self, privilege: u8, interrupt: bool, cause: u64) -> Option<u64> {
        let base = match privilege {
            1 => self.vectors.supervisor,
            6 => self.vectors.guest,
            // No handler runs in a reserved level, in Debug mode (4) or in VU (5).
            2 | 4 | 5 | 7.. => None,
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

/// `name` with the suffix of the specification's names, in `letters`; `None` if it is too long.
fn with_suffix<'a>(name: &str, letters: &'a mut [u8; 64]) -> Option<&'a str> {
    let whole = letters.get_mut(..name.len() + 2)?;
    let (start, end) = whole.split_at_mut(name.len());
    start.copy_from_slice(name.as_bytes());
    end.copy_from_slice(b"_p");
    core::str::from_utf8(whole).ok()
}
