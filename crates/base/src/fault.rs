//! What can be wrong with a trace.

use core::fmt;

/// Why some bytes are not a packet. A fault travels in the stream; it is never an `Err`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes before the first place where a decoder may start.
    Unsynchronised,
    /// The specification reserves this header.
    Reserved(u8),
    /// The header is legal, but not for this trace unit's configuration.
    ReservedForConfig(u8),
    /// The record of a cycle has pins that the trace port does not have.
    NoSuchPins,
    /// Bytes that must follow each other do not.
    Sequence,
    /// A continuation ran past the field's width.
    Overlong,
    /// The header is legal, but what follows it is not described in public: not even how long it is.
    Opaque(u8),
    /// The trace ends inside a packet.
    Truncated,
    /// The link layer lost its frame: bytes that belong to no source.
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
            Fault::Opaque(header) => {
                write!(f, "what follows header 0x{header:02x} is not described in public")
            }
            Fault::Truncated => f.write_str("the trace ends inside a packet"),
            Fault::Frame => f.write_str("not a trace frame"),
        }
    }
}

/// How packets contradict each other or the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inconsistency {
    /// An instruction packet arrived before an address or a context.
    NoAddress,
    /// More was committed than had been traced.
    CommitOfNothing,
    /// More was cancelled than had been traced.
    CancelOfNothing,
    /// There is no branch that a mispredict could apply to.
    MispredictOfNothing,
    /// A return had no entry on the return stack and no address followed.
    ReturnStackEmpty,
    /// An unconditional branch is said not to be taken: wrong program image, or a lost packet.
    UnconditionalNotTaken,
    /// The walk to an address that the trace gives does not reach it.
    AddressNotReached,
    /// The program image has no instruction here.
    InvalidOpcode,
    /// The instruction set here is not one that can be walked.
    UnsupportedIsa,
    /// A packet that cannot come at this place.
    Unexpected,
    /// The last branch may have gone the other way: it was not resolved before trace was lost.
    Unresolved,
    /// Two paths lead to the traced address, and nothing tells which was taken: the shorter one is said.
    Ambiguous,
    /// The instruction that was traced last may have been retired before the trap, or be what trapped: nothing tells
    /// which, and it is said.
    TrappedOrRetired,
    /// One packet stands for more branches than it is allowed to: it may be damaged.
    TooManyBranches,
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inconsistency::NoAddress => "instructions traced before an address and a context are known",
            Inconsistency::CommitOfNothing => "more committed than was traced",
            Inconsistency::CancelOfNothing => "more cancelled than was traced",
            Inconsistency::MispredictOfNothing => "mispredict without a branch",
            Inconsistency::ReturnStackEmpty => "return without an address, and the return stack is empty",
            Inconsistency::UnconditionalNotTaken => {
                "an unconditional branch is said not to be taken: wrong program image?"
            }
            Inconsistency::AddressNotReached => "the program does not reach the traced address",
            Inconsistency::InvalidOpcode => "no instruction at this address: wrong program image?",
            Inconsistency::UnsupportedIsa => "this instruction set cannot be followed",
            Inconsistency::Unexpected => "unexpected packet",
            Inconsistency::Unresolved => "the last branch was not resolved before trace was lost",
            Inconsistency::Ambiguous => "two paths lead to the traced address, and the shorter one is said",
            Inconsistency::TooManyBranches => {
                "more predicted branches in one packet than longest_count allows: if that may be, say a greater one"
            }
            Inconsistency::TrappedOrRetired => {
                "the last instruction was retired before the trap or is what trapped: it is said"
            }
        })
    }
}

/// Why it is not known what ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gap {
    /// The decoder starts and knows nothing yet.
    Start,
    /// The trace was restarted by the one who feeds the decoder.
    Reset,
    /// The trace unit ran out of room.
    Overflow,
    /// The trace unit discarded what it had not resolved.
    Discard,
    /// A bad packet.
    BadPacket,
    /// The program image contradicts the trace.
    BadImage,
    /// The trace unit ran out of room for data accesses; what is said of the program is whole.
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
