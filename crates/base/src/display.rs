//! The text of elements, one line each.

use core::fmt;

use crate::access::{Access, Direction};
use crate::context::Context;
use crate::dwt_event::{Dwt, DwtEvent, LocalTimestamp, TimeDelay};
use crate::element::{Element, Start, Transaction};
use crate::instruction::{Kind, Role};
use crate::range::{Last, Range};
use crate::software::{Channel, Software};

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Gap(gap) => write!(f, "gap        {gap}"),
            Element::TraceOn(start) => write!(f, "trace-on   {start}"),
            Element::Context(context) => write!(f, "context    {context}"),
            Element::Range(range) => write!(f, "range      {range}"),
            Element::Unknown { start, next, instructions } => {
                match instructions.get() {
                    Some(n) => write!(f, "unknown    {n} instructions from {start:#x}")?,
                    None => write!(f, "unknown    instructions from {start:#x}")?,
                }
                write!(f, ", then {next:#x}")
            }
            Element::Corrected { taken } => {
                write!(f, "corrected  the last branch was {}", taken_word(*taken))
            }
            Element::NoCode { address, space } => {
                write!(f, "no-code    {address:#x} in {space} memory")
            }
            Element::Exception(e) => {
                write!(f, "exception  {}", e.number)?;
                match e.return_address {
                    Some(address) => write!(f, ", returns to {address:#x}")?,
                    None => f.write_str(", return address unknown")?,
                }
                if e.also_target {
                    f.write_str(", the target of the branch before")?;
                }
                if e.tail_chain {
                    f.write_str(", tail-chained")?;
                }
                Ok(())
            }
            Element::TrapValue(value) => write!(f, "trap-value {value:#x}"),
            Element::ExceptionReturn => f.write_str("exception-return"),
            Element::Timestamp { value, cycles } => {
                write!(f, "timestamp  {value}")?;
                cycles.map_or(Ok(()), |n| write!(f, ", {n} cycles after the last count"))
            }
            Element::Cycles(Some(n)) => write!(f, "cycles     {n}"),
            Element::Cycles(None) => f.write_str("cycles     unknown"),
            Element::Events(mask) => {
                f.write_str("events    ")?;
                (0..8).filter(|n| mask >> n & 1 != 0).try_for_each(|n| write!(f, " {n}"))
            }
            Element::Trigger => f.write_str("trigger"),
            Element::Marker => f.write_str("marker     a timestamp that follows belongs here"),
            Element::Custom(custom) => {
                write!(f, "custom     {} of {} bytes", custom.kind, custom.len)
            }
            Element::Transaction(step) => write!(f, "transaction {step}"),
            Element::Instrumentation { el, value } => {
                write!(f, "instrumentation {value:#018x} at EL{el}")
            }
            Element::SoftwareWrite(software) => write!(f, "software-write {software}"),
            Element::DwtEvent(hardware) => write!(f, "dwt-event  {hardware}"),
            Element::LocalTimestamp(time) => write!(f, "local-timestamp {time}"),
            Element::GlobalTimestamp { value, clock_changed, after_overflow } => {
                write!(f, "global-timestamp {}{value}", loss(*after_overflow))?;
                f.write_str(if *clock_changed { ", clock changed" } else { "" })
            }
            Element::DataAccess(access) => write!(f, "data-access {access}"),
            Element::Undecodable { len, fault } => write!(f, "undecodable {len} bytes: {fault}"),
            Element::Inconsistency(reason) if reason.is_ambiguity() => {
                write!(f, "ambiguity  {reason}")
            }
            Element::Inconsistency(inconsistency) => write!(f, "inconsistency {inconsistency}"),
            Element::End => f.write_str("end"),
        }
    }
}

const fn loss(after_overflow: bool) -> &'static str {
    if after_overflow { "(after an overflow) " } else { "" }
}

