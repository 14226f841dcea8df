//! The structure of an element.

use std::ffi::c_char;

use crate::plain::Plain;

/// Execution is unknown from here to the next `TW_ELEMENT_TRACE_ON` or range. `reason`: `TW_GAP_*`.
pub const TW_ELEMENT_GAP: u32 = 1;
/// Instruction tracing starts or restarts. `reason`: `TW_START_*`.
pub const TW_ELEMENT_TRACE_ON: u32 = 2;
/// The context from here on: `context_id`, `vmid`, `level`, `security`, `isa`, `TW_FLAG_64_BIT`.
pub const TW_ELEMENT_CONTEXT: u32 = 3;
/// Executed instructions: `address`, `end`, `length`, `instructions`, `cycles`, `isa`; of the last
/// instruction `last_kind`, `last_role`, `last_size`, `TW_FLAG_TAKEN`, `TW_FLAG_CONDITIONAL`.
pub const TW_ELEMENT_RANGE: u32 = 4;
/// The last `number` ranges of the source were executed `value` times more, as a whole.
pub const TW_ELEMENT_REPEAT: u32 = 5;
/// `instructions` unknown instructions were executed from `address` on, and then the one at `end`.
pub const TW_ELEMENT_UNKNOWN: u32 = 6;
/// Correction of the last instruction of the last range: `TW_FLAG_TAKEN` is the actual outcome.
pub const TW_ELEMENT_CORRECTED: u32 = 7;
/// Program memory is missing at `address`; `level` and `security` of the access.
pub const TW_ELEMENT_NO_CODE: u32 = 8;
/// An exception `number` was taken; `address` is the preferred return address.
pub const TW_ELEMENT_EXCEPTION: u32 = 9;
/// The trap `value` of the preceding exception (RISC-V `xtval`).
pub const TW_ELEMENT_TRAP_VALUE: u32 = 10;
/// The processor returned from an exception.
pub const TW_ELEMENT_EXCEPTION_RETURN: u32 = 11;
/// A timestamp: `value` in ticks; `cycles` since the last cycle count.
pub const TW_ELEMENT_TIMESTAMP: u32 = 12;
/// Processor `cycles` since the last cycle count.
pub const TW_ELEMENT_CYCLES: u32 = 13;
/// Trace unit events: bit n of `value` is set where event n occurred.
pub const TW_ELEMENT_EVENTS: u32 = 14;
/// The trigger fired.
pub const TW_ELEMENT_TRIGGER: u32 = 15;
/// A timestamp marker: the next timestamp refers to this position.
pub const TW_ELEMENT_MARKER: u32 = 16;
/// A step of a memory transaction. `reason`: `TW_TRANSACTION_*`.
pub const TW_ELEMENT_TRANSACTION: u32 = 17;
/// A `value` that the program wrote into the instruction trace, at exception level `level`.
pub const TW_ELEMENT_INSTRUMENTATION: u32 = 18;
/// A write of the program to a stimulus port (`page`, `port`) or channel (`master`, `channel`):
/// the low `bits` bits of `value`, at `time`; `TW_WRITE_*` in `flags`.
pub const TW_ELEMENT_SOFTWARE_WRITE: u32 = 19;
/// An event of the Data Watchpoint and Trace unit: discriminator `number`, `length` bytes `value`.
pub const TW_ELEMENT_DWT_EVENT: u32 = 20;
/// A local timestamp of an ITM: `value` ticks since the preceding one, `time` in cycles since the
/// start. `reason`: `TW_DELAY_*`.
pub const TW_ELEMENT_LOCAL_TIMESTAMP: u32 = 21;
/// A global timestamp of an ITM: `value` in ticks.
pub const TW_ELEMENT_GLOBAL_TIMESTAMP: u32 = 22;
/// A data access: `address`, `value`, `by` (the address of the instruction), `length`, `direction`;
/// `TW_ACCESS_*` in `flags`.
pub const TW_ELEMENT_DATA_ACCESS: u32 = 23;
/// `length` undecodable bytes. `reason`: `TW_FAULT_*`; `number` is the header, where it matters.
pub const TW_ELEMENT_UNDECODABLE: u32 = 24;
/// Packets contradict each other or the program. `reason`: `TW_INCONSISTENCY_*`.
pub const TW_ELEMENT_INCONSISTENCY: u32 = 25;
/// The trace ends here.
pub const TW_ELEMENT_END: u32 = 26;
/// An element that this version of the interface has no form for.
pub const TW_ELEMENT_OTHER: u32 = 27;
/// What a protocol reports that no other element states: `length` bytes, which a `tw_push`
/// delivers.
pub const TW_ELEMENT_CUSTOM: u32 = 28;

