//! Counts of each stage of decoding, and remarks on what is missing or wrong.

mod cause;
mod of_source;
mod path;
mod profiles;
mod source_line;

use std::borrow::Cow;
use std::fmt::Write;

use tracewright_base::remedy::{ALL_BUFFERS, FRAMING, ID, PROTOCOL, REGISTER, SOURCE};
use tracewright_capture::{Buffer, Capture, Format, Kind};
use tracewright_decode::detect::cause::Cause;
use tracewright_decode::detect::fill::filled_from;
use tracewright_decode::detect::may_be_frames;
use tracewright_decode::{Memory, Options, Plan, Session, Skipped, Tally, Why};
use tracewright_frames::{FRAME, Framing, Link, Numbering, Splitter, sync};

use crate::link::{Ids, largest};
use crate::sources::Source;

/// Bytes at the start of a buffer that are decoded with other framings.
const TRIAL: usize = 1 << 18;

/// A shorter filling at the end is not distinguished from trace.
const FILLING: usize = 64;

/// A decoded buffer and its counts.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// The capture.
    pub capture: &'a Capture,
    /// How the buffer was decoded: framing and sources.
    pub plan: &'a Plan,
    /// The sources of the plan.
    pub sources: &'a [Source],
    /// The program memory of the capture.
    pub memory: &'a Memory,
    /// The options of the user.
    pub options: &'a Options,
    /// The counts.
    pub tally: &'a Tally,
}

/// A remark on missing or wrong input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The finding.
    pub what: String,
    /// What to do; empty where nothing can be done.
    pub help: String,
}

fn remark(what: impl Into<String>, help: impl Into<String>) -> Remark {
    Remark { what: what.into(), help: help.into() }
}

/// What is wrong with a decoded buffer.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The most likely cause of a poor result.
    pub cause: Option<Cause>,
    /// What is missing or wrong, the most important first, where the cause does not explain it.
    pub remarks: Vec<Remark>,
    /// Something is wrong; otherwise the remarks explain why there is little to show.
    pub is_problem: bool,
}

