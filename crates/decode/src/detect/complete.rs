//! The description of raw trace data that detection completes: what the user states stays.

use std::path::Path;
use std::slice;

use tracewright_base::Remedy;
use tracewright_base::remedy::{ALIGN, FRAMING, MESSAGES_AT, SWAP};
use tracewright_capture::levels::sample_swo;
use tracewright_capture::{
    Capture, ImageSource, MessagesAt, OpenError, Pipe, Problem, Raw, Swap, core_type,
};
use tracewright_frames::{FRAME, Framing, nexus_port};
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::AnyProtocol;

use super::fill::{filled_from, filling};
use super::known_units::{self, Register};
use super::reception::proves_itself;
use super::single::Single;
use super::{
    Candidate, Detection, GOOD, Given, HEAD, Inference, Setting, SourceCandidate, alignment,
    possible_rate, reception, recognised, stated,
};
use crate::raw::{RawFraming, RawTrace, Unit, skip};

/// What detection found, in the terms of the user's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The framing.
    pub framing: RawFraming,
    /// The bytes before the first frame.
    pub skip: u64,
    /// The words in which the bytes are reversed.
    pub swap: Option<Swap>,
    /// Where messages begin.
    pub messages_at: Option<MessagesAt>,
    /// The trace units.
    pub units: Vec<Unit>,
    /// The registers: `NAME=VALUE`, or `NAME@ID=VALUE` where units differ.
    pub registers: Vec<String>,
    /// The core.
    pub core: Option<String>,
}

impl Description {
    /// What a user gives to describe it, each with its value, in the order of a command.
    pub fn given(&self) -> Vec<(Remedy, String)> {
        let mut out = Vec::new();
        out.extend(self.swap.map(|swap| (Remedy::Swap, swap.size().to_string())));
        out.extend(self.messages_at.map(|at| (Remedy::MessagesAt, at.name().to_owned())));
        match self.framing {
            RawFraming::Etb => out.push((Remedy::Framing, "etb".to_owned())),
            RawFraming::Link(name) => out.push((Remedy::Framing, name.to_owned())),
            RawFraming::Framed(framing) if framing != Framing::Raw => {
                out.push((Remedy::Framing, framing.option().to_owned()));
            }
            _ => {}
        }
        if self.skip > 0 {
            out.push((Remedy::Align, self.skip.to_string()));
        }
        for unit in &self.units {
            let id = unit.id.map_or(String::new(), |id| format!("@{id:#04x}"));
            out.push((Remedy::Protocol, format!("{}{id}", unit.protocol)));
        }
        let registers = self.registers.iter().cloned();
        out.extend(registers.map(|register| (Remedy::Register, register)));
        out.extend(self.core.iter().map(|core| (Remedy::Core, core.clone())));
        out
    }

    /// The same in a line.
    pub fn line(&self) -> String {
        let given = self.given().into_iter();
        given.map(|(given, value)| format!("{given} {value}")).collect::<Vec<_>>().join(" ")
    }
}

impl Candidate {
    /// The candidate in the terms of the options.
    pub fn description(&self) -> Description {
        self.describe(|source| source.best())
    }

    /// The best inferences of the units `units`, however well they explain the bytes.
    fn description_of(&self, units: &[Unit]) -> Description {
        self.describe(|source| {
            let inference = source.inferences.first()?;
            let is_own = |unit: &&Unit| {
                AnyProtocol::named(&unit.protocol) == Some(inference.protocol)
                    && unit.id.is_none_or(|id| id == source.id || self.framing == Framing::Raw)
            };
            units.iter().any(|unit| is_own(&unit)).then_some(inference)
        })
    }

    fn describe<'a>(
        &'a self,
        inference: impl Fn(&'a SourceCandidate) -> Option<&'a Inference>,
    ) -> Description {
        let framed = self.framing != Framing::Raw;
        let mut found = Vec::new();
        for source in &self.sources {
            let Some(inference) = inference(source) else { continue };
            let name = inference.protocol.about().names.first().copied().unwrap_or_default();
            let unit = Unit { protocol: name.to_owned(), id: framed.then_some(source.id) };
            found.push((unit, inference.protocol, &inference.setting));
        }
        // Messages may be of several sources.
        let numbered = found.iter().any(|(_, protocol, setting)| {
            *protocol == AnyProtocol::Ntrace && setting.get("source_width").is_some()
        });
        let inferred = of_units(found);
        let is_other = |text: &String| !is_given(&self.stated, text);
        let registers = inferred.registers.into_iter().filter(is_other);
        Description {
            registers: self.stated.iter().cloned().chain(registers).collect(),
            framing: match self.framing {
                _ if self.words => RawFraming::Etb,
                Framing::Raw if numbered => RawFraming::Auto,
                framing => RawFraming::Framed(framing),
            },
            skip: self.skip as u64,
            swap: self.swap,
            messages_at: self.messages_at,
            core: inferred.core,
            units: inferred.units,
        }
    }
}

