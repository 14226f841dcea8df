//! Sections in which interrupts are masked.

use std::fmt::Write;

use tracewright_analysis::Code;
use tracewright_analysis::timing::{Clock, PointId, Points, StackAt};
use tracewright_base::{Element, Gap, Interval, Isa, Role, Start};
use tracewright_capture::plain::line;
use tracewright_isa::masking::{Masking, Target, constant, leaves, masking};
use tracewright_isa::{a32, a64, rv, t32};

use super::{Scale, Shown, aligned, interval};
use crate::instructions::{Step, Steps};
use crate::json_object::{Object, string};
use crate::sources::Source;

/// The most sections that are stored.
const MAX_SECTIONS: usize = 1 << 20;

/// An instruction at an end of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its address; of an end without an instruction, that of the last one.
    pub address: u64,
    /// Its number among those of the source, from 1.
    pub instruction: u64,
    /// The offset in the trace.
    pub at: u64,
    point: PointId,
}

/// How a section ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By an instruction that ends the mask.
    Unmasked,
    /// By an instruction that sets it, of a section of which a register decides.
    Masked,
    /// By a write of a register whose value is not known: the section may continue.
    Register(Target),
    /// By the return from the exception in which it began, which restores the mask.
    ExceptionReturn,
    /// Trace was lost: it may continue.
    Lost,
    /// By the end of the trace: it may continue.
    TraceEnd,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            End::Unmasked => "unmasked",
            End::Masked => "masked",
            End::Register(_) => "register",
            End::ExceptionReturn => "exception-return",
            End::Lost => "lost",
            End::TraceEnd => "trace-end",
        }
    }

    fn text(self) -> String {
        match self {
            End::Unmasked => "unmasked".to_owned(),
            End::Masked => "masked for certain".to_owned(),
            End::Register(target) => format!("a register decides ({})", target.name()),
            End::ExceptionReturn => "return from the exception".to_owned(),
            End::Lost => "trace is lost".to_owned(),
            End::TraceEnd => "the trace ends".to_owned(),
        }
    }
}

/// A section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The source.
    pub source: usize,
    /// Interrupts are masked by their priority; otherwise all of them.
    pub priority: bool,
    /// The register that was written at the begin, if its value is not known: whether interrupts
    /// are masked is not known.
    pub decided_by: Option<Target>,
    /// The instruction at the begin, and the one at the end.
    pub begin: Edge,
    /// The end.
    pub end: Edge,
    /// How it ends.
    pub ending: End,
}

/// A section that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    begin: Edge,
    decided_by: Option<Target>,
    /// The exceptions that were open at its begin.
    depth: u64,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// The mask of all interrupts, and that of priorities.
    open: [Option<Open>; 2],
    /// The register that holds a known constant.
    constant: Option<(u8, u32)>,
    depth: u64,
    address: u64,
    at: u64,
}

/// Finds the sections in which interrupts are masked, by the executed instructions.
#[derive(Clone, Debug)]
pub struct Sections {
    points: Points,
    sources: Vec<State>,
    sections: Vec<Section>,
    dropped: u64,
}

/// Whether the instruction returns from an exception. An M-profile processor has none such.
fn returns(step: &Step, opcode: u32) -> bool {
    let role = match step.isa {
        Isa::A64 => a64::classify(opcode, step.address).role,
        Isa::A32 => a32::classify(opcode, step.address).role,
        Isa::T32 => t32::classify(opcode, step.address).role,
        Isa::Rv32 | Isa::Rv64 => rv::standard(step.isa, opcode, step.address, false).role,
        Isa::ThumbEe | Isa::Jazelle => return false,
    };
    step.taken == Some(true) && role == Role::ExceptionReturn
}

impl Sections {
    /// None so far, by this clock.
    pub fn new(clock: Clock) -> Sections {
        let points = Points::new(clock);
        Sections { points, sources: Vec::new(), sections: Vec::new(), dropped: 0 }
    }

    /// The trace ends.
    pub fn finish(&mut self) {
        for source in 0..self.sources.len() {
            self.close_all(source, End::TraceEnd);
        }
    }

    /// All sections in order of their ends, and the number of those that were too many.
    pub fn all(&self) -> (&[Section], u64) {
        (&self.sections, self.dropped)
    }

    /// Leaves out the sections for which `wanted` does not hold.
    pub fn retain(&mut self, wanted: impl Fn(&Section) -> bool) {
        self.sections.retain(wanted);
    }

    /// How long a section is; without an upper end if it may continue.
    pub fn time(&self, own: &Section) -> Interval {
        let time = self.points.between(own.begin.point, own.end.point);
        match own.ending {
            End::Lost | End::TraceEnd => Interval::at_least(time.least),
            _ => time,
        }
    }

