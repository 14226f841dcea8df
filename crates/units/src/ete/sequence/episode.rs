//! What a check knows of the unit, and how far the routine that executes has come.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{ENABLE, LIMIT};

/// How far the end of tracing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// A register is written.
    Written,
    /// A context synchronization event followed.
    Synchronised,
    /// TSB CSYNC followed.
    Flushed,
}

/// How far a unit that is disabled has come to be idle without a poll of TRCSTATR. (Arm ARM
/// K10.5.10, which has none)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quiet {
    /// It is enabled, or was not disabled in the recording.
    #[default]
    No,
    /// It is disabled, and its trace is not flushed.
    Unflushed,
    /// Its trace is flushed; a context synchronization event must follow.
    Unsynchronised,
    /// Its registers may be accessed.
    Yes,
}

/// The change of state that TRCSTATR has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Await {
    Running,
    Stopped,
}

/// What is known of the unit and its sink. An exception handler leaves it as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Machine {
    /// TRCPRGCTLR.EN as it was written last.
    pub enabled: Option<bool>,
    /// The OS Lock as it was written last.
    pub locked: Option<bool>,
    /// The trace buffer or sink is enabled.
    pub sink: Option<bool>,
    /// TRFCR as it was written or read last.
    pub filter: Option<u64>,
}

impl Machine {
    /// What differs from `other`, in words; what is unknown in one of them differs from nothing.
    pub fn changes(&self, other: &Machine) -> Vec<&'static str> {
        fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }
        [
            (differ(self.enabled, other.enabled), "TRCPRGCTLR.EN"),
            (differ(self.locked, other.locked), "the OS Lock"),
            (differ(self.sink, other.sink), "TRBLIMITR_EL1.E"),
            (differ(self.filter.map(|f| f & 3), other.filter.map(|f| f & 3)), "TRFCR"),
        ]
        .into_iter()
        .filter_map(|(differs, what)| differs.then_some(what))
        .collect()
    }
}

/// A value that was written or read, and the number of the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accessed {
    pub value: Option<u64>,
    pub at: usize,
}

/// How far a routine has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Episode {
    pub awaited: Option<Await>,
    /// IDLE and PMSTABLE were read as 1 since the unit was stopped.
    pub idle: bool,
    pub stable: bool,
    pub quiet: Quiet,
    /// The OS Lock was locked, and IDLE was not read as 1 since.
    pub lock_awaited: bool,
    /// Tracing is prohibited where the software executes.
    pub prohibited: Option<End>,
    /// TRFCR was read, was cleared, and was written with permission, since it permitted last.
    pub filter_saved: bool,
    pub filter_cleared: bool,
    pub filter_written: bool,
    /// What was read, where it is known.
    pub filter_value: Option<u64>,
    /// The access that disabled the unit while tracing was permitted, until the trace is flushed.
    pub disabled: Option<(End, usize)>,
    /// The unit was known to be enabled then.
    pub was_enabled: bool,
    /// TSB CSYNC was executed while tracing was permitted, as far as is known.
    pub flushed_early: bool,
    /// TSB CSYNC, then DSB, then a context synchronization event.
    pub tsb: bool,
    pub dsb: bool,
    pub current: bool,
    /// The trace buffer was disabled since the unit was disabled.
    pub buffer_left: bool,
    /// A register of the trace buffer, or its contents, was read since then.
    pub buffer_read: bool,
    /// Address translation was changed since the unit was disabled.
    pub switched: bool,
    /// It was changed after the first register of the unit was written.
    pub switched_in: bool,
    /// The trace buffer was disabled, as it was in the process that is switched in.
    pub restored_off: bool,
    /// The unit was enabled in a switch between processes.
    pub enabled_in_switch: bool,
    /// TSB CSYNC was executed since the first register of the unit was written.
    pub tsb_since_written: bool,
    /// Registers that were written since the unit was disabled or locked, and those that were read.
    pub written: BTreeMap<String, Accessed>,
    pub saved: BTreeMap<String, Accessed>,
    /// Registers that were changed before they were read: what is read of them later is not what
    /// they had.
    pub lost: BTreeSet<&'static str>,
    /// The unit was programmed, and then disabled.
    pub programmed_off: bool,
    /// TRCSTATR was read with IDLE 1 since the unit was programmed.
    pub idle_reads: u8,
    /// What was saved was checked.
    pub saved_checked: bool,
    /// The access after which what is read belongs to this routine.
    pub began: usize,
    /// Registers of the trace buffer, and of higher levels, that were written since it was
    /// disabled.
    pub buffer_written: BTreeSet<String>,
}

impl Episode {
    /// The episode of the handler of an exception.
    pub fn handler(&self) -> Episode {
        let Episode { idle, stable, quiet, prohibited, .. } = *self;
        Episode { idle, stable, quiet, prohibited, ..Episode::default() }
    }

    /// A context synchronization event. (ISB, exception entry and return)
    pub fn synchronise(&mut self) {
        if let Some(end) = &mut self.prohibited {
            *end = (*end).max(End::Synchronised);
        }
        if let Some((end, _)) = &mut self.disabled {
            *end = (*end).max(End::Synchronised);
        }
        if self.quiet == Quiet::Unsynchronised {
            self.quiet = Quiet::Yes;
        }
        self.current = self.dsb;
    }

    /// TRFCR was cleared, and has to be restored: it is not known to have been so before.
    pub fn filter_pending(&self) -> bool {
        self.filter_cleared && self.filter_value.is_none_or(|value| value & 3 != 0)
    }

    /// A unit that is disabled, and whose registers may be accessed.
    pub fn is_still(&self) -> bool {
        self.idle || self.quiet == Quiet::Yes
    }

    /// Software changes the control register `name`, to whose value it returns later.
    pub fn change(&mut self, name: &'static str) {
        match self.saved.contains_key(name) {
            true => self.lost.remove(name),
            false => self.lost.insert(name),
        };
    }

    /// A switch between processes is complete.
    pub fn end_switch(&mut self) {
        if std::mem::take(&mut self.switched) {
            self.buffer_written.clear();
        }
        (self.switched_in, self.restored_off) = (false, false);
    }

    /// The unit changes its state with access `at`: what was saved before is complete, but for the
    /// registers that are read before they change.
    pub fn begin(&mut self, at: usize) {
        let began = std::mem::replace(&mut self.began, at);
        let first = ["TRFCR_EL1", "TRFCR_EL2", ENABLE, LIMIT];
        self.saved.retain(|name, read| first.contains(&name.as_str()) && read.at >= began);
        self.saved_checked = false;
        self.written.clear();
    }
}