/// The registers and the core of `units`, each with its protocol and its configuration.
fn of_units(units: Vec<(Unit, AnyProtocol, &Setting)>) -> Description {
    let mut registers = Vec::new();
    for (unit, protocol, setting) in &units {
        for &(name, value) in &setting.registers {
            let differs = units
                .iter()
                .any(|(_, _, other)| other.get(name).is_some_and(|other| other != value));
            let id = unit.id.filter(|_| differs).map_or(String::new(), |id| format!("@{id:#04x}"));
            let text = format!("{name}{id}={}", value_text(*protocol, name, value));
            if !registers.contains(&text) {
                registers.push(text);
            }
        }
    }
    let core = units.iter().find_map(|(_, _, setting)| setting.core);
    Description {
        registers,
        core: core.map(ToOwned::to_owned),
        units: units.into_iter().map(|(unit, ..)| unit).collect(),
        ..Description::default()
    }
}

/// A value as the command line takes it.
pub(super) fn value_text(protocol: AnyProtocol, name: &str, value: u64) -> String {
    if protocol.form() != TraceForm::Messages {
        return format!("{value:#x}");
    }
    let register = protocol.about().registers.iter().find(|register| register.name == name);
    let words = register.and_then(|register| register.fields.first()).map_or(&[][..], |f| f.values);
    match words.iter().find(|(number, _)| *number == value) {
        Some((_, word)) => (*word).to_owned(),
        None => value.to_string(),
    }
}

/// Whether nothing is detected in the framing: all is given.
const fn is_own(framing: RawFraming) -> bool {
    matches!(framing, RawFraming::Encapsulated | RawFraming::Etb | RawFraming::Link(_))
}

/// Completes the description `raw` of the file of raw trace data at `path`, with the program memory
/// of `images`. `notes` receives what was assumed, one text per line.
///
/// # Errors
/// [`OpenError`] where a file cannot be read, or nothing explains the bytes.
pub fn complete(
    path: &Path,
    raw: &mut RawTrace,
    images: &[ImageSource],
    align: Option<u64>,
    notes: &mut Vec<String>,
) -> Result<Option<Detection>, OpenError> {
    raw.skip += align.unwrap_or(0);
    if raw.levels.is_some() || is_own(raw.framing) {
        return Ok(None);
    }
    let given_framing = stated_framing(raw);
    assume_core_registers(raw, notes);
    let missing = raw.units.iter().filter(|unit| lacks_registers(unit, raw));
    let missing: Vec<Unit> = missing.cloned().collect();
    let aligns = given_framing.filter(|_| align.is_none()).filter(|_| is_framed(raw));
    let aligns = aligns.filter(|framing| framing.begins_in_frame());
    let single = Single::of(raw, given_framing, |name| given_register(raw, name));
    if !raw.units.is_empty() && missing.is_empty() && aligns.is_none() && single.is_none() {
        return Ok(None);
    }
    // A pipe can be read only once, by the decoder.
    if !raw.files.is_file(path) && !raw.pipe.as_ref().is_some_and(Pipe::is_whole) {
        return match raw.units.is_empty() {
            true => Err(OpenError::new(path, Problem::NeedsProtocol)),
            false => Ok(None),
        };
    }
    let mut capture = bytes(path, raw)?;
    let buffer = capture.buffers.first();
    let head = buffer.map(|buffer| buffer.head(HEAD).into_owned()).unwrap_or_default();
    let single = single.filter(|single| single.may_be_framed(&head));
    if !raw.units.is_empty() && missing.is_empty() && aligns.is_none() && single.is_none() {
        return Ok(None);
    }
    for image in images {
        capture.add_image(image)?;
    }
    capture.memory.extend(raw.memory.iter().cloned());
    if let Some(framing) = aligns.filter(|_| !raw.units.is_empty()) {
        align_frames(raw, &head, framing, notes);
        if missing.is_empty() && single.is_none() {
            return Ok(None);
        }
        return complete(path, raw, images, Some(0), notes);
    }
    if raw.units.is_empty() {
        if let Some(problem) = recognised(&head) {
            return Err(OpenError::new(path, converted(&capture, problem)));
        }
        if let Some(swap) = swapped(raw, &head, &capture, given_framing) {
            raw.selection.swap = Some(swap);
            notes.push(swap_note(swap));
            // Bytes are skipped in the order of memory.
            let mut found = complete(path, raw, images, align.map(|_| 0), notes)?;
            let candidates = found.iter_mut().flat_map(|found| &mut found.candidates);
            candidates.for_each(|candidate| candidate.swap = Some(swap));
            return Ok(found);
        }
    }
    if let Some(at) = messages_at(raw, &head, &capture, given_framing) {
        raw.selection.messages_at = Some(at);
        notes.push(format!(
            "N-Trace messages begin inside bytes, as in what is received from a trace port with \
             1, 2 or 4 signals ({MESSAGES_AT} {})",
            at.name()
        ));
        let mut found = complete(path, raw, images, align.map(|_| 0), notes)?;
        let candidates = found.iter_mut().flat_map(|found| &mut found.candidates);
        candidates.for_each(|candidate| candidate.messages_at = Some(at));
        return Ok(found);
    }
    let known = Known { missing: &missing, single, framing: given_framing, align };
    let stated = raw.registers.clone();
    let mut found = explain(path, raw, (&head, &capture), known, notes)?;
    let candidates = found.iter_mut().flat_map(|found| &mut found.candidates);
    candidates.for_each(|candidate| candidate.stated.clone_from(&stated));
    Ok(found)
}

