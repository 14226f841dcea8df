//! What an implementation has, and what the architecture leaves to it.

use super::memory::Fault;

/// What a Trace Buffer Unit implements. The default is a unit with byte alignment, FEAT_TRBE only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// TRBIDR_EL1.Align: log2 of the alignment of the write pointer and the Trigger Counter, 0 to
    /// 11.
    pub align: u8,
    /// FEAT_TRBE_EXT: External mode.
    pub external: bool,
    /// FEAT_TRBE_EXC: exceptions, TRBSR_EL2 and TRBSR_EL3.
    pub exceptions: bool,
    /// FEAT_TRBEv1p1: TRFCR_EL2.DnVM.
    pub v1p1: bool,
    /// EL2 is implemented.
    pub el2: bool,
    /// EL3 is implemented.
    pub el3: bool,
    /// What becomes of an External abort of a write. (TRBIDR_EL1.EA)
    pub aborts: AbortHandling,
    /// Bytes that the unit accepts before they are written to memory. With 0, it accepts nothing.
    pub capacity: usize,
}

impl Default for Features {
    fn default() -> Self {
        Features {
            align: 0,
            external: false,
            exceptions: false,
            v1p1: false,
            el2: false,
            el3: false,
            aborts: AbortHandling::Ignored,
            capacity: 1 << 20,
        }
    }
}

impl Features {
    /// The alignment in bytes.
    pub const fn alignment(&self) -> u64 {
        1 << (self.align & 0xf)
    }

    /// TRBIDR_EL1 at an Exception level that may program the unit.
    pub const fn id_register(&self) -> u64 {
        let aborts = match self.aborts {
            AbortHandling::Synchronous | AbortHandling::Asynchronous => 0,
            AbortHandling::Ignored => 1,
            AbortHandling::SError => 2,
        };
        aborts << 8 | 1 << 5 | self.align as u64
    }
}

/// What becomes of an External abort of a write to the buffer. (Arm ARM, RGQWBF)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortHandling {
    /// Nothing.
    Ignored,
    /// The core takes an SError exception.
    SError,
    /// It is reported to the unit, which sets the write pointer to the address.
    Synchronous,
    /// It is reported to the unit, which has moved the write pointer on.
    Asynchronous,
}

/// What an implementation does where the architecture leaves it open. The default is the outcome
/// that disturbs the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Direct writes while the unit is enabled. (RDJMDD)
    pub enabled_writes: EnabledWrites,
    /// Direct writes that are not ordered before a trace operation. (SDSSHH)
    pub unsynchronised: Unsynchronised,
    /// A write pointer that is out of range or misaligned. (RMGZWR)
    pub bad_pointer: BadPointer,
    /// The management event of [`BadPointer::Event`] with FEAT_TRBE_EXC. (RMGZWR)
    pub bad_pointer_reason: BadPointerReason,
    /// A misaligned Trigger Counter. (RCPDDM)
    pub misaligned_counter: MisalignedCounter,
    /// The bits below the alignment. (IYSXXN)
    pub low_bits: LowBits,
    /// The Trigger Counter at a Detected Trigger. (RQFGNQ)
    pub trigger_count: TriggerCount,
    /// The Trigger Counter after an MMU fault. (ICRSGP)
    pub counter_after_fault: CounterAfterFault,
    /// A write to the marked address of an exclusive monitor. (RNWSKV)
    pub exclusive: MonitorWrite,
    /// A write to the working set of a transaction. (RFVRXJ)
    pub transaction: MonitorWrite,
}

impl Default for Choices {
    fn default() -> Self {
        Choices {
            enabled_writes: EnabledWrites::Ignored,
            unsynchronised: Unsynchronised::Old,
            bad_pointer: BadPointer::Discard,
            bad_pointer_reason: BadPointerReason::Full,
            misaligned_counter: MisalignedCounter::Generated,
            low_bits: LowBits::ReadWrite,
            trigger_count: TriggerCount::Exact,
            counter_after_fault: CounterAfterFault::Unchanged,
            exclusive: MonitorWrite::AsStore,
            transaction: MonitorWrite::AsStore,
        }
    }
}

/// Direct writes to the registers while the unit is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnabledWrites {
    /// They are ignored, other than one that disables the unit.
    Ignored,
    /// They take effect.
    Taken,
}

/// What a trace operation sees of direct writes without a context synchronization event between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynchronised {
    /// The values before them.
    Old,
    /// The written values.
    New,
}

/// What happens where the unit writes and the write pointer is out of range or misaligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPointer {
    /// The trace is discarded without any event.
    Discard,
    /// The unit behaves as if it were disabled.
    Disabled,
    /// Out of range: the pointer is wrapped before the write.
    /// Misaligned: the byte is written where the pointer points.
    WrapBefore {
        /// TRB_WRAP is generated.
        event: bool,
    },
    /// Out of range: the byte is written where the pointer points, then the pointer is wrapped.
    /// Misaligned: the byte is written where the pointer points.
    WrapAfter {
        /// TRB_WRAP is generated.
        event: bool,
    },
    /// The byte is written where the pointer points, wherever that is.
    WriteAnywhere,
    /// Misaligned: the write generates an Alignment fault. Out of range: the trace is discarded.
    AlignmentFault,
    /// A management event is generated. Without FEAT_TRBE_EXC its syndrome is unknown; with it,
    /// [`Choices::bad_pointer_reason`] has the reason.
    Event {
        /// TRBSR_EL1.S is set, and not left unchanged.
        stop: bool,
        /// TRBSR_EL1.WRAP is set, and not left unchanged.
        wrap: bool,
    },
}

/// Why a management event for a bad pointer is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPointerReason {
    /// Buffer full.
    Full,
    /// Buffer wrap.
    Wrap,
    /// Access not allowed.
    NotAllowed,
    /// An MMU fault.
    Fault(Fault),
}

/// Whether a misaligned Trigger Counter generates Trigger Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisalignedCounter {
    /// As an aligned one.
    Generated,
    /// Never.
    NotGenerated,
}

/// The bits of the write pointer and the Trigger Counter below the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowBits {
    /// They are read and written.
    ReadWrite,
    /// They are zero.
    Zero,
}

/// By how much the Trigger Counter is decremented at a Detected Trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerCount {
    /// By nothing.
    Exact,
    /// By the bytes that the unit collected since the last multiple of the alignment: the unit
    /// writes and counts in blocks of the alignment.
    Blocks,
}

/// Whether the byte whose write faulted was counted by the Trigger Counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterAfterFault {
    /// It was not.
    Unchanged,
    /// It was: the Trigger Counter is one too low.
    Decremented,
}

/// The effect of a write of trace on an exclusive monitor or a transaction that watches the
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorWrite {
    /// As a store of another observer.
    AsStore,
    /// None.
    NoEffect,
}
