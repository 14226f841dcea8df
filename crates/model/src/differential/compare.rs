//! The decoder's elements in the terms of the analyzer, and their comparison.

use tracewright_base::{Element, Gap, Inconsistency, Kind, Sink, Transaction};
use tracewright_protocols::Observer;

use super::Trial;
use crate::analyzer::{AnalyzerContext, Lost, Malformed, Memory, Output};

/// What a decoder's elements state about execution.
#[derive(Debug, Default)]
pub struct Stated {
    /// In program order, without transactions that fail or do not end.
    pub out: Vec<Output>,
    /// The outputs of the open transaction.
    open: Option<Vec<Output>>,
    /// Whether the branch before the open transaction is taken, by a correction inside it.
    corrected: Option<bool>,
    memory: Memory,
    context: AnalyzerContext,
    /// No context was reported.
    unknown: bool,
    /// All elements, as text.
    pub texts: Vec<String>,
}

impl Stated {
    /// Nothing yet. `memory` splits ranges into instructions.
    pub fn new(memory: &Memory) -> Stated {
        Stated { memory: memory.clone(), unknown: true, ..Stated::default() }
    }

    fn push(&mut self, output: Output) {
        self.open.as_mut().unwrap_or(&mut self.out).push(output);
    }

    /// The open transaction has no effect.
    fn fail(&mut self) {
        self.corrected = None;
        let Some(open) = self.open.take() else { return };
        let outlives = |output: &Output| {
            matches!(
                output,
                Output::Event(_) | Output::Timestamp { .. } | Output::Cycles(_) | Output::TraceOn
            )
        };
        self.out.extend(open.into_iter().filter(outlives));
    }

    /// All outputs, at the end of the trace.
    pub fn finish(&mut self) {
        self.fail();
    }
}

impl Observer for Stated {}

impl Sink for Stated {
    fn element(&mut self, at: u64, element: Element) {
        self.texts.push(format!("{at:4} {element}"));
        match element {
            Element::Range(range) => {
                let (mut address, isa) = (range.start, range.last.isa);
                for left in (0..range.instructions).rev() {
                    let branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect);
                    self.push(Output::Instruction {
                        address,
                        isa,
                        taken: left == 0 && branch && range.taken(),
                        context: self.context,
                    });
                    let size = self.memory.instruction(address, isa).map_or(4, |i| i.size);
                    address = address.wrapping_add(size.into()) & isa.address_mask();
                }
            }
            Element::Corrected { taken: now } => match &mut self.open {
                Some(open) => {
                    if !correct(open, now, &self.memory) {
                        self.corrected = Some(now);
                    }
                }
                None => {
                    correct(&mut self.out, now, &self.memory);
                }
            },
            Element::Context(context) => {
                self.unknown = false;
                self.context = AnalyzerContext {
                    context_id: context.context_id.unwrap_or(0),
                    vmid: context.vmid.unwrap_or(0),
                    exception_level: context.el.unwrap_or(0),
                    non_secure: context.security == Some(tracewright_base::Security::NonSecure),
                    sixty_four_bit: context.bits64,
                };
            }
            Element::Exception(exception) => self.push(Output::Exception {
                kind: exception.number,
                address: exception.return_address,
                context: (!self.unknown).then_some(self.context),
            }),
            Element::ExceptionReturn => self.push(Output::ExceptionReturn),
            Element::Unknown { start, next, instructions } => {
                self.push(Output::Q { start, count: instructions.get(), next: Some(next) });
            }
            Element::NoCode { address, .. }
            | Element::Inconsistency(Inconsistency::Misaligned { address, .. }) => {
                self.push(Output::NoCode(address));
            }
            Element::TraceOn(_) => self.push(Output::TraceOn),
            Element::Gap(Gap::Overflow) => {
                self.fail();
                self.push(Output::Lost(Lost::Overflow));
            }
            Element::Gap(Gap::Discard) => {
                self.fail();
                self.push(Output::Lost(Lost::Discard));
            }
            Element::Events(events) => {
                for event in (0..4).filter(|n| events >> n & 1 == 1) {
                    self.push(Output::Event(event));
                }
            }
            Element::Timestamp { value, cycles } => self.push(Output::Timestamp { value, cycles }),
            Element::Cycles(cycles) => self.push(Output::Cycles(cycles.map(u64::from))),
            Element::Transaction(Transaction::Inside) => {
                self.out.push(Output::InTransaction);
                self.open = Some(Vec::new());
            }
            Element::Transaction(Transaction::Start) => {
                self.fail();
                self.open = Some(vec![Output::TransactionStart]);
            }
            Element::Transaction(Transaction::Commit) => {
                let open = self.open.take().unwrap_or_default();
                if let Some(now) = self.corrected.take() {
                    correct(&mut self.out, now, &self.memory);
                }
                self.out.extend(open);
                self.out.push(Output::TransactionCommit);
            }
            Element::Transaction(Transaction::Cancelled) => {
                let open = self.open.take().unwrap_or_default();
                if let Some(now) = self.corrected.take() {
                    correct(&mut self.out, now, &self.memory);
                }
                self.out.extend(open);
            }
            Element::Transaction(Transaction::Failure) if self.open.is_some() => {
                self.fail();
                self.out.push(Output::TransactionFailure);
            }
            Element::Inconsistency(Inconsistency::AddressNotReached) => {
                self.push(Output::Malformed(Malformed::NotReached));
            }
            _ => {}
        }
    }
}