/// The field `address` is known.
pub const TW_KNOWN_ADDRESS: u32 = 1;
/// The field `end` is known.
pub const TW_KNOWN_END: u32 = 2;
/// The field `value` is known.
pub const TW_KNOWN_VALUE: u32 = 4;
/// The field `time` is known.
pub const TW_KNOWN_TIME: u32 = 8;
/// The field `by` is known.
pub const TW_KNOWN_BY: u32 = 16;
/// The field `instructions` is known.
pub const TW_KNOWN_INSTRUCTIONS: u32 = 32;
/// The field `cycles` is known.
pub const TW_KNOWN_CYCLES: u32 = 64;
/// The field `length` is known.
pub const TW_KNOWN_LENGTH: u32 = 128;
/// The field `number` is known.
pub const TW_KNOWN_NUMBER: u32 = 256;
/// The field `context_id` is known.
pub const TW_KNOWN_CONTEXT_ID: u32 = 512;
/// The field `vmid` is known.
pub const TW_KNOWN_VMID: u32 = 1024;
/// The field `level` is known.
pub const TW_KNOWN_LEVEL: u32 = 2048;
/// The field `security` is known.
pub const TW_KNOWN_SECURITY: u32 = 4096;
/// The field `isa` is known.
pub const TW_KNOWN_ISA: u32 = 8192;
/// The fields `last_kind`, `last_role` and `last_size` are known.
pub const TW_KNOWN_LAST: u32 = 16384;
/// The field `port` is known.
pub const TW_KNOWN_PORT: u32 = 32768;
/// The field `page` is known.
pub const TW_KNOWN_PAGE: u32 = 65536;
/// The field `master` is known.
pub const TW_KNOWN_MASTER: u32 = 131072;
/// The field `channel` is known.
pub const TW_KNOWN_CHANNEL: u32 = 262144;
/// The field `bits` is known.
pub const TW_KNOWN_BITS: u32 = 524288;
/// The field `direction` is known.
pub const TW_KNOWN_DIRECTION: u32 = 1048576;

/// The last instruction of a range took effect; a branch was taken.
pub const TW_FLAG_TAKEN: u32 = 1;
/// A condition decides on the effect of the last instruction of a range.
pub const TW_FLAG_CONDITIONAL: u32 = 2;
/// The context is in AArch64 state.
pub const TW_FLAG_64_BIT: u32 = 4;
/// The return address of an exception is also the target of the last branch.
pub const TW_FLAG_ALSO_TARGET: u32 = 8;
/// The exception was tail-chained (M profile).
pub const TW_FLAG_TAIL_CHAIN: u32 = 16;
/// The trace unit lost packets directly before this one.
pub const TW_FLAG_AFTER_OVERFLOW: u32 = 32;
/// The clock of a global timestamp changed.
pub const TW_FLAG_CLOCK_CHANGED: u32 = 64;
/// Nothing is contradicted: the format leaves two cases open, and the element before it is one.
pub const TW_FLAG_AMBIGUITY: u32 = 128;