impl Decoded<'_> {
    /// What is wrong, and why. It is empty where bytes, packets and program agree.
    pub fn diagnosis(&self) -> Diagnosis {
        if !self.needs_explanation() {
            return Diagnosis::default();
        }
        let cause = self.cause();
        let others = matches!(cause, Some(Cause::Sources { .. }));
        let explained = others || cause.as_ref().is_some_and(Cause::is_misread);
        let remarks = if explained { self.losses() } else { self.remarks() };
        Diagnosis { is_problem: cause.is_some() || self.has_problems(), cause, remarks }
    }

    fn buffer(&self) -> Option<&Buffer> {
        self.capture.buffers.get(self.plan.buffer)
    }

    /// Whether the result needs an explanation: a source has no result, or an incomplete one.
    pub fn needs_explanation(&self) -> bool {
        // Some of several cores may have been idle, but not all of them.
        let counts = || (0..self.sources.len()).map(|n| self.tally.of(n));
        let silent = counts().any(|c| !c.has_activity() && c.bytes() > 0);
        let zero = counts().any(|c| c.zero_timestamps > 0) && self.capture.kind == Kind::Perf;
        // A buffer that was overwritten begins so, and so do bytes that are read in a wrong way.
        let late = counts().any(|c| c.is_synchronised_late());
        silent || zero || late || !counts().any(|c| c.has_activity()) || self.has_problems()
    }

    /// Whether something is wrong. A source that sent nothing, or only synchronised, needs an
    /// explanation, but is no problem.
    pub fn has_problems(&self) -> bool {
        let mut counts = (0..self.sources.len()).map(|n| self.tally.of(n));
        let left_out = self.plan.skipped.iter().any(|s| !matches!(s.why, Why::NotChosen(_)));
        left_out
            || self.sources.is_empty()
            || counts.any(|c| c.bytes() > 0 && c.packets == 0)
            || self.tally.flawed_before_end()
            || !self.unknown_ids().is_empty()
            || !self.losses().is_empty()
    }

    /// What the trace buffer and the trace units lost.
    fn losses(&self) -> Vec<Remark> {
        let Some(buffer) = self.buffer() else { return Vec::new() };
        let of_sink = buffer.sink.iter().flat_map(|sink| &sink.layout.lost);
        let of_sink = of_sink.map(|lost| remark(format!("{}: {lost}", buffer.name), ""));
        let of_units = self.sources.iter().enumerate().filter_map(|(n, source)| {
            let times = match self.tally.of(n).gaps {
                0 => return None,
                1 => "once".to_owned(),
                gaps => format!("{gaps} times"),
            };
            Some(remark(
                format!("{}: trace was lost {times}", source.name),
                "what was executed there is not known; `decode` lists each gap",
            ))
        });
        of_sink.chain(of_units).collect()
    }

    /// The number of sources, configured or not, of whose trace nothing was decoded, and of buffers
    /// that end inside a frame: what was executed there is unknown.
    pub fn unseen(&self) -> u64 {
        let counts = (0..self.sources.len()).map(|n| self.tally.of(n));
        let silent = counts.filter(|c| c.bytes() > 0 && c.packets == 0).count();
        let part = 1..FRAME as u64;
        let cut = self.plan.framing == Framing::Coresight && part.contains(&self.tally.bad_frames);
        (silent + self.unknown_ids().len() + usize::from(cut)) as u64
    }

    /// Bytes of trace IDs with no configured source, without those that the user left out.
    fn unknown_ids(&self) -> Vec<(u16, u64)> {
        if !self.plan.framed() {
            return Vec::new();
        }
        let chosen = |id: u16| {
            self.options.ids.is_empty()
                && !self.plan.skipped.iter().any(|s| s.why == Why::NotChosen(id))
        };
        let unknown_ids = self.tally.unknown_ids.iter().map(|(id, bytes)| (*id, *bytes));
        let unknown_ids: Vec<_> = unknown_ids.filter(|(id, _)| chosen(*id)).collect();
        if unknown_ids.is_empty() {
            return unknown_ids;
        }
        // What a trace port sends after it has stopped is no source.
        let Some((start, from)) = self.filling() else { return unknown_ids };
        let mut ids = Ids::default();
        let mut route = self.plan.route(Numbering::Capture);
        route.split(0, start.get(..from).unwrap_or_default(), &mut ids);
        let sources = ids.sources();
        unknown_ids.into_iter().filter(|(id, _)| sources.iter().any(|(own, _)| own == id)).collect()
    }

    /// The bytes of raw trace data that the trace did not fill up to the end: all bytes, and the
    /// offset of the filling.
    fn filling(&self) -> Option<(Cow<'_, [u8]>, usize)> {
        let buffer = self.buffer().filter(|buffer| !buffer.is_piped())?;
        let start = buffer.head(TRIAL);
        let from = filled_from(&start);
        let whole = self.capture.kind == Kind::Raw && start.len() as u64 == buffer.len();
        (whole && from + FILLING <= start.len()).then_some((start, from))
    }

    /// Counts of each stage: a line for the buffer and one for each source.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        let Some(buffer) = self.buffer() else { return out };
        let messages = self.plan.messages.is_some();
        let kind = match self.plan.framed() {
            true if messages => " of messages",
            true if self.plan.link.is_none() => " of frames",
            _ => "",
        };
        let framing = self.plan.framing_name();
        let _ = write!(out, "{}: {} bytes{kind} ({framing})", buffer.name, buffer.len());
        let t = self.tally;
        for (count, what) in [
            (t.padding, "of padding"),
            (t.no_source, "before the first trace ID"),
            (
                t.bad_frames,
                if messages { "undecodable as messages" } else { "undecodable as frames" },
            ),
        ] {
            if count > 0 {
                let _ = write!(out, ", {count} {what}");
            }
        }
        out.push('\n');
        for (n, source) in self.sources.iter().enumerate() {
            source_line::write(source, &t.of(n), &mut out);
        }
        let (unknown_ids, others) = largest(self.unknown_ids());
        for (id, bytes) in unknown_ids {
            let whose = match self.plan.data_stream(id) {
                Some(unit) => format!("data stream of {}", unit.name),
                None => "no configured source".to_owned(),
            };
            let _ = writeln!(out, "  ID {id:#04x}: {bytes} bytes, {whose}");
        }
        if let Some(others) = others {
            let _ = writeln!(out, "  {others}, no configured source");
        }
        out
    }

    /// Remarks on what is missing or wrong, the most important first.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for skipped in &self.plan.skipped {
            remarks.extend(left_out(skipped));
        }
        let Some(buffer) = self.buffer() else { return remarks };
        // The length of a pipe is the number of bytes read so far.
        let bytes = buffer.len();
        if bytes == 0 {
            remarks.push(self.empty());
            remarks.extend(path::remarks(self.capture, self.plan.buffer, buffer));
            return remarks;
        }
        if self.sources.is_empty() && self.plan.skipped.is_empty() {
            remarks.push(self.no_source(buffer));
        }
        remarks.extend(self.none_chosen());
        let other = self.other_framing();
        let ports = self.port_syncs();
        if other.is_none() && ports <= 1 && self.capture.kind == Kind::Raw {
            remarks.extend(self.ids_if_framed());
        }
        if other.is_none() && ports > 1 {
            remarks.push(remark(
                format!(
                    "the bytes contain {ports} synchronisation packets of a trace port (ff ff ff \
                     7f)"
                ),
                format!("the bytes come from a trace port: try {FRAMING} tpiu"),
            ));
        }
        if let Some((framing, packets)) = other {
            let name = framing.option();
            remarks.push(remark(
                format!(
                    "with framing {name}, the start of the buffer decodes to {packets} packets"
                ),
                format!("try {FRAMING} {name}"),
            ));
        }
        for (n, source) in self.sources.iter().enumerate() {
            self.source(source, &self.tally.of(n), other.is_some(), &mut remarks);
        }
        remarks.extend(self.losses());
        if other.is_none() {
            remarks.extend(self.absent());
        }
        let (data, unknown_ids): (Vec<_>, Vec<_>) = self
            .unknown_ids()
            .into_iter()
            .partition(|(id, _)| self.plan.data_stream(*id).is_some());
        for (id, bytes) in data {
            remarks.extend(data_stream(self.capture, self.plan, id, bytes));
        }
        if !unknown_ids.is_empty() {
            remarks.push(self.unknown_ids_remark(&unknown_ids));
        }
        if self.tally.bad_frames > 0 && other.is_none() {
            remarks.push(self.bad_frames(bytes));
        }
        remarks
    }

    /// The remark on a buffer without a source.
    fn no_source(&self, buffer: &Buffer) -> Remark {
        let name = &buffer.name;
        if self.capture.kind != Kind::Perf {
            return remark(
                format!("no source is configured for the buffer {name}"),
                "add `SOURCE=BUFFER` to [source_buffers] in the file that [trace] of the snapshot \
                 names",
            );
        }
        match buffer.format {
            Format::SourceData => remark(
                format!(
                    "{name}: the AUX record has no CPU, so that the trace unit of its trace is not \
                     known"
                ),
                "record with `perf record --sample-cpu`",
            ),
            _ => remark(
                format!("{name}: no trace unit of the file has the trace IDs of its frames"),
                "`tracewright frames` lists the trace IDs, and `info` those of the trace units",
            ),
        }
    }

    /// The remark on undecodable bytes of the link in a buffer of `bytes` bytes.
    fn bad_frames(&self, bytes: u64) -> Remark {
        let bad = self.tally.bad_frames;
        let is_end = self.plan.framing == Framing::Coresight && bad == bytes % FRAME as u64;
        if is_end || bad < FRAME as u64 && self.filling().is_some() {
            let help =
                "the frame is incomplete: its last byte has a bit of each byte at an even offset";
            return remark(
                format!("the buffer ends inside a frame, of which it has {bad} bytes"),
                help,
            );
        }
        if let Some(link) = &self.plan.link {
            let what = format!("{bad} bytes are undecodable for the trace link {}", link.name());
            return remark(what, "the bytes are damaged, or the buffer has another format");
        }
        let (what, help) = match &self.plan.messages {
            None => ("frame", format!("if there are many, the framing is wrong: try another {FRAMING}")),
            Some(_) => (
                "message",
                "if there are many, check the parameters source_width and timestamp_bytes: they describe \
                 what precedes each payload"
                    .to_owned(),
            ),
        };
        remark(format!("{bad} bytes are undecodable as {what}s"), help)
    }

    /// Sources without bytes in the buffer.
    fn absent(&self) -> Option<Remark> {
        let sources = self.sources.iter().enumerate();
        let absent = sources.filter(|(n, _)| self.tally.of(*n).bytes() == 0);
        let absent = absent.map(|(_, source)| match source.id {
            Some(id) => format!("{} (ID {id:#04x})", source.name),
            None => source.name.clone(),
        });
        let absent: Vec<_> = absent.collect();
        (!absent.is_empty()).then(|| {
            remark(
                format!("the buffer contains no bytes of {}", absent.join(", ")),
                "if it should, check that the trace unit was enabled, and that the configured \
                 trace ID is the one that was programmed",
            )
        })
    }

    /// The remark where no source has a selected ID.
    fn none_chosen(&self) -> Option<Remark> {
        let others = self.plan.skipped.iter().filter_map(|skipped| match skipped.why {
            Why::NotChosen(id) => Some(format!("{} has {id:#04x}", skipped.name)),
            _ => None,
        });
        let others: Vec<_> = others.collect();
        (self.sources.is_empty() && !others.is_empty()).then(|| {
            let asked = self.options.ids.iter().map(|id| format!("{id:#04x}"));
            let asked = asked.collect::<Vec<_>>().join(", ");
            let what = if self.plan.messages.is_some() { "number" } else { "trace ID" };
            remark(
                format!("no decodable source has the {what} {asked}"),
                format!("choose another with {ID}: {}", others.join(", ")),
            )
        })
    }

    fn empty(&self) -> Remark {
        let others = self.capture.buffers.iter().enumerate();
        let others = others.filter(|(n, b)| *n != self.plan.buffer && !b.is_empty());
        let others: Vec<_> = others.map(|(_, b)| b.name.as_str()).collect();
        let name = self.buffer().map_or("", |b| b.name.as_str());
        if self.buffer().is_some_and(|b| b.files.is_empty() && b.sink.is_none()) {
            return remark(
                format!("no file of the buffer {name} could be read"),
                "copy the trace to the path that the notes name",
            );
        }
        remark(
            format!("the buffer {name} is empty"),
            match others.first() {
                Some(first) => format!(
                    "other buffers are not ({}): try {SOURCE} {first}, or {ALL_BUFFERS}",
                    others.join(", ")
                ),
                None => {
                    "nothing was captured: check that the trace unit and the path to the buffer \
                         were enabled, and that the buffer was read before it lost power"
                        .into()
                }
            },
        )
    }

    /// Another framing with which the bytes decode, where they do not with the framing of the plan;
    /// and the number of packets.
    fn other_framing(&self) -> Option<(Framing, u64)> {
        let sane = |tally: &Tally, n: usize| {
            let c = tally.of(n);
            c.packets > 0
                && c.undecodable.saturating_add(c.unsynchronised).saturating_mul(4) < c.bytes()
        };
        let any = |tally: &Tally| (0..self.sources.len()).any(|n| sane(tally, n));
        if self.plan.link.is_some() || self.sources.is_empty() || any(self.tally) {
            return None;
        }
        let buffer = self.buffer()?;
        let start = buffer.head(TRIAL);
        let found =
            Framing::ALL.into_iter().filter(|f| *f != self.plan.framing).filter_map(|framing| {
                let options = Options { framing: Some(framing), ..self.options.clone() };
                let plan = Plan::new(self.capture, self.plan.buffer, &options)?;
                let mut tally = Tally::default();
                let session = Session::new(self.capture, &plan, self.memory, &options);
                session.ok()?.run([&*start], &mut tally);
                let good = (0..plan.sources.len()).filter(|&n| sane(&tally, n));
                let packets: u64 = good.map(|n| tally.of(n).packets).sum();
                (packets >= 8 && tally.bad_frames * 4 < start.len() as u64).then_some((
                    framing,
                    packets,
                    tally.bad_frames,
                ))
            });
        // Plain framing also finds frames in TPIU data. The framing with fewer undecodable bytes is
        // right.
        found.min_by_key(|(_, packets, bad)| (*bad, u64::MAX - packets)).map(|(f, n, _)| (f, n))
    }

    /// Counts the synchronisation packets of a trace port in bytes that are decoded with another
    /// framing.
    fn port_syncs(&self) -> usize {
        let has_other = self.plan.messages.is_some() || self.plan.link.is_some();
        if has_other || !matches!(self.plan.framing, Framing::Raw | Framing::Coresight) {
            return 0;
        }
        let Some(buffer) = self.buffer() else { return 0 };
        let start = buffer.head(TRIAL);
        // A frame that consists of four of them is a barrier packet of a driver.
        let barriers = start.windows(16).filter(|w| *w == sync::BARRIER).count();
        let all = start.windows(4).filter(|w| *w == sync::FULL).count();
        all.saturating_sub(4 * barriers)
    }

    /// The remark on raw trace data that may be formatter frames of a few sources.
    fn ids_if_framed(&self) -> Option<Remark> {
        let quiet = (0..self.sources.len()).all(|n| !self.tally.of(n).has_activity());
        // A trace port of a unit's own has no formatter.
        let port = self.sources.iter().all(|source| source.config.protocol().has_own_port());
        if self.plan.framed() || !quiet || port {
            return None;
        }
        let start = self.buffer()?.head(TRIAL);
        let read = (0..self.sources.len()).map(|n| self.tally.of(n));
        let good = read.into_iter().any(|c| c.syncs > 0 && c.damaged() < c.packet_bytes / 8);
        if good || !may_be_frames(&start) {
            return None;
        }
        let mut ids = Ids::default();
        Splitter::new(Link::new(Framing::Coresight)).split(0, &start, &mut ids);
        let sources = ids.sources();
        // Bytes that are no frames decode to random IDs.
        let odd = ids.reserved + ids.bad + ids.no_source;
        if sources.is_empty() || sources.len() > 8 || odd * 8 > start.len() as u64 {
            return None;
        }
        let list: Vec<_> = sources.iter().map(|(id, n)| format!("{id:#04x} ({n} bytes)")).collect();
        let first = sources.iter().max_by_key(|(_, n)| *n).map_or(0, |(id, _)| *id);
        Some(remark(
            format!("the bytes may be formatter frames with the trace IDs {}", list.join(", ")),
            format!(
                "try {FRAMING} coresight, with the protocol of each ID: {PROTOCOL} \
                 NAME@{first:#04x}"
            ),
        ))
    }

    fn unknown_ids_remark(&self, unknown_ids: &[(u16, u64)]) -> Remark {
        let first = unknown_ids.first().map_or(0, |(id, _)| *id);
        let (unknown_ids, others) = largest(unknown_ids.to_vec());
        let list = unknown_ids.iter().map(|(id, bytes)| format!("{id:#04x} ({bytes} bytes)"));
        let list: Vec<_> = list.chain(others).collect();
        let left_out = self.plan.skipped.iter().filter(|s| !matches!(s.why, Why::NotChosen(_)));
        let left_out: Vec<_> = left_out.map(|s| s.name.as_str()).collect();
        let help = match self.capture.kind {
            _ if !left_out.is_empty() => {
                format!("they may belong to {}, which could not be decoded", left_out.join(", "))
            }
            Kind::Raw => format!("configure a source for each: {PROTOCOL} NAME@{first:#04x}"),
            _ if self.plan.messages.is_some() => {
                "add a source for each, with its number as the parameter `source`".into()
            }
            _ => "add a device for each, with the trace ID in its registers".into(),
        };
        let list = list.join(", ");
        let what = match &self.plan.messages {
            None => format!("frames contain data for trace IDs with no configured source: {list}"),
            Some(_) => format!("messages have source numbers with no configured source: {list}"),
        };
        remark(what, help)
    }
}