/// Gives the last instruction the outcome `now`. Returns whether there is one.
fn correct(outputs: &mut [Output], now: bool, memory: &Memory) -> bool {
    let last = outputs.iter_mut().rev().find_map(|output| match output {
        Output::Instruction { address, isa, taken, .. } => Some((*address, *isa, taken)),
        _ => None,
    });
    let Some((address, isa, taken)) = last else { return false };
    if let Some(instruction) = memory.instruction(address, isa) {
        *taken = now && matches!(instruction.kind, Kind::Branch | Kind::Indirect);
    }
    true
}

/// How far the decoder follows the program to an address, in bytes, with a margin.
const MAX_WALK: u64 = (1 << 26) - 0x1_0000;

/// The first difference, by index in both lists.
///
/// # Errors
/// The indices and a reason.
pub fn compare(trial: &Trial, want: &[Output], got: &[Output]) -> Result<(), String> {
    let want: Vec<Output> = normal(trial, want);
    let got: Vec<Output> = normal(trial, got);
    let (mut w, mut g) = (0, 0);
    // Whether the last branch before an error was taken may depend on what is not certain.
    let uncertain = match want.last() {
        Some(Output::Malformed(_)) => {
            want.iter().rposition(|output| matches!(output, Output::Instruction { .. }))
        }
        _ => None,
    };
    // The decoder did not follow the program to missing code. It may report it for the next element
    // that needs it.
    let mut unreported = false;
    while let Some(wanted) = want.get(w) {
        match wanted {
            _ if uncertain == Some(w) => return Ok(()),
            _ if unreported && matches!(got.get(g), Some(Output::NoCode(_))) => {
                unreported = false;
                w += usize::from(got.get(g).is_some_and(|got| same(wanted, got)));
                g += 1;
                continue;
            }
            // An address that the program does not reach.
            _ if matches!(got.get(g), Some(Output::Malformed(_))) => {
                g += 1;
                // The decoder does not follow the program so far. Missing code before
                // is not reported again by the analyzer.
                let again = got.get(g).is_some_and(|got| same(wanted, got));
                let rest = want.get(w..).filter(|_| !again).unwrap_or_default();
                let passed = to_missing_code(rest);
                (w, unreported) = (w + passed, unreported || passed > 0);
                continue;
            }
            Output::Malformed(_) => return Ok(()),
            Output::Q { start, count, next } => {
                g = path(trial, &got, g, *start, *count, *next)?;
            }
            // An exception may be reported without the code before it.
            Output::NoCode(_)
                if matches!(want.get(w + 1), Some(Output::Exception { .. }))
                    && matches!(got.get(g), Some(Output::Exception { .. })) => {}
            // The decoder does not follow the program so far.
            Output::Instruction { address, .. } | Output::NoCode(address)
                if !got.get(g).is_some_and(|got| same(wanted, got))
                    && too_far(&want[w..], *address, got.get(g)) => {}
            // The same: a source address without code.
            Output::Instruction { .. }
                if matches!(newest(&got, g), Some(Output::NoCode(_)))
                    && !got.get(g).is_some_and(|got| same(wanted, got))
                    && to_missing_code(&want[w..]) > 0 => {}
            // The code was missing for a Q element, too.
            Output::NoCode(_) if matches!(newest(&got, g), Some(Output::NoCode(_))) => {}
            // Above the top of memory is address 0: K10.5.5.6 has a note on it, which the
            // pseudocode does not follow.
            Output::Exception { address: Some(to), .. } if matches!(got.get(g), Some(Output::NoCode(missing)) if missing > to) =>
            {
                g += 1;
                continue;
            }
            Output::TraceOn if matches!(want.get(w + 1), Some(Output::Malformed(_))) => {
                return Ok(());
            }
            _ if got.get(g).is_some_and(|got| same(wanted, got)) => g += 1,
            _ => {
                let text = got.get(g).map_or_else(|| String::from("nothing"), Output::to_string);
                // A stream that is malformed later may lose what is not certain before that.
                return Err(format!("output {w} is {wanted}, and the decoder has {text} ({g})"));
            }
        }
        w += 1;
    }
    let malformed = |g| matches!(got.get(g), Some(Output::Malformed(_)));
    g += (g..).take_while(|g| malformed(*g)).count();
    g += usize::from(unreported && matches!(got.get(g), Some(Output::NoCode(_))));
    let rest = got.get(g..).unwrap_or_default();
    match rest.iter().find(|output| !matches!(output, Output::Malformed(_))) {
        Some(more) => Err(format!("the analyzer ends, and the decoder has {more} ({g})")),
        None => Ok(()),
    }
}

