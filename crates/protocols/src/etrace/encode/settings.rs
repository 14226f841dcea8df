//! The settings of a trace unit in software, beside its parameters.

use alloc::vec::Vec;

use super::data::DataSettings;
use super::{Comparator, ContextType, FifoSettings, Filter};
use crate::etrace::config::{Params, Profile};

/// Settings of a trace unit in software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most instructions that the processor retires in a block.
    pub retires: u8,
    /// The instruction that gets the synchronisation packet at the end of a period; `None` for that
    /// of the profile.
    pub sync_position: Option<SyncPosition>,
    /// `ctype` of a context change in the steps.
    pub context_type: ContextType,
    /// An instruction is traced if any filter matches, or if there is no filter.
    pub filters: Vec<Filter>,
    /// Comparators, by number.
    pub comparators: Vec<Comparator>,
    /// Data trace.
    pub data: DataSettings,
    /// Implicit returns without `irets`: a call after an implied return is reported, so that no two
    /// executions have the same packets. The algorithm of the specification does not report it.
    pub reports_calls: bool,
    /// The FIFO before the transport.
    pub fifo: FifoSettings,
    /// The deviations of the unit from the specification; `None` for those of its profile.
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
            reports_calls: true,
            fifo: FifoSettings::default(),
            quirks: None,
        }
    }
}

/// The instruction that gets the synchronisation packet at the end of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncPosition {
    /// The next instruction, after a packet with the branches so far. This requires that the unit
    /// sees every instruction: inside a block it knows only the addresses of the first and the
    /// last.
    Next,
    /// The instruction after the next one whose `itype` is not 0, which is reported. The packets
    /// then do not depend on the division into blocks. ("Multiple retirement considerations")
    AfterSpecial,
}

impl SyncPosition {
    /// The position of the profile of `params`: encoders that see each instruction take the next
    /// one.
    pub const fn of(params: &Params) -> SyncPosition {
        match params.profile {
            Profile::ReferenceFlow | Profile::Siemens | Profile::PulpTrdb => SyncPosition::Next,
            Profile::Spec | Profile::PulpRvTracer | Profile::Esp32 => SyncPosition::AfterSpecial,
        }
    }
}

/// What only the encoder of a profile does, and a decoder need not know. What both must know is in
/// [`Choices`](crate::etrace::config::Choices).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// `updiscon` is set before an instruction that is retired and traps.
    pub updiscon_before_any_trap: bool,
    /// At the end of the trace the last address is reported even if the packet before has it.
    pub ends_twice: bool,
    /// At the end of the trace no packet is sent.
    pub never_ends: bool,
    /// The unit has no support packets.
    pub no_support: bool,
    /// The bits of a trap value that the trap packet has.
    pub tval_mask: u64,
    /// The bits of a cause that the trap packet has.
    pub cause_mask: u64,
    /// The last instruction before privilege changes is reported even if there are no branches.
    pub flushes_privilege: bool,
    /// A full map is sent without an address, unless the address is the target of a jump.
    pub full_map_alone: bool,
    /// Format 0 is sent in place of format 1 where it is not longer. (0.026)
    pub full_if_shorter: bool,
}

impl Quirks {
    /// The encoder of the specification.
    pub const NONE: Quirks = Quirks {
        updiscon_before_any_trap: false,
        ends_twice: false,
        never_ends: false,
        no_support: false,
        tval_mask: u64::MAX,
        cause_mask: u64::MAX,
        flushes_privilege: false,
        full_map_alone: false,
        full_if_shorter: false,
    };

    /// The quirks of the profile of `params`.
    pub const fn of(params: &Params) -> Quirks {
        match params.profile {
            Profile::ReferenceFlow => Quirks {
                updiscon_before_any_trap: true,
                ends_twice: true,
                tval_mask: 0xff,
                cause_mask: 0xff,
                ..Quirks::NONE
            },
            Profile::PulpTrdb => Quirks {
                never_ends: true,
                no_support: true,
                flushes_privilege: true,
                full_map_alone: true,
                full_if_shorter: true,
                ..Quirks::NONE
            },
            Profile::Spec | Profile::Siemens | Profile::PulpRvTracer | Profile::Esp32 => {
                Quirks::NONE
            }
        }
    }
}