/// What is known of a trace before its bytes are explained.
struct Known<'a> {
    /// The units whose registers are not given.
    missing: &'a [Unit],
    single: Option<Single>,
    framing: Option<Framing>,
    align: Option<u64>,
}

/// Completes `raw` by what explains the bytes best, which begin with `head`.
fn explain(
    path: &Path,
    raw: &mut RawTrace,
    (head, capture): (&[u8], &Capture),
    Known { missing, single, framing: given_framing, align }: Known<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Detection>, OpenError> {
    let stated = raw.clone();
    let registers = |name: &str| given_register(&stated, name);
    let named = raw.units.iter().filter_map(|unit| raw.protocols.named(&unit.protocol));
    let given = Given {
        core: stated.core.as_deref(),
        registers: &registers,
        framing: given_framing,
        skip: align.map(|_| 0),
        only: named.collect(),
        any_processor: false,
    };
    if let Some(single) = single {
        let lacks = !missing.is_empty();
        let found = Detection::of(head, capture, &Given { only: Vec::new(), ..given });
        let settled = single.settle(raw, &found, notes);
        if lacks && let Some(settled) = &settled {
            assume(raw, settled.description(), notes);
        }
        if settled.is_some() || !lacks {
            return Ok(Some(found));
        }
    }
    let mut detection = Detection::of(head, capture, &given);
    if raw.units.is_empty() && given_framing.is_none() && align.is_none() {
        if let Some(found) = reception(head, detection.best()) {
            let problem = Problem::Reception(found.to_string());
            return Err(OpenError::new(path, converted(capture, problem)));
        }
        notes.extend(why_unsure(head, detection.best()));
    }
    if detection.best().is_none() {
        let any = Given { registers: &registers, any_processor: true, ..Given::default() };
        // The program may be another one.
        let mut other = Detection::of(head, &Capture::default(), &any);
        let sure = other.best().filter(|best| best.is_sure());
        let is_limited = given_framing.is_some() || align.is_some();
        if !raw.units.is_empty() {
            weak(path, raw, missing, &detection, (align, sure), notes)?;
            state(raw, head, capture, &given, notes);
            return Ok(Some(detection));
        }
        match sure {
            Some(sure) if is_limited => {
                let what = contradiction(raw, align, sure);
                return Err(OpenError::new(path, Problem::Parameter(what)));
            }
            Some(_) => {
                other.limit(capture, given.core);
                detection = other;
            }
            None if detection.looked == 0 => return Err(OpenError::new(path, Problem::Empty)),
            None => {
                let what = unexplained(head, detection.looked);
                return Err(OpenError::new(path, converted(capture, what)));
            }
        }
    }
    let Some(best) = detection.best() else { return Ok(Some(detection)) };
    let found = best.description();
    if raw.units.is_empty() || missing.iter().all(|unit| fits(&found, unit)) {
        adopt(raw, best, given_framing, notes);
    } else {
        state(raw, head, capture, &given, notes);
    }
    Ok(Some(detection))
}

/// Skips the bytes before the first frame.
fn align_frames(raw: &mut RawTrace, head: &[u8], framing: Framing, notes: &mut Vec<String>) {
    let Some(found) = alignment(head, framing) else { return };
    raw.skip += found as u64;
    let before = match found < FRAME {
        true => "the end of a frame",
        false => "no frames, or frames at other offsets",
    };
    notes.push(format!(
        "frames begin at byte {found}: the bytes before it are {before} ({ALIGN} {found})"
    ));
}

/// Why the bytes may be something else than the best candidate.
fn why_unsure(head: &[u8], best: Option<&Candidate>) -> Option<String> {
    let best = best?;
    let rate = possible_rate(head, best).map(|rate| rate.to_string());
    let is_accident = best.framing == Framing::Coresight;
    let is_open = is_accident && !best.is_sure() && !proves_itself(best);
    rate.or_else(|| is_open.then(|| OPEN_FRAMES.to_owned()))
}

/// Completes `raw` with what detection found: units and framing where they are not stated, and
/// registers.
fn adopt(raw: &mut RawTrace, best: &Candidate, framing: Option<Framing>, notes: &mut Vec<String>) {
    let found = best.description();
    let detected = raw.units.is_empty();
    let framed = !detected && framing.is_none() && best.framing != Framing::Raw;
    if framed {
        notes.push(format!("no {FRAMING} was given; detected: {}", best.summary()));
    }
    if detected || framed {
        raw.units.clone_from(&found.units);
        raw.framing = found.framing;
        raw.skip += found.skip;
    }
    // Registers of detected units are not noted.
    let mut unsaid = Vec::new();
    assume(raw, found, if detected { &mut unsaid } else { &mut *notes });
    notes.extend(best.assumptions());
}

/// The trace data of the file at `path`, without what `raw` skips.
fn bytes(path: &Path, raw: &RawTrace) -> Result<Capture, OpenError> {
    let (selection, pipe, files) = (raw.selection, raw.pipe.clone(), raw.files.clone());
    let description = Raw { selection, pipe, files, ..Raw::default() };
    let mut capture = Capture::raw(slice::from_ref(&path.to_owned()), &description)?;
    sample_swo(&mut capture, path)?;
    skip(&mut capture, path, raw.skip)?;
    Ok(capture)
}

/// Whether the trace of all units that are stated can be in frames.
fn is_framed(raw: &RawTrace) -> bool {
    raw.units.iter().all(|unit| {
        let protocol = raw.protocols.named(&unit.protocol);
        protocol.is_some_and(|protocol| protocol.form() != TraceForm::Messages)
    })
}

/// The framing that `raw` states, or that follows from its units; `None` where it is to be found.
fn stated_framing(raw: &RawTrace) -> Option<Framing> {
    let is_bytes = |unit: &Unit| {
        let protocol = raw.protocols.named(&unit.protocol);
        protocol.is_some_and(|protocol| protocol.form() == TraceForm::Bytes)
    };
    match raw.framing {
        RawFraming::Framed(framing) => Some(framing),
        RawFraming::Auto if raw.units.len() > 1 => Some(Framing::Coresight),
        // The unit may be one of several in frames.
        RawFraming::Auto if raw.units.iter().all(is_bytes) => None,
        _ => Some(Framing::Raw),
    }
}

/// Adds the registers that the core of `raw` has, and notes them.
fn assume_core_registers(raw: &mut RawTrace, notes: &mut Vec<String>) {
    let own = raw.core.clone().unwrap_or_default();
    for register in core_registers(raw) {
        notes.push(register.note(&own));
        raw.registers.push(register.assignment());
    }
}

/// Why nothing explains `head`, of which `looked` bytes were looked at.
fn unexplained(head: &[u8], looked: usize) -> Problem {
    match filled_from(head) {
        0 => Problem::Unwritten(looked as u64, filling(head, 0)),
        _ => Problem::Undetected(looked as u64),
    }
}

/// `problem` with the bytes of a file, behind what they were converted from.
fn converted(capture: &Capture, problem: Problem) -> Problem {
    let of = capture.notes.iter().find_map(|note| match &note.problem {
        Problem::Converted(conversion) => Some(conversion),
        _ => None,
    });
    match of {
        Some(converted) => Problem::Memory(format!("{converted}; {problem}")),
        None => problem,
    }
}

/// The note on bytes that are put in the order of memory.
pub fn swap_note(swap: Swap) -> String {
    let size = swap.size();
    format!(
        "the bytes are swapped in words of {} bits, as a host of the other byte order reads them, and \
         are put in the order of memory ({SWAP} {size})",
        8 * size
    )
}

/// The words in which the bytes of `head`, of which nothing is known, are reversed; `None` where
/// they are in the order of memory, or that is not known.
pub fn order(head: &[u8]) -> Option<Swap> {
    swapped(&RawTrace::default(), head, &Capture::default(), None)
}

/// Frames of ITMs without synchronisation, none of which is likely.
const OPEN_FRAMES: &str = "the frames may be an accident, as no source in them is likely: bytes \
     of a serial wire (SWO) that were received with a wrong bit rate or core clock may look like this";

/// A score from which on the bytes are in the order of memory.
const IN_ORDER: i64 = 900;

/// The swapped order explains the bytes better by this score.
const BETTER: i64 = 100;

/// And by this one, better than another order that makes nothing likely, or that explains few of
/// the bytes where this one explains nearly all.
const BETTER_THAN_REST: i64 = 50;

/// The order of the bytes of `head`, where the one of memory explains few of them, and only one
/// other makes it likely what they are.
fn swapped(
    raw: &RawTrace,
    head: &[u8],
    capture: &Capture,
    framing: Option<Framing>,
) -> Option<Swap> {
    if raw.selection.swap.is_some() || raw.skip > 0 {
        return None;
    }
    let registers = |name: &str| given_register(raw, name);
    let given =
        Given { core: raw.core.as_deref(), registers: &registers, framing, ..Given::default() };
    let head = head.get(..SWAPPED_HEAD).unwrap_or(head);
    let score = |bytes: &[u8]| {
        let detection = Detection::of(bytes, capture, &given);
        let best = detection.best();
        let is_enough = |best: &Candidate| {
            let mut found = best.sources.iter().filter_map(SourceCandidate::best);
            bytes.len() >= UNMARKED || found.all(|best| best.protocol != AnyProtocol::Etrace)
        };
        best.map_or((0, false), |best| (best.score, best.is_sure() && is_enough(best)))
    };
    let (in_order, _) = score(head);
    if in_order >= IN_ORDER {
        return None;
    }
    let orders = Swap::WORDS.map(|swap| (swap, score(&swap.apply(head))));
    let best = orders.iter().max_by_key(|(_, (score, _))| *score)?;
    let (swap, (most, sure)) = *best;
    let mut others = orders.iter().filter(|(other, _)| *other != swap);
    let is_best = others.all(|(_, (score, is_sure))| {
        let explains = *is_sure && (*score >= IN_ORDER || most < GOOD);
        most >= score + if explains { BETTER } else { BETTER_THAN_REST }
    });
    (sure && most >= in_order + BETTER && is_best).then_some(swap)
}

/// Fewer messages of E-Trace, which have no pattern that begins them, have an order by accident.
const UNMARKED: usize = 1 << 10;

/// The bytes that are looked at in each order.
const SWAPPED_HEAD: usize = 1 << 15;

/// Whether messages of N-Trace in `head` begin at any bit. `None` where bytes explain it as well.
fn messages_at(
    raw: &RawTrace,
    head: &[u8],
    capture: &Capture,
    framing: Option<Framing>,
) -> Option<MessagesAt> {
    let names = || raw.units.iter().filter_map(|unit| AnyProtocol::named(&unit.protocol));
    if raw.selection.messages_at.is_some()
        || raw.skip > 0
        || framing.is_some_and(|framing| framing != Framing::Raw)
        || names().any(|protocol| protocol != AnyProtocol::Ntrace)
    {
        return None;
    }
    let head = head.get(..SWAPPED_HEAD).unwrap_or(head);
    let found = nexus_port::aligned(head);
    if found.inside < FEWEST_INSIDE || found.others * 10 > found.bytes.len() as u64 {
        return None;
    }
    let registers = |name: &str| given_register(raw, name);
    let score = |bytes: &[u8], only: Vec<AnyProtocol>| {
        let core = raw.core.as_deref();
        let given = Given { core, registers: &registers, framing, only, ..Given::default() };
        let detection = Detection::of(bytes, capture, &given);
        detection.best().map_or((0, false), |best| (best.score, best.is_sure()))
    };
    let (in_order, _) = score(head, names().collect());
    if in_order >= IN_ORDER {
        return None;
    }
    let (most, sure) = score(&found.bytes, vec![AnyProtocol::Ntrace]);
    let nearly_all = found.others * 50 <= found.bytes.len() as u64;
    let sure = sure || nearly_all && found.inside >= MANY_INSIDE;
    (sure && most >= in_order + BETTER).then_some(MessagesAt::Bits)
}

/// The fewest messages that begin inside a byte, where they are taken for such; and those that are
/// no accident, where nearly all bytes are messages.
const FEWEST_INSIDE: u64 = 8;
const MANY_INSIDE: u64 = 64;

/// Completes a description that explains few of the bytes: what the user gives stays. `other`
/// explains them without it.
///
/// # Errors
/// [`OpenError`] where nothing can be decoded so, as the user did not give all of framing, protocol
/// and trace ID, and `other` can be.
fn weak(
    path: &Path,
    raw: &mut RawTrace,
    missing: &[Unit],
    detection: &Detection,
    (align, other): (Option<u64>, Option<&Candidate>),
    notes: &mut Vec<String>,
) -> Result<(), OpenError> {
    let found = detection.candidates.iter().find_map(|candidate| {
        let found = candidate.description_of(missing);
        missing.iter().all(|unit| fits(&found, unit)).then_some(found)
    });
    if let Some(other) = other {
        if found.is_none() && complete_framing(raw).is_none() {
            let what = Problem::Parameter(contradiction(raw, align, other));
            return Err(OpenError::new(path, what));
        }
        let (given, other) = (described(raw, align), other.summary());
        notes.push(format!("{given} explains few of the bytes; detected without it: {other}"));
    }
    if let Some(found) = found {
        for unit in missing {
            let names = missing_registers(unit, raw).join(", ");
            let name = &unit.protocol;
            notes.push(format!("{name}: registers that decoding needs are not given: {names}"));
        }
        if raw.framing == RawFraming::Auto && raw.units.len() == 1 {
            raw.framing = found.framing;
            raw.skip += found.skip;
            raw.units.clone_from(&found.units);
        }
        assume(raw, found, notes);
    }
    Ok(())
}

/// The framing, where framing, protocol and, in frames, trace ID of each unit are given.
fn complete_framing(raw: &RawTrace) -> Option<Framing> {
    let framing = match raw.framing {
        RawFraming::Framed(framing) => framing,
        RawFraming::Auto if raw.units.len() > 1 => Framing::Coresight,
        _ => return None,
    };
    let ids = || raw.units.iter().all(|unit| unit.id.is_some());
    (framing == Framing::Raw || ids()).then_some(framing)
}

/// Adds registers of the units that are given completely and still lack some: those that explain
/// their data in the frames of `head`, damaged or not.
fn state(
    raw: &mut RawTrace,
    head: &[u8],
    capture: &Capture,
    given: &Given<'_>,
    notes: &mut Vec<String>,
) {
    let missing = raw.units.iter().filter(|unit| lacks_registers(unit, raw));
    let missing: Vec<Unit> = missing.cloned().collect();
    if missing.is_empty() {
        return;
    }
    if let Some(framing) = complete_framing(raw) {
        let settings = stated::settings(&missing, framing, (head, capture), given);
        let units = settings.iter().map(|(unit, own, setting)| (unit.clone(), *own, setting));
        assume(raw, of_units(units.collect()), notes);
    }
}

/// The registers that `unit` needs and nobody gives.
fn missing_registers(unit: &Unit, raw: &RawTrace) -> Vec<&'static str> {
    let Some(protocol) = raw.protocols.named(&unit.protocol) else { return Vec::new() };
    let mut missing: Vec<&'static str> = Vec::new();
    let id = protocol.id_register().map(|(name, _)| name);
    let core = raw.core.as_deref().and_then(core_type);
    loop {
        let value = |name: &str| {
            let zero = id.into_iter().chain(missing.iter().copied());
            let zero = zero.filter(|known| known.eq_ignore_ascii_case(name)).map(|_| 0).next();
            given_register(raw, name).or(zero)
        };
        match protocol.configure(core, &value) {
            Err(register) if !missing.contains(&register.name) => missing.push(register.name),
            _ => return missing,
        }
    }
}

