//! A packet: its envelope and its payload.

pub mod branches;
pub mod data;
pub mod discovery;
pub mod envelope;
pub mod fields;
pub mod own;
mod quick;
pub mod support;
pub mod sync;
mod words;

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};

use crate::kind::{PacketKind, PacketKinds, packet_kinds};
use crate::protocol::Field;

use super::config::{Compression, Framing, MessageType, OptionBits, Padding, Params};
use envelope::{Class, Closed, Opened};
use fields::{Fields, Namer, Short, Writer, low};

pub use branches::{BranchCount, Branches, JumpTarget, Map, Report};
pub use data::{Amount, Coding, DataAccess, Transfer};
pub use discovery::Discovery;
pub use envelope::Envelope;
pub use own::{Own, Profile, ProfileEvent};
pub(in crate::etrace) use quick::Shape;
pub use support::{Qualification, Standard, Support};
pub use sync::{ContextChange, PrivilegeContext, Start, Trap};

/// A packet: the values of its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The fields before the payload.
    pub envelope: Envelope,
    /// The payload.
    pub payload: Payload,
}

/// The payload of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A null packet: the transport is idle, or marks the alignment.
    Null {
        /// The packet marks the alignment.
        alignment: bool,
    },
    /// Format 1; 0.026: formats 0 and 1.
    Branches(Branches),
    /// Format 2.
    Address(Report),
    /// Format 0, sub-format 0.
    BranchCount(BranchCount),
    /// Format 0, sub-format 1.
    JumpTarget(JumpTarget),
    /// Format 3, sub-format 0.
    Start(Start),
    /// Format 3, sub-format 1.
    Trap(Trap),
    /// Format 3, sub-format 2.
    Context(ContextChange),
    /// Format 3, sub-format 3; 0.026: te_support.
    Support(Support),
    /// Data trace.
    Data(DataAccess),
    /// A message that this project defines (no specification has it): see [`own`].
    Own(Own),
    /// The value of a counter of 40 bits. (PULP `trdb`)
    Timer {
        /// The value.
        ticks: u64,
    },
    /// A software write. (PULP `trdb`)
    Software {
        /// The word.
        word: u32,
    },
}

packet_kinds!(
    Payload:
    Null, Branches, Address, BranchCount, JumpTarget, Start, Trap, Context, Support, Data, Own,
    Timer, Software,
);

impl From<Payload> for Packet {
    fn from(payload: Payload) -> Self {
        Packet { envelope: Envelope::default(), payload }
    }
}

/// The payload comes first: its name is the kind of the packet.
impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {:?}", self.payload, self.envelope)
    }
}

impl PacketKinds for Packet {
    const KINDS: &'static [PacketKind] = Payload::KINDS;

    fn kind(&self) -> PacketKind {
        self.payload.kind()
    }
}

impl Wire<Params> for Packet {
    #[inline(always)]
    fn parse(bytes: &[u8], params: &Params) -> Parse<Self> {
        if let Some(shape) = Shape::of(params)
            && let Some(quick) = shape.read(bytes)
        {
            return Parse::Packet(shape.packet(&quick), quick.len);
        }
        Packet::any(bytes, params)
    }

    /// Writes nothing where the length field of the header cannot state the length of the packet.
    fn emit(&self, params: &Params, out: &mut impl Extend<u8>) {
        let class = self.payload.class(params);
        let mut writer = Writer::default();
        self.envelope.head(class, params, &mut writer);
        let head = writer.at();
        self.payload.write(&mut writer, params);
        let whole = writer.at();
        let trdb = params.choices.compression == Compression::Trdb;
        // A payload that is too long for its envelope is sign-compressed, whatever the compression
        // of the unit is; but the length of a compressed address depends on that of the payload.
        let most = self.envelope.room(params);
        let long = whole.div_ceil(8) > most;
        let sign = params.choices.padding == Padding::Sign && !trdb || long;
        writer.align(sign && writer.before());
        match params.choices.compression {
            Compression::Address if long => return,
            _ if long => writer.compress(most),
            Compression::Whole
                if matches!(
                    class,
                    Class::Instruction | Class::Support | Class::Data | Class::Own
                ) =>
            {
                writer.compress(head / 8 + 1 + u32::from(params.link.framing == Framing::PulpTrdb));
            }
            Compression::Trdb => {
                if let Some(bits) = self.payload.retained_by_trdb(params) {
                    writer.truncate((whole - params.widths.address() + bits).div_ceil(8));
                }
            }
            _ => {}
        }
        if writer.at().div_ceil(8) <= most {
            self.envelope.close(class, &writer, params, out);
        }
    }
}

