//! The rules for sequences of register accesses.

use crate::finding::{Finding, Severity};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name, as findings print it.
    pub name: &'static str,
    /// The specification and the section.
    pub section: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// What is wrong.
    pub what: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

const fn error(
    name: &'static str,
    section: &'static str,
    what: &'static str,
    remedy: &'static str,
) -> Rule {
    Rule { name, section, severity: Severity::Error, what, remedy }
}

pub(super) const UNKNOWN_REGISTER: Rule = error(
    "unknown-register",
    "DDI 0601, trace unit registers; IHI 0064, register map",
    "the architecture of the unit has no such register",
    "leave it out",
);
pub(super) const PROGRAMMED_ENABLED: Rule = error(
    "programmed-while-enabled",
    "DDI 0601, accesses to TRC registers",
    "the register is written while the unit is enabled, and the result is CONSTRAINED UNPREDICTABLE",
    "write 0 to TRCPRGCTLR and wait for TRCSTATR.IDLE first",
);
pub(super) const NOT_IDLE: Rule = error(
    "programmed-before-idle",
    "DDI 0601, accesses to TRC registers",
    "the register is written before TRCSTATR.IDLE was read as 1",
    "poll TRCSTATR until IDLE is 1 before the first register is written",
);
pub(super) const ENABLE_UNSYNCHRONISED: Rule = error(
    "enable-unsynchronised",
    "Arm ARM K10.5.7.1.1",
    "the unit is enabled before an ISB synchronises the registers that were written",
    "execute an ISB between the last register and TRCPRGCTLR",
);
pub(super) const UNPROGRAMMED: Rule = error(
    "register-not-programmed",
    "Arm ARM Table K10-3; DDI 0601, TRCRSR",
    "the unit is enabled, and a register that must always be programmed was not written",
    "write it before TRCPRGCTLR",
);
pub(super) const RESTORE_INCOMPLETE: Rule = error(
    "restore-incomplete",
    "Arm ARM K10.5.7.6",
    "the unit is restored without a register that is part of its state",
    "restore every register of K10.5.7.6 that the unit has",
);
pub(super) const SAVE_INCOMPLETE: Rule = error(
    "save-incomplete",
    "Arm ARM K10.5.7.6",
    "the state of the unit is saved without a register that is part of it",
    "save every register of K10.5.7.6 that the unit has",
);
pub(super) const STATUS_UNSYNCHRONISED: Rule = error(
    "status-unsynchronised",
    "Arm ARM K10.5.7.1",
    "TRCSTATR is read before an ISB synchronises the write that changes it",
    "execute an ISB before each read of TRCSTATR",
);
pub(super) const POLL_UNSYNCHRONISED: Rule = error(
    "poll-unsynchronised",
    "Arm ARM K10.5.7.1.3",
    "TRCSTATR is read again without a context synchronization event, and may never change",
    "execute an ISB between two reads of TRCSTATR",
);
pub(super) const ENABLE_NOT_AWAITED: Rule = error(
    "enable-not-awaited",
    "Arm ARM K10.5.7.1.1",
    "the sequence does not wait until the unit has left the idle state",
    "poll TRCSTATR until IDLE is 0",
);
pub(super) const SINK_LAST: Rule = error(
    "unit-before-sink",
    "Arm ARM K10.5.7.1",
    "the trace unit is enabled before its sink, so the sink is not ready for its trace",
    "enable the trace buffer or sink first",
);
pub(super) const SINK_FIRST: Rule = error(
    "sink-before-unit",
    "Arm ARM K10.5.7.1",
    "the sink is disabled before the trace unit, and buffered trace cannot reach it",
    "disable the trace unit first",
);
pub(super) const NOT_PROHIBITED: Rule = error(
    "tracing-not-prohibited",
    "Arm ARM K10.5.7.1.2, K10.5.10",
    "the trace is flushed and the unit is stopped while tracing is not prohibited",
    "clear E0TRE and E1TRE of TRFCR_EL1 first, or flush after the unit is disabled",
);
pub(super) const LAST_LOST: Rule = Rule {
    name: "last-instructions-lost",
    section: "Arm ARM K10.5.10",
    severity: Severity::Warning,
    what: "the unit is disabled while tracing is permitted, and may discard the trace of the last \
           instructions",
    remedy: "clear E0TRE and E1TRE of TRFCR_EL1, execute an ISB and TSB CSYNC, then disable it",
};
pub(super) const FILTER_NOT_SAVED: Rule = Rule {
    name: "filter-not-saved",
    section: "Arm ARM K10.5.7.1.2, K10.5.7.1.3",
    severity: Severity::Warning,
    what: "TRFCR is cleared and was not read before: software must have its value from elsewhere",
    remedy: "read TRFCR_EL1 before it is cleared",
};
pub(super) const NOT_ENABLED: Rule = error(
    "unit-not-enabled",
    "Arm ARM K10.5.7.1.1",
    "the sequence waits until the unit leaves the idle state, and has not enabled it",
    "write 1 to TRCPRGCTLR",
);
pub(super) const NOT_DISABLED: Rule = error(
    "unit-not-disabled",
    "Arm ARM K10.5.7.1.2, K10.5.7.1.3",
    "the sequence waits until the unit is idle or stable, and has not stopped it",
    "write 0 to TRCPRGCTLR, or lock the OS Lock",
);
pub(super) const PROHIBIT_UNSYNCHRONISED: Rule = error(
    "prohibition-unsynchronised",
    "Arm ARM K10.5.7.1.2, K10.5.10",
    "no context synchronization event is between the end of tracing and TSB CSYNC",
    "execute an ISB after the write of TRFCR_EL1 or TRCPRGCTLR and before TSB CSYNC",
);
pub(super) const NOT_FLUSHED: Rule = error(
    "not-flushed",
    "Arm ARM K10.5.7.1.2, K10.5.10",
    "the trace is not flushed: trace in the unit is lost",
    "execute TSB CSYNC after the ISB that synchronises the end of tracing",
);
pub(super) const DISABLE_NOT_AWAITED: Rule = error(
    "disable-not-awaited",
    "Arm ARM K10.5.7.1.2",
    "the sequence does not wait until the unit is idle and stable",
    "poll TRCSTATR until IDLE and PMSTABLE are 1",
);
pub(super) const FILTER_EARLY: Rule = error(
    "filter-restored-early",
    "Arm ARM K10.5.7.1.2, K10.5.7.1.3",
    "TRFCR permits tracing again before the unit has stopped",
    "write TRFCR after TRCSTATR has been polled",
);
pub(super) const FILTER_NOT_RESTORED: Rule = error(
    "filter-not-restored",
    "Arm ARM K10.5.7.1.2, K10.5.10",
    "TRFCR does not have the value with which tracing is permitted",
    "restore the value of TRFCR",
);
pub(super) const READ_UNSTABLE: Rule = error(
    "read-unstable",
    "Arm ARM K10.5.7.1.3; DDI 0601, accesses to TRC registers",
    "the register is read before the unit is idle or stable, and may have an UNKNOWN value",
    "poll TRCSTATR until PMSTABLE is 1",
);
pub(super) const SAVED_ENABLED: Rule = error(
    "saved-while-enabled",
    "Arm ARM K10.5.10",
    "the state of the unit is read while it is enabled",
    "write 0 to TRCPRGCTLR, or lock the OS Lock, first",
);
pub(super) const SAVE_NOT_IDLE: Rule = error(
    "save-not-awaited",
    "Arm ARM K10.5.7.1.3",
    "the sequence does not wait until the unit is idle before power may be removed",
    "poll TRCSTATR until IDLE is 1 after the registers are saved",
);
pub(super) const UNLOCK_UNSYNCHRONISED: Rule = error(
    "unlock-unsynchronised",
    "Arm ARM K10.5.7.1.3",
    "no ISB follows the write that unlocks the OS Lock",
    "execute an ISB after the write of OSLAR_EL1",
);
pub(super) const RESTORED_LOCKED: Rule = error(
    "restored-and-locked",
    "Arm ARM K10.5.7.1.3",
    "the state of the unit is restored, and the OS Lock stays locked, so that the unit does not work",
    "write 0 to OSLAR_EL1 after the registers are restored",
);
pub(super) const TRANSLATION_ENABLED: Rule = error(
    "translation-while-buffer-enabled",
    "Arm ARM K10.5.10",
    "address translation changes while the trace buffer is enabled and may use it",
    "clear TRBLIMITR_EL1.E before, and set it after, the change of address translation",
);
pub(super) const SINK_UNSYNCHRONISED: Rule = error(
    "buffer-disable-unsynchronised",
    "Arm ARM K10.5.10",
    "no context synchronization event follows the write that disables the trace buffer",
    "execute an ISB after TRBLIMITR_EL1.E is cleared",
);
pub(super) const CONTENTS_INCOMPLETE: Rule = error(
    "contents-before-dsb",
    "Arm ARM K10.5.10",
    "the trace buffer is read before a DSB completes its writes",
    "execute a DSB after TSB CSYNC",
);
pub(super) const STATUS_STALE: Rule = error(
    "buffer-registers-stale",
    "Arm ARM K10.5.10",
    "a register of the trace buffer is read without a context synchronization event after the \
     trace was flushed and completed",
    "execute an ISB after TSB CSYNC and DSB",
);
pub(super) const BUFFER_UNSYNCHRONISED: Rule = error(
    "buffer-enable-unsynchronised",
    "Arm ARM K10.5.10",
    "the trace buffer is enabled before a context synchronization event after the registers that \
     it uses",
    "execute an ISB before TRBLIMITR_EL1.E is set",
);
pub(super) const BUFFER_UNPROGRAMMED: Rule = error(
    "buffer-not-programmed",
    "Arm ARM K10.5.10, D6.2",
    "the trace buffer is enabled without a register that it uses",
    "write it before TRBLIMITR_EL1",
);
pub(super) const BUFFER_ENABLED: Rule = error(
    "buffer-programmed-while-enabled",
    "Arm ARM D6.2",
    "a register of the trace buffer is written while the buffer is enabled, and the write may be \
     ignored",
    "clear TRBLIMITR_EL1.E and execute an ISB first",
);
pub(super) const BUFFER_UNORDERED: Rule = error(
    "buffer-write-unordered",
    "Arm ARM D6.2, SDSSHH",
    "a register of the trace buffer is written without a context synchronization event after the \
     write that enables or disables the buffer",
    "execute an ISB after the write of TRBLIMITR_EL1",
);
pub(super) const BUFFER_OUTSIDE_OWNER: Rule = error(
    "buffer-enabled-outside-owner",
    "Arm ARM K10.5.10, SYKCND",
    "the trace buffer is enabled while the processor is not in the owning Security state",
    "enable it where SCR_EL3.NS indicates the state that MDCR_EL3.NSTB has",
);
pub(super) const CONTROL_NOT_SAVED: Rule = Rule {
    name: "control-not-saved",
    section: "Arm ARM K10.5.10, K10.5.7.6",
    severity: Severity::Warning,
    what: "the process is switched out, and the register is not read: software must have its value \
           from elsewhere",
    remedy: "read it before it changes",
};
pub(super) const CONTROL_NOT_RESTORED: Rule = Rule {
    name: "control-not-restored",
    section: "Arm ARM K10.5.10",
    severity: Severity::Warning,
    what: "a register that was saved when a process was switched out is not written when one is \
           switched in",
    remedy: "restore it before the trace buffer is enabled",
};
pub(super) const RESTORED_OTHERWISE: Rule = Rule {
    name: "restored-otherwise",
    section: "Arm ARM K10.5.7.1.3, K10.5.10",
    severity: Severity::Warning,
    what: "the register is restored with another value than was read when the state was saved",
    remedy: "write the value that was saved",
};
pub(super) const HANDLER_CHANGED: Rule = error(
    "handler-changed-state",
    "Arm ARM K10.5.7.1, K10.5.10",
    "an exception handler returns to a routine, and has changed what the routine relies on",
    "leave the trace unit, the trace buffer and TRFCR as they were when the exception was taken",
);
pub(super) const PROHIBITION_UNKNOWN: Rule = Rule {
    name: "prohibition-not-recorded",
    section: "Arm ARM K10.5.7.1.2, K10.5.10",
    severity: Severity::Warning,
    what: "the trace is flushed and the unit is stopped, and the recording does not contain whether \
           tracing is prohibited",
    remedy: "record the exception that ends tracing (`exception`), or TRFCR_EL1",
};
pub(super) const WATERMARK_UNARMED: Rule = Rule {
    name: "watermark-not-armed",
    section: "Arm ARM K10.5.11",
    severity: Severity::Warning,
    what: "the trigger mode is IRQ on trigger and the trigger counter is set, but TRBSR_EL1.TRG is \
           0, so the counter waits for a trigger of the unit",
    remedy: "set TRBSR_EL1.TRG for an interrupt at a watermark",
};
pub(super) const WATERMARK_TRIGGER: Rule = error(
    "watermark-with-trigger",
    "Arm ARM K10.5.11",
    "the trigger counter is used for a watermark and for a trigger of the trace unit",
    "clear TRCEVENTCTL1R.ATB, or use the Wrap mode for the watermark",
);
pub(super) const ENABLE_END: Rule = error(
    "enable-without-synchronisation",
    "Arm ARM K10.5.10",
    "no context synchronization event follows the write that enables the unit",
    "execute an ISB, or return to the traced process with ERET",
);

