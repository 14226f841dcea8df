//! The routines in random orders, interrupted by one another to a depth of three, executed and
//! checked.

use tracewright_testing::{Random, short_or_long};

use super::machine::{Machine, Op, SIZE, base, tables};
use super::{minimal, unit, unordered};
use crate::ete::implementation::Implementation;
use crate::ete::sequence::{State, check, steps};
use crate::finding::Finding;
use crate::program::{Action, Barrier, ProgramStep};
use crate::routine::Routine;
use crate::sink::{Buffer, Mode, Sink};

/// The processes, of which each is traced.
pub(super) const PROCESSES: u8 = 4;
/// How deep routines interrupt one another.
const DEPTH: u8 = 3;

/// The buffer of a process.
fn sink(process: u8) -> Sink {
    let (base, limit) = (base(process), base(process) + SIZE);
    Sink::Trbe(Buffer { base, limit, mode: Mode::Fill, watermark: None })
}

/// A history of a kernel that switches processes, in progress.
struct Kernel<'a> {
    unit: &'a Implementation,
    random: &'a mut Random,
    ops: Vec<Op>,
    /// The process whose registers are in the unit, and whether the processor traces it.
    current: u8,
    traced: bool,
    /// The process whose address space is in use.
    loaded: u8,
    /// The processes that were switched out, with the numbers of their states.
    out: Vec<(u8, usize)>,
    /// Processes that were never traced.
    fresh: Vec<u8>,
    /// The number of the next state.
    state: usize,
    depth: u8,
    /// The OS Lock is locked.
    locked: bool,
    /// The routines that were executed, by number.
    executed: [u64; 7],
    deepest: u8,
}

impl Kernel<'_> {
    /// Executes `routine` for `process`, with the saved state `state`; `tables` is written.
    fn routine(&mut self, routine: Routine, process: u8, state: usize, next: u8) {
        let (sink, mut values) = (sink(process), minimal());
        values.set("TRFCR_EL1", filter(process));
        let with =
            State { sink: Some(&sink), tables: tables(next), ..State::new(self.unit, &values) };
        self.executed[routine as usize] += 1;
        for step in steps(routine, &with) {
            self.locked |= writes(&step, "OSLAR_EL1", 1);
            if writes(&step, "OSLAR_EL1", 0) {
                self.locked = false;
            }
            if matches!(&step.action, Action::Write { register, .. } if register.name == "TTBR0_EL1")
            {
                self.loaded = next;
            }
            self.ops.push(Op::Step(step, state));
            let rare = [90, 60, 40][usize::from(self.depth.min(2))];
            if self.depth < DEPTH && self.random.below(rare) == 0 {
                self.interrupt();
            }
        }
    }

    /// An exception in a routine: its handler executes routines, and leaves all as it was.
    fn interrupt(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.ops.push(Op::Exception);
        if !self.locked {
            let state = self.next_state();
            self.ops.push(Op::Remember(state));
            match self.random.below(3) {
                0 => {}
                1 => self.power(state),
                _ => self.visit(state),
            }
            self.ops.push(Op::Same(state));
        }
        self.ops.push(Op::Return(1));
        self.depth -= 1;
    }

    fn next_state(&mut self) -> usize {
        self.state += 1;
        self.state
    }

    /// Power of the unit is removed and returns.
    fn power(&mut self, state: usize) {
        self.routine(Routine::Save, self.current, state, self.current);
        self.ops.push(Op::PowerDown);
        self.routine(Routine::Restore, self.current, state, self.current);
    }

    /// Another process is switched in, runs, and is switched out again.
    fn visit(&mut self, state: usize) {
        let (current, traced, loaded) = (self.current, self.traced, self.loaded);
        let Some((other, saved)) = self.take_out(self.loaded) else { return };
        self.routine(Routine::SwitchOut, current, state, other);
        self.routine(Routine::SwitchIn, other, saved, other);
        (self.current, self.traced) = (other, true);
        self.ops.push(Op::Same(saved));
        self.user();
        let saved = self.next_state();
        self.ops.push(Op::Remember(saved));
        self.routine(Routine::SwitchOut, other, saved, loaded);
        self.out.push((other, saved));
        (self.current, self.traced) = (current, traced);
        self.routine(Routine::SwitchIn, current, state, loaded);
    }

    /// A process that was switched out, and is not the one whose address space is in use.
    fn take_out(&mut self, loaded: u8) -> Option<(u8, usize)> {
        let mut all: Vec<usize> = (0..self.out.len()).collect();
        all.retain(|at| self.out[*at].0 != loaded);
        let at = *all.get(self.random.below(all.len().max(1) as u64) as usize)?;
        Some(self.out.swap_remove(at))
    }

    /// The process executes at EL0.
    fn user(&mut self) {
        self.ops.push(Op::Return(0));
        let count = 1 + self.random.below(6) as u8;
        self.ops.push(Op::Run(count));
        self.ops.push(Op::Exception);
    }

    /// One turn of the kernel.
    fn turn(&mut self) {
        let process = self.current;
        if !self.traced {
            return self.begin();
        }
        self.user();
        match self.random.below(5) {
            0 => {
                let state = self.next_state();
                self.power(state);
            }
            1 => {
                let state = self.next_state();
                self.routine(Routine::Disable, process, state, process);
                self.ops.push(Op::Collect(process));
                self.traced = false;
                self.fresh.push(process);
            }
            n => {
                let next = self.next_process();
                let state = self.next_state();
                let tracing = n == 2 && filter(process) & 2 != 0;
                let routine = if tracing { Routine::SwitchOutTracing } else { Routine::SwitchOut };
                self.ops.push(Op::Remember(state));
                self.routine(routine, process, state, next);
                self.out.push((process, state));
                (self.current, self.traced) = (next, false);
            }
        }
    }

    /// The process that executes next: one that was switched out, or a fresh one.
    fn next_process(&mut self) -> u8 {
        let out = self.out.iter().map(|(process, _)| *process);
        let all: Vec<u8> = out.chain(self.fresh.iter().copied()).collect();
        let at = self.random.below(all.len() as u64) as usize;
        all[at]
    }

    /// The current process is traced from here on.
    fn begin(&mut self) {
        let process = self.current;
        if let Some(at) = self.out.iter().position(|(out, _)| *out == process) {
            let (_, state) = self.out.swap_remove(at);
            self.routine(Routine::SwitchIn, process, state, process);
            self.ops.push(Op::Same(state));
        } else {
            self.fresh.retain(|fresh| *fresh != process);
            let filter = filter(process);
            self.write("TRFCR_EL1", filter);
            self.routine(Routine::Enable, process, 0, process);
        }
        self.traced = true;
    }

    /// A write of the kernel outside of the routines.
    fn write(&mut self, name: &str, value: u64) {
        let register = crate::program::Place { name: name.to_owned(), offset: None };
        let step = ProgramStep::new(Action::Write { register, value }, "");
        self.ops.push(Op::Step(step, 0));
    }
}

