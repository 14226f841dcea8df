//! Matches decoded instructions with the steps of the processor.

use tracewright_base::{Cause, Context, Element, Exception, Gap, Step, Transaction};

use super::filter::Included;
use tracewright_protocols::registry::AnyConfig;

use super::{RoundTrip, counted, shown};
use crate::expand::Ran;

/// A failed match of a chunk.
struct Miss {
    /// Number of matched items.
    fits: usize,
    why: String,
}

/// Matches each chunk between Trace On elements, in order.
pub(super) fn chunks(
    config: &AnyConfig,
    included: &Included,
    steps: &[Step],
    ran: &[(u64, Ran)],
) -> Result<RoundTrip, String> {
    let mut totals = RoundTrip::default();
    let mut matcher = Matcher { config, included, steps, cursor: 0, context: Context::default() };
    let begins = |ran: &Ran| {
        matches!(
            ran,
            Ran::Element(Element::TraceOn(_) | Element::Gap(Gap::Overflow | Gap::Discard))
        )
    };
    let mut rest = ran;
    while !rest.is_empty() {
        let len = 1 + rest.iter().skip(1).take_while(|(_, ran)| !begins(ran)).count();
        let (chunk, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        let found = matcher.chunk(chunk, &mut totals);
        found.map_err(|miss| miss.why)?;
    }
    Ok(totals)
}

struct Matcher<'a> {
    config: &'a AnyConfig,
    included: &'a Included,
    steps: &'a [Step],
    /// Index of the next step that may be traced.
    cursor: usize,
    /// The context that the trace reports.
    context: Context,
}

