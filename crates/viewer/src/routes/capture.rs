//! `api/capture`: what is shown.

use std::collections::BTreeMap;

use tracewright::Capture;
use tracewright::index::view::Series;
use tracewright::index::{Kind, channel};
use tracewright::views::json::Object;

use super::values::{self, Listed};
use crate::answer::{Answer, Answered, Problem};
use crate::served::{Served, ServedBuffer};
use crate::shown::{LONGEST, shown};
use crate::work::{DETAIL, Worker};

/// The version of the protocol.
const VERSION: u64 = 1;

pub(super) fn run(worker: &Worker<'_>) -> Answered {
    prepare(worker.served).clone().map(Answer::Json)
}

/// The text of the answer, which is the same for each request, and is the first that a page needs.
pub(crate) fn prepare<'s>(served: &'s Served<'_>) -> &'s Result<String, Problem> {
    served.about.get_or_init(|| describe(served))
}

fn describe(served: &Served<'_>) -> Result<String, Problem> {
    let capture = served.trace.capture();
    let name = capture.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let program =
        capture.memory.iter().map(|dump| dump.file.as_str()).find(|file| !file.is_empty());
    let mut counts = Vec::new();
    for buffer in &served.buffers {
        let series = (0..buffer.sources.len()).map(|source| values::series(buffer, source));
        counts.push((keys(served, buffer)?, series.collect::<Result<Vec<_>, _>>()?));
    }
    let mut out = String::new();
    Object::new(&mut out)
        .number("version", VERSION)
        .text("name", &shown(&name.unwrap_or_default(), LONGEST))
        .maybe_text("program", program.map(|name| shown(name, LONGEST)).as_deref())
        .text("tool", env!("CARGO_PKG_VERSION"))
        .text("checksum", &served.checksum)
        .flag("save_notes", served.files.save.is_some())
        .flag("growing", served.growing)
        .list("notes", &served.notes, |note, out| {
            tracewright::views::json::object::string(&shown(note, 1024), out);
        })
        .list("buffers", served.buffers.iter().zip(&counts), |(buffer, (counts, series)), out| {
            put(capture, buffer, counts, series, out);
        })
        .list("files", served.program().files.iter().enumerate(), |(n, file), out| {
            Object::new(out)
                .number("file", n as u64)
                .text("path", &shown(&file.path, LONGEST))
                .flag("readable", served.source_path(file).is_some())
                .end();
        })
        .end();
    Ok(out)
}

/// Keys of a kind, with the source that has them first, and their counts.
type Counts = BTreeMap<(Kind, u64), (u16, u64)>;

/// How often each exception and each channel occurs.
fn keys(
    served: &Served<'_>,
    buffer: &ServedBuffer<'_>,
) -> Result<Counts, tracewright::index::IndexError> {
    let indexed = buffer.view.buffer();
    let mut counts = Counts::new();
    served.index.keys(indexed, 0..indexed.len(), |_, source, key, count| {
        if matches!(key.kind, Kind::Exception | Kind::Write) {
            let sum = counts.entry((key.kind, key.value)).or_insert((source, 0));
            sum.1 = sum.1.saturating_add(count);
        }
    })?;
    Ok(counts)
}

/// The name of a port or channel.
pub(super) fn channel_name(key: u64) -> String {
    if key >> 56 & 1 == 0 {
        return format!("port {key}");
    }
    let master = (key >> 32 & 0xff_ffff).checked_sub(1);
    let master = master.map_or("?".to_owned(), |master| master.to_string());
    match key >> 31 & 1 {
        0 => format!("channel {master}:{}", key & 0xffff),
        _ => format!("channel {master}:?"),
    }
}

/// The key of a port or channel as a number that JSON has exactly.
pub(super) fn channel_key(key: u64) -> u64 {
    // Bit 56 is moved below 2^53: that of a master's channel.
    key & !(1 << 56) | (key >> 56 & 1) << 52
}

/// The key of a channel of an element.
pub(super) fn key_of(write: tracewright::base::Channel) -> u64 {
    channel_key(channel(write))
}

/// The name of the thread with this identifier, where it was recorded.
fn thread_name(capture: &Capture, id: u64) -> Option<String> {
    let spaces = &capture.linux.as_ref()?.spaces;
    let name = spaces.thread(u32::try_from(id).ok()?, u64::MAX)?.name.as_deref()?;
    Some(format!("{} thread {id}", shown(name, LONGEST)))
}