/// TRFCR_EL1 for a process: of some, the kernel is traced, too.
fn filter(process: u8) -> u64 {
    if process.is_multiple_of(2) { 1 } else { 3 }
}

fn writes(step: &ProgramStep, name: &str, bit: u64) -> bool {
    matches!(&step.action, Action::Write { register, value }
        if register.name == name && value & 1 == bit)
}

/// A random history: its operations, the routines that it has, and the depth.
pub(super) fn history(unit: &Implementation, random: &mut Random) -> (Vec<Op>, [u64; 7], u8) {
    let turns = 2 + random.below(4);
    let mut kernel = Kernel {
        unit,
        random,
        ops: Vec::new(),
        current: 0,
        traced: false,
        loaded: 0,
        out: Vec::new(),
        fresh: (0..PROCESSES).collect(),
        state: 0,
        depth: 0,
        locked: false,
        executed: [0; 7],
        deepest: 0,
    };
    kernel.write("TTBR0_EL1", tables(0));
    for _ in 0..turns {
        kernel.turn();
    }
    (kernel.ops, kernel.executed, kernel.deepest)
}

fn shown(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}

/// The recording of a history, as text.
fn text(machine: &Machine) -> String {
    let lines = machine.recording.iter().enumerate();
    lines.map(|(n, access)| format!("{}: {access:?}\n", n + 1)).collect()
}

#[test]
fn routines_in_random_orders() {
    let unit = unit();
    let mut random = Random::new(52);
    let (mut executed, mut depths) = ([0; 7], [0u64; 4]);
    for round in 0..short_or_long(300, 10_000) {
        let (ops, routines, deepest) = history(&unit, &mut random);
        let machine = Machine::run(&ops);
        assert!(machine.wrong.is_empty(), "{round}: {:?}\n{}", machine.wrong, text(&machine));
        let findings = check(&unit, &machine.recording);
        assert!(findings.is_empty(), "{round}: {}{}", shown(&findings), text(&machine));
        executed.iter_mut().zip(routines).for_each(|(all, one)| *all += one);
        depths[usize::from(deepest)] += 1;
    }
    println!("{executed:?} of each routine, {depths:?} histories of each depth");
    assert!(executed.iter().all(|count| *count > 0), "{executed:?}");
    assert!(depths.iter().all(|count| *count > 0), "{depths:?}");
}

