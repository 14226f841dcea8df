//! Packets as text, a line each.

use core::fmt::{self, Display, Formatter};

use super::{
    Amount, BranchCount, Branches, ContextChange, DataAccess, Discovery, Envelope, JumpTarget, Map,
    Own, Packet, Payload, PrivilegeContext, Profile, ProfileEvent, Qualification, Report, Start,
    Support, Transfer, Trap,
};

impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.payload.fmt(f)?;
        self.envelope.fmt(f)
    }
}

/// The fields of the envelope that are shown.
impl Display for Envelope {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.source != 0 {
            write!(f, ", source {}", self.source)?;
        }
        if self.flow != 0 {
            write!(f, ", flow {}", self.flow)?;
        }
        self.timestamp.map_or(Ok(()), |time| write!(f, ", at time {time}"))
    }
}

impl Display for Payload {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Payload::Null { alignment: false } => f.write_str("idle"),
            Payload::Null { alignment: true } => f.write_str("alignment"),
            Payload::Branches(p) => p.fmt(f),
            Payload::Address(p) => write!(f, "address {p}"),
            Payload::BranchCount(p) => p.fmt(f),
            Payload::JumpTarget(p) => p.fmt(f),
            Payload::Start(p) => p.fmt(f),
            Payload::Trap(p) => p.fmt(f),
            Payload::Context(p) => p.fmt(f),
            Payload::Support(p) => p.fmt(f),
            Payload::Data(p) => p.fmt(f),
            Payload::Own(p) => p.fmt(f),
            Payload::Timer { ticks } => write!(f, "timer {ticks}"),
            Payload::Software { word } => write!(f, "software {word:#010x}"),
        }
    }
}

/// Taken branches are `T`, others `N`, the oldest first.
impl Display for Map {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (0..self.len.min(Map::FULL))
            .try_for_each(|n| f.write_str(if self.bits >> n & 1 != 0 { "N" } else { "T" }))
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)?;
        if self.notify {
            f.write_str(", notification")?;
        }
        if self.updiscon {
            f.write_str(", after an uninferable jump")?;
        }
        depth(self.irreport, f)
    }
}

fn depth(irreport: Option<u16>, f: &mut Formatter<'_>) -> fmt::Result {
    irreport.map_or(Ok(()), |depth| write!(f, ", implicit returns {depth}"))
}

impl Display for Branches {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "branches {}", self.map)?;
        match &self.report {
            Some(report) if self.full => write!(f, ", full address {report}"),
            Some(report) => write!(f, ", address {report}"),
            None => Ok(()),
        }
    }
}

impl Display for BranchCount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} branches as predicted", u64::from(self.count) + 31)?;
        match (&self.report, self.failed) {
            (None, _) => f.write_str(", then one that was not"),
            (Some(report), false) => write!(f, ", address {report}"),
            (Some(report), true) => write!(f, ", address {report}, a branch that was not"),
        }
    }
}

impl Display for JumpTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(map) = self.map {
            write!(f, "branches {map}, ")?;
        }
        write!(f, "jump target {}", self.index)?;
        depth(self.irreport, f)
    }
}

impl Display for PrivilegeContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "privilege {}", privilege(self.privilege))?;
        if self.context != 0 {
            write!(f, ", context {:#x}", self.context)?;
        }
        if self.time != 0 {
            write!(f, ", time {}", self.time)?;
        }
        Ok(())
    }
}

/// The letter of a privilege level. (Table "priv")
pub(crate) const fn privilege(level: u8) -> &'static str {
    match level {
        0 => "U",
        1 => "S",
        3 => "M",
        4 => "D",
        5 => "VU",
        6 => "VS",
        _ => "reserved",
    }
}

impl Display for Start {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "start {:#x}, {}", self.address, self.privilege_context)?;
        f.write_str(if self.branch { "" } else { ", taken if a branch" })
    }
}

impl Display for Trap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.interrupt { "interrupt" } else { "exception" };
        write!(f, "{kind} {}, ", self.ecause)?;
        match (self.thaddr, self.address) {
            (_, None) => f.write_str("handler known by its cause")?,
            (true, Some(address)) => write!(f, "handler {address:#x}")?,
            (false, Some(address)) => write!(f, "nothing retired, address {address:#x}")?,
        }
        write!(f, ", {}", self.privilege_context)?;
        self.tval.filter(|&tval| tval != 0).map_or(Ok(()), |tval| write!(f, ", value {tval:#x}"))
    }
}

impl Display for ContextChange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "context, {}", self.privilege_context)
    }
}

impl Display for Qualification {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Qualification::NoChange => "no change of qualification",
            Qualification::EndedReported => "qualification ended at the instruction reported",
            Qualification::TraceLost => "trace was lost",
            Qualification::EndedUnreported => "qualification ended, no unreported instructions",
        })
    }
}

impl Display for Support {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let on = if self.enabled { "enabled" } else { "disabled" };
        write!(f, "support: {on}, {}", self.qualification)?;
        write!(f, ", mode {}, options {:#x}", self.mode, self.ioptions)?;
        if self.data_enabled {
            write!(f, ", data trace enabled, options {:#x}", self.doptions)?;
        }
        f.write_str(if self.data_lost { ", data trace was lost" } else { "" })
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.value)
    }
}

impl Display for DataAccess {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bytes = 1 << self.size.min(3);
        match self.transfer {
            Transfer::Load => write!(f, "load {bytes}")?,
            Transfer::Store => write!(f, "store {bytes}")?,
            Transfer::LoadData => write!(f, "load data {bytes}, request {}", self.lrid)?,
            Transfer::Csr(kind) => {
                write!(f, "CSR {}", ["write", "set", "clear", "reserved"][usize::from(kind & 3)])?;
            }
            Transfer::Atomic(kind) => {
                const KINDS: [&str; 8] =
                    ["swap", "add", "and", "or", "xor", "max", "min", "failed conditional store"];
                write!(f, "atomic {} {bytes}", KINDS[usize::from(kind & 7)])?;
            }
            Transfer::AtomicData => write!(f, "atomic data, request {}", self.lrid)?,
            Transfer::CasFailure => write!(f, "failed compare and swap {bytes}")?,
        }
        if self.multiple {
            f.write_str(" of several")?;
        }
        write!(f, ", coding {}", self.diff)?;
        if let Some(address) = self.address {
            let unit = if self.unaligned { " unaligned" } else { "" };
            write!(f, ", address {address:#x}{unit}")?;
        }
        if let Some(data) = self.data {
            write!(f, ", data {data}")?;
        }
        self.operand.map_or(Ok(()), |operand| write!(f, ", operand {operand}"))
    }
}

impl Display for Own {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Own::Discovery(p) => p.fmt(f),
            Own::Cycles { count } => write!(f, "cycles {count}"),
            Own::Profile(p) => p.fmt(f),
        }
    }
}

impl Display for Profile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.event {
            ProfileEvent::Exception(cause) => write!(f, "profile exception {cause}")?,
            ProfileEvent::Interrupt(cause) => write!(f, "profile interrupt {cause}")?,
            ProfileEvent::Call => f.write_str("profile call")?,
            ProfileEvent::Return => f.write_str("profile return")?,
        }
        write!(f, ", to {:#x}", self.destination)?;
        self.source.map_or(Ok(()), |source| write!(f, ", from {source:#x}"))
    }
}

/// The register view, the lowest word first.
impl Display for Discovery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("discovery")?;
        self.words().iter().try_for_each(|word| write!(f, " {word:#010x}"))
    }
}
