//! The ITMs and STMs of a buffer over time.

use std::collections::BTreeSet;

use tracewright::analysis::Timeline;
use tracewright::analysis::itm::{Origin, Recording, SampleProfile, Samples, Signals};
use tracewright::base::Dwt;
use tracewright::decode::{Options, Plan, Session};
use tracewright::image::Bytes;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::views::Source;
use tracewright::{Capture, Element, Listener};

use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::{live, message};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 16;

/// What one ITM or STM sent.
pub struct Recorded {
    /// Its number among the sources of the buffer.
    pub source: usize,
    /// Its name.
    pub name: String,
    /// Its events.
    pub recording: Recording,
}

/// Whether `source` is an ITM or STM.
pub fn is_itm(source: &Source) -> bool {
    matches!(source.config.protocol(), AnyProtocol::Itm | AnyProtocol::Stm)
}

/// Whether the selected buffers have an ITM or STM.
pub fn has_any(input: &Input) -> bool {
    input.buffers.iter().any(|&buffer| input.job(buffer).sources.iter().any(is_itm))
}

/// Whether all sources of the selected buffers are ITMs and STMs: there are no instructions.
pub fn only(input: &Input) -> bool {
    let jobs: Vec<Job<'_>> = input.buffers.iter().map(|&buffer| input.job(buffer)).collect();
    let mut sources = jobs.iter().flat_map(|job| job.sources).peekable();
    sources.peek().is_some() && sources.all(is_itm)
}

/// Whether all sources of a buffer are ITMs and STMs.
pub fn only_of(job: &Job<'_>) -> bool {
    !job.sources.is_empty() && job.sources.iter().all(is_itm)
}

/// The samples of the program counter of all buffers, and how often packets were lost or bytes
/// could not be decoded.
pub fn samples(input: &Input) -> Result<(Samples, u64), Fail> {
    let (mut all, mut lost) = (Samples::default(), 0);
    for &buffer in &input.buffers {
        // Samples are counted without a limit.
        for recorded in of(&input.job(buffer), &Signals::default(), 0)? {
            all.add(recorded.recording.samples());
            lost += recorded.recording.lost();
        }
    }
    Ok((all, lost))
}

/// The text about `lost` packets and bytes of [`samples`], where there are any.
pub fn losses(lost: u64) -> Option<String> {
    (lost > 0).then(|| format!("{lost} times, packets were lost or bytes could not be decoded"))
}

/// The ELF files of a capture, each with the load bias that is added to its addresses.
pub fn elf_files(capture: &Capture) -> Vec<(&Bytes, u64)> {
    let dumps = capture.memory.iter();
    dumps.filter_map(|dump| Some((dump.bytes.as_ref()?, dump.address))).collect()
}

/// The samples with the functions and the lines of the programs of the capture.
pub fn sample_profile(samples: &Samples, capture: &Capture) -> SampleProfile {
    SampleProfile::new(samples, &elf_files(capture))
}

/// Passes the elements of ITMs and STMs on.
struct Recorder {
    /// As many as sources of the session.
    recordings: Vec<Option<Recorded>>,
    /// The ports, comparators and channels that have values.
    origins: BTreeSet<Origin>,
}

impl Listener for Recorder {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some(Some(recorded)) = self.recordings.get_mut(source) {
            self.origins.extend(origin(&element));
            recorded.recording.element(at, None, &element);
        }
    }
}

/// What wrote the value of `element`.
fn origin(element: &Element) -> Option<Origin> {
    match element {
        Element::SoftwareWrite(write) => Origin::of(write.channel),
        Element::DwtEvent(event) => match event.meaning() {
            Dwt::DataValue { comparator, .. } => Some(Origin::Comparator(comparator)),
            _ => None,
        },
        _ => None,
    }
}

/// Prints which `signals` have no values; `seen` have.
fn note_unused(signals: &Signals, seen: &BTreeSet<Origin>) {
    for origin in signals.origins().filter(|origin| !seen.contains(origin)) {
        let option = match origin {
            Origin::Port(port) => format!("--type {port}"),
            Origin::Comparator(number) => format!("--type or --watch dwt{number}"),
            Origin::Master(master, channel) => format!("--type {master}:{channel}"),
        };
        message::line(&format!("note: {option}: no ITM or STM of the trace has values of it"));
    }
}

/// A session of the ITMs and STMs of a buffer.
pub fn session(job: &Job<'_>) -> Result<Option<(Plan, Session)>, Fail> {
    let (capture, own) = (job.capture(), job.trace().options());
    let is_own = |n: usize| job.sources.get(n).is_some_and(is_itm);
    let ids = (0..).zip(&job.plan.sources).filter(|(n, _)| is_own(*n));
    let ids: Vec<u16> = ids.map(|(_, planned)| planned.id).collect();
    let framed = job.plan.framed();
    let options = Options { ids: if framed { ids } else { own.ids.clone() }, ..own.clone() };
    let Some(plan) = Plan::new(capture, job.plan.buffer, &options) else { return Ok(None) };
    let session = Session::new(capture, &plan, job.trace().memory(), &options)?;
    Ok(Some((plan, session)))
}

/// Decodes the whole of a buffer.
pub fn run(job: &Job<'_>, mut session: Session, listener: &mut dyn Listener) -> Result<(), Fail> {
    let (mut bytes, mut block) = (live::input_of(job.buffer), Vec::new());
    loop {
        block.clear();
        let more = bytes.more(BLOCK, true, &mut block);
        let more = more.map_err(|error| Fail::read(&job.buffer.name, &error))?;
        if more == tracewright::decode::More::End {
            break;
        }
        session.feed(&block, listener);
    }
    session.finish(listener);
    Ok(())
}

/// The ITMs and STMs of a buffer, with at most `limit` events each. Other sources are not decoded.
pub fn of(job: &Job<'_>, signals: &Signals, limit: usize) -> Result<Vec<Recorded>, Fail> {
    if !job.sources.iter().any(is_itm) {
        note_unused(signals, &BTreeSet::new());
        return Ok(Vec::new());
    }
    if job.buffer.is_piped() {
        // It can be read once only.
        message::line(&format!(
            "note: {}: the events of the ITM are left out, as the trace is read from a pipe; write it \
             to a file first",
            job.buffer.name
        ));
        return Ok(Vec::new());
    }
    let Some((plan, session)) = session(job)? else { return Ok(Vec::new()) };
    let recordings = plan.sources.iter().map(|planned| {
        let source = job.plan.sources.iter().position(|other| other.id == planned.id)?;
        let name = job.sources.get(source).filter(|source| is_itm(source))?.name.clone();
        Some(Recorded { source, name, recording: Recording::new(signals.clone(), limit) })
    });
    let recordings = recordings.collect();
    let mut recorder = Recorder { recordings, origins: BTreeSet::new() };
    run(job, session, &mut recorder)?;
    note_unused(signals, &recorder.origins);
    let recorded = recorder.recordings.into_iter().flatten();
    Ok(recorded
        .map(|mut recorded| {
            recorded.recording.finish();
            recorded
        })
        .collect())
}

/// Adds the exceptions and losses of ITMs to a timeline, and the name of a thread for each.
pub fn add_to(timeline: &mut Timeline, threads: &mut Vec<String>, recorded: &[Recorded]) {
    for own in recorded {
        timeline.add_recording(own.source, &own.recording);
        threads.push(format!("{} exceptions", own.name));
    }
}