impl Matcher<'_> {
    /// Tries each start from the cursor on, until the whole chunk matches.
    fn chunk(&mut self, chunk: &[(u64, Ran)], totals: &mut RoundTrip) -> Result<(), Miss> {
        // The first address; an exception may have none.
        let first = chunk.iter().find_map(|(_, ran)| match ran {
            Ran::Instruction { address, .. } => Some(Some(*address)),
            Ran::Element(Element::Unknown { start, .. }) => Some(Some(*start)),
            Ran::Element(Element::Exception(e)) => Some(e.return_address),
            _ => None,
        });
        let nowhere = first == Some(None);
        let first = first.flatten();
        let mut best: Option<Miss> = None;
        let mut start = self.cursor;
        loop {
            // Steps at the first address.
            let found = (start..self.steps.len()).find(|&n| {
                self.included.through[n]
                    && match self.steps[n] {
                        Step::Retired(r) => {
                            !nowhere && first.is_none_or(|first| first == r.address)
                        }
                        Step::Exception(e) => first.is_none_or(|first| first == e.return_address),
                        Step::Halted => true,
                        _ => false,
                    }
            });
            if found.is_none()
                && let Some(best) = best
            {
                return Err(best);
            }
            let begin = match (found, first) {
                (Some(n), _) => n,
                // A chunk without an instruction can be where no step is traced.
                (None, None) => self.cursor,
                (None, Some(first)) => {
                    let why = format!("nothing ran at {first:#x} after step {}", self.cursor);
                    return Err(Miss { fits: 0, why });
                }
            };
            let (cursor, context, before) = (self.cursor, self.context, *totals);
            match self.fit(begin, chunk, totals) {
                Ok(()) => return Ok(()),
                Err(miss) => {
                    (self.cursor, self.context, *totals) = (cursor, context, before);
                    if best.as_ref().is_none_or(|best| miss.fits > best.fits) {
                        best = Some(miss);
                    }
                }
            }
            start = begin + 1;
        }
    }

    fn fit(
        &mut self,
        begin: usize,
        chunk: &[(u64, Ran)],
        totals: &mut RoundTrip,
    ) -> Result<(), Miss> {
        self.cursor = begin;
        // Whether the chunk has instructions, and whether the last instruction has the opposite
        // outcome.
        let (mut seen, mut turned) = (false, false);
        for (fits, &(at, ran)) in chunk.iter().enumerate() {
            let miss = |why: String| Miss { fits, why: format!("{at}: {why}") };
            match ran {
                Ran::Instruction { address, isa, taken } => {
                    if core::mem::take(&mut turned) {
                        return Err(miss("the branch before went the other way".into()));
                    }
                    let n = self
                        .next(seen)
                        .ok_or_else(|| miss(format!("{address:#x} is one too many")))?;
                    let Step::Retired(r) = self.steps[n] else {
                        return Err(miss(format!("{address:#x}, not an exception (step {n})")));
                    };
                    if (r.address, r.instruction.isa) != (address, isa) {
                        let (want, want_isa) = (r.address, r.instruction.isa);
                        return Err(miss(format!(
                            "{isa} {address:#x}, not {want_isa} {want:#x} (step {n})"
                        )));
                    }
                    self.who(n).map_err(miss)?;
                    let waypoint = self.config.waypoints().has(r.instruction.kind);
                    turned = waypoint && taken.is_some_and(|taken| taken != r.taken);
                    self.cursor = n + 1;
                    totals.instructions += 1;
                    seen = true;
                }
                // The trace does not report the preceding instructions.
                Ran::Element(Element::Transaction(Transaction::Failure)) => self.skip_unseen(),
                Ran::Element(Element::Corrected { .. }) => turned = !turned,
                Ran::Element(Element::Exception(e)) => {
                    let is_exception = self.fit_exception(seen, e).map_err(miss)?;
                    // A range that an exception ends has no outcome of its last branch.
                    turned = false;
                    totals.exceptions += usize::from(is_exception);
                    seen |= is_exception;
                }
                Ran::Element(Element::Unknown { start, next, instructions }) => {
                    totals.instructions +=
                        self.fit_unknown(seen, start, next, counted(instructions)).map_err(miss)?;
                    seen = true;
                }
                Ran::Element(Element::Context(context)) => self.context = context,
                Ran::Element(Element::TraceOn(_)) => totals.chunks += 1,
                Ran::Element(Element::Gap(Gap::BadPacket | Gap::BadImage))
                | Ran::Element(
                    Element::Inconsistency(_)
                    | Element::Undecodable { .. }
                    | Element::NoCode { .. },
                )
                | Ran::Unreadable { .. } => return Err(miss(format!("{ran:x?}"))),
                Ran::Element(_) => {}
            }
        }
        Ok(())
    }

    /// Takes the step of an exception. Returns whether it is one: Debug state is left at the
    /// address of its entry.
    ///
    /// # Errors
    /// What does not fit.
    fn fit_exception(&mut self, seen: bool, e: Exception) -> Result<bool, String> {
        if e.return_address.is_none() {
            self.skip_unseen();
        }
        let n = self.next(seen).ok_or("an exception too many")?;
        let taken = match self.steps[n] {
            Step::Exception(taken) => taken,
            Step::Halted => {
                self.cursor = n + 1;
                return Ok(false);
            }
            other => return Err(format!("an exception, not {other:x?}")),
        };
        if e.return_address.is_some_and(|address| address != taken.return_address) {
            return Err(format!(
                "an exception from {:x?}, not {:#x}",
                e.return_address, taken.return_address
            ));
        }
        let name = self.config.exception_name(e.number);
        let name = name.as_deref().unwrap_or_default();
        if named(taken.cause).is_some_and(|want| want != name) && !self.numbered() {
            return Err(format!("exception {name}, not {:?}", taken.cause));
        }
        self.cursor = n + 1;
        Ok(true)
    }

    /// Skips the steps of unknown instructions from `start` to `next`, as many as `instructions`
    /// where that is known, and returns their number.
    ///
    /// # Errors
    /// What does not fit.
    fn fit_unknown(
        &mut self,
        seen: bool,
        start: u64,
        next: u64,
        instructions: Option<usize>,
    ) -> Result<usize, String> {
        let n = self.next(seen).ok_or_else(|| "unknown instructions".to_owned())?;
        let at = |n: usize| match self.steps.get(n) {
            Some(Step::Retired(r)) => Some(r.address),
            Some(Step::Exception(e)) => Some(e.return_address),
            _ => None,
        };
        if at(n) != Some(start) {
            return Err(format!("unknown from {start:#x}, not {:x?}", at(n)));
        }
        let mut k = n;
        // Without a count: the first step after a waypoint, or before an exception.
        let (mut count, mut ends) = (0, false);
        loop {
            let done = match instructions {
                Some(all) => count == all,
                None => {
                    let unseen = &self.included.unseen;
                    let failed = k > 0
                        && unseen.get(self.cursor.wrapping_sub(1)) == Some(&true)
                        && unseen.get(k) != Some(&true);
                    let there = at(k).is_none_or(|at| at == next);
                    ends && (there || failed || !self.goes_on(k))
                }
            };
            if done {
                break;
            }
            if ends && instructions.is_none() {
                return Err(format!("unknown instructions to {next:#x}"));
            }
            let Some(Step::Retired(r)) = self.steps.get(k) else {
                return Err(format!("only {count} instructions to {next:#x}"));
            };
            count += 1;
            self.cursor = k + 1;
            k = self.following(k + 1).unwrap_or(self.steps.len());
            let between = self.steps.get(self.cursor..k).unwrap_or_default();
            ends = !self.goes_on(k)
                || self.config.waypoints().has(r.instruction.kind)
                || between.iter().any(|step| matches!(step, Step::Transaction(_)))
                || !matches!(self.steps.get(k), Some(Step::Retired(_)));
        }
        // The successor in a failed transaction is in no step.
        let last = &self.included.unseen[..self.cursor];
        let failed = last.last().is_some_and(|unseen| *unseen);
        if !failed && self.goes_on(k) && at(k).is_some_and(|at| at != next) {
            return Err(format!("{count} instructions to {next:#x}, not {:x?}", at(k)));
        }
        Ok(count)
    }

    /// Whether exceptions have the numbers of the M profile.
    fn numbered(&self) -> bool {
        match self.config {
            AnyConfig::Etmv4(c) | AnyConfig::Ete(c) => c.microcontroller(),
            _ => true,
        }
    }

    /// The next traced instruction or exception. `on`: no untraced step may be in between.
    fn next(&self, on: bool) -> Option<usize> {
        let n = self.following(self.cursor)?;
        (!on || self.included.through[n]).then_some(n)
    }

    /// Whether step `n` is traced.
    fn goes_on(&self, n: usize) -> bool {
        self.included.through.get(n) == Some(&true)
    }

    /// Skips instructions without trace.
    fn skip_unseen(&mut self) {
        while let Some(n) = self.following(self.cursor)
            && self.included.unseen[n]
        {
            self.cursor = n + 1;
        }
    }

    /// The next instruction or exception.
    fn following(&self, from: usize) -> Option<usize> {
        let through = &self.included.through;
        (from..self.steps.len()).find(|&n| match self.steps[n] {
            Step::Retired(_) | Step::Exception(_) => true,
            Step::Halted => through[n],
            _ => false,
        })
    }

    /// Whether the trace reports the context of step `n`.
    fn who(&self, n: usize) -> Result<(), String> {
        let (vmid, id) = match self.config {
            AnyConfig::Etmv4(c) | AnyConfig::Ete(c) => {
                (c.vmid() && c.vmid_bytes() > 0, c.context_id() && c.context_id_bytes() > 0)
            }
            _ => (false, false),
        };
        let shown = |context: &Context| shown(context, vmid, id);
        let (got, want) = (shown(&self.context), shown(&self.included.contexts[n]));
        if got == want {
            Ok(())
        } else {
            Err(format!("{got:x?} executes, not {want:x?} (step {n})"))
        }
    }
}

/// The exception number of ETMv4.
fn named(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Reset => "PE reset",
        Cause::Halt => "debug halt",
        Cause::Call => "call",
        Cause::Trap | Cause::Undefined => "trap",
        Cause::SystemError => "system error",
        Cause::InstructionDebug => "instruction debug",
        Cause::DataDebug => "data debug",
        Cause::Alignment => "alignment",
        Cause::InstructionFault => "instruction fault",
        Cause::DataFault => "data fault",
        Cause::Irq => "IRQ",
        Cause::Fiq => "FIQ",
        Cause::Vector(_) | Cause::Riscv { .. } | Cause::Number(_) => return None,
    })
}