const fn taken_word(taken: bool) -> &'static str {
    if taken { "taken" } else { "not taken" }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Start::Normal => "begin or filter",
            Start::Overflow => "after an overflow",
            Start::Debug => "after Debug state",
        })
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known_isa() {
            Some(isa) => write!(f, "{isa}")?,
            None => f.write_str("unknown instruction set,")?,
        }
        match self.level() {
            Some(level) => write!(f, " {level}")?,
            None => self.el.map_or(Ok(()), |el| write!(f, " EL{el}"))?,
        }
        if let Some(security) = self.security {
            write!(f, " {security}")?;
        }
        f.write_str(if self.bits64 { " 64-bit" } else { " 32-bit" })?;
        if let Some(id) = self.context_id {
            write!(f, " context-id {id:#x}")?;
        }
        if let Some(vmid) = self.vmid {
            write!(f, " vmid {vmid:#x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end, n) = (self.start, self.end(), self.instructions);
        write!(f, "{start:#x}..{end:#x} {n} {} {}", self.last.isa, self.last)?;
        self.cycles.get().map_or(Ok(()), |n| write!(f, ", {n} cycles"))
    }
}

impl Last {
    /// The class of the instruction, and its outcome if it is conditional: `conditional branch`, `
    /// taken`.
    pub const fn words(self) -> (&'static str, &'static str) {
        let what = match (self.kind, self.role, self.conditional()) {
            (Kind::Plain, ..) if self.taken() => return ("no branch", ""),
            (Kind::Plain, ..) => return ("no branch", ", condition failed"),
            (Kind::Undefined, ..) => return ("undefined instruction", ""),
            (Kind::Branch, Role::Call, false) => "call",
            (Kind::Branch, Role::Call, true) => "conditional call",
            (Kind::Branch, Role::Loop, false) => "loop",
            (Kind::Branch, Role::Loop, true) => "conditional loop",
            (Kind::Branch, _, false) => "branch",
            (Kind::Branch, _, true) => "conditional branch",
            (Kind::Indirect, Role::Call, false) => "indirect call",
            (Kind::Indirect, Role::Call, true) => "conditional indirect call",
            (Kind::Indirect, Role::Return | Role::ImpliedReturn, false) => "return",
            (Kind::Indirect, Role::Return | Role::ImpliedReturn, true) => "conditional return",
            (Kind::Indirect, Role::ExceptionReturn, false) => "exception return",
            (Kind::Indirect, Role::ExceptionReturn, true) => "conditional exception return",
            (Kind::Indirect, Role::Swap, _) => "co-routine swap",
            (Kind::Indirect, _, false) => "indirect branch",
            (Kind::Indirect, _, true) => "conditional indirect branch",
            (Kind::Isb, ..) => "ISB",
            (Kind::Barrier, ..) => "barrier",
            (Kind::Wait | Kind::TimedWait, ..) => "wait",
            (Kind::TransactionStart, ..) => "transaction start",
        };
        let branch = matches!(self.kind, Kind::Branch | Kind::Indirect);
        let became = match (branch, self.taken()) {
            (true, true) => " taken",
            (_, false) => " not taken",
            (false, true) => "",
        };
        (what, became)
    }
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, became) = self.words();
        f.write_str(what)?;
        f.write_str(became)
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transaction::Inside => "open at the start of trace",
            Transaction::Start => "start",
            Transaction::Commit => "commit",
            Transaction::Failure => "failure",
            Transaction::Cancelled => "cancelled",
        })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Channel::Port { page: Some(page), port } => {
                write!(f, "port {}", u32::from(page) * 32 + u32::from(port))
            }
            // A unit with one page reports no page.
            Channel::Port { page: None, port } => write!(f, "port {port}"),
            Channel::Master { master, channel } => {
                match master {
                    Some(master) => write!(f, "master {master} ")?,
                    None => f.write_str("master ? ")?,
                }
                match channel {
                    Some(channel) => write!(f, "channel {channel}"),
                    None => f.write_str("channel ?"),
                }
            }
        }
    }
}