fn put(
    capture: &Capture,
    buffer: &ServedBuffer<'_>,
    counts: &Counts,
    series: &[Vec<Listed>],
    out: &mut String,
) {
    let indexed = buffer.view.buffer();
    let sources = buffer.sources.len();
    let mut sums = vec![(0u64, 0u64, None::<(u64, u64)>); sources];
    for stream in indexed.sums() {
        let Some(sum) = sums.get_mut(usize::from(stream.source)) else { continue };
        sum.0 = sum.0.saturating_add(stream.elements);
        sum.1 = sum.1.saturating_add(stream.instructions);
        if let Some(times) = stream.times {
            let (first, last) = sum.2.unwrap_or((times.min, times.max));
            sum.2 = Some((first.min(times.min), last.max(times.max)));
        }
    }
    let times = |object: Object<'_>, times: Option<(u64, u64)>| match times {
        None => object.end(),
        Some((first, last)) => object
            .value("times", |out| {
                Object::new(out).digits("first", first).digits("last", last).end();
            })
            .end(),
    };
    let name = |number: usize, id: Option<u64>| {
        let recorded = id.and_then(|id| thread_name(capture, id));
        recorded.or_else(|| buffer.threads.get(number).cloned().flatten())
    };
    let shape = buffer.view.shape();
    let object = Object::new(out)
        .number("number", buffer.number as u64)
        .text("name", &shown(indexed.name(), LONGEST))
        .number("bytes", indexed.covered())
        .number("elements", sums.iter().fold(0, |sum, own| sum + own.0))
        .number("instructions", sums.iter().fold(0, |sum, own| sum + own.1))
        .flag("view", true)
        .number("tile_log2", shape.log2.into())
        .number("levels", shape.levels.into())
        .number("detail_bytes", DETAIL)
        .list("sources", buffer.sources.iter().zip(&sums).enumerate(), |(n, (source, sum)), out| {
            let object = Object::new(out)
                .number("number", n as u64)
                .text("name", &shown(&source.name, LONGEST))
                .text("protocol", source.protocol())
                .maybe_number("id", source.id.map(u64::from))
                .number("elements", sum.0)
                .number("instructions", sum.1)
                .list("series", series.get(n).into_iter().flatten(), put_series);
            times(object, sum.2);
        })
        .list(
            "threads",
            buffer
                .view
                .names()
                .threads()
                .iter()
                .enumerate()
                .filter_map(|(n, own)| Some((n, (*own)?))),
            |(n, thread), out| {
                Object::new(out)
                    .number("number", n as u64)
                    .number("source", thread.source.into())
                    .maybe_number("id", thread.id.map(|id| id.min((1 << 53) - 1)))
                    .maybe_text("name", name(n, thread.id).as_deref())
                    .end();
            },
        )
        .list(
            "channels",
            counts.iter().filter(|(key, _)| key.0 == Kind::Write).map(|(key, n)| (key.1, n.1)),
            |(key, writes), out| {
                Object::new(out)
                    .number("key", channel_key(key))
                    .text("name", &channel_name(key))
                    .number("writes", writes)
                    .end();
            },
        )
        .list(
            "exceptions",
            counts.iter().filter(|(key, _)| key.0 == Kind::Exception),
            |(key, (source, count)), out| {
                let number = u16::try_from(key.1).unwrap_or(u16::MAX);
                let source = buffer.sources.get(usize::from(*source));
                let name = source.and_then(|source| source.exception_name(number));
                Object::new(out)
                    .number("number", key.1)
                    .maybe_text("name", name.map(|name| shown(&name, LONGEST)).as_deref())
                    .number("count", *count)
                    .end();
            },
        );
    times(object, indexed.times());
}

fn put_series(series: &Listed, out: &mut String) {
    let (name, kind) = match series.series {
        Some(Series::Write(key)) => (channel_name(key), "write"),
        Some(Series::Comparator(n)) => (format!("comparator {n}"), "comparator"),
        None => ("instructions per cycle".to_owned(), "ipc"),
    };
    let object = Object::new(out)
        .number("number", series.number.into())
        .text("name", &name)
        .text("kind", kind)
        .number("count", series.count)
        .flag("text", series.text);
    match series.range {
        None => object.end(),
        Some((least, most)) => object
            .value("least", |out| out.push_str(&least.to_string()))
            .value("most", |out| out.push_str(&most.to_string()))
            .end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_names_and_exact_keys() {
        for (key, name) in [
            (3, "port 3"),
            (1 << 56 | 3 << 32 | 7, "channel 2:7"),
            (1 << 56 | 1 << 31, "channel ?:?"),
        ] {
            assert_eq!(channel_name(key), name);
            assert!(channel_key(key) < 1 << 53);
        }
        assert_ne!(channel_key(1 << 56 | 7), channel_key(7));
    }
}
