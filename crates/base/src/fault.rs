//! Faults, inconsistencies and gaps of a trace.

use core::fmt;

use crate::context::Space;

/// The reason that bytes are undecodable. A fault is an element of the stream, never an `Err`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes before the first synchronization point.
    Unsynchronised,
    /// The specification reserves this header.
    Reserved(u8),
    /// The header is reserved in the configuration of this trace unit.
    ReservedForConfig(u8),
    /// The record of a cycle has pins that the trace port does not have.
    NoSuchPins,
    /// An invalid sequence of bytes.
    Sequence,
    /// A continuation exceeds the width of the field.
    Overlong,
    /// The packet has more bytes than its fields.
    BytesAfterFields,
    /// The packet has fewer bytes than its fields.
    FieldsAfterBytes,
    /// The payload after this header, with its length, is not publicly documented.
    Opaque(u8),
    /// The trace ends inside a packet.
    Truncated,
    /// The formatter lost frame alignment: the bytes belong to no source.
    Frame,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unsynchronised => f.write_str("before the first synchronisation"),
            Fault::Reserved(header) => write!(f, "reserved header 0x{header:02x}"),
            Fault::ReservedForConfig(header) => {
                write!(f, "header 0x{header:02x} is reserved in this configuration")
            }
            Fault::NoSuchPins => {
                f.write_str("the record has pins that the port of this configuration does not have")
            }
            Fault::Sequence => f.write_str("invalid sequence of bytes"),
            Fault::Overlong => f.write_str("continuation past the width of the field"),
            Fault::BytesAfterFields => f.write_str("the packet has more bytes than its fields"),
            Fault::FieldsAfterBytes => f.write_str("the packet has fewer bytes than its fields"),
            Fault::Opaque(header) => {
                write!(f, "the payload of header 0x{header:02x} is not publicly documented")
            }
            Fault::Truncated => f.write_str("the trace ends inside a packet"),
            Fault::Frame => f.write_str("not a trace frame"),
        }
    }
}

/// A contradiction between packets, or between packets and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inconsistency {
    /// An instruction packet before an address or a context.
    NoAddress,
    /// A commit of more P0 elements than are pending.
    CommitOfNothing,
    /// A cancel of more P0 elements than are pending.
    CancelOfNothing,
    /// A mispredict without a pending branch.
    MispredictOfNothing,
    /// A return with an empty return stack and without an address.
    ReturnStackEmpty,
    /// An unconditional branch traced as not taken: wrong program image, or a lost packet.
    UnconditionalNotTaken,
    /// The program does not reach an address in the trace.
    AddressNotReached,
    /// The program image has no valid instruction at the address.
    InvalidOpcode,
    /// Instructions were executed at an address that is not aligned for the instruction set: the
    /// trace is damaged, or its instruction set is another.
    Misaligned {
        /// The address.
        address: u64,
        /// The memory that the processor reads.
        space: Space,
    },
    /// The instruction set is not supported.
    UnsupportedIsa,
    /// A packet that is invalid in the current state.
    Unexpected,
    /// The outcome of the last branch is uncertain: trace was lost before it was resolved.
    Unresolved,
    /// Two paths lead to the traced address, and the trace does not distinguish them. The shorter
    /// path is reported.
    Ambiguous,
    /// The last traced instruction either retired before the trap or caused the trap, and the trace
    /// does not distinguish the cases. The instruction is reported.
    TrappedOrRetired,
    /// The hart changed to another context without a relation between them, or an exception with
    /// the cause and the value 0 was taken, and the trace does not distinguish the cases. The
    /// exception is reported.
    ContextOrException,
    /// One packet reports more branches than the configuration allows: the packet may be damaged.
    TooManyBranches,
    /// The program has more instructions for one packet than [`Code::max_expansion`] allows, or for
    /// many packets than the [`Reserve`](crate::Reserve) has. They are reported up to the limit;
    /// the position is unknown until the next address.
    ///
    /// [`Code::max_expansion`]: crate::Code::max_expansion
    ExpansionLimit,
    /// The traced number of half-words does not fit the instructions of the path. (N-Trace)
    CountMismatch,
    /// The traced outcomes do not fit the branches of the path. (N-Trace)
    OutcomeMismatch,
}