impl Packet {
    /// The packet that a unit sends: `payload` with the unit's source number.
    pub(super) fn sent(payload: Payload, params: &Params) -> Packet {
        let source = if params.link.has_sources() { params.link.source } else { 0 };
        Packet { envelope: Envelope { source, ..Envelope::default() }, payload }
    }

    /// A packet of any kind.
    #[inline(never)]
    fn any(bytes: &[u8], params: &Params) -> Parse<Self> {
        if let Some((flow, len, mut f)) = Short::open(bytes, params)
            && let Some(payload) = Payload::instruction(None, &mut f, params)
            && payload.misfit(f.at(), f.end(), params).is_none()
        {
            let envelope = Envelope { flow, ..Envelope::default() };
            return Parse::Packet(Packet { envelope, payload }, len);
        }
        Packet::rare(bytes, params)
    }

    /// A packet that is long, at the end of the bytes, or has more fields before its payload.
    #[inline(never)]
    fn rare(bytes: &[u8], params: &Params) -> Parse<Self> {
        let Opened { envelope, class, len, mut reader } = match Envelope::open(bytes, params) {
            Ok(opened) => opened,
            Err(Closed::Partial) => return Parse::Partial,
            Err(Closed::Bad(len, fault)) => return Parse::Bad(len, fault),
        };
        let header = bytes.first().copied().unwrap_or_default();
        match Payload::read(class, &mut reader, params) {
            None => Parse::Bad(len, Fault::Reserved(header)),
            Some(payload) => match payload.misfit(reader.at(), reader.end(), params) {
                Some(fault) => Parse::Bad(len, fault),
                None => Parse::Packet(Packet { envelope, payload }, len),
            },
        }
    }

    /// Lists the fields of the packet that begins at the first byte, in their order in the packet.
    /// `None` if no packet begins there.
    pub fn explain(bytes: &[u8], params: &Params, each: &mut impl FnMut(Field)) -> Option<Packet> {
        let Opened { envelope, class, reader, .. } = Envelope::open(bytes, params).ok()?;
        let mut namer = Namer::new(reader, each);
        let payload = Payload::read(class, &mut namer, params)?;
        Some(Packet { envelope, payload })
    }
}

impl Short {
    /// The payload at the start of `bytes`, its flow, and the length of the packet, if it has at
    /// most 16 bytes of instruction trace and nothing but a header before it. More bytes must
    /// follow.
    #[inline]
    fn open(bytes: &[u8], params: &Params) -> Option<(u8, usize, Short)> {
        let &[header, ref payload @ ..] = bytes.first_chunk::<17>()?;
        let len = u32::from(header & 0x1f);
        if !params.has_short_packets() || header >> 7 != 0 || !(1..=16).contains(&len) {
            return None;
        }
        let flow = Envelope::plain(header, params)?;
        let mut f = Short::new(*payload, len);
        if params.link.framing == Framing::Encapsulated {
            let width = params.link.type_width.into();
            if f.uint("", 0, width) != low(INSTRUCTION_MESSAGE, width) {
                return None;
            }
        }
        Some((flow, len as usize + 1, f))
    }
}

/// Message types in the payload. (0.026, Table 6.4; PULP `trdb`)
const SUPPORT_MESSAGE: u64 = 0;
const INSTRUCTION_MESSAGE: u64 = 2;

