//! Events as JSON Lines.

use tracewright_analysis::itm::{Content, Duration, Entry, Origin, Reading, Value};
use tracewright_base::{Channel, Dwt};
use tracewright_symbols::Functions;

use super::{Arrival, Clock, Kind, exception_name, port, step_name, symbol, text_of};
use crate::json::{Object, compared};

/// Appends the line of an event.
pub(super) fn line(
    source: &str,
    entry: &Entry,
    arrival: Option<Arrival>,
    clock: &Clock,
    functions: &Functions,
    out: &mut String,
) {
    let kind = Kind::of(&entry.content);
    let mut o = Object::new(out).text("type", kind.name()).text("source", source);
    o = o.number("offset", entry.at);
    if let Some(time) = entry.time {
        o = o.digits("time", time).maybe_text("seconds", clock.seconds(time).as_deref());
    }
    if let Some(earliest) = entry.earliest.filter(|_| entry.earliest != entry.time) {
        o = o.digits("earliest", earliest);
    }
    o = o.mark("late", entry.late);
    if let Some(arrival) = arrival.filter(|_| entry.time.is_none()) {
        o = o.text("arrival", &arrival.to_string());
    }
    o = match &entry.content {
        Content::Text { channel, .. } => {
            destination(*channel, o).maybe_text("text", text_of(&entry.content).as_deref())
        }
        Content::Write { channel, bits, value, in_text } => destination(*channel, o)
            .number("bits", (*bits).into())
            .hex("value", *value)
            .mark("in_text", *in_text),
        Content::Value(value) => self::value(value, functions, o),
        Content::Dwt { event, span } => {
            let o = dwt(*event, o);
            let symbol = event.pc().and_then(|pc| symbol(functions, pc));
            let o = o.maybe_text("symbol", symbol.as_deref());
            match span {
                Some(span) => {
                    let o = o.number("depth", span.depth as u64);
                    let o = match span.ended {
                        Some((number, Duration { least, most })) => o
                            .text("ended", &exception_name(number))
                            .digits("ended_least", least)
                            .digits("ended_most", most),
                        None => o,
                    };
                    match span.duration.map(|duration| (duration.measured(), duration)) {
                        Some((Some(ticks), _)) => o.digits("duration", ticks).maybe_text(
                            "duration_seconds",
                            clock.duration_seconds(ticks).as_deref(),
                        ),
                        Some((None, Duration { least, most })) => {
                            o.digits("duration_least", least).digits("duration_most", most)
                        }
                        None => o,
                    }
                }
                None => o,
            }
        }
        Content::GlobalTime(value) => o.digits("value", *value),
        Content::Lost(gap) => o.text("reason", &gap.to_string()),
        Content::Undecodable { len, fault } => {
            o.number("bytes", (*len).into()).text("reason", &fault.to_string())
        }
    };
    o.end();
    out.push('\n');
}

fn value<'a>(value: &Value, functions: &Functions, o: Object<'a>) -> Object<'a> {
    let o = match value.origin {
        Origin::Port(port) => o.number("port", port.into()),
        Origin::Master(master, channel) => {
            o.number("master", master.into()).number("channel", channel.into())
        }
        Origin::Comparator(comparator) => o.number("comparator", comparator.into()),
    };
    let o = o.text("name", &value.name);
    let o = match &value.reading {
        Reading::Address(address) => {
            let symbol = u32::try_from(*address).ok().and_then(|pc| symbol(functions, pc));
            o.hex("value", *address).maybe_text("symbol", symbol.as_deref())
        }
        Reading::Named(number, name) => {
            o.value("value", |out| out.push_str(&number.to_string())).text("label", name)
        }
        reading => o.value("value", |out| out.push_str(&json_number(reading))),
    };
    o.maybe_text("unit", Some(value.unit.as_str()).filter(|unit| !unit.is_empty()))
}

/// A number in JSON, which has no infinities.
pub(super) fn json_number(reading: &Reading) -> String {
    match reading {
        Reading::Integer(number) | Reading::Named(number, _) => number.to_string(),
        Reading::Address(address) => address.to_string(),
        reading if reading.number().is_finite() => reading.to_string(),
        _ => "null".to_owned(),
    }
}

fn destination(channel: Channel, o: Object<'_>) -> Object<'_> {
    match channel {
        Channel::Port { .. } => o.maybe_number("port", port(channel).map(u64::from)),
        Channel::Master { master, channel } => o
            .maybe_number("master", master.map(u64::from))
            .maybe_number("channel", channel.map(u64::from)),
    }
}

fn dwt(event: Dwt, o: Object<'_>) -> Object<'_> {
    match event {
        Dwt::Counters(bits) => o.number("counters", bits.into()),
        Dwt::PmuCounters(bits) => o.number("pmu_counters", bits.into()),
        Dwt::Exception { number, step } => o
            .number("number", number.into())
            .text("name", &exception_name(number))
            .text("step", step_name(step)),
        Dwt::PcSample(pc) => o.hex("pc", pc.into()),
        Dwt::Sleep => o.flag("asleep", true),
        Dwt::Prohibited => o.flag("prohibited", true),
        Dwt::DataPc { .. } | Dwt::DataMatch { .. } | Dwt::DataAddress { .. } => compared(event, o),
        Dwt::DataValue { comparator, write, size, value } => o
            .number("comparator", comparator.into())
            .text("direction", if write { "write" } else { "read" })
            .number("size", size.into())
            .hex("value", value.into()),
        Dwt::Reserved { discriminator, size, value } => o
            .number("discriminator", discriminator.into())
            .number("size", size.into())
            .hex("value", value.into()),
    }
}
