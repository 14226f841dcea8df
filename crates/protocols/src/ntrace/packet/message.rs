//! The messages, and the order of their fields.

use core::fmt;

use tracewright_frames::nexus_port::CALIBRATION;

use super::MAX_LEN;
use super::fields::Fields;
use crate::kind::packet_kinds;
use crate::ntrace::config::{Config, Profile};
use crate::ntrace::names;

/// The fields of a message between SRC and TSTAMP. (N-Trace 1.0, "N-Trace Messages"; those from
/// [`DataAcquisition`](Message::DataAcquisition) on: SiFive, Accemic)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A byte with MSEO 11 where a message begins: the transport is idle.
    Idle {
        /// The byte; 0xff, if nothing is damaged.
        byte: u8,
    },
    /// A byte 00 where a message begins: memory of the sink that was not written.
    Unwritten,
    /// The pattern with which a trace port (PIB) calibrates a receiver, in place of the trace.
    Calibration {
        /// Its number in [`CALIBRATION`].
        pattern: u8,
    },
    /// TCODE 2: the privilege and the context.
    Ownership {
        /// PROCESS.
        process: Process,
    },
    /// TCODE 3: a taken direct branch.
    DirectBranch {
        /// Retired half-words since the last I-CNT.
        icnt: u64,
    },
    /// TCODE 4: an indirect transfer or a trap.
    IndirectBranch {
        /// B-TYPE.
        btype: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// Target address without bit 0, XOR the last one reported.
        uaddr: u64,
    },
    /// TCODE 8: messages were lost.
    Error {
        /// ETYPE.
        etype: u8,
        /// ECODE: a bit for each kind of lost messages; 0 if not known.
        ecode: u64,
    },
    /// TCODE 9: the address of the next instruction.
    ProgTraceSync {
        /// SYNC: the reason.
        sync: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// Address without bit 0.
        faddr: u64,
    },
    /// TCODE 11: a taken direct branch, with synchronisation.
    DirectBranchSync {
        /// SYNC: the reason.
        sync: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// Target address without bit 0.
        faddr: u64,
    },
    /// TCODE 12: an indirect transfer or a trap, with synchronisation.
    IndirectBranchSync {
        /// SYNC: the reason.
        sync: u8,
        /// B-TYPE.
        btype: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// Target address without bit 0.
        faddr: u64,
    },
    /// TCODE 27: a counter or the history is full.
    ResourceFull {
        /// RCODE: which.
        rcode: u8,
        /// RDATA: half-words for RCODE 0, the history for RCODE 1 and 2, a number of branches for
        /// RCODE 8 and 9 of SiFive.
        rdata: u64,
        /// HREPEAT, for RCODE 2; else 0.
        hrepeat: u64,
    },
    /// TCODE 28: an indirect transfer or a trap, with history.
    IndirectBranchHist {
        /// B-TYPE.
        btype: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// Target address without bit 0, XOR the last one reported.
        uaddr: u64,
        /// Outcomes of branches, the newest in bit 0; the highest bit set is above the oldest.
        hist: u64,
    },
    /// TCODE 29: an indirect transfer or a trap, with history and synchronisation.
    IndirectBranchHistSync {
        /// SYNC: the reason.
        sync: u8,
        /// B-TYPE.
        btype: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// Target address without bit 0.
        faddr: u64,
        /// Outcomes of branches, the newest in bit 0; the highest bit set is above the oldest.
        hist: u64,
    },
    /// TCODE 30: the last branch message, repeated.
    RepeatBranch {
        /// B-CNT: further times.
        bcnt: u64,
    },
    /// TCODE 31 of Accemic: a branch to itself, repeated.
    RepeatInstruction {
        /// RCNT: further times.
        rcnt: u64,
        /// Retired half-words since the last I-CNT, up to the first time.
        icnt: u64,
        /// Outcomes of branches, the first time included.
        hist: u64,
    },
    /// TCODE 32 of Accemic: a branch to itself, repeated, with synchronisation.
    RepeatInstructionSync {
        /// SYNC: the reason.
        sync: u8,
        /// RCNT: further times, without the one at which the message is sent.
        rcnt: u64,
        /// Retired half-words since the last I-CNT, up to the first time.
        icnt: u64,
        /// Address without bit 0.
        faddr: u64,
        /// Outcomes of branches, the first time included.
        hist: u64,
    },
    /// TCODE 33: instruction trace ends.
    ProgTraceCorrelation {
        /// EVCODE: the reason.
        evcode: u8,
        /// CDF: 1 if the message has HIST.
        cdf: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// HIST; 0 without it.
        hist: u64,
    },
    /// TCODE 7: a write to a stimulus register.
    DataAcquisition {
        /// IDTAG: the byte offset of the register.
        idtag: u64,
        /// DQDATA.
        data: u64,
    },
    /// TCODE 23: a write to a stimulus register, of older cores.
    AuxAccessWrite {
        /// ADDR.
        address: u64,
        /// DATA.
        data: u64,
    },
    /// TCODE 34 of SiFive: an event.
    InCircuitTrace {
        /// CKSRC: the kind of event.
        cksrc: u8,
        /// CKDF: 1 if the message has CKDATA1.
        ckdf: u8,
        /// CKDATA0: for most events the address without bit 0, XOR the last one reported.
        data0: u64,
        /// CKDATA1; 0 without it.
        data1: u64,
    },
    /// TCODE 35 of SiFive: an event, with synchronisation.
    InCircuitTraceSync {
        /// CKSRC: the kind of event.
        cksrc: u8,
        /// CKDF: 1 if the message has CKDATA1.
        ckdf: u8,
        /// CKDATA0: for most events the address without bit 0.
        data0: u64,
        /// CKDATA1; 0 without it.
        data1: u64,
    },
    /// TCODE 56 of Accemic: branches that were predicted, and one that was not.
    PredictedBranches {
        /// B-CNT: the number of those that were.
        bcnt: u64,
    },
    /// TCODE 57 of Accemic: an indirect transfer to a target in the jump target cache.
    CachedTarget {
        /// B-TYPE.
        btype: u8,
        /// Retired half-words since the last I-CNT.
        icnt: u64,
        /// JIDX: the index of the target.
        index: u64,
        /// Outcomes of branches.
        hist: u64,
    },
    /// TCODE 58 of Accemic: the configuration of the encoder.
    Configuration {
        /// CFGVER.
        version: u8,
        /// CAPS, ENAB, P0, P1, P2, P3.
        words: [u64; 6],
    },
    /// TCODE 15 of Accemic: a watchpoint.
    Watchpoint {
        /// WPHIT: a bit for each watchpoint.
        hits: u64,
    },
    /// A message whose fields are not known, or not used: all of its bytes.
    Opaque(Raw),
}