    fn state(&mut self, source: usize) -> &mut State {
        if source >= self.sources.len() {
            self.sources.resize_with(source + 1, State::default);
        }
        &mut self.sources[source]
    }

    fn edge(&mut self, source: usize) -> Edge {
        let (point, instruction) = (self.points.mark(source), self.points.instructions(source));
        let State { address, at, .. } = *self.state(source);
        Edge { address, instruction, at, point }
    }

    fn close(&mut self, source: usize, priority: bool, ending: End) {
        let Some(slot) = self.state(source).open.get_mut(usize::from(priority)) else { return };
        let Some(Open { begin, decided_by, .. }) = slot.take() else { return };
        if self.sections.len() >= MAX_SECTIONS {
            self.dropped += 1;
            return;
        }
        let end = self.edge(source);
        self.sections.push(Section { source, priority, decided_by, begin, end, ending });
    }

    fn close_all(&mut self, source: usize, ending: End) {
        for priority in [false, true] {
            self.close(source, priority, ending);
        }
    }

    fn open(&mut self, source: usize, priority: bool, decided_by: Option<Target>) {
        let begin = self.edge(source);
        let state = self.state(source);
        let depth = state.depth;
        if let Some(slot) = state.open.get_mut(usize::from(priority)) {
            *slot = Some(Open { begin, decided_by, depth });
        }
    }

    /// The mask of all interrupts, or that of priorities, is written.
    fn mask(&mut self, source: usize, priority: bool, own: Masking) {
        let open = self.state(source).open.get(usize::from(priority)).copied().flatten();
        match (own, open) {
            (Masking::Masks, Some(Open { decided_by: None, .. })) => {}
            (Masking::Masks, _) => {
                self.close(source, priority, End::Masked);
                self.open(source, priority, None);
            }
            (Masking::Unmasks, _) => self.close(source, priority, End::Unmasked),
            (Masking::Decides { target, .. }, _) => {
                self.close(source, priority, End::Register(target));
                self.open(source, priority, Some(target));
            }
        }
    }

    fn instruction(&mut self, source: usize, step: &Step, opcode: u32) {
        let known = self.state(source).constant;
        let found = constant(step.isa, opcode);
        self.state(source).constant = match (found, known) {
            (Some(_), _) => found,
            (None, Some((register, _))) if leaves(step.isa, opcode, register) => known,
            _ => None,
        };
        let Some(own) = masking(step.isa, opcode) else { return };
        let (own, priority) = match own {
            Masking::Decides { target, register } => {
                let value = known.filter(|known| known.0 == register).map(|known| known.1);
                let own = match value.and_then(|value| target.masks(value)) {
                    Some(true) => Masking::Masks,
                    Some(false) => Masking::Unmasks,
                    // The mask of BASEPRI_MAX is only ever raised.
                    None if target == Target::BasepriMax && value == Some(0) => return,
                    None => own,
                };
                (own, target.is_priority())
            }
            own => (own, false),
        };
        self.mask(source, priority, own);
    }
}

impl Steps for Sections {
    fn step(&mut self, source: usize, at: u64, step: &Step) {
        self.points.executed(source, 1, step.cycles, step.taken.is_some());
        let state = self.state(source);
        (state.address, state.at) = (step.address, at);
        let Some(opcode) = step.opcode.filter(|_| !step.failed) else { return };
        self.instruction(source, step, opcode);
        if step.taken.is_some() && returns(step, opcode) {
            let state = self.state(source);
            let depth = state.depth;
            state.depth = depth.saturating_sub(1);
            for priority in [false, true] {
                let open = self.state(source).open.get(usize::from(priority)).copied().flatten();
                if open.is_some_and(|open| open.depth >= depth) {
                    self.close(source, priority, End::ExceptionReturn);
                }
            }
        }
    }

    fn other(&mut self, source: usize, _: u64, element: &Element) {
        match element {
            Element::Exception(_) => {
                let state = self.state(source);
                (state.depth, state.constant) = (state.depth + 1, None);
            }
            Element::Gap(gap) if !matches!(gap, Gap::Data) => self.close_all(source, End::Lost),
            Element::TraceOn(Start::Overflow)
            | Element::NoCode { .. }
            | Element::Unknown { .. }
            | Element::Undecodable { .. } => self.close_all(source, End::Lost),
            Element::Inconsistency(reason) if !reason.is_ambiguity() => {
                self.close_all(source, End::Lost);
            }
            _ => {}
        }
        self.points.element(source, element);
    }
}

/// Sections, and what their functions and sources are called.
#[derive(Clone, Copy, Debug)]
pub struct MaskedView<'a> {
    /// The sections.
    pub sections: &'a Sections,
    /// The call stacks at their ends.
    pub stacks: &'a StackAt,
    /// The functions.
    pub code: &'a Code,
    /// The sources.
    pub sources: &'a [Source],
    /// What measures time.
    pub clock: Clock,
    /// What is shown: the rows, and the frequency.
    pub shown: Shown<'a>,
}

