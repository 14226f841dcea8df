//! The packets of ETMv4 and ETE: parse, emit, display.

mod address;
mod atoms;
mod conditional;
mod context;
mod parse;
mod read;
mod trace_info;

use core::fmt;

use tracewright_base::{Parse, Wire};

pub use address::{Address, SubIsa};
pub use atoms::{Atoms, Before};
pub use conditional::{Conditional, Outcome};
pub use context::ContextInfo;
pub use trace_info::TraceInfo;

use super::Config;
use crate::bits::emit_groups;
use crate::kind::packet_kinds;

/// One packet in its encoded form. [`History`](super::History) completes addresses, timestamps and
/// cycle counts. (IHI 0064, chapter 6; Arm ARM, chapter D5 and K10.5.2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// 11 or more bytes `0000_0000`, then `1000_0000`: the next byte begins a packet.
    AlignSync,
    /// `0000_0000 0000_0011`: the unresolved elements are discarded.
    Discard,
    /// `0000_0000 0000_0101`: trace was lost before this packet.
    Overflow,
    /// `0000_0001`: the state that a decoder needs to start.
    TraceInfo(TraceInfo),
    /// `0000_001n`: a timestamp; if `n` is 1, also cycles.
    Timestamp {
        /// The low `count` bits; the others are those of the last timestamp.
        bits: u64,
        /// 7 to 56 in steps of 7, or 64.
        count: u8,
        /// Cycles between the last cycle count and the timestamp, 20 bits.
        cycles: Option<u32>,
    },
    /// `0000_0100`: trace of instructions starts here, or starts again.
    TraceOn,
    /// `0000_0101`: return from a Secure function. (M profile, Armv8, from ETMv4.2 on)
    FunctionReturn,
    /// `0000_0110`: an exception. The address packet that follows has the preferred return address.
    Exception(Exception),
    /// `0000_0111`: return from an exception. (ETMv4)
    ExceptionReturn,
    /// `0000_1001`: a value that the program wrote into the trace. (FEAT_ITE, from ETE 1.3 on)
    Instrumentation {
        /// Exception level of the write.
        el: u8,
        /// The value.
        value: u64,
    },
    /// `0000_1010`: a transaction starts. (ETE)
    TransactionStart,
    /// `0000_1011`: the transaction was committed. (ETE)
    TransactionCommit,
    /// `0000_111u`: P0 elements committed, and cycles.
    CycleCount1 {
        /// The number of committed elements, in commit mode 0.
        commit: Option<u32>,
        /// Cycles above the threshold, 20 bits. `None` (`u` is 1): the unit lost count.
        cycles: Option<u32>,
    },
    /// `0000_110f aaaa_bbbb`: P0 elements committed, and cycles.
    CycleCount2 {
        /// `f`: MAXSPEC + `commit` - 15 elements were committed, instead of `commit` + 1.
        from_max: bool,
        /// `aaaa`.
        commit: u8,
        /// `bbbb`, cycles above the threshold.
        cycles: u8,
    },
    /// `0001_aabb`: P0 elements committed, and cycles.
    CycleCount3 {
        /// `aa`; `aa` + 1 elements were committed.
        commit: u8,
        /// `bb`, cycles above the threshold.
        cycles: u8,
    },
    /// `0010_0nnn`: data synchronisation marker `n`. (ETMv4 with data trace)
    NumberedSync(u8),
    /// `0010_10nn` or `0010_1100`: data synchronisation marker, 0 to 4. (ETMv4 with data trace)
    UnnumberedSync(u8),
    /// `0010_1101`: the oldest P0 elements are committed.
    Commit(u32),
    /// `0010_111m`: the newest P0 elements are cancelled; `m`: the branch before them is
    /// mispredicted.
    Cancel1 {
        /// The number of elements.
        count: u32,
        /// `m`.
        mispredict: bool,
    },
    /// `0011_00aa`: atoms, then a mispredict of the last branch.
    Mispredict(Before),
    /// `0011_01aa`: atoms, then one P0 element is cancelled, then a mispredict.
    Cancel2(Before),
    /// `0011_1cca`: an E atom if `a`, then `cc` + 2 P0 elements are cancelled, then a mispredict.
    Cancel3 {
        /// `a`.
        atom: bool,
        /// `cc` + 2: 2 to 5.
        count: u8,
    },
    /// `010x_xxxx`, `0110_xxxx`: conditional instructions and their results. (ETMv4)
    Conditional(Conditional),
    /// `0111_0000`: no effect. (From ETMv4.3 on)
    Ignore,
    /// `0111_eeee`: trace unit events; bit n is event n.
    Event(u8),
    /// `1000_000p`: the context; `None` (`p` is 0) is the last context again.
    Context(Option<ContextInfo>),
    /// `1000_0010`, `_0011`, `_0101`, `_0110`: a long address and the context.
    AddressContext(Address, ContextInfo),
    /// `1000_1000`: the position of the next timestamp. (From ETMv4.6 and ETE 1.1 on)
    TimestampMarker,
    /// `1001_xxxx`: the address at which execution continues.
    Address(Address),
    /// `1010_xxxx`: a Q element: instructions whose branches are not traced.
    Q(Q),
    /// `1011_xxxx`: the P0 instruction at this address was taken, and all before it were not. (ETE)
    SourceAddress(Address),
    /// `11xx_xxxx`: one bit for each P0 instruction.
    Atoms(Atoms),
}