packet_kinds!(
    Message:
    Idle, Unwritten, Calibration, Ownership, DirectBranch, IndirectBranch, Error, ProgTraceSync,
    DirectBranchSync, IndirectBranchSync, ResourceFull, IndirectBranchHist, IndirectBranchHistSync,
    RepeatBranch, RepeatInstruction, RepeatInstructionSync, ProgTraceCorrelation, DataAcquisition,
    AuxAccessWrite, InCircuitTrace, InCircuitTraceSync, PredictedBranches, CachedTarget,
    Configuration, Watchpoint, Opaque,
);

/// Width of IDTAG in messages of Accemic. Those of SiFive have a variable width.
const IDTAG_BITS: u32 = 12;

impl Message {
    /// The message with this TCODE, all of its fields 0. `None` where `profile` has none, or its
    /// fields are not used.
    pub const fn of_tcode(tcode: u8, profile: Profile) -> Option<Message> {
        let sifive = matches!(profile, Profile::Sifive);
        let ctte = matches!(profile, Profile::Ctte);
        Some(match tcode {
            2 => Message::Ownership { process: Process(0) },
            3 => Message::DirectBranch { icnt: 0 },
            4 => Message::IndirectBranch { btype: 0, icnt: 0, uaddr: 0 },
            7 if sifive || ctte => Message::DataAcquisition { idtag: 0, data: 0 },
            8 => Message::Error { etype: 0, ecode: 0 },
            9 => Message::ProgTraceSync { sync: 0, icnt: 0, faddr: 0 },
            11 => Message::DirectBranchSync { sync: 0, icnt: 0, faddr: 0 },
            12 => Message::IndirectBranchSync { sync: 0, btype: 0, icnt: 0, faddr: 0 },
            15 if ctte => Message::Watchpoint { hits: 0 },
            23 if sifive => Message::AuxAccessWrite { address: 0, data: 0 },
            27 => Message::ResourceFull { rcode: 0, rdata: 0, hrepeat: 0 },
            28 => Message::IndirectBranchHist { btype: 0, icnt: 0, uaddr: 0, hist: 0 },
            29 => Message::IndirectBranchHistSync { sync: 0, btype: 0, icnt: 0, faddr: 0, hist: 0 },
            30 => Message::RepeatBranch { bcnt: 0 },
            31 if ctte => Message::RepeatInstruction { rcnt: 0, icnt: 0, hist: 0 },
            32 if ctte => {
                Message::RepeatInstructionSync { sync: 0, rcnt: 0, icnt: 0, faddr: 0, hist: 0 }
            }
            33 => Message::ProgTraceCorrelation { evcode: 0, cdf: 0, icnt: 0, hist: 0 },
            34 if sifive => Message::InCircuitTrace { cksrc: 0, ckdf: 0, data0: 0, data1: 0 },
            35 if sifive => Message::InCircuitTraceSync { cksrc: 0, ckdf: 0, data0: 0, data1: 0 },
            56 if ctte => Message::PredictedBranches { bcnt: 0 },
            57 if ctte => Message::CachedTarget { btype: 0, icnt: 0, index: 0, hist: 0 },
            58 if ctte => Message::Configuration { version: 0, words: [0; 6] },
            _ => return None,
        })
    }

