//! Errors and warnings of a trace as records, from a chosen level on.

use std::fmt;

use tracewright_base::{Batch, Element, Fault, Part};
use tracewright_frames as frames;
use tracewright_protocols::PacketKind;

use crate::listener::{Event, Listener, Packets, Wants};

/// How severe a [`Report`] is, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Bytes are undecodable, or packets contradict each other or the program.
    Error,
    /// Trace or program memory is missing, or something has two meanings.
    Warning,
    /// Bytes before the first synchronisation, and bytes of trace IDs without a source.
    Info,
}

impl Severity {
    /// The severity as a word.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// An error or a warning at a place of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How severe it is.
    pub severity: Severity,
    /// The source; `None` for the trace link.
    pub source: Option<usize>,
    /// The offset in the buffer, in bytes.
    pub offset: u64,
    /// What happened, in words with hyphens: `reserved`, `no-code`, `overflow`.
    pub code: PacketKind,
    /// The same as a sentence.
    pub text: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.severity.name(), self.offset)?;
        match self.source {
            Some(source) => write!(f, ", source {source}: ")?,
            None => f.write_str(", trace link: ")?,
        }
        f.write_str(&self.text)
    }
}

/// A listener that makes a [`Report`] of each error and warning from a level on, and gives it to a
/// function. It stores the last one of each source and of the link, and counts, whatever the level.
#[derive(Debug)]
pub struct Reports<F> {
    each: F,
    level: Severity,
    stop_after: Option<u64>,
    last: Vec<(Option<usize>, Report)>,
    counts: [u64; 3],
}

impl<F: FnMut(&Report)> Reports<F> {
    /// Reports of `level` and more severe ones are given to `each`.
    pub fn new(level: Severity, each: F) -> Reports<F> {
        Reports { each, level, stop_after: None, last: Vec::new(), counts: [0; 3] }
    }

    /// Decoding stops after this many errors: the listener is [full](Listener::full). In a pair with
    /// a listener that is not full, decoding goes on: there, [`ErrorLimit`](crate::ErrorLimit)
    /// around both stops it.
    #[must_use]
    pub fn stop_after(self, errors: u64) -> Reports<F> {
        Reports { stop_after: Some(errors), ..self }
    }

    /// The last report of a source; of the link for `None`.
    pub fn last(&self, source: Option<usize>) -> Option<&Report> {
        self.last.iter().find(|(own, _)| *own == source).map(|(_, report)| report)
    }

    /// The number of reports of a severity.
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts[severity as usize]
    }

    fn report(&mut self, severity: Severity, source: Option<usize>, offset: u64, what: What<'_>) {
        let What { code, text } = what;
        self.counts[severity as usize] += 1;
        let report = Report { severity, source, offset, code, text: text.to_string() };
        if severity <= self.level {
            (self.each)(&report);
        }
        match self.last.iter_mut().find(|(own, _)| *own == source) {
            Some((_, last)) => *last = report,
            None => self.last.push((source, report)),
        }
    }
}

struct What<'a> {
    code: PacketKind,
    text: fmt::Arguments<'a>,
}

/// How severe an event of the link is, where it is a report.
pub(crate) fn link_severity(event: &frames::Event) -> Option<Severity> {
    match event {
        frames::Event::Bad { fault: Fault::Unsynchronised, .. } => Some(Severity::Info),
        frames::Event::Bad { .. } | frames::Event::Reserved { .. } => Some(Severity::Error),
        _ => None,
    }
}

/// How severe `element` is, where it is a report, and its code.
pub(crate) fn severity(element: &Element) -> Option<(Severity, PacketKind)> {
    Some(match element {
        Element::Undecodable { fault, .. } => {
            let info = *fault == Fault::Unsynchronised;
            let severity = if info { Severity::Info } else { Severity::Error };
            (severity, PacketKind::of(fault))
        }
        Element::Inconsistency(why) if why.is_ambiguity() => {
            (Severity::Warning, PacketKind::of(why))
        }
        Element::Inconsistency(why) => (Severity::Error, PacketKind::of(why)),
        Element::Gap(gap) => (Severity::Warning, PacketKind::of(gap)),
        Element::NoCode { .. } => (Severity::Warning, PacketKind::of(element)),
        _ => return None,
    })
}

impl<F: FnMut(&Report)> Listener for Reports<F> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some((severity, code)) = severity(&element) {
            let what = What { code, text: format_args!("{element}") };
            self.report(severity, Some(source), at, what);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            if let Part::Element(at, element) = part {
                self.element(batch.source, at, element);
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Link { at, event } => {
                let Some(severity) = link_severity(&event) else { return };
                match event {
                    frames::Event::Bad { len, fault } => {
                        let text = format_args!("{len} undecodable bytes: {fault}");
                        let code = PacketKind::of(&fault);
                        self.report(severity, None, at, What { code, text });
                    }
                    frames::Event::Reserved { id, len } => {
                        let text = format_args!("{len} bytes of the reserved ID {id:#04x}");
                        let code = PacketKind::of(&event);
                        self.report(severity, None, at, What { code, text });
                    }
                    _ => {}
                }
            }
            Event::UnknownId { id, at, len } => {
                let text = format_args!("{len} bytes of ID {id:#04x}, which no source has");
                let what = What { code: PacketKind::named("UnknownId"), text };
                self.report(Severity::Info, None, at, what);
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER.with_packets(Packets::Counted)
    }

    fn full(&self) -> bool {
        self.stop_after.is_some_and(|most| self.count(Severity::Error) >= most)
    }
}