/// Adds the registers and the core that were found and are not given.
fn assume(raw: &mut RawTrace, found: Description, notes: &mut Vec<String>) {
    let new: Vec<_> =
        found.registers.into_iter().filter(|text| !is_given(&raw.registers, text)).collect();
    let core = found.core.filter(|_| raw.core.is_none());
    let mut list = new.clone();
    list.extend(core.iter().map(|core| format!("core {core}")));
    if !list.is_empty() {
        notes.push(format!("assumed, as they explain the bytes best: {}", list.join(", ")));
    }
    raw.registers.extend(new);
    raw.core = raw.core.take().or(core);
}

/// The settings that the user gives.
fn described(raw: &RawTrace, align: Option<u64>) -> String {
    let given = Description {
        framing: raw.framing,
        skip: align.unwrap_or(0),
        units: raw.units.clone(),
        ..Description::default()
    };
    match raw.framing {
        RawFraming::Framed(Framing::Raw) => format!("{FRAMING} raw {}", given.line()),
        _ => given.line(),
    }
}

/// That the given settings do not explain the bytes, and those that do.
fn contradiction(raw: &RawTrace, align: Option<u64>, best: &Candidate) -> String {
    let better = Description { registers: Vec::new(), core: None, ..best.description() };
    format!(
        "{} does not explain the bytes; detected: {}; use {}",
        described(raw, align),
        best.summary(),
        better.line()
    )
}

