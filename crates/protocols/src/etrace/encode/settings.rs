//! What a trace unit in software is told beside its parameters.

use alloc::vec::Vec;

use super::data::DataSettings;
use super::filter::{Comparator, Filter};
use super::ingress::ContextType;
use super::outlet::FifoSettings;
use crate::etrace::config::{Params, Profile, Version};

/// Settings of a trace unit in software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many instructions the processor retires in a block at most.
    pub retires: u8,
    /// Where a synchronisation packet goes once its period is over; `None` for where its profile has it.
    pub sync_position: Option<SyncPosition>,
    /// What a change of the context in the steps is on the port.
    pub context_type: ContextType,
    /// Instructions pass if any of these lets them pass, or if there is none.
    pub filters: Vec<Filter>,
    /// Comparators, by number.
    pub comparators: Vec<Comparator>,
    /// Data trace.
    pub data: DataSettings,
    /// The FIFO before the transport.
    pub fifo: FifoSettings,
    /// What the unit does its own way; `None` for what its profile does.
    pub quirks: Option<Quirks>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            retires: 1,
            sync_position: None,
            context_type: ContextType::default(),
            filters: Vec::new(),
            comparators: Vec::new(),
            data: DataSettings::default(),
            fifo: FifoSettings::default(),
            quirks: None,
        }
    }
}

/// Where a synchronisation packet goes once its period is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncPosition {
    /// To the next instruction, after a packet with the branches so far. A unit needs to see every
    /// instruction for that: inside a block it knows the address of the first and of the last alone.
    Next,
    /// To the instruction after the next one whose `itype` is not 0, which is reported. The blocks in
    /// which instructions are retired make no difference then. ("Multiple retirement considerations")
    AfterSpecial,
}

impl SyncPosition {
    /// Where the profile of `params` has it: the encoders that retire one instruction at a time take
    /// the next one.
    pub const fn of(params: &Params) -> SyncPosition {
        match params.profile {
            Profile::ReferenceFlow | Profile::Siemens | Profile::PulpTrdb => SyncPosition::Next,
            Profile::Spec | Profile::PulpRvTracer | Profile::Esp32 => SyncPosition::AfterSpecial,
        }
    }
}

/// What a unit does its own way, against the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// A packet of sub-format 0 for what was not retired, where privilege changed.
    pub starts_unretired: bool,
    /// A trap that was told with `thaddr` 0 is told again when another follows at once.
    pub tells_twice: bool,
    /// `updiscon` is set before an instruction that is retired and traps.
    pub updiscon_before_any_trap: bool,
    /// At the end the last address is reported whether or not it was.
    pub ends_twice: bool,
    /// At the end nothing is reported.
    pub never_ends: bool,
    /// There are no support packets.
    pub no_support: bool,
    /// A full map is format 0. (0.026)
    pub full_map: bool,
    /// Bits of a trap value that are kept.
    pub tval_mask: u64,
    /// Bits of a cause that are kept.
    pub cause_mask: u64,
    /// The second instruction of a handler is for a synchronisation packet, too.
    pub second_start: bool,
    /// ECALL and EBREAK are retired, and trap.
    pub calls_retire: bool,
    /// What trapped is in the stream of instructions, and is reported where one would be.
    pub trapped_in_stream: bool,
    /// The last instruction before privilege changes is reported even if there are no branches.
    pub flushes_privilege: bool,
    /// A full map is sent without an address, unless it is the target of a jump.
    pub full_map_alone: bool,
}

impl Quirks {
    /// None: as the specification has it.
    pub const NONE: Quirks = Quirks {
        starts_unretired: false,
        tells_twice: false,
        updiscon_before_any_trap: false,
        ends_twice: false,
        never_ends: false,
        no_support: false,
        full_map: false,
        tval_mask: u64::MAX,
        cause_mask: u64::MAX,
        second_start: false,
        calls_retire: false,
        trapped_in_stream: false,
        flushes_privilege: false,
        full_map_alone: false,
    };

    /// What the profile of `params` does.
    pub const fn of(params: &Params) -> Quirks {
        let choices = &params.choices;
        let spec = Quirks {
            calls_retire: choices.ecall_retires,
            full_map: params.is_draft(),
            starts_unretired: choices.start_unretired || choices.trapped_in_stream,
            tells_twice: choices.start_unretired,
            trapped_in_stream: choices.trapped_in_stream,
            second_start: choices.trapped_in_stream,
            ..Quirks::NONE
        };
        match params.profile {
            // Of other versions than their own these have their link and their settings alone.
            Profile::ReferenceFlow if matches!(params.version, Version::V2_0) => Quirks {
                updiscon_before_any_trap: true,
                ends_twice: true,
                tval_mask: 0xff,
                cause_mask: 0xff,
                ..spec
            },
            Profile::PulpTrdb if params.is_draft() => Quirks {
                never_ends: true,
                no_support: true,
                flushes_privilege: true,
                full_map_alone: true,
                ..spec
            },
            _ => spec,
        }
    }
}