/// The last output before index `g` that concerns the program flow.
fn newest(got: &[Output], g: usize) -> Option<Output> {
    let aside = |output: &&Output| {
        matches!(output, Output::Event(_) | Output::Timestamp { .. } | Output::Cycles(_))
    };
    got.get(..g)?.iter().rev().find(|output| !aside(output)).copied()
}

/// The number of outputs up to and including missing code that no taken branch precedes, or 0. They
/// may be those before a source address that is farther away than the decoder walks.
fn to_missing_code(want: &[Output]) -> usize {
    let executed = |output: &&Output| matches!(output, Output::Instruction { taken: false, .. });
    let passed = want.iter().take_while(executed).count();
    if matches!(want.get(passed), Some(Output::NoCode(_))) { passed + 1 } else { 0 }
}

/// Whether the outputs up to the exception or the missing code that the decoder has are those
/// before a return address or a source address that is farther away than the decoder walks: it then
/// emits no instructions.
fn too_far(want: &[Output], from: u64, got: Option<&Output>) -> bool {
    let mut rest = want.iter().filter(|o| !matches!(o, Output::Instruction { taken: false, .. }));
    let mut wanted = rest.next();
    if let (Some(Output::NoCode(_)), Some(Output::Exception { .. })) = (wanted, got) {
        wanted = rest.next();
    }
    let to = match got {
        Some(Output::Exception { address, .. }) => *address,
        Some(Output::NoCode(address)) => Some(*address),
        _ => None,
    };
    to.is_some_and(|to| to.saturating_sub(from) > MAX_WALK)
        && wanted.zip(got).is_some_and(|(wanted, got)| same(wanted, got))
}

/// The outputs without the differences that are no difference in meaning:
/// - A Transaction Failure element is optional (K10.5.8.4). What was executed in the transaction is
///   not among the outputs.
/// - Nothing is known between two losses of trace: they are one.
/// - A Trace On element takes effect at the first instruction or exception after it.
/// - An Exception Return element follows from the instruction, and whether the trace begins inside
///   a transaction, from how the transaction ends.
/// - Missing code is missing for each element that needs it, until there is code again.
fn normal(trial: &Trial, outputs: &[Output]) -> Vec<Output> {
    let missing_at = |start: u64| !trial.code.memory.has(start);
    let mut normal: Vec<Output> = Vec::new();
    let (mut on, mut missing) = (false, false);
    for output in outputs {
        let output = match output {
            Output::Q { start, count: Some(1..), next: Some(_) } if missing_at(*start) => {
                Output::NoCode(*start)
            }
            other => *other,
        };
        match output {
            // An address must follow: the stream is malformed, or ends.
            Output::Q { next: None, .. } => {
                normal.push(Output::Malformed(Malformed::NoTarget));
                break;
            }
            Output::TraceOn => {
                (on, missing) = (true, false);
                continue;
            }
            Output::ExceptionReturn | Output::InTransaction | Output::TransactionFailure => {
                continue;
            }
            Output::NoCode(_) if missing => continue,
            Output::Instruction { .. }
            | Output::Q { .. }
            | Output::NoCode(_)
            | Output::Malformed(_)
            | Output::Exception { .. } => {
                // After an address that is not reached the code may be missing still.
                let unreached = matches!(output, Output::Malformed(Malformed::NotReached));
                missing = matches!(output, Output::NoCode(_)) || missing && unreached;
                if std::mem::take(&mut on) {
                    normal.push(Output::TraceOn);
                }
            }
            Output::Lost(_) => {
                (on, missing) = (false, false);
                let other = |output: &&Output| !matches!(output, Output::Event(_));
                if let Some(Output::Lost(_)) = normal.iter().rev().find(other) {
                    continue;
                }
            }
            _ => {}
        }
        normal.push(output);
    }
    normal
}