/// Software write: the packet is marked (STP "M").
pub const TW_WRITE_MARKER: u32 = 65536;
/// Software write: a trigger; `value` is its payload.
pub const TW_WRITE_TRIGGER: u32 = 131072;
/// Software write: a frequency; `value` is in hertz.
pub const TW_WRITE_FREQUENCY: u32 = 262144;
/// Software write: a master reports an error.
pub const TW_WRITE_MASTER_ERROR: u32 = 524288;
/// Software write: the trace unit reports a global error.
pub const TW_WRITE_GLOBAL_ERROR: u32 = 1048576;
/// Software write: a FLAG packet.
pub const TW_WRITE_FLAG: u32 = 2097152;
/// Software write: a USER packet.
pub const TW_WRITE_USER: u32 = 4194304;
/// Software write: a channel reports an error.
pub const TW_WRITE_CHANNEL_ERROR: u32 = 8388608;
/// Software write: a synchronization point of several traces; `value` identifies it.
pub const TW_WRITE_CROSS_SYNC: u32 = 16777216;

/// Data access: a coprocessor register transfer.
pub const TW_ACCESS_COPROCESSOR: u32 = 65536;
/// Data access: of a load or store multiple, other than the first.
pub const TW_ACCESS_CONTINUED: u32 = 131072;
/// Data access: the value was traced late, out of order.
pub const TW_ACCESS_LATE: u32 = 262144;
/// Data access: a store-exclusive that failed.
pub const TW_ACCESS_STORE_FAILED: u32 = 524288;
/// Data access: the trace unit did not trace the value.
pub const TW_ACCESS_VALUE_NOT_TRACED: u32 = 1048576;
/// Data access: accesses after this one were suppressed because the FIFO was full.
pub const TW_ACCESS_SUPPRESSED: u32 = 2097152;
/// Data access: big-endian.
pub const TW_ACCESS_BIG_ENDIAN: u32 = 4194304;
/// Data access: a stacking access of exception entry or return (M profile).
pub const TW_ACCESS_EXCEPTION: u32 = 8388608;

/// Gap: the decoder starts.
pub const TW_GAP_START: u32 = 1;
/// Gap: the decoder restarts at a barrier of the link.
pub const TW_GAP_RESET: u32 = 2;
/// Gap: the trace unit overflowed.
pub const TW_GAP_OVERFLOW: u32 = 3;
/// Gap: the trace unit discarded its unresolved trace.
pub const TW_GAP_DISCARD: u32 = 4;
/// Gap: undecodable bytes.
pub const TW_GAP_BAD_PACKET: u32 = 5;
/// Gap: the program image contradicts the trace.
pub const TW_GAP_BAD_IMAGE: u32 = 6;
/// Gap: only data accesses were lost.
pub const TW_GAP_DATA: u32 = 7;

/// Trace on: tracing was enabled, or a filter includes the instructions again.
pub const TW_START_NORMAL: u32 = 1;
/// Trace on: after an overflow of the trace unit.
pub const TW_START_OVERFLOW: u32 = 2;
/// Trace on: the processor left Debug state.
pub const TW_START_DEBUG: u32 = 3;

/// Transaction: the trace begins inside one.
pub const TW_TRANSACTION_INSIDE: u32 = 1;
/// Transaction: it starts.
pub const TW_TRANSACTION_START: u32 = 2;
/// Transaction: it was committed.
pub const TW_TRANSACTION_COMMIT: u32 = 3;
/// Transaction: it failed; its instructions have no effect.
pub const TW_TRANSACTION_FAILURE: u32 = 4;
/// Transaction: the one in which the trace begins was speculative, and did not occur.
pub const TW_TRANSACTION_CANCELLED: u32 = 5;

/// Local timestamp: synchronous to the preceding packet.
pub const TW_DELAY_NONE: u32 = 1;
/// Local timestamp: it was delayed.
pub const TW_DELAY_TIMESTAMP: u32 = 2;
/// Local timestamp: the preceding packet was delayed.
pub const TW_DELAY_PACKET: u32 = 3;
/// Local timestamp: both were delayed.
pub const TW_DELAY_BOTH: u32 = 4;

