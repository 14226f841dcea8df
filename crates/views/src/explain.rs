//! What came of a buffer at each stage, and what to do where nothing did.

use std::fmt::Write;

use tracewright_capture::{Buffer, Capture, Form, Kind};
use tracewright_decode::{Counts, Memory, Options, Plan, Session, Skipped, Tally, Why};
use tracewright_frames::{Framing, Link, Splitter, sync};
use tracewright_protocols::TraceForm;

use crate::Source;
use crate::link::{Ids, largest};

/// How much of a buffer is tried with another framing.
const TRIAL: usize = 1 << 18;

/// A buffer that was decoded, and what was found in it.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// The capture.
    pub capture: &'a Capture,
    /// What of it was decoded.
    pub plan: &'a Plan,
    /// The plan's sources.
    pub sources: &'a [Source],
    /// Its memory.
    pub memory: &'a Memory,
    /// How it was decoded.
    pub options: &'a Options,
    /// What was found.
    pub tally: &'a Tally,
}

/// Something that the reader should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What is the case.
    pub what: String,
    /// What to do about it; empty where there is nothing to be done.
    pub help: String,
}

fn remark(what: impl Into<String>, help: impl Into<String>) -> Remark {
    Remark { what: what.into(), help: help.into() }
}

impl Decoded<'_> {
    fn buffer(&self) -> Option<&Buffer> {
        self.capture.buffers.get(self.plan.buffer)
    }

    /// Whether there is something to explain: a source said nothing, or not all that it could.
    pub fn doubtful(&self) -> bool {
        // Of several cores, some may have slept; but not all of them.
        let counts = || (0..self.sources.len()).map(|n| self.tally.of(n));
        let silent = counts().any(|c| !c.fruitful() && c.bytes() > 0);
        let silent = silent || !counts().any(|c| c.fruitful());
        let left_out = self.plan.skipped.iter().any(|s| !matches!(s.why, Why::NotChosen(_)));
        silent
            || left_out
            || self.sources.is_empty()
            || self.tally.troubled()
            || !self.unknown_ids().is_empty()
    }

    /// Bytes of ids that nobody asked to leave out.
    fn unknown_ids(&self) -> Vec<(u16, u64)> {
        if !self.plan.framed() {
            return Vec::new();
        }
        let chosen = |id: u16| {
            self.options.ids.is_empty()
                && !self.plan.skipped.iter().any(|s| s.why == Why::NotChosen(id))
        };
        let unknown_ids = self.tally.unknown_ids.iter().map(|(id, bytes)| (*id, *bytes));
        unknown_ids.filter(|(id, _)| chosen(*id)).collect()
    }

    /// Counts at each stage, a line for the buffer and one for each source.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        let Some(buffer) = self.buffer() else { return out };
        let framed = self.plan.framing != Framing::Raw;
        let messages = self.plan.messages.is_some();
        let kind = match (framed, messages) {
            (_, true) => " of messages",
            (true, _) => " of frames",
            _ => "",
        };
        let framing = self.plan.framing_name();
        let _ = write!(out, "{}: {} bytes{kind} ({framing})", buffer.name, buffer.len());
        let t = self.tally;
        for (count, what) in [
            (t.padding, "of padding"),
            (t.no_source, "before the first id"),
            (t.bad_frames, if messages { "that are no message" } else { "that are no frame" }),
        ] {
            if count > 0 {
                let _ = write!(out, ", {count} {what}");
            }
        }
        out.push('\n');
        for (n, source) in self.sources.iter().enumerate() {
            source_line(source, &t.of(n), &mut out);
        }
        let (unknown_ids, others) = largest(self.unknown_ids());
        for (id, bytes) in unknown_ids {
            let _ = writeln!(out, "  id {id:#04x}: {bytes} bytes, of no source");
        }
        if let Some(others) = others {
            let _ = writeln!(out, "  {others}, of no source");
        }
        out
    }

    /// What is missing or wrong, the most important first.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for skipped in &self.plan.skipped {
            remarks.extend(left_out(skipped));
        }
        let Some(buffer) = self.buffer() else { return remarks };
        // Of a pipe, this is how much came.
        let bytes = buffer.len();
        if bytes == 0 {
            remarks.push(self.empty());
            return remarks;
        }
        if self.sources.is_empty() && self.plan.skipped.is_empty() {
            remarks.push(remark(
                format!("nothing says which source wrote {}", buffer.name),
                "add `SOURCE=BUFFER` to [source_buffers] in the file that [trace] of the snapshot names",
            ));
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
                    "the bytes hold {ports} synchronisation packets of a trace port (ff ff ff 7f)"
                ),
                "the capture is of a trace port: try --framing tpiu",
            ));
        }
        if let Some((framing, packets)) = other {
            let name = framing_option(framing);
            remarks.push(remark(
                format!(
                    "taken as {name}, these bytes make sense: {packets} packets in its first part"
                ),
                format!("try --framing {name}"),
            ));
        }
        for (n, source) in self.sources.iter().enumerate() {
            self.source(source, &self.tally.of(n), other.is_some(), &mut remarks);
        }
        if other.is_none() {
            remarks.extend(self.absent());
        }
        let unknown_ids = self.unknown_ids();
        if !unknown_ids.is_empty() {
            remarks.push(self.unknown_ids_remark(&unknown_ids));
        }
        if self.tally.bad_frames > 0 && other.is_none() {
            let (what, help) = match &self.plan.messages {
                None => ("frame", "if there are many, the framing is another one: see --framing"),
                Some(_) => (
                    "message",
                    "if there are many, what stands before the payloads is other than source_width and \
                     timestamp_bytes say",
                ),
            };
            remarks.push(remark(format!("{} bytes are no {what}", self.tally.bad_frames), help));
        }
        remarks
    }

    /// Sources without a byte in the buffer.
    fn absent(&self) -> Option<Remark> {
        let sources = self.sources.iter().enumerate();
        let absent = sources.filter(|(n, _)| self.tally.of(*n).bytes() == 0);
        let absent = absent.map(|(_, source)| match source.id {
            Some(id) => format!("{} (id {id:#04x})", source.name),
            None => source.name.clone(),
        });
        let absent: Vec<_> = absent.collect();
        (!absent.is_empty()).then(|| {
            remark(
                format!("no bytes of {} are in the buffer", absent.join(", ")),
                "if there should be, check that the unit was enabled, and that its trace id is the \
                 one it was programmed with",
            )
        })
    }

    /// Where there are sources, but none with an id that was asked for.
    fn none_chosen(&self) -> Option<Remark> {
        let others = self.plan.skipped.iter().filter_map(|skipped| match skipped.why {
            Why::NotChosen(id) => Some(format!("{} has {id:#04x}", skipped.name)),
            _ => None,
        });
        let others: Vec<_> = others.collect();
        (self.sources.is_empty() && !others.is_empty()).then(|| {
            let asked = self.options.ids.iter().map(|id| format!("{id:#04x}"));
            let asked = asked.collect::<Vec<_>>().join(", ");
            let what = if self.plan.messages.is_some() { "number" } else { "trace id" };
            remark(
                format!("no source that can be decoded has the {what} {asked}"),
                format!("ask for another with --id: {}", others.join(", ")),
            )
        })
    }

    fn empty(&self) -> Remark {
        let others = self.capture.buffers.iter().enumerate();
        let others = others.filter(|(n, b)| *n != self.plan.buffer && !b.is_empty());
        let others: Vec<_> = others.map(|(_, b)| b.name.as_str()).collect();
        let name = self.buffer().map_or("", |b| b.name.as_str());
        if self.buffer().is_some_and(|b| b.files.is_empty()) {
            return remark(
                format!("no file of the buffer {name} could be read"),
                "put the trace where the notes say that it is missing",
            );
        }
        remark(
            format!("the buffer {name} holds no bytes"),
            match others.first() {
                Some(first) => format!(
                    "other buffers do ({}): try --source {first}, or --all-buffers",
                    others.join(", ")
                ),
                None => {
                    "nothing was captured: check that the trace unit and the path to the buffer \
                         were enabled, and that the buffer was read before it was switched off"
                        .into()
                }
            },
        )
    }

    /// A framing that makes sense of the bytes where the one that was used does not: it, and how many
    /// packets it gives.
    fn other_framing(&self) -> Option<(Framing, u64)> {
        let sane = |tally: &Tally, n: usize| {
            let c = tally.of(n);
            c.packets > 0 && (c.bad + c.unsynced) * 4 < c.bytes()
        };
        let any = |tally: &Tally| (0..self.sources.len()).any(|n| sane(tally, n));
        if self.sources.is_empty() || any(self.tally) {
            return None;
        }
        let buffer = self.buffer()?;
        let start = buffer.head(TRIAL);
        let found =
            Framing::ALL.into_iter().filter(|f| *f != self.plan.framing).filter_map(|framing| {
                let options = Options { framing: Some(framing), ..self.options.clone() };
                let plan = Plan::new(self.capture, self.plan.buffer, &options)?;
                let mut tally = Tally::default();
                Session::new(self.capture, &plan, self.memory, &options).run([&*start], &mut tally);
                let good = (0..plan.sources.len()).filter(|&n| sane(&tally, n));
                let packets: u64 = good.map(|n| tally.of(n).packets).sum();
                (packets >= 8 && tally.bad_frames * 4 < start.len() as u64).then_some((
                    framing,
                    packets,
                    tally.bad_frames,
                ))
            });
        // TPIU frames read well as plain frames in between; what explains more bytes is better.
        found.min_by_key(|(_, packets, bad)| (*bad, u64::MAX - packets)).map(|(f, n, _)| (f, n))
    }

    /// How many synchronisation packets of a trace port are in bytes that are not taken for one's.
    fn port_syncs(&self) -> usize {
        if !matches!(self.plan.framing, Framing::Raw | Framing::Coresight) {
            return 0;
        }
        let Some(buffer) = self.buffer() else { return 0 };
        let start = buffer.head(TRIAL);
        // A whole frame of them is a driver's barrier.
        let barriers = start.windows(16).filter(|w| *w == sync::BARRIER).count();
        let all = start.windows(4).filter(|w| *w == sync::FULL).count();
        all.saturating_sub(4 * barriers)
    }

    /// Bare bytes that were taken for one source's own, and look like frames of a few.
    fn ids_if_framed(&self) -> Option<Remark> {
        let quiet = (0..self.sources.len()).all(|n| !self.tally.of(n).fruitful());
        // A trace port of its own has no frames.
        let port = self.sources.iter().all(|source| source.config.protocol().has_own_port());
        if self.plan.framed() || !quiet || port {
            return None;
        }
        let start = self.buffer()?.head(TRIAL);
        let mut ids = Ids::default();
        Splitter::new(Link::new(Framing::Coresight)).split(0, &start, &mut ids);
        let sources = ids.sources();
        // Bytes that are no frames name ids at random.
        let odd = ids.reserved + ids.bad + ids.no_source;
        if sources.is_empty() || sources.len() > 8 || odd * 8 > start.len() as u64 {
            return None;
        }
        let list: Vec<_> = sources.iter().map(|(id, n)| format!("{id:#04x} ({n} bytes)")).collect();
        let first = sources.iter().max_by_key(|(_, n)| *n).map_or(0, |(id, _)| *id);
        Some(remark(
            format!("the bytes may be frames, of ids {}", list.join(", ")),
            format!(
                "try --framing coresight, with the protocol of each id: --protocol NAME@{first:#04x}"
            ),
        ))
    }

    fn source(&self, source: &Source, c: &Counts, reframe: bool, remarks: &mut Vec<Remark>) {
        let name = &source.name;
        if c.bytes() == 0 {
            return;
        }
        if c.packets == 0 && !reframe {
            remarks.push(remark(
                format!(
                    "{name}: no synchronisation in {} bytes, so no packet can be read",
                    c.bytes()
                ),
                match source.config.protocol().form() {
                    _ if source.config.assumes_synced().is_some() => {
                        "if the capture begins with a packet, try --assume-synced; else check the \
                         framing, and have the unit synchronise (ITM_TCR.SYNCENA)"
                    }
                    TraceForm::Messages => {
                        "check the unit's parameters: what comes before each packet is `profile`, `framing`, \
                         `source_width` and `timestamp_bytes`"
                    }
                    _ => {
                        "check protocol and framing; else capture more, and have the unit \
                         synchronise more often"
                    }
                },
            ));
            return;
        }
        if let Some((at, fault)) = c.first_bad.filter(|_| !reframe) {
            let bad = c.bad - c.cut;
            remarks.push(remark(
                match bad {
                    1 => format!("{name}: a byte is no packet, at {at} ({fault})"),
                    bad => format!("{name}: {bad} bytes are no packets, the first at {at} ({fault})"),
                },
                "`packets --bytes` shows them; if there are many, a register or the framing is wrong",
            ));
        }
        if c.unsynced * 4 > c.bytes() && !reframe {
            let (lost, all) = (c.unsynced, c.bytes());
            remarks.push(remark(
                format!(
                    "{name}: {lost} of {all} bytes come before a synchronisation, and are not read"
                ),
                match source.config.protocol().form() {
                    TraceForm::Messages => {
                        "check profile, version and widths, which `info` lists: --params FILE, or \
                         --config profile=NAME"
                    }
                    _ => "check protocol, framing and the unit's registers",
                },
            ));
        }
        if let Some(address) = c.first_no_code {
            remarks.push(self.no_code(source, c, address));
        } else if source.config.protocol().traces_instructions()
            && c.packets > 0
            && c.instructions == 0
            && !reframe
        {
            remarks.push(remark(
                format!("{name}: {} packets, but no instructions", c.packets),
                "the trace is filtered or ends before an address: `packets` shows what it holds",
            ));
        }
        if let Some((at, inconsistency)) = c.first_inconsistency {
            remarks.push(remark(
                match c.inconsistencies {
                    1 => format!("{name}: a contradiction at {at}: {inconsistency}"),
                    n => format!("{name}: {n} contradictions, the first at {at}: {inconsistency}"),
                },
                "check that the image is what ran, and the registers",
            ));
        }
    }

    fn no_code(&self, source: &Source, c: &Counts, address: u64) -> Remark {
        let name = &source.name;
        let times = if c.no_code == 1 { "once".into() } else { format!("{} times", c.no_code) };
        let images = self.capture.memory.iter().filter(|dump| dump.bytes.is_some());
        let mut images: Vec<_> = images
            .map(|dump| match (dump.form, dump.last()) {
                (Form::Raw, Some(last)) => format!("{} {:#x}..={last:#x}", dump.name, dump.address),
                _ => dump.name.clone(),
            })
            .collect();
        // Each core may give the same memory.
        images.dedup();
        let there = match images.len() {
            0 => "there is none at all".into(),
            1..=4 => format!("there is {}", images.join(", ")),
            n => format!("there are {n} images, see `info`"),
        };
        remark(
            format!("{name}: program memory is missing {times}, first at {address:#x}; {there}"),
            "give what ran there with --image FILE (ELF) or --image FILE@ADDRESS",
        )
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
                format!("they may be those of {}, which could not be decoded", left_out.join(", "))
            }
            Kind::Raw => format!("name their protocols, as --protocol NAME@{first:#04x}"),
            _ if self.plan.messages.is_some() => {
                "add a source for each, with its number as `source` among its parameters".into()
            }
            _ => "add a device for each, with its trace id in its registers".into(),
        };
        let list = list.join(", ");
        let what = match &self.plan.messages {
            None => format!("the frames hold bytes of ids that no source has: {list}"),
            Some(_) => format!("there are messages of numbers that no source has: {list}"),
        };
        remark(what, help)
    }
}

