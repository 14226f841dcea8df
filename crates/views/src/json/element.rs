//! Elements as fields of an object.

use tracewright_base::{
    Access, Channel, Context, Direction, Dwt, DwtEvent, Element, ExceptionStep, Isa, Kind, Range,
    Role, Security, Software, Start, TimeDelay, Transaction,
};
use tracewright_protocols::PacketKind;

use super::Object;
use crate::range_tails::RangeTails;
use crate::sources::Source;

/// Adds the fields of `element` of `source`.
pub(crate) fn fields<'a>(source: &Source, element: &Element, o: Object<'a>) -> Object<'a> {
    match *element {
        Element::Gap(gap) => o.text("reason", PacketKind::of(&gap).as_str()),
        Element::TraceOn(start) => o.text(
            "reason",
            match start {
                Start::Normal => "normal",
                Start::Overflow => "overflow",
                Start::Debug => "debug",
            },
        ),
        Element::Context(context) => {
            let thread = source.program.thread(&context);
            let o = self::context(context, o)
                .maybe_number("process", thread.map(|thread| thread.process.into()))
                .maybe_number("thread", thread.map(|thread| thread.id.into()));
            o.maybe_text("command", thread.and_then(|thread| thread.name.as_deref()))
        }
        Element::Range(ref r) => range(source, r, o),
        Element::Unknown { start, next, instructions } => o
            .hex("start", start)
            .hex("next", next)
            .maybe_number("instructions", instructions.get().map(u64::from)),
        Element::Corrected { taken } => o.flag("taken", taken),
        Element::NoCode { address, space } => {
            let o = o.hex("address", address).maybe_number("el", space.el().map(u64::from));
            o.maybe_text("security", space.security().map(security))
        }
        Element::Exception(e) => {
            let o = o.number("number", e.number.into());
            let o = o.maybe_text("name", source.exception_name(e.number).as_deref());
            let o = o.maybe_hex("return_address", e.return_address);
            let symbol = e.return_address.and_then(|address| source.symbol_name(address));
            let o = o.maybe_text("symbol", symbol.as_deref());
            o.mark("also_target", e.also_target).mark("tail_chain", e.tail_chain)
        }
        Element::TrapValue(value) => o.hex("value", value),
        Element::Timestamp { value, cycles } => {
            o.digits("value", value).maybe_number("cycles", cycles.map(u64::from))
        }
        Element::Cycles(cycles) => o.maybe_number("cycles", cycles.map(u64::from)),
        Element::Events(mask) => {
            let events = (0..8u64).filter(|n| mask >> n & 1 != 0);
            o.list("events", events, crate::digits::decimal)
        }
        Element::Transaction(step) => o.text(
            "step",
            match step {
                Transaction::Inside => "inside",
                Transaction::Start => "start",
                Transaction::Commit => "commit",
                Transaction::Failure => "failure",
                Transaction::Cancelled => "cancelled",
            },
        ),
        Element::Instrumentation { el, value } => o.number("el", el.into()).hex("value", value),
        Element::SoftwareWrite(ref write) => software_write(write, o),
        Element::DwtEvent(event) => dwt_event(source, event, o),
        Element::LocalTimestamp(time) => {
            let o = o.number("delta", time.delta.into()).digits("total", time.total);
            let o = match time.delay {
                TimeDelay::None => o,
                TimeDelay::Timestamp => o.text("delayed", "timestamp"),
                TimeDelay::Packet => o.text("delayed", "packet"),
                TimeDelay::Both => o.text("delayed", "both"),
            };
            o.mark("after_overflow", time.after_overflow)
        }
        Element::GlobalTimestamp { value, clock_changed, after_overflow } => o
            .digits("value", value)
            .mark("clock_changed", clock_changed)
            .mark("after_overflow", after_overflow),
        Element::DataAccess(ref access) => data_access(source, access, o),
        Element::Custom(custom) => o.text("name", custom.kind).number("length", custom.len.into()),
        Element::Undecodable { len, fault } => o
            .number("len", len.into())
            .text("reason", PacketKind::of(&fault).as_str())
            .text("text", &fault.to_string()),
        Element::Inconsistency(inconsistency) => o
            .text("reason", PacketKind::of(&inconsistency).as_str())
            .text("text", &inconsistency.to_string())
            .maybe_hex("address", inconsistency.address()),
        // Exception returns, triggers, markers and the end have no fields.
        _ => o,
    }
}