/// Undecodable: before the first synchronization point.
pub const TW_FAULT_UNSYNCHRONISED: u32 = 1;
/// Undecodable: the specification reserves the header.
pub const TW_FAULT_RESERVED: u32 = 2;
/// Undecodable: the header is reserved in the configuration of the trace unit.
pub const TW_FAULT_RESERVED_FOR_CONFIG: u32 = 3;
/// Undecodable: the record of a cycle has pins that the trace port does not have.
pub const TW_FAULT_NO_SUCH_PINS: u32 = 4;
/// Undecodable: an invalid sequence of bytes.
pub const TW_FAULT_SEQUENCE: u32 = 5;
/// Undecodable: a continuation exceeds the width of the field.
pub const TW_FAULT_OVERLONG: u32 = 6;
/// Undecodable: the packet has more bytes than its fields.
pub const TW_FAULT_BYTES_AFTER_FIELDS: u32 = 7;
/// Undecodable: the packet has fewer bytes than its fields.
pub const TW_FAULT_FIELDS_AFTER_BYTES: u32 = 8;
/// Undecodable: the payload after the header is not publicly documented.
pub const TW_FAULT_OPAQUE: u32 = 9;
/// Undecodable: the trace ends inside a packet.
pub const TW_FAULT_TRUNCATED: u32 = 10;
/// Undecodable: the formatter lost frame alignment.
pub const TW_FAULT_FRAME: u32 = 11;

/// Inconsistency: an instruction packet before an address or a context.
pub const TW_INCONSISTENCY_NO_ADDRESS: u32 = 1;
/// Inconsistency: a commit of more P0 elements than are pending.
pub const TW_INCONSISTENCY_COMMIT_OF_NOTHING: u32 = 2;
/// Inconsistency: a cancel of more P0 elements than are pending.
pub const TW_INCONSISTENCY_CANCEL_OF_NOTHING: u32 = 3;
/// Inconsistency: a mispredict without a pending branch.
pub const TW_INCONSISTENCY_MISPREDICT_OF_NOTHING: u32 = 4;
/// Inconsistency: a return with an empty return stack and without an address.
pub const TW_INCONSISTENCY_RETURN_STACK_EMPTY: u32 = 5;
/// Inconsistency: an unconditional branch traced as not taken.
pub const TW_INCONSISTENCY_UNCONDITIONAL_NOT_TAKEN: u32 = 6;
/// Inconsistency: the program does not reach an address in the trace.
pub const TW_INCONSISTENCY_ADDRESS_NOT_REACHED: u32 = 7;
/// Inconsistency: the program image has no valid instruction at the address.
pub const TW_INCONSISTENCY_INVALID_OPCODE: u32 = 8;
/// Inconsistency: the instruction set is not supported.
pub const TW_INCONSISTENCY_UNSUPPORTED_ISA: u32 = 9;
/// Inconsistency: a packet that is invalid in the current state.
pub const TW_INCONSISTENCY_UNEXPECTED: u32 = 10;
/// Inconsistency: trace was lost before the outcome of the last branch was resolved.
pub const TW_INCONSISTENCY_UNRESOLVED: u32 = 11;
/// Ambiguity: two paths lead to the traced address.
pub const TW_INCONSISTENCY_AMBIGUOUS: u32 = 12;
/// Ambiguity: the last instruction either retired before the trap or caused it.
pub const TW_INCONSISTENCY_TRAPPED_OR_RETIRED: u32 = 13;
/// Inconsistency: one packet reports more branches than the configuration allows.
pub const TW_INCONSISTENCY_TOO_MANY_BRANCHES: u32 = 14;
/// Inconsistency: the program has more instructions for one packet than the limit.
pub const TW_INCONSISTENCY_EXPANSION_LIMIT: u32 = 15;
/// Inconsistency: the address is not aligned for the instruction set.
pub const TW_INCONSISTENCY_MISALIGNED: u32 = 16;
/// Inconsistency: the context changed with a discontinuity, or an exception was taken.
pub const TW_INCONSISTENCY_CONTEXT_OR_EXCEPTION: u32 = 17;
/// Something that this version of the interface has no number for.
pub const TW_REASON_OTHER: u32 = 4294967295;