impl Inconsistency {
    /// Whether nothing is contradicted: the format leaves two cases open, and the element before it
    /// is one of them.
    pub const fn is_ambiguity(self) -> bool {
        matches!(
            self,
            Inconsistency::Ambiguous
                | Inconsistency::TrappedOrRetired
                | Inconsistency::ContextOrException
        )
    }

    /// The address of the instruction that it concerns, where it has one.
    pub const fn address(self) -> Option<u64> {
        match self {
            Inconsistency::Misaligned { address, .. } => Some(address),
            _ => None,
        }
    }
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inconsistency::Misaligned { address, .. } => {
                return write!(
                    f,
                    "0x{address:x} is not aligned for the instruction set: the trace is damaged, or its instruction set is another"
                );
            }
            Inconsistency::NoAddress => "instructions traced before an address and a context are known",
            Inconsistency::CommitOfNothing => "more committed than was traced",
            Inconsistency::CancelOfNothing => "more cancelled than was traced",
            Inconsistency::MispredictOfNothing => "mispredict without a branch",
            Inconsistency::ReturnStackEmpty => "return without an address, and the return stack is empty",
            Inconsistency::UnconditionalNotTaken => {
                "an unconditional branch is traced as not taken: wrong program image?"
            }
            Inconsistency::AddressNotReached => "the program does not reach the traced address",
            Inconsistency::InvalidOpcode => "an illegal opcode follows: the program image is missing or wrong there",
            Inconsistency::UnsupportedIsa => "this instruction set cannot be followed",
            Inconsistency::Unexpected => "unexpected packet",
            Inconsistency::Unresolved => "the last branch was not resolved before trace was lost",
            Inconsistency::Ambiguous => "two paths lead to the traced address, and the shorter one is reported",
            Inconsistency::TooManyBranches => {
                "more predicted branches in one packet than longest_count allows: if the trace is right, set a greater longest_count"
            }
            Inconsistency::ExpansionLimit => {
                "more instructions for the bytes of a packet than the limit allows: if the trace is right, raise the limit"
            }
            Inconsistency::ContextOrException => {
                "the context changed with a discontinuity, or an exception was taken: the exception is reported"
            }
            Inconsistency::CountMismatch => {
                "the traced number of half-words does not fit the instructions: wrong program image, source width or dialect?"
            }
            Inconsistency::OutcomeMismatch => {
                "the traced outcomes do not fit the branches: wrong program image, source width or dialect?"
            }
            Inconsistency::TrappedOrRetired => {
                "the last instruction either retired before the trap or caused it: it is reported"
            }
        })
    }
}

/// The reason of a gap in the knowledge of execution. [`Start`](Gap::Start) and
/// [`Reset`](Gap::Reset) are no loss of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gap {
    /// The decoder starts.
    Start,
    /// The decoder restarts: the trace of the source ends at a barrier of the link, and another one
    /// follows.
    Reset,
    /// The trace unit overflowed.
    Overflow,
    /// The trace unit discarded its unresolved trace.
    Discard,
    /// Undecodable bytes.
    BadPacket,
    /// The program image contradicts the trace.
    BadImage,
    /// The trace unit lost data accesses. Instruction trace is complete.
    Data,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gap::Start => "start of trace",
            Gap::Reset => "reset",
            Gap::Overflow => "trace unit overflow",
            Gap::Discard => "trace discarded",
            Gap::Data => "data accesses lost",
            Gap::BadPacket => "bad packet",
            Gap::BadImage => "program image contradicts the trace",
        })
    }
}