const fn security(security: Security) -> &'static str {
    match security {
        Security::Secure => "secure",
        Security::NonSecure => "non-secure",
        Security::Root => "root",
        Security::Realm => "realm",
    }
}

fn context(c: Context, o: Object<'_>) -> Object<'_> {
    o.maybe_text("isa", c.known_isa().map(Isa::name))
        .number("bits", if c.bits64 { 64 } else { 32 })
        .maybe_number("el", c.el.map(u64::from))
        .maybe_text("privilege", c.level())
        .maybe_text("security", c.security.map(security))
        .maybe_hex("context_id", c.context_id.map(u64::from))
        .maybe_hex("vmid", c.vmid.map(u64::from))
}

fn range<'a>(source: &Source, r: &Range, o: Object<'a>) -> Object<'a> {
    let o = last(r, addresses(r, o)).maybe_number("cycles", r.cycles.get().map(u64::from));
    if !source.describes_addresses() {
        return o;
    }
    o.maybe_text("symbol", source.symbol_name(r.start).as_deref())
        .maybe_text("line", source.line(r.start).as_deref())
}

/// Appends what follows the offset in the line of a range without the name of a function, and ends
/// the line.
#[inline]
pub(super) fn plain_range(r: &Range, tails: &mut RangeTails, out: &mut String) {
    out.push_str(",\"kind\":\"range\"");
    addresses(r, Object::more(out));
    tails.put(r, out, |r, out| {
        last(r, Object::more(out));
    });
    Object::more(out).maybe_number("cycles", r.cycles.get().map(u64::from)).line();
}

#[inline]
fn addresses<'a>(r: &Range, o: Object<'a>) -> Object<'a> {
    o.hex("start", r.start).hex("end", r.end())
}

/// The part that depends on the number of instructions and on the last one.
fn last<'a>(r: &Range, o: Object<'a>) -> Object<'a> {
    let o = o
        .number("instructions", r.instructions.into())
        .text("isa", r.last.isa.name())
        .text("last", last_name(r.last.kind));
    let o = o.maybe_text("role", role_name(r.last.role));
    o.mark("conditional", r.last.conditional()).flag("taken", r.last.taken())
}

fn software_write<'a>(write: &Software, o: Object<'a>) -> Object<'a> {
    let o = match write.channel {
        Channel::Port { page, port } => {
            o.number("port", u64::from(page.unwrap_or(0)) * 32 + u64::from(port))
        }
        Channel::Master { master, channel } => o
            .maybe_number("master", master.map(u64::from))
            .maybe_number("channel", channel.map(u64::from)),
    };
    let o = o.number("bits", write.bits.into());
    let o = if write.bits > 0 { o.hex("value", write.value()) } else { o };
    let flags = [
        (Software::MARKER, "marker"),
        (Software::TRIGGER, "trigger"),
        (Software::AFTER_OVERFLOW, "after_overflow"),
        (Software::FREQUENCY, "frequency"),
        (Software::MASTER_ERROR, "master_error"),
        (Software::GLOBAL_ERROR, "global_error"),
        (Software::CHANNEL_ERROR, "channel_error"),
        (Software::CROSS_SYNC, "cross_sync"),
        (Software::FLAG, "flag"),
        (Software::USER, "user"),
    ];
    let o = flags.iter().fold(o, |o, &(flag, key)| o.mark(key, write.has(flag)));
    match write.time() {
        Some(time) => o.digits("time", time),
        None => o,
    }
}