/// Every rule.
pub const RULES: &[Rule] = &[
    UNKNOWN_REGISTER,
    PROGRAMMED_ENABLED,
    NOT_IDLE,
    ENABLE_UNSYNCHRONISED,
    UNPROGRAMMED,
    RESTORE_INCOMPLETE,
    SAVE_INCOMPLETE,
    STATUS_UNSYNCHRONISED,
    POLL_UNSYNCHRONISED,
    ENABLE_NOT_AWAITED,
    SINK_LAST,
    SINK_FIRST,
    NOT_PROHIBITED,
    LAST_LOST,
    FILTER_NOT_SAVED,
    NOT_ENABLED,
    NOT_DISABLED,
    PROHIBIT_UNSYNCHRONISED,
    NOT_FLUSHED,
    DISABLE_NOT_AWAITED,
    FILTER_EARLY,
    FILTER_NOT_RESTORED,
    READ_UNSTABLE,
    SAVED_ENABLED,
    SAVE_NOT_IDLE,
    UNLOCK_UNSYNCHRONISED,
    RESTORED_LOCKED,
    TRANSLATION_ENABLED,
    SINK_UNSYNCHRONISED,
    CONTENTS_INCOMPLETE,
    STATUS_STALE,
    BUFFER_UNSYNCHRONISED,
    BUFFER_UNPROGRAMMED,
    BUFFER_ENABLED,
    BUFFER_UNORDERED,
    BUFFER_OUTSIDE_OWNER,
    CONTROL_NOT_SAVED,
    CONTROL_NOT_RESTORED,
    RESTORED_OTHERWISE,
    HANDLER_CHANGED,
    PROHIBITION_UNKNOWN,
    WATERMARK_UNARMED,
    WATERMARK_TRIGGER,
    ENABLE_END,
];

impl Rule {
    /// The finding that `at` breaks the rule.
    pub(super) fn broken(&self, at: String, detail: Option<String>) -> Finding {
        let what = match detail {
            Some(detail) => format!("{}: {detail}", self.what),
            None => self.what.to_owned(),
        };
        Finding {
            rule: self.name,
            severity: self.severity,
            at,
            what,
            remedy: self.remedy.to_owned(),
            section: self.section,
        }
    }
}