/// The rows of the text without a limit.
const ROWS: usize = 10;

/// What trace does not state.
const PENDING: &str = "When an interrupt became pending is not in the trace: the time of a section \
                       bounds the latency that it adds.\n";

/// The longest sections of each kind: those that are certain, and those of which a register
/// decides.
pub fn longest(sections: &Sections, rows: Option<usize>) -> [Vec<Section>; 2] {
    [false, true].map(|decided| {
        let all = sections.all().0.iter().copied();
        let mut own: Vec<Section> = all.filter(|own| own.decided_by.is_some() == decided).collect();
        own.sort_by_cached_key(|own| {
            let time = sections.time(own);
            let most = time.most.unwrap_or(time.least);
            (std::cmp::Reverse((most, time.least)), own.begin.instruction, own.source)
        });
        own.truncate(rows.unwrap_or(ROWS));
        own
    })
}

impl MaskedView<'_> {
    fn place(&self, own: &Section, edge: &Edge) -> String {
        let mut out = format!("{:#x}", edge.address);
        if let Some(source) = self.sources.get(own.source) {
            source.symbol(edge.address, &mut out);
        }
        line(&out).into_owned()
    }

    fn stack(&self, own: &Section, edge: &Edge) -> Vec<String> {
        let stack = self.stacks.get(own.source, edge.instruction).unwrap_or_default();
        stack.iter().map(|function| self.code.name(*function).into_owned()).collect()
    }

    /// Text.
    pub fn text(&self) -> String {
        let scale = Scale { clock: self.clock, frequency: self.shown.frequency };
        let (all, dropped) = self.sections.all();
        let certain = all.iter().filter(|own| own.decided_by.is_none()).count();
        let mut out = String::new();
        let heads = [
            format!("interrupts are masked: {certain} sections, by {}", scale.clock.name()),
            format!(
                "a register decides whether interrupts are masked, from a write of it to the next: \
                 {} sections",
                all.len() - certain
            ),
        ];
        let tables = longest(self.sections, self.shown.rows);
        for (head, rows) in heads.into_iter().zip(tables) {
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(out, "{head}");
            let mut lines = vec![["time", "instructions", "ends"].map(str::to_owned).to_vec()];
            for own in rows {
                let by = match (own.priority, own.decided_by) {
                    (_, Some(target)) => format!(" (begins with {})", target.name()),
                    (true, None) => " (by priority)".to_owned(),
                    (false, None) => String::new(),
                };
                let count = own.end.instruction - own.begin.instruction;
                let time = scale.text(self.sections.time(&own));
                lines.push(vec![time, count.to_string(), format!("{}{by}", own.ending.text())]);
                for (name, edge) in [("begin", &own.begin), ("end", &own.end)] {
                    let place = self.place(&own, edge);
                    let number = edge.instruction;
                    let stack = self.stack(&own, edge).join(" > ");
                    let stack = line(&stack);
                    let text = format!("{name} {place}, instruction {number}: {stack}");
                    lines.push(vec![String::new(), String::new(), text]);
                }
            }
            aligned(&mut out, &lines);
        }
        if dropped > 0 {
            let _ = writeln!(out, "{dropped} further sections were not stored");
        }
        if !all.is_empty() {
            out.push_str(PENDING);
        }
        out
    }

    /// JSON Lines: the longest sections.
    pub fn json(&self) -> String {
        let mut out = String::new();
        for own in longest(self.sections, self.shown.rows).into_iter().flatten() {
            let edge = |out: &mut String, edge: &Edge| {
                let symbol = self.sources.get(own.source).and_then(|s| s.symbol_name(edge.address));
                let stack = self.stack(&own, edge);
                Object::new(out)
                    .hex("address", edge.address)
                    .maybe_text("symbol", symbol.as_deref())
                    .number("instructions", edge.instruction)
                    .number("offset", edge.at)
                    .list("stack", &stack, |name, out| string(name, out))
                    .end();
            };
            let source = self.sources.get(own.source).map(|source| source.name.as_str());
            Object::new(&mut out)
                .text("type", "masked")
                .maybe_text("source", source)
                .text("mask", if own.priority { "priority" } else { "all" })
                .maybe_text("decided_by", own.decided_by.map(Target::name))
                .text("ends", own.ending.name())
                .value("time", |out| interval(Object::new(out), self.sections.time(&own)).end())
                .value("begin", |out| edge(out, &own.begin))
                .value("end", |out| edge(out, &own.end))
                .end();
            out.push('\n');
        }
        out
    }
}