impl Payload {
    const fn class(&self, params: &Params) -> Class {
        match self {
            Payload::Support(_) if params.names_support() => Class::Support,
            Payload::Null { alignment } => Class::Null { alignment: *alignment },
            Payload::Data(_) => Class::Data,
            Payload::Own(_) => Class::Own,
            Payload::Timer { .. } => Class::Timer,
            Payload::Software { .. } => Class::Software,
            _ => Class::Instruction,
        }
    }

    /// The address of formats 0, 1 and 2.
    pub const fn report(&self) -> Option<&Report> {
        match self {
            Payload::Branches(Branches { report, .. }) => report.as_ref(),
            Payload::BranchCount(BranchCount { report, .. }) => report.as_ref(),
            Payload::Address(report) => Some(report),
            _ => None,
        }
    }

    /// The number of address bits that [`Compression::Trdb`] retains.
    fn retained_by_trdb(&self, params: &Params) -> Option<u32> {
        // Later versions have fields after the address.
        let report = self.report().filter(|_| params.is_draft())?;
        let (address, width) = (report.address, params.widths.address());
        let needed = fields::needed(address, width);
        let difference = matches!(self, Payload::Branches(Branches { full: false, .. }));
        Some(match width {
            // The bits above would be lost.
            33.. if !difference => (fields::needed(address, 32) + width - 32).max(needed),
            _ => needed,
        })
    }

    /// `None` if a code is reserved.
    #[inline]
    fn read<F: Fields>(class: Class, f: &mut F, params: &Params) -> Option<Payload> {
        match class {
            Class::Instruction => Payload::instruction(None, f, params),
            Class::Support => Payload::support(None, f, params),
            Class::Data => DataAccess::default().fields(f, params).map(Payload::Data),
            Class::Own => Own::fields(None, f, params).map(Payload::Own),
            Class::Null { alignment } => Some(Payload::Null { alignment }),
            Class::Timer => Some(Payload::Timer { ticks: f.uint("ticks", 0, 40) }),
            Class::Software => Some(Payload::Software { word: f.uint("word", 0, 32) as u32 }),
        }
    }

    fn write(&self, f: &mut Writer, params: &Params) {
        match *self {
            Payload::Null { .. } => {}
            Payload::Data(data) => {
                data.fields(f, params);
            }
            Payload::Own(own) => {
                Own::fields(Some(own), f, params);
            }
            Payload::Timer { ticks } => {
                f.uint("ticks", ticks, 40);
            }
            Payload::Software { word } => {
                f.uint("word", word.into(), 32);
            }
            Payload::Support(_) if params.names_support() => {
                Payload::support(Some(self), f, params);
            }
            _ => {
                Payload::instruction(Some(self), f, params);
            }
        }
    }

    /// An instruction trace payload: writes `given`, or reads one.
    #[inline]
    fn instruction<F: Fields>(
        given: Option<&Payload>,
        f: &mut F,
        params: &Params,
    ) -> Option<Payload> {
        if params.is_draft() && params.choices.message_type == MessageType::Payload {
            let support = matches!(given, Some(Payload::Support(_)));
            let message = if support { SUPPORT_MESSAGE } else { INSTRUCTION_MESSAGE };
            match f.uint("msg_type", message, 2) {
                INSTRUCTION_MESSAGE => {}
                SUPPORT_MESSAGE => return Payload::support(given, f, params),
                _ => return None,
            }
        }
        let format = match given {
            Some(Payload::Branches(b)) => u64::from(!(params.is_draft() && b.full)),
            Some(Payload::BranchCount(_) | Payload::JumpTarget(_)) => 0,
            Some(Payload::Address(_)) => 2,
            _ => 3,
        };
        Some(match f.uint("format", format, 2) {
            0 if !params.is_draft() => return Payload::extension(given, f, params),
            format @ (0 | 1) => {
                let branches = match given {
                    Some(Payload::Branches(branches)) => *branches,
                    _ => Branches { full: params.is_draft() && format == 0, ..Branches::default() },
                };
                Payload::Branches(branches.fields(f, params))
            }
            2 => {
                let report = match given {
                    Some(Payload::Address(report)) => *report,
                    _ => Report::default(),
                };
                Payload::Address(report.fields(f, params))
            }
            _ => return Payload::sync(given, f, params),
        })
    }