packet_kinds!(
    Packet:
    AlignSync, Discard, Overflow, TraceInfo, Timestamp, TraceOn, FunctionReturn, Exception,
    ExceptionReturn, Instrumentation, TransactionStart, TransactionCommit, CycleCount1,
    CycleCount2, CycleCount3, NumberedSync, UnnumberedSync, Commit, Cancel1, Mispredict,
    Cancel2, Cancel3, Conditional, Ignore, Event, Context, AddressContext, TimestampMarker,
    Address, Q, SourceAddress, Atoms,
);

const _: () = assert!(core::mem::size_of::<Packet>() <= 32);

/// An exception. (IHI 0064 and Arm ARM, "Exception packet")
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exception {
    /// TYPE, 5 bits; 10 bits in the M profile.
    pub number: u16,
    /// The address that follows is also the target of the branch before the exception. (`E` is
    /// 0b10, otherwise 0b01)
    pub also_target: bool,
    /// `0111_0000` replaces the address, which is unknown; the address history gets a zero. (ETE)
    pub unknown_address: bool,
    /// A fault is pending. (M profile)
    pub fault_pending: bool,
}

impl Exception {
    /// PE reset, of an ETE.
    pub const PE_RESET: u16 = 0;
    /// The transaction failed: this is not an exception. (ETE)
    pub const TRANSACTION_FAILURE: u16 = 0b1_1000;

    /// Whether exceptions of the type `number` have no defined return address in an ETE: an address
    /// in the packet is not one. (Arm ARM K10.5.6.3.12)
    pub const fn has_unknown_return(number: u16) -> bool {
        matches!(number, Self::PE_RESET | 0b1_1001)
    }
}

/// A Q element and the address at which execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Q {
    /// `1111`: an unknown number of instructions; an address follows.
    Uncounted,
    /// `1100`: this number of instructions; an address follows.
    Counted(u32),
    /// `00mm`, `0101`, `0110`, `1010`, `1011`: this number of instructions, then this address.
    To(Address, u32),
}

impl Wire<Config> for Packet {
    #[inline]
    fn parse(bytes: &[u8], config: &Config) -> Parse<Self> {
        let Some(&header) = bytes.first() else { return Parse::Partial };
        match Atoms::from_header(header) {
            Some(atoms) => Parse::Packet(Packet::Atoms(atoms), 1),
            None => parse::parse(header, bytes, config),
        }
    }