    /// Whether it is bytes between messages: nothing of an encoder.
    pub const fn is_between(&self) -> bool {
        matches!(self, Message::Idle { .. } | Message::Unwritten | Message::Calibration { .. })
    }

    /// The calibration pattern that begins at the first of `bytes`, and its length. `None` where
    /// they are none, or its beginning only.
    pub(super) fn calibration(bytes: &[u8]) -> Option<(Message, usize)> {
        let n = CALIBRATION.iter().position(|(_, pattern)| bytes.starts_with(pattern))?;
        let (_, pattern) = CALIBRATION.get(n)?;
        Some((Message::Calibration { pattern: n as u8 }, pattern.len()))
    }

    /// TCODE; 0 for bytes between messages.
    pub const fn tcode(&self) -> u8 {
        match self {
            Message::Idle { .. } | Message::Unwritten | Message::Calibration { .. } => 0,
            Message::Ownership { .. } => 2,
            Message::DirectBranch { .. } => 3,
            Message::IndirectBranch { .. } => 4,
            Message::DataAcquisition { .. } => 7,
            Message::Error { .. } => 8,
            Message::ProgTraceSync { .. } => 9,
            Message::DirectBranchSync { .. } => 11,
            Message::IndirectBranchSync { .. } => 12,
            Message::Watchpoint { .. } => 15,
            Message::AuxAccessWrite { .. } => 23,
            Message::ResourceFull { .. } => 27,
            Message::IndirectBranchHist { .. } => 28,
            Message::IndirectBranchHistSync { .. } => 29,
            Message::RepeatBranch { .. } => 30,
            Message::RepeatInstruction { .. } => 31,
            Message::RepeatInstructionSync { .. } => 32,
            Message::ProgTraceCorrelation { .. } => 33,
            Message::InCircuitTrace { .. } => 34,
            Message::InCircuitTraceSync { .. } => 35,
            Message::PredictedBranches { .. } => 56,
            Message::CachedTarget { .. } => 57,
            Message::Configuration { .. } => 58,
            Message::Opaque(raw) => raw.tcode(),
        }
    }

    /// SYNC, for a message of program trace that has it.
    pub const fn sync(&self) -> Option<u8> {
        match self {
            Message::ProgTraceSync { sync, .. }
            | Message::DirectBranchSync { sync, .. }
            | Message::IndirectBranchSync { sync, .. }
            | Message::IndirectBranchHistSync { sync, .. }
            | Message::RepeatInstructionSync { sync, .. } => Some(*sync),
            _ => None,
        }
    }

    /// The address field that is reported, after a message that reported `last`; `Some(None)` if it
    /// is not known. `None` if the message reports none.
    pub fn reference(&self, last: Option<u64>) -> Option<Option<u64>> {
        match *self {
            Message::IndirectBranch { uaddr, .. } | Message::IndirectBranchHist { uaddr, .. } => {
                Some(last.map(|last| last ^ uaddr))
            }
            Message::ProgTraceSync { faddr, .. }
            | Message::DirectBranchSync { faddr, .. }
            | Message::IndirectBranchSync { faddr, .. }
            | Message::IndirectBranchHistSync { faddr, .. }
            | Message::RepeatInstructionSync { faddr, .. } => Some(Some(faddr)),
            Message::CachedTarget { .. } => Some(None),
            Message::InCircuitTrace { cksrc, ckdf, data0, .. }
                if names::has_address(cksrc, ckdf) =>
            {
                Some(last.map(|last| last ^ data0))
            }
            Message::InCircuitTraceSync { cksrc, ckdf, data0, .. }
                if names::has_address(cksrc, ckdf) =>
            {
                Some(Some(data0))
            }
            _ => None,
        }
    }