fn dwt_event<'a>(source: &Source, event: DwtEvent, o: Object<'a>) -> Object<'a> {
    let o = o.number("discriminator", event.discriminator.into()).hex("value", event.value.into());
    let o = o.text("meaning", PacketKind::of(&event.meaning()).as_str());
    let o = match event.meaning() {
        Dwt::Counters(bits) | Dwt::PmuCounters(bits) => o.number("counters", bits.into()),
        Dwt::Exception { number, step } => o.number("number", number.into()).text(
            "step",
            match step {
                ExceptionStep::Entered => "entered",
                ExceptionStep::Exited => "exited",
                ExceptionStep::Returned => "returned",
            },
        ),
        Dwt::PcSample(pc) => {
            let o = o.hex("pc", pc.into());
            o.maybe_text("symbol", source.symbol_name(pc.into()).as_deref())
        }
        Dwt::DataPc { pc, size, .. } => {
            let symbol = if size == 4 { source.symbol_name(pc.into()) } else { None };
            compared(event.meaning(), o).maybe_text("symbol", symbol.as_deref())
        }
        Dwt::DataMatch { .. } | Dwt::DataAddress { .. } => compared(event.meaning(), o),
        Dwt::DataValue { comparator, write, size, .. } => o
            .number("comparator", comparator.into())
            .text("direction", if write { "write" } else { "read" })
            .number("size", size.into()),
        Dwt::Reserved { size, .. } => o.number("size", size.into()),
        Dwt::Sleep | Dwt::Prohibited => o,
    };
    o.mark("after_overflow", event.after_overflow)
}

/// The comparator that matched, and the address or program counter that it reports, of which units
/// of Armv8-M may send the low bytes only.
pub(crate) fn compared(event: Dwt, o: Object<'_>) -> Object<'_> {
    let (comparator, size, name, value) = match event {
        Dwt::DataPc { comparator, size, pc } => (comparator, size, ["pc", "pc_low"], pc),
        Dwt::DataAddress { comparator, size, address } => {
            (comparator, size, ["address", "address_low"], address)
        }
        Dwt::DataMatch { comparator } => return o.number("comparator", comparator.into()),
        _ => return o,
    };
    let o = o.number("comparator", comparator.into());
    match (size, name) {
        (4, [whole, _]) => o.hex(whole, value.into()),
        (size, [_, low]) => o.number("size", size.into()).hex(low, value.into()),
    }
}

fn data_access<'a>(source: &Source, a: &Access, o: Object<'a>) -> Object<'a> {
    let o = o.maybe_hex("address", a.address()).maybe_hex("value", a.value());
    let o = match a.direction {
        Direction::Unknown => o,
        Direction::Read => o.text("direction", "read"),
        Direction::Write => o.text("direction", "write"),
    };
    let o = if a.size > 0 { o.number("size", a.size.into()) } else { o };
    let symbol = a.by().and_then(|by| source.symbol_name(by));
    let o = o.maybe_hex("pc", a.by()).maybe_text("symbol", symbol.as_deref());
    let flags = [
        (Access::COPROCESSOR, "coprocessor"),
        (Access::CONTINUED, "continued"),
        (Access::LATE, "late"),
        (Access::STORE_FAILED, "store_failed"),
        (Access::VALUE_NOT_TRACED, "value_not_traced"),
        (Access::SUPPRESSED, "suppressed"),
        (Access::BIG_ENDIAN, "big_endian"),
        (Access::EXCEPTION, "exception"),
    ];
    flags.iter().fold(o, |o, &(flag, key)| o.mark(key, a.has(flag)))
}

/// The name of the kind of a range's last instruction.
pub const fn last_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Plain => "plain",
        Kind::Branch => "branch",
        Kind::Indirect => "indirect",
        Kind::Isb => "isb",
        Kind::Barrier => "barrier",
        Kind::Wait | Kind::TimedWait => "wait",
        Kind::TransactionStart => "transaction-start",
        Kind::Undefined => "undefined",
    }
}

/// The name of what the last instruction of a range is for; `None` for a plain branch.
pub const fn role_name(role: Role) -> Option<&'static str> {
    match role {
        Role::Jump | Role::Compare => None,
        Role::Loop => Some("loop"),
        Role::Call => Some("call"),
        Role::Return | Role::ImpliedReturn => Some("return"),
        Role::ExceptionReturn => Some("exception-return"),
        Role::Swap => Some("swap"),
        Role::Link => Some("link"),
    }
}
