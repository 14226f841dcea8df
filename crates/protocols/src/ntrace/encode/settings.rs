//! The settings of a trace unit in software, beside its configuration.

use alloc::vec::Vec;

use super::history::FullHistory;
use super::returns::ReturnStack;
use crate::ntrace::config::{Config, Mode, Profile};
use crate::trace_fifo::FifoSettings;
use crate::trace_filter::{Comparator, Filter};

/// Settings of a trace unit in software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Context and privilege are traced. (`trTeContext`)
    pub context: bool,
    /// Messages have timestamps. (`trTsEnable`)
    pub timestamps: bool,
    /// Periodic synchronisation.
    pub period: Period,
    /// Where the synchronisation of a period is.
    pub sync_position: SyncPosition,
    /// Jumps whose target the instruction before gives need no message.
    /// (`trTeInstEnSequentialJump`)
    pub sequential_jumps: bool,
    /// Returns that need no message. (`trTeInstEnImplicitReturn`)
    pub returns: ReturnStack,
    /// What a full history becomes. (`trTeInstEnRepeatedHistory`)
    pub full_history: FullHistory,
    /// Outcomes that fill the history, 1 to 31.
    pub history_bits: u8,
    /// Indirect transfers have HIST even if it has no outcomes.
    pub history_always: bool,
    /// So does the last message, as 1.0 demands. (CDF 1)
    pub end_history: bool,
    /// Half-words that fill I-CNT.
    pub count_limit: u32,
    /// Branch trace: a full I-CNT is reported by ProgTraceSync with SYNC 4.
    pub count_sync: bool,
    /// Messages that are repeated.
    pub repeats: Repeats,
    /// B-TYPE of an exception and of an interrupt.
    pub trap_types: [u8; 2],
    /// SYNC of the first message.
    pub start: u8,
    /// EVCODE of the last message.
    pub end: u8,
    /// The most instructions that the processor retires in a block.
    pub retires: u8,
    /// An instruction is traced if any filter matches, or if there is no filter.
    pub filters: Vec<Filter>,
    /// Comparators, by number.
    pub comparators: Vec<Comparator>,
    /// Notifications of the processor's triggers, and external triggers, have effects.
    /// (`trTeInstTrigEnable`)
    pub triggers: bool,
    /// Actions of the external trigger inputs, 4 bits of each: 2 trace on, 3 trace off, 4
    /// notification. (`trTeTrigExtInControl`)
    pub inputs: u32,
    /// The FIFO before the transport.
    pub fifo: FifoSettings,
}

/// The unit of the period of synchronisation. (`trTeInstSyncMode`)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// There is none.
    #[default]
    Off,
    /// A number of messages.
    Messages(u64),
    /// A number of cycles.
    Cycles(u64),
    /// A number of half-words of instructions.
    Halfwords(u64),
}

impl Period {
    /// The period of the register fields `trTeInstSyncMode` and `trTeInstSyncMax`.
    pub const fn of(mode: u64, max: u64) -> Period {
        let length = 1 << ((max & 0xf) + 4);
        match mode & 0b11 {
            0 => Period::Off,
            1 => Period::Messages(length),
            2 => Period::Cycles(length),
            _ => Period::Halfwords(length),
        }
    }
}

/// Where the synchronisation at the end of a period is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPosition {
    /// The next instruction.
    #[default]
    Next,
    /// The target of the next transfer that has a message.
    Transfer,
    /// The next instruction that is no target of a transfer.
    Linear,
}

/// Which messages RepeatBranch repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeats {
    /// None.
    #[default]
    None,
    /// Those of branch trace. ("Repeated History": it cannot be used with history)
    Branch,
    /// Those with history, too.
    All,
}

impl Default for Settings {
    /// Those of profile `spec`.
    fn default() -> Self {
        Settings::of(&Config::default())
    }
}

impl Settings {
    /// The settings of the profile of `config`.
    pub fn of(config: &Config) -> Settings {
        let (nexrv, sifive) = (config.profile == Profile::Nexrv, config.profile == Profile::Sifive);
        Settings {
            context: false,
            timestamps: false,
            period: Period::Off,
            sync_position: SyncPosition::Next,
            sequential_jumps: false,
            // The counter of SiFive cores is deeper than programs are. Branch trace has none.
            returns: ReturnStack {
                depth: if sifive && config.mode != Mode::Branch { 1023 } else { 0 },
                counter: false,
            },
            full_history: if sifive { FullHistory::Runs } else { FullHistory::Each },
            history_bits: 31,
            history_always: false,
            end_history: !nexrv && !sifive,
            count_limit: COUNT_LIMIT,
            count_sync: false,
            repeats: Repeats::None,
            trap_types: if sifive { [1, 2] } else { [2, 3] },
            start: if nexrv { 1 } else { 5 },
            end: if nexrv { 0 } else { 4 },
            retires: 1,
            filters: Vec::new(),
            comparators: Vec::new(),
            triggers: true,
            inputs: NOTIFY_ALL,
            fifo: FifoSettings::default(),
        }
    }
}

/// Each external trigger input notifies.
const NOTIFY_ALL: u32 = 0x4444_4444;

/// Half-words that fill I-CNT, of 22 bits, with room for one more block.
pub const COUNT_LIMIT: u32 = (1 << 22) - (1 << 16);