    /// Reads or writes the fields in their order. `None` if the layout of the fields is reserved.
    pub fn fields(self, f: &mut impl Fields, config: &Config) -> Option<Message> {
        Some(match self {
            Message::Ownership { process } => {
                Message::Ownership { process: Process(f.variable("PROCESS", process.0)) }
            }
            Message::DirectBranch { icnt } => Message::DirectBranch { icnt: count(f, icnt) },
            Message::IndirectBranch { btype, icnt, uaddr } => Message::IndirectBranch {
                btype: f.byte("B-TYPE", btype, 2),
                icnt: count(f, icnt),
                uaddr: f.address("U-ADDR", uaddr),
            },
            Message::Error { etype, ecode } => Message::Error {
                etype: f.byte("ETYPE", etype, 4),
                ecode: f.variable("ECODE", ecode),
            },
            Message::ProgTraceSync { sync, icnt, faddr } => Message::ProgTraceSync {
                sync: f.byte("SYNC", sync, 4),
                icnt: count(f, icnt),
                faddr: f.address("F-ADDR", faddr),
            },
            Message::DirectBranchSync { sync, icnt, faddr } => Message::DirectBranchSync {
                sync: f.byte("SYNC", sync, 4),
                icnt: count(f, icnt),
                faddr: f.address("F-ADDR", faddr),
            },
            Message::IndirectBranchSync { sync, btype, icnt, faddr } => {
                Message::IndirectBranchSync {
                    sync: f.byte("SYNC", sync, 4),
                    btype: f.byte("B-TYPE", btype, 2),
                    icnt: count(f, icnt),
                    faddr: f.address("F-ADDR", faddr),
                }
            }
            Message::IndirectBranchHist { btype, icnt, uaddr, hist } => {
                Message::IndirectBranchHist {
                    btype: f.byte("B-TYPE", btype, 2),
                    icnt: count(f, icnt),
                    uaddr: f.address("U-ADDR", uaddr),
                    hist: f.variable("HIST", hist),
                }
            }
            Message::IndirectBranchHistSync { sync, btype, icnt, faddr, hist } => {
                Message::IndirectBranchHistSync {
                    sync: f.byte("SYNC", sync, 4),
                    btype: f.byte("B-TYPE", btype, 2),
                    icnt: count(f, icnt),
                    faddr: f.address("F-ADDR", faddr),
                    hist: f.variable("HIST", hist),
                }
            }
            Message::RepeatBranch { bcnt } => {
                Message::RepeatBranch { bcnt: f.variable("B-CNT", bcnt) }
            }
            other => return other.rare_fields(f, config),
        })
    }

    /// The same for messages that are rare or have optional fields.
    fn rare_fields(self, f: &mut impl Fields, config: &Config) -> Option<Message> {
        Some(match self {
            Message::ResourceFull { rcode, rdata, hrepeat } => {
                let rcode = f.byte("RCODE", rcode, 4);
                let rdata = f.variable("RDATA", rdata);
                let repeated = rcode == names::HISTORY_REPEATED;
                let hrepeat = if repeated { f.variable("HREPEAT", hrepeat) } else { 0 };
                Message::ResourceFull { rcode, rdata, hrepeat }
            }
            Message::ProgTraceCorrelation { evcode, cdf, icnt, hist } => {
                let evcode = f.byte("EVCODE", evcode, 4);
                let cdf = f.byte("CDF", cdf, 2);
                if cdf > 1 {
                    return None;
                }
                let icnt = count(f, icnt);
                let hist = if cdf == 1 { f.variable("HIST", hist) } else { 0 };
                Message::ProgTraceCorrelation { evcode, cdf, icnt, hist }
            }
            Message::DataAcquisition { idtag, data } => {
                let idtag = match config.profile {
                    Profile::Ctte => f.fixed("IDTAG", idtag, IDTAG_BITS),
                    _ => f.variable("IDTAG", idtag),
                };
                Message::DataAcquisition { idtag, data: f.variable("DQDATA", data) }
            }
            Message::AuxAccessWrite { address, data } => Message::AuxAccessWrite {
                address: f.variable("ADDR", address),
                data: f.variable("DATA", data),
            },
            Message::InCircuitTrace { cksrc, ckdf, data0, data1 } => {
                let (cksrc, ckdf, data0, data1) = event(f, cksrc, ckdf, data0, data1)?;
                Message::InCircuitTrace { cksrc, ckdf, data0, data1 }
            }
            Message::InCircuitTraceSync { cksrc, ckdf, data0, data1 } => {
                let (cksrc, ckdf, data0, data1) = event(f, cksrc, ckdf, data0, data1)?;
                Message::InCircuitTraceSync { cksrc, ckdf, data0, data1 }
            }
            Message::Configuration { version, words } => {
                let version = f.byte("CFGVER", version, 4);
                let names = ["CAPS", "ENAB", "P0", "P1", "P2", "P3"];
                let mut pairs = names.into_iter().zip(words);
                let words = core::array::from_fn(|_| {
                    pairs.next().map_or(0, |(name, word)| f.variable(name, word))
                });
                Message::Configuration { version, words }
            }
            Message::RepeatInstruction { rcnt, icnt, hist } => Message::RepeatInstruction {
                rcnt: f.variable("RCNT", rcnt),
                icnt: count(f, icnt),
                hist: f.variable("HIST", hist),
            },
            Message::RepeatInstructionSync { sync, rcnt, icnt, faddr, hist } => {
                Message::RepeatInstructionSync {
                    sync: f.byte("SYNC", sync, 4),
                    rcnt: f.variable("RCNT", rcnt),
                    icnt: count(f, icnt),
                    faddr: f.address("F-ADDR", faddr),
                    hist: f.variable("HIST", hist),
                }
            }
            Message::PredictedBranches { bcnt } => {
                Message::PredictedBranches { bcnt: f.variable("B-CNT", bcnt) }
            }
            Message::CachedTarget { btype, icnt, index, hist } => Message::CachedTarget {
                btype: f.byte("B-TYPE", btype, 2),
                icnt: count(f, icnt),
                index: f.variable("JIDX", index),
                hist: f.variable("HIST", hist),
            },
            Message::Watchpoint { hits } => Message::Watchpoint { hits: f.variable("WPHIT", hits) },
            other => other,
        })
    }
}