    /// A packet without an encoding is emitted as equivalent packets: a Q element with a 64-bit
    /// address as a Q element and an Address packet, a context with a short address as two packets.
    ///
    /// An Exception packet of an ETE is parsed only when the byte after it is present.
    fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        match *self {
            Packet::AlignSync => out.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]),
            Packet::Discard => out.extend([0x00, 0x03]),
            Packet::Overflow => out.extend([0x00, 0x05]),
            Packet::TraceInfo(info) => {
                out.extend([0x01]);
                info.emit(config, out);
            }
            Packet::Timestamp { bits, count, cycles } => {
                out.extend([0x02 | u8::from(cycles.is_some())]);
                emit_groups(bits, count, 64, out);
                if let Some(cycles) = cycles {
                    uleb(cycles, 20, out);
                }
            }
            Packet::TraceOn => out.extend([0x04]),
            Packet::FunctionReturn => out.extend([0x05]),
            Packet::Exception(exception) => exception.emit(config, out),
            Packet::ExceptionReturn => out.extend([0x07]),
            Packet::Instrumentation { el, value } => {
                out.extend([0x09, el]);
                out.extend(value.to_le_bytes());
            }
            Packet::TransactionStart => out.extend([0x0a]),
            Packet::TransactionCommit => out.extend([0x0b]),
            Packet::CycleCount1 { commit, cycles } => {
                out.extend([0x0e | u8::from(cycles.is_none())]);
                if let Some(commit) = commit {
                    uleb(commit, 32, out);
                }
                if let Some(cycles) = cycles {
                    uleb(cycles, 20, out);
                }
            }
            Packet::CycleCount2 { from_max, commit, cycles } => {
                out.extend([0x0c | u8::from(from_max), commit << 4 | cycles & 0xf]);
            }
            Packet::CycleCount3 { commit, cycles } => {
                out.extend([0x10 | (commit & 0b11) << 2 | cycles & 0b11]);
            }
            Packet::NumberedSync(n) => out.extend([0x20 | n & 0b111]),
            Packet::UnnumberedSync(n) => out.extend([0x28 | n.min(4)]),
            Packet::Commit(count) => {
                out.extend([0x2d]);
                uleb(count, 32, out);
            }
            Packet::Cancel1 { count, mispredict } => {
                out.extend([0x2e | u8::from(mispredict)]);
                uleb(count, 32, out);
            }
            Packet::Mispredict(before) => out.extend([0x30 | before.field()]),
            Packet::Cancel2(before) => out.extend([0x34 | before.field()]),
            Packet::Cancel3 { atom, count } => {
                out.extend([0x38 | count.saturating_sub(2).min(3) << 1 | u8::from(atom)]);
            }
            Packet::Conditional(conditional) => conditional.emit(out),
            Packet::Ignore => out.extend([0x70]),
            Packet::Event(events) => out.extend([0x70 | events & 0xf]),
            Packet::Context(None) => out.extend([0x80]),
            Packet::Context(Some(context)) => {
                out.extend([0x81]);
                context.emit(config, out);
            }
            Packet::AddressContext(address, context) => {
                let header = match address {
                    Address::Long32 { is, .. } => 0x82 | is_bit(is),
                    Address::Long64 { is, .. } => 0x85 + is_bit(is),
                    Address::Match(_) | Address::Short { .. } => {
                        Packet::Address(address).emit(config, out);
                        return Packet::Context(Some(context)).emit(config, out);
                    }
                };
                out.extend([header]);
                address.emit(out);
                context.emit(config, out);
            }
            Packet::TimestampMarker => out.extend([0x88]),
            Packet::Address(address) => {
                out.extend([match address {
                    Address::Match(n) => 0x90 | n.min(2),
                    Address::Short { is, .. } => 0x95 + is_bit(is),
                    Address::Long32 { is, .. } => 0x9a | is_bit(is),
                    Address::Long64 { is, .. } => 0x9d + is_bit(is),
                }]);
                address.emit(out);
            }
            Packet::Q(q) => q.emit(config, out),
            Packet::SourceAddress(address) => {
                out.extend([match address {
                    Address::Match(n) => 0xb0 | n.min(2),
                    Address::Short { is, .. } => 0xb4 | is_bit(is),
                    Address::Long32 { is, .. } => 0xb6 | is_bit(is),
                    Address::Long64 { is, .. } => 0xb8 | is_bit(is),
                }]);
                address.emit(out);
            }
            // No atoms: no bytes.
            Packet::Atoms(atoms) => out.extend(atoms.header()),
        }
    }
}

impl Exception {
    fn emit(self, config: &Config, out: &mut impl Extend<u8>) {
        let kind = if self.also_target { 0b100_0000 } else { 0b1 };
        let low = kind | (self.number as u8 & 0x1f) << 1;
        let high = (self.number >> 5) as u8 & 0x1f | u8::from(self.fault_pending) << 5;
        if config.is_ete() {
            out.extend([0x06, low]);
            out.extend(self.unknown_address.then_some(0x70));
        } else if high == 0 {
            out.extend([0x06, low]);
        } else {
            out.extend([0x06, low | 0x80, high]);
        }
    }
}

impl Q {
    fn emit(self, config: &Config, out: &mut impl Extend<u8>) {
        match self {
            Q::Uncounted => out.extend([0xaf]),
            Q::Counted(count) => {
                out.extend([0xac]);
                uleb(count, 32, out);
            }
            Q::To(address, count) => {
                let header = match address {
                    Address::Match(n) => 0xa0 | n.min(2),
                    Address::Short { is, .. } => 0xa5 + is_bit(is),
                    Address::Long32 { is, .. } => 0xaa | is_bit(is),
                    Address::Long64 { .. } => {
                        Packet::Q(Q::Counted(count)).emit(config, out);
                        return Packet::Address(address).emit(config, out);
                    }
                };
                out.extend([header]);
                address.emit(out);
                uleb(count, 32, out);
            }
        }
    }
}

const fn is_bit(is: SubIsa) -> u8 {
    match is {
        SubIsa::Is0 => 0,
        SubIsa::Is1 => 1,
    }
}