/// A history with one step that is left out, exchanged with the next, or changed, and whether the
/// text leaves the order of the two open.
fn mutant(ops: &[Op], random: &mut Random) -> Option<(Vec<Op>, String, bool)> {
    let steps: Vec<usize> = (0..ops.len()).filter(|n| matches!(ops[*n], Op::Step(..))).collect();
    let at = steps[random.below(steps.len() as u64) as usize];
    let mut ops = ops.to_vec();
    let mut open = false;
    let what = match random.below(3) {
        0 => {
            let removed = ops.remove(at);
            format!("without {removed:?}")
        }
        1 => {
            let [Op::Step(first, _), Op::Step(second, _)] = ops.get(at..at + 2)? else {
                return None;
            };
            open = unordered(first, second);
            ops.swap(at, at + 1);
            format!("exchanged {:?} and {:?}", ops[at], ops[at + 1])
        }
        _ => {
            let Op::Step(step, _) = &mut ops[at] else { return None };
            let before = step.clone();
            change(step, random)?;
            format!("{before:?} is {step:?}")
        }
    };
    Some((ops, what, open))
}

/// Changes a step: a barrier to another, a restored value, an enable or a mask of a poll. A value
/// of a program is another program.
fn change(step: &mut ProgramStep, random: &mut Random) -> Option<()> {
    match &mut step.action {
        Action::Barrier(barrier) => {
            let all = [Barrier::Dsb, Barrier::Isb, Barrier::Tsb];
            let others: Vec<_> = all.into_iter().filter(|other| other != barrier).collect();
            *barrier = others[random.below(2) as usize];
        }
        Action::Write { value, register } => {
            let control = ["TRCPRGCTLR", "OSLAR_EL1", "TRFCR_EL1", "TRBLIMITR_EL1"];
            if let Some(slot) = &mut step.slot {
                slot.clear ^= 1 << random.below(8);
            } else if control.contains(&register.name.as_str()) {
                *value ^= 1;
            } else {
                return None;
            }
        }
        Action::Poll { .. } | Action::Read { .. } => return None,
        Action::Modify { .. } | Action::Outside { .. } => return None,
    }
    Some(())
}

/// Mutants of histories by `mutant`, each found by the check of recordings or harmless on the
/// machine: the numbers of both.
pub(super) fn found_or_harmless(
    seed: u64,
    rounds: u64,
    mut mutant: impl FnMut(&[Op], &mut Random) -> Option<(Vec<Op>, String)>,
) -> (u64, u64) {
    let unit = unit();
    let mut random = Random::new(seed);
    let (mut found, mut harmless, mut missed) = (0u64, 0u64, Vec::new());
    for round in 0..rounds {
        let (ops, ..) = history(&unit, &mut random);
        let wrong = Machine::run(&ops).wrong;
        assert!(wrong.is_empty(), "{round}: {wrong:?}");
        for _ in 0..4 {
            let Some((mutant, what)) = mutant(&ops, &mut random) else { continue };
            let machine = Machine::run(&mutant);
            match (check(&unit, &machine.recording).is_empty(), machine.wrong.first()) {
                (false, _) => found += 1,
                (true, None) => harmless += 1,
                (true, Some(wrong)) => missed.push(format!("{round}: {what}: {wrong}")),
            }
        }
    }
    let count = missed.len();
    println!("{found} found, {harmless} harmless, {count} missed");
    missed.truncate(20);
    assert!(
        missed.is_empty(),
        "{found} found, {harmless} harmless, {count}:\n{}",
        missed.join("\n")
    );
    (found, harmless)
}

#[test]
fn mutants_are_found_or_harmless() {
    let mut unordered = 0;
    let rounds = short_or_long(100, 10_000);
    let (found, harmless) = found_or_harmless(53, rounds, |ops, random| {
        let (ops, what, open) = mutant(ops, random)?;
        unordered += u64::from(open);
        Some((ops, what))
    });
    println!("{unordered} exchanges of registers without an order");
    assert!(found > harmless - unordered, "{found} {harmless} {unordered}");
}