impl fmt::Display for Software {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channel, bits) = (self.channel, self.bits);
        f.write_str(loss(self.has(Software::AFTER_OVERFLOW)))?;
        write!(f, "{channel}")?;
        if bits > 0 {
            write!(f, " <- 0x{:0width$x}", self.value(), width = usize::from(bits).div_ceil(4))?;
        }
        for (flag, word) in [
            (Software::MARKER, "marked"),
            (Software::TRIGGER, "trigger"),
            (Software::FREQUENCY, "frequency in Hz"),
            (Software::MASTER_ERROR, "master error"),
            (Software::GLOBAL_ERROR, "global error"),
            (Software::CHANNEL_ERROR, "channel error"),
            (Software::CROSS_SYNC, "cross-synchronisation"),
            (Software::FLAG, "flag"),
            (Software::USER, "user"),
        ] {
            if self.has(flag) {
                write!(f, " {word}")?;
            }
        }
        if let Channel::Port { .. } = channel {
            write_text(f, self.value(), bits)?;
        }
        self.time().map_or(Ok(()), |time| write!(f, " at {time}"))
    }
}

/// Printable bytes as text, after the value.
fn write_text(f: &mut fmt::Formatter<'_>, value: u64, bits: u8) -> fmt::Result {
    let bytes = value.to_le_bytes();
    let bytes = bytes.get(..usize::from(bits / 8)).unwrap_or_default();
    if bytes.is_empty() || !bytes.iter().all(|b| b.is_ascii_graphic() || b" \r\n\t".contains(b)) {
        return Ok(());
    }
    f.write_str(" \"")?;
    bytes.iter().try_for_each(|b| write!(f, "{}", b.escape_ascii()))?;
    f.write_str("\"")
}

impl fmt::Display for DwtEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(loss(self.after_overflow))?;
        match self.meaning() {
            Dwt::Reserved { .. } => write!(f, "source {} <- {:#x}", self.discriminator, self.value),
            meaning => write!(f, "{meaning}"),
        }
    }
}

impl fmt::Display for LocalTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loss = loss(self.after_overflow);
        write!(f, "{loss}+{} = {}", self.delta, self.total)?;
        match self.delay {
            TimeDelay::None => Ok(()),
            delay => write!(f, ", {delay}"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(address) => write!(f, "{address:#010x}")?,
            None if self.has(Access::COPROCESSOR) => f.write_str("coprocessor")?,
            None => f.write_str("0x????????")?,
        }
        f.write_str(match self.direction {
            Direction::Read => " -> ",
            Direction::Write => " <- ",
            Direction::Unknown => " <> ",
        })?;
        match self.value() {
            Some(value) => {
                let width = if self.size == 0 { 8 } else { usize::from(self.size) * 2 };
                write!(f, "0x{value:0width$x}")?;
            }
            None => f.write_str("?")?,
        }
        if let Some(by) = self.by() {
            write!(f, " by {by:#010x}")?;
        }
        for (flag, word) in [
            (Access::CONTINUED, ", continued"),
            (Access::LATE, ", late"),
            (Access::STORE_FAILED, ", store failed"),
            (Access::VALUE_NOT_TRACED, ", value not traced"),
            (Access::SUPPRESSED, ", more suppressed"),
            (Access::BIG_ENDIAN, ", big-endian"),
            (Access::EXCEPTION, ", by an exception"),
        ] {
            if self.has(flag) {
                f.write_str(word)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use crate::access::{Access, Direction};
    use crate::element::Element;
    use crate::software::{Channel, Software};

    #[test]
    fn data_reads_as_a_person_would_write_it() {
        let mut access = Access::default().at(0x2000_0010).of(0x2a).made_by(0x0800_0164);
        access.direction = Direction::Write;
        access.size = 4;
        let line = Element::DataAccess(access).to_string();
        assert_eq!(line, "data-access 0x20000010 <- 0x0000002a by 0x08000164");
    }

    #[test]
    fn port_writes_show_their_text() {
        let port = Channel::Port { page: Some(0), port: 3 };
        let line = Software::new(port, 16, 0x4b4f).to_string();
        assert_eq!(line, "port 3 <- 0x4b4f \"OK\"");
    }
}