/// Writes a number in groups of 7 bits, for a field of `width` bits.
fn uleb(value: u32, width: u8, out: &mut impl Extend<u8>) {
    emit_groups(value.into(), 32 - value.leading_zeros() as u8, width, out);
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Packet::AlignSync => f.write_str("alignment sync"),
            Packet::Discard => f.write_str("discard"),
            Packet::Overflow => f.write_str("overflow"),
            Packet::TraceInfo(info) => info.fmt(f),
            Packet::Timestamp { bits, count, cycles } => {
                f.write_str("timestamp ")?;
                match count {
                    64 => write!(f, "0x{bits:x}")?,
                    _ => write!(f, "0x..{bits:x} ({count} bits)")?,
                }
                match cycles {
                    Some(cycles) => write!(f, ", {cycles} cycles"),
                    None => Ok(()),
                }
            }
            Packet::TraceOn => f.write_str("trace on"),
            Packet::FunctionReturn => f.write_str("function return"),
            Packet::Exception(exception) => exception.fmt(f),
            Packet::ExceptionReturn => f.write_str("exception return"),
            Packet::Instrumentation { el, value } => {
                write!(f, "instrumentation 0x{value:x} from EL{el}")
            }
            Packet::TransactionStart => f.write_str("transaction start"),
            Packet::TransactionCommit => f.write_str("transaction commit"),
            Packet::CycleCount1 { commit, cycles } => {
                match cycles {
                    Some(cycles) => write!(f, "cycles, threshold + {cycles}")?,
                    None => f.write_str("cycles unknown")?,
                }
                if let Some(commit) = commit {
                    write!(f, ", commit {commit}")?;
                }
                f.write_str(" (format 1)")
            }
            Packet::CycleCount2 { from_max, commit, cycles } => {
                write!(f, "cycles, threshold + {cycles}, commit ")?;
                match from_max {
                    true => write!(f, "all but {} (format 2)", 15u8.saturating_sub(commit)),
                    false => write!(f, "{} (format 2)", commit.saturating_add(1)),
                }
            }
            Packet::CycleCount3 { commit, cycles } => {
                let commit = commit.saturating_add(1);
                write!(f, "cycles, threshold + {cycles}, commit {commit} (format 3)")
            }
            Packet::NumberedSync(n) => write!(f, "data synchronisation marker {n}, numbered"),
            Packet::UnnumberedSync(n) => write!(f, "data synchronisation marker {n}, unnumbered"),
            Packet::Commit(count) => write!(f, "commit {count}"),
            Packet::Cancel1 { count, mispredict } => {
                let mispredict = if mispredict { ", mispredict" } else { "" };
                write!(f, "cancel {count}{mispredict} (format 1)")
            }
            Packet::Mispredict(before) => {
                write_before(f, before)?;
                f.write_str("mispredict")
            }
            Packet::Cancel2(before) => {
                write_before(f, before)?;
                f.write_str("cancel 1, mispredict (format 2)")
            }
            Packet::Cancel3 { atom, count } => {
                write_before(f, if atom { Before::E } else { Before::Nothing })?;
                write!(f, "cancel {count}, mispredict (format 3)")
            }
            Packet::Conditional(conditional) => conditional.fmt(f),
            Packet::Ignore => f.write_str("ignore"),
            Packet::Event(events) => {
                f.write_str("event")?;
                (0..4).filter(|n| events >> n & 1 != 0).try_for_each(|n| write!(f, " {n}"))
            }
            Packet::Context(None) => f.write_str("context, same as the last"),
            Packet::Context(Some(context)) => context.fmt(f),
            Packet::AddressContext(address, context) => write!(f, "{address}, {context}"),
            Packet::TimestampMarker => f.write_str("timestamp marker"),
            Packet::Address(address) => address.fmt(f),
            Packet::Q(Q::Uncounted) => f.write_str("Q, instructions not counted"),
            Packet::Q(Q::Counted(count)) => write!(f, "Q, {count} instructions"),
            Packet::Q(Q::To(address, count)) => {
                write!(f, "Q, {count} instructions, then {address}")
            }
            Packet::SourceAddress(address) => write!(f, "taken from {address}"),
            Packet::Atoms(atoms) => write!(f, "atoms {atoms}"),
        }
    }
}

fn write_before(f: &mut fmt::Formatter<'_>, before: Before) -> fmt::Result {
    match before {
        Before::Nothing => Ok(()),
        atoms => write!(f, "atoms {}, ", atoms.atoms()),
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exception {}", self.number)?;
        if self.fault_pending {
            f.write_str(", fault pending")?;
        }
        f.write_str(match (self.unknown_address, self.also_target) {
            (true, _) => ", return address not known",
            (false, false) => ", return address follows",
            (false, true) => ", return address follows and is the branch target",
        })
    }
}