/// Why a source is not decoded; nothing for one that the reader left out.
pub fn left_out(skipped: &Skipped) -> Option<Remark> {
    if matches!(skipped.why, Why::NotChosen(_)) {
        return None;
    }
    let text = &skipped.message;
    let (what, help) = text.rsplit_once("; ").unwrap_or((text, ""));
    Some(remark(format!("{what}, so {} is not decoded", skipped.name), help))
}

/// The word of the command line.
pub const fn framing_option(framing: Framing) -> &'static str {
    match framing {
        Framing::TpiuHalf => "tpiu-hsync",
        framing => framing.name(),
    }
}

/// The same of a plan.
pub fn plan_framing(plan: &Plan) -> &'static str {
    if plan.messages.is_some() { plan.framing_name() } else { framing_option(plan.framing) }
}

fn source_line(source: &Source, c: &Counts, out: &mut String) {
    let _ = write!(out, "  {} ({}", source.name, source.protocol());
    if let Some(id) = source.id {
        let _ = write!(out, ", id {id:#04x}");
    }
    let _ = write!(out, "): {} bytes, {} packets, {} syncs", c.bytes(), c.packets, c.syncs);
    let mut rest = vec![(c.elements, "elements")];
    if source.config.protocol().traces_instructions() {
        rest.extend([(c.ranges, "ranges"), (c.instructions, "instructions")]);
    }
    for (count, what) in rest {
        let _ = write!(out, ", {count} {what}");
    }
    for (count, what) in [
        (c.exceptions, "exceptions"),
        (c.software, "writes"),
        (c.accesses, "data accesses"),
        (c.gaps, "gaps"),
        (c.unsynced, "bytes before a sync"),
        (c.bad - c.cut, "bad bytes"),
        (c.cut, "bytes of a packet that is cut short"),
        (c.no_code, "places without program memory"),
        (c.inconsistencies, "contradictions"),
    ] {
        if count > 0 {
            let _ = write!(out, ", {count} {what}");
        }
    }
    out.push('\n');
}