    /// The fields after `msg_type` in te_support. (0.026, Table 6.4)
    fn support<F: Fields>(given: Option<&Payload>, f: &mut F, params: &Params) -> Option<Payload> {
        let code = f.uint("control_code", support::CONTROL_CODE, 6);
        let kind = f.uint("support_type", 0, 4);
        let support = match given {
            Some(Payload::Support(support)) => *support,
            _ => Support::default(),
        };
        if code != support::CONTROL_CODE || kind != 0 {
            return None;
        }
        let support = support.fields(f, params);
        // `qual_status` 10 is reserved.
        (support.qualification != Qualification::TraceLost).then_some(Payload::Support(support))
    }

    /// Format 0: counts of predicted branches, and indexes of the jump target cache.
    fn extension<F: Fields>(
        given: Option<&Payload>,
        f: &mut F,
        params: &Params,
    ) -> Option<Payload> {
        let widths = &params.widths;
        let subformat = u64::from(matches!(given, Some(Payload::JumpTarget(_))));
        let subformat = match params.f0s_width() {
            0 if widths.cache_size > 0 && widths.bpred_size > 0 => {
                // The sub-format is left out if only one mode exists: it is the one that is on.
                let options = &params.options;
                u64::from(options.jump_target_cache && !options.branch_prediction)
            }
            0 => u64::from(widths.cache_size > 0),
            width => f.uint("subformat", subformat, width.into()),
        };
        match (subformat, given) {
            (0, Some(Payload::BranchCount(count))) => {
                count.fields(f, params).map(Payload::BranchCount)
            }
            (0, _) => BranchCount::default().fields(f, params).map(Payload::BranchCount),
            (1, Some(Payload::JumpTarget(target))) => {
                Some(Payload::JumpTarget(target.fields(f, params)))
            }
            (1, _) => Some(Payload::JumpTarget(JumpTarget::default().fields(f, params))),
            _ => None,
        }
    }

    /// Format 3.
    fn sync<F: Fields>(given: Option<&Payload>, f: &mut F, params: &Params) -> Option<Payload> {
        let subformat = match given {
            Some(Payload::Trap(_)) => 1,
            Some(Payload::Context(_)) => 2,
            Some(Payload::Support(_)) => 3,
            _ => 0,
        };
        Some(match (f.uint("subformat", subformat, 2), given) {
            (0, Some(Payload::Start(start))) => Payload::Start(start.fields(f, params)),
            (0, _) => Payload::Start(Start::default().fields(f, params)),
            (1, Some(Payload::Trap(trap))) => Payload::Trap(trap.fields(f, params)),
            (1, _) => Payload::Trap(Trap::default().fields(f, params)),
            (2, Some(Payload::Context(context))) => Payload::Context(context.fields(f, params)),
            (2, _) => Payload::Context(ContextChange::default().fields(f, params)),
            _ if params.is_draft() => return None,
            (_, Some(Payload::Support(support))) => Payload::Support(support.fields(f, params)),
            _ => Payload::Support(Support::default().fields(f, params)),
        })
    }

    /// Whether the payload has bytes after the last field, or ends before it where only addresses
    /// are compressed.
    #[inline]
    fn misfit(&self, at: u32, end: u32, params: &Params) -> Option<Fault> {
        if at > end && params.choices.compression == Compression::Address {
            return Some(Fault::FieldsAfterBytes);
        }
        // A support packet of 2.1 may have more fields. Units without compression pad their
        // payloads. After a full map of 0.026 and of PULP `rv_tracer` there may be an address
        // without meaning.
        let more = match self {
            Payload::Support(_) => params.support.ioptions == OptionBits::Standard,
            Payload::Branches(Branches { report: None, .. })
                if params.is_draft() || params.choices.compression == Compression::Address =>
            {
                end < at + params.widths.address() + 8
            }
            Payload::Null { .. } => true,
            _ => params.choices.compression == Compression::None,
        };
        (!more && end >= at + 8).then_some(Fault::BytesAfterFields)
    }
}