/// Whether the description has a unit of the same protocol.
fn fits(found: &Description, unit: &Unit) -> bool {
    let protocol = AnyProtocol::named(&unit.protocol);
    found.units.iter().any(|other| AnyProtocol::named(&other.protocol) == protocol)
}

/// Whether a register that decoding needs is not given.
fn lacks_registers(unit: &Unit, raw: &RawTrace) -> bool {
    let Some(protocol) = raw.protocols.named(&unit.protocol) else { return false };
    if protocol.has_own_port() || raw.parameters.is_some() {
        return false;
    }
    !missing_registers(unit, raw).is_empty()
}

/// The value of a register that the user gives.
fn given_register(raw: &RawTrace, name: &str) -> Option<u64> {
    let given = raw.registers.iter().filter_map(|text| text.split_once('='));
    let mut values = given.filter(|(known, _)| plain_name(known).eq_ignore_ascii_case(name));
    let (_, value) = values.next_back()?;
    let protocols = raw.units.iter().filter_map(|unit| raw.protocols.named(&unit.protocol));
    let word = protocols.filter_map(|p| p.parse_value(name, value.trim())?.ok()).next();
    word.or_else(|| number(value.trim()))
}

/// A register name without the ID of its unit.
fn plain_name(name: &str) -> &str {
    name.split('@').next().unwrap_or(name).trim()
}

/// Whether the register of the assignment `text` is one of `given`.
fn is_given(given: &[String], text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    let given = given.iter().filter_map(|text| text.split('=').next());
    let mut same = given.filter(|known| {
        known.trim().eq_ignore_ascii_case(name)
            || plain_name(known) == known.trim()
                && known.trim().eq_ignore_ascii_case(plain_name(name))
    });
    same.next().is_some()
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The registers of the trace unit of the given core that the user does not give.
fn core_registers(raw: &RawTrace) -> Vec<Register> {
    let Some(core) = &raw.core else { return Vec::new() };
    let missing = raw.units.iter().filter(|unit| lacks_registers(unit, raw));
    let protocols = missing.filter_map(|unit| raw.protocols.named(&unit.protocol));
    let registers = protocols.flat_map(|protocol| known_units::of(core, protocol));
    registers.filter(|register| given_register(raw, register.name).is_none()).copied().collect()
}