/// I-CNT.
#[inline]
fn count(f: &mut impl Fields, icnt: u64) -> u64 {
    f.variable("I-CNT", icnt)
}

/// The fields of an event. `None` if CKDF is reserved.
fn event(
    f: &mut impl Fields,
    cksrc: u8,
    ckdf: u8,
    data0: u64,
    data1: u64,
) -> Option<(u8, u8, u64, u64)> {
    let cksrc = f.byte("CKSRC", cksrc, 4);
    let ckdf = f.byte("CKDF", ckdf, 2);
    if ckdf > 1 {
        return None;
    }
    let data0 = f.variable("CKDATA0", data0);
    let data1 = if ckdf == 1 { f.variable("CKDATA1", data1) } else { 0 };
    Some((cksrc, ckdf, data0, data1))
}

/// PROCESS of an Ownership message: FORMAT \[1:0], PRV \[3:2], V \[4], CONTEXT from bit 5 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process(pub u64);

impl Process {
    /// The fields together.
    pub const fn new(format: u8, privilege: u8, guest: bool, context: u64) -> Process {
        let low = format as u64 & 0b11 | (privilege as u64 & 0b11) << 2 | (guest as u64) << 4;
        Process(context << 5 | low)
    }

    /// FORMAT: 0 no context, 2 `scontext`, 3 `hcontext`; 1 is reserved.
    pub const fn format(self) -> u8 {
        (self.0 & 0b11) as u8
    }

    /// PRV: 0 U, 1 S, 3 M.
    pub const fn privilege(self) -> u8 {
        (self.0 >> 2 & 0b11) as u8
    }

    /// V: the processor is in a virtualised mode.
    pub const fn guest(self) -> bool {
        self.0 >> 4 & 1 != 0
    }

    /// CONTEXT, where FORMAT has one.
    pub const fn context(self) -> Option<u64> {
        if self.format() >= 2 { Some(self.0 >> 5) } else { None }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match (self.guest(), self.privilege()) {
            (false, 0) => "U",
            (false, 1) => "S",
            (false, 3) => "M",
            (true, 0) => "VU",
            (true, 1) => "VS",
            _ => "reserved",
        };
        write!(f, "0x{:x} ({level}", self.0)?;
        match (self.format(), self.context()) {
            (2, Some(context)) => write!(f, ", scontext 0x{context:x})"),
            (_, Some(context)) => write!(f, ", hcontext 0x{context:x})"),
            (0, None) => f.write_str(")"),
            (_, None) => f.write_str(", FORMAT 1 is reserved)"),
        }
    }
}

/// The bytes of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Raw {
    bytes: [u8; MAX_LEN],
    len: u8,
}

impl Raw {
    /// The first [`MAX_LEN`] of `bytes`.
    pub fn new(bytes: &[u8]) -> Raw {
        let mut raw = Raw { bytes: [0; MAX_LEN], len: bytes.len().min(MAX_LEN) as u8 };
        raw.bytes.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        raw
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// TCODE.
    pub const fn tcode(&self) -> u8 {
        self.bytes[0] >> 2
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?}", self.bytes())
    }
}