/// Whether both are the same. The context of an exception is compared where both know it, and its
/// address in as many bits as the execution state has. An address may be reported that is no return
/// address.
fn same(wanted: &Output, got: &Output) -> bool {
    match (wanted, got) {
        (
            Output::Exception { kind, address, context },
            Output::Exception { kind: other, address: at, context: within },
        ) => {
            let narrow = context.is_some_and(|context| !context.sixty_four_bit);
            let mask = if narrow { 0xffff_ffff } else { u64::MAX };
            let masked = |address: &Option<u64>| address.map(|address| address & mask);
            kind == other
                && (address.is_none() || masked(address) == masked(at))
                && (context.is_none() || within.is_none() || context == within)
        }
        // Of the code before a source address, any address may be the one that is reported.
        (Output::NoCode(one), Output::NoCode(other)) => one <= other,
        // An element has 32 bits. A unit counts with at most 20. (TRCIDR0.CCSIZE)
        (Output::Cycles(Some(one)), Output::Cycles(Some(other))) => {
            (*one).min(u32::MAX.into()) == *other
        }
        _ => wanted == got,
    }
}

/// The instructions of a Q element: some are known, and the rest is counted. Returns the index
/// after them.
fn path(
    trial: &Trial,
    got: &[Output],
    mut g: usize,
    start: u64,
    count: Option<u32>,
    next: Option<u64>,
) -> Result<usize, String> {
    let Some(next) = next else { return Ok(g) };
    if count.is_none() {
        let wanted = Output::Q { start, count, next: Some(next) };
        return match got.get(g) {
            Some(one) if *one == wanted => Ok(g + 1),
            other => Err(format!("{wanted}, and the decoder has {other:?} ({g})")),
        };
    }
    // The code was missing for the element before, too.
    let missing = matches!(newest(got, g), Some(Output::NoCode(at)) if at.wrapping_sub(start) < 4);
    let own = match got.get(g) {
        Some(Output::Instruction { address, .. }) => *address == start,
        Some(Output::Q { start: from, .. }) => *from == start,
        Some(Output::NoCode(_)) => true,
        _ => false,
    };
    if missing && !own {
        return Ok(g);
    }
    let (mut at, mut known) = (start, 0);
    while let Some(Output::Instruction { address, isa, .. }) = got.get(g) {
        if count.is_some_and(|count| known >= count) {
            break;
        }
        if at != *address {
            return Err(format!("Q from {start:#x}: {address:#x} follows, not {at:#x} ({g})"));
        }
        let Some(instruction) = trial.code.memory.instruction(*address, *isa) else {
            return Err(format!("Q from {start:#x}: no instruction at {address:#x} ({g})"));
        };
        known += 1;
        g += 1;
        let after = address.wrapping_add(instruction.size.into()) & isa.address_mask();
        at = match got.get(g) {
            Some(Output::Instruction { address, .. }) if count != Some(known) => *address,
            Some(Output::Q { start, .. }) if count != Some(known) => *start,
            // Part of the instruction may be there.
            Some(Output::NoCode(missing)) if count != Some(known) => {
                if missing.wrapping_sub(after) < 4 { after } else { *missing }
            }
            _ => next,
        };
        let possible = match (instruction.kind, instruction.target) {
            (Kind::Indirect, _) => true,
            (Kind::Branch, Some(target)) => at == target || at == after && instruction.conditional,
            _ => at == after,
        };
        if !possible {
            return Err(format!("Q from {start:#x}: {at:#x} cannot follow {address:#x} ({g})"));
        }
    }
    if count == Some(known) {
        let empty = Output::Q { start, count, next: Some(next) };
        return Ok(g + usize::from(got.get(g) == Some(&empty)));
    }
    match got.get(g) {
        Some(Output::NoCode(missing)) if missing.wrapping_sub(at) < 4 || known == 0 => Ok(g + 1),
        Some(Output::Q { start: from, count: rest, next: Some(to) })
            if *from == at && *to == next && *rest == count.map(|count| count - known) =>
        {
            Ok(g + 1)
        }
        other => Err(format!("Q from {start:#x} count {count:?}: {other:?} follows ({g})")),
    }
}

/// Whether the analyzer found no error in the stream.
pub fn is_legal(want: &[Output]) -> Result<(), Malformed> {
    match want.last() {
        Some(Output::Malformed(malformed)) => Err(*malformed),
        _ => Ok(()),
    }
}