/// The remark on a source that is not decoded. `None` for a source that the user left out.
pub fn left_out(skipped: &Skipped) -> Option<Remark> {
    if matches!(skipped.why, Why::NotChosen(_)) {
        return None;
    }
    let text = &skipped.message;
    let (what, help) = text.rsplit_once("; ").unwrap_or((text, ""));
    Some(remark(format!("{what}, so {} is not decoded", skipped.name), help))
}

/// The remark on `bytes` bytes of the trace ID `id`, where that is the data stream of a source of
/// `plan`.
pub fn data_stream(capture: &Capture, plan: &Plan, id: u16, bytes: u64) -> Option<Remark> {
    let planned = plan.data_stream(id)?;
    let unit = &planned.name;
    let buffer = capture.buffers.get(plan.buffer).map_or("BUFFER", |buffer| &buffer.name);
    let decoded = "which decodes its markers, timestamps and losses, not addresses and values";
    let help = match capture.kind {
        Kind::Snapshot => {
            format!("add `{unit}(stream:1)={buffer}` to [source_buffers], {decoded}")
        }
        Kind::Raw => {
            let id = planned.id;
            format!("add {PROTOCOL} ETM4D {REGISTER} TRCTRACEIDR={id:#x}, {decoded}")
        }
        _ => format!("add a source of type ETM4D with the registers of {unit}, {decoded}"),
    };
    let what = format!(
        "the {bytes} bytes of trace ID {id:#04x} are the data stream of {unit} (TRCCONFIGR.DA and \
         DV), which is not decoded"
    );
    Some(remark(what, help))
}

/// The word for the framing of a plan.
pub fn plan_framing(plan: &Plan) -> &'static str {
    match plan.messages.is_some() || plan.link.is_some() {
        true => plan.framing_name(),
        false => plan.framing.option(),
    }
}