/// AArch64.
pub const TW_ISA_A64: u8 = 1;
/// AArch32, Arm.
pub const TW_ISA_A32: u8 = 2;
/// AArch32, Thumb.
pub const TW_ISA_T32: u8 = 3;
/// ThumbEE.
pub const TW_ISA_THUMB_EE: u8 = 4;
/// Jazelle.
pub const TW_ISA_JAZELLE: u8 = 5;
/// RISC-V with 32 bits.
pub const TW_ISA_RV32: u8 = 6;
/// RISC-V with 64 bits.
pub const TW_ISA_RV64: u8 = 7;

/// Secure state.
pub const TW_SECURITY_SECURE: u8 = 1;
/// Non-secure state.
pub const TW_SECURITY_NON_SECURE: u8 = 2;
/// Root state (FEAT_RME).
pub const TW_SECURITY_ROOT: u8 = 3;
/// Realm state (FEAT_RME).
pub const TW_SECURITY_REALM: u8 = 4;

/// Instruction: execution continues with the next one.
pub const TW_KIND_PLAIN: u8 = 1;
/// Instruction: a direct branch.
pub const TW_KIND_BRANCH: u8 = 2;
/// Instruction: an indirect branch.
pub const TW_KIND_INDIRECT: u8 = 3;
/// Instruction: an instruction synchronisation barrier.
pub const TW_KIND_ISB: u8 = 4;
/// Instruction: a data barrier.
pub const TW_KIND_BARRIER: u8 = 5;
/// Instruction: WFI or WFE.
pub const TW_KIND_WAIT: u8 = 6;
/// Instruction: WFIT or WFET.
pub const TW_KIND_TIMED_WAIT: u8 = 7;
/// Instruction: the start of a transaction.
pub const TW_KIND_TRANSACTION_START: u8 = 8;
/// Instruction: an encoding that is undefined.
pub const TW_KIND_UNDEFINED: u8 = 9;

/// Branch: a jump, or no branch.
pub const TW_ROLE_JUMP: u8 = 1;
/// Branch: a call.
pub const TW_ROLE_CALL: u8 = 2;
/// Branch: a return.
pub const TW_ROLE_RETURN: u8 = 3;
/// Branch: a return from an exception.
pub const TW_ROLE_EXCEPTION_RETURN: u8 = 4;
/// Branch: the end or the start of a low-overhead loop.
pub const TW_ROLE_LOOP: u8 = 5;
/// Branch: it compares two values.
pub const TW_ROLE_COMPARE: u8 = 6;
/// Branch: an AArch32 instruction that usually returns.
pub const TW_ROLE_IMPLIED_RETURN: u8 = 7;
/// Branch: RISC-V, through one link register, writing the other.
pub const TW_ROLE_SWAP: u8 = 8;
/// Branch: RISC-V, writing its return address to another register.
pub const TW_ROLE_LINK: u8 = 9;

/// Data access: a read.
pub const TW_DIRECTION_READ: u8 = 1;
/// Data access: a write.
pub const TW_DIRECTION_WRITE: u8 = 2;

/// One element of the trace. `kind` states which fields it has, `known` which of them are known.
/// All others are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwElement {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_ELEMENT_*`.
    pub kind: u32,
    /// Offset of the packet in the trace buffer, in bytes.
    pub offset: u64,
    /// Number of the source in the capture.
    pub source: u32,
    /// `TW_KNOWN_*`.
    pub known: u32,
    /// `TW_FLAG_*`, `TW_WRITE_*`, `TW_ACCESS_*`.
    pub flags: u32,
    /// The reason or the step, by kind.
    pub reason: u32,
    /// Address of the first instruction, of a data access, or to return to.
    pub address: u64,
    /// Address after the last instruction.
    pub end: u64,
    /// Value, payload, ticks, by kind.
    pub value: u64,
    /// Timestamp of a software write; cycles of a local timestamp.
    pub time: u64,
    /// Address of the instruction that made a data access.
    pub by: u64,
    /// Number of instructions.
    pub instructions: u32,
    /// Number of processor cycles.
    pub cycles: u32,
    /// Number of bytes.
    pub length: u32,
    /// Number of an exception, a discriminator, a header, a count of ranges, by kind.
    pub number: u32,
    /// Context identifier.
    pub context_id: u32,
    /// Virtual machine identifier.
    pub vmid: u32,
    /// Master of an STM.
    pub master: u16,
    /// Channel of a master.
    pub channel: u16,
    /// Stimulus port of an ITM in its page, 0 to 31.
    pub port: u8,
    /// Page of stimulus ports, 0 to 7.
    pub page: u8,
    /// Width of a software write in bits.
    pub bits: u8,
    /// `TW_DIRECTION_*`.
    pub direction: u8,
    /// `TW_ISA_*`.
    pub isa: u8,
    /// Exception level; for RISC-V the privilege level: 0 U, 1 S, 3 M, 4 D, 5 VU, 6 VS.
    pub level: u8,
    /// `TW_SECURITY_*`.
    pub security: u8,
    /// `TW_KIND_*` of the last instruction.
    pub last_kind: u8,
    /// `TW_ROLE_*` of the last instruction.
    pub last_role: u8,
    /// Size of the last instruction in bytes.
    pub last_size: u8,
    /// 0.
    pub reserved: u16,
}

// SAFETY: integers only, and the size is first.
unsafe impl Plain for TwElement {}

// Without padding, so that each byte is written.
const _: () = assert!(std::mem::size_of::<TwElement>() == 112);

/// The name of a kind of element, as in all outputs of Tracewright; null for a number that is no
/// kind.
#[no_mangle]
pub extern "C" fn tw_element_kind_name(kind: u32) -> *const c_char {
    let name = match kind {
        TW_ELEMENT_GAP => "gap\0",
        TW_ELEMENT_TRACE_ON => "trace-on\0",
        TW_ELEMENT_CONTEXT => "context\0",
        TW_ELEMENT_RANGE => "range\0",
        TW_ELEMENT_REPEAT => "repeat\0",
        TW_ELEMENT_UNKNOWN => "unknown\0",
        TW_ELEMENT_CORRECTED => "corrected\0",
        TW_ELEMENT_NO_CODE => "no-code\0",
        TW_ELEMENT_EXCEPTION => "exception\0",
        TW_ELEMENT_TRAP_VALUE => "trap-value\0",
        TW_ELEMENT_EXCEPTION_RETURN => "exception-return\0",
        TW_ELEMENT_TIMESTAMP => "timestamp\0",
        TW_ELEMENT_CYCLES => "cycles\0",
        TW_ELEMENT_EVENTS => "events\0",
        TW_ELEMENT_TRIGGER => "trigger\0",
        TW_ELEMENT_MARKER => "marker\0",
        TW_ELEMENT_TRANSACTION => "transaction\0",
        TW_ELEMENT_INSTRUMENTATION => "instrumentation\0",
        TW_ELEMENT_SOFTWARE_WRITE => "software-write\0",
        TW_ELEMENT_DWT_EVENT => "dwt-event\0",
        TW_ELEMENT_LOCAL_TIMESTAMP => "local-timestamp\0",
        TW_ELEMENT_GLOBAL_TIMESTAMP => "global-timestamp\0",
        TW_ELEMENT_DATA_ACCESS => "data-access\0",
        TW_ELEMENT_UNDECODABLE => "undecodable\0",
        TW_ELEMENT_INCONSISTENCY => "inconsistency\0",
        TW_ELEMENT_END => "end\0",
        TW_ELEMENT_OTHER => "other\0",
        TW_ELEMENT_CUSTOM => "custom\0",
        _ => return std::ptr::null(),
    };
    name.as_ptr().cast()
}
