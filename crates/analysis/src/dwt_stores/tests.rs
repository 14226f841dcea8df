//! Random programs whose tasks all continue at one address: each instruction is that of the task
//! that the DWT has named, or of none that is known.

use std::sync::Arc;

use tracewright_base::{DwtEvent, Element, Gap, LocalTimestamp, TimeDelay};
use tracewright_decode::Listener;
use tracewright_testing::{Random, times};

use super::*;
use crate::itm::Origin;
use crate::running::{EventTasks, RunningEvents};
use crate::stacks::{Begin, Ending, Entry, Position, Stacks, Visitor};
use crate::transfer::{Kind, Transfer, empty};

const WORK: u32 = 1;
const HANDLER: u32 = 2;

/// How the units send.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// Ticks between timestamps of the ETM, and packets between global ones of the ITM.
    stamps: u64,
    global: u64,
    exceptions: bool,
    losses: bool,
    delays: bool,
}

/// Both traces of a program.
struct Traces {
    transfers: Vec<Transfer>,
    elements: Vec<Element>,
    /// The task of each instruction outside of handlers.
    tasks: Vec<Option<u64>>,
}

struct Maker<'a> {
    random: &'a mut Random,
    units: Units,
    now: u64,
    traces: Traces,
    stamped: u64,
    packets: u64,
    lost: u64,
    overflow: bool,
    late: bool,
    /// The last global timestamp.
    sent: u64,
}

impl Maker<'_> {
    fn transfer(&mut self, transfer: Transfer) {
        let at = self.traces.transfers.len() as u64;
        self.traces.transfers.push(Transfer { at, ..transfer });
    }

    /// Executes instructions, one a tick.
    fn execute(&mut self, count: u64, task: Option<u64>) {
        for _ in 0..count {
            self.now += 1;
            self.traces.tasks.push(task);
            self.transfer(Transfer { instructions: 1, ..empty(0, 0) });
            if self.now >= self.stamped + self.units.stamps {
                self.stamped = self.now;
                let (kind, target) = (Kind::Timestamp, self.now);
                self.transfer(Transfer { kind, target, ..empty(0, 0) });
            }
            // Without exception packets, samples of the program counter bound the stores.
            if !self.units.exceptions && self.now.is_multiple_of(64) {
                self.dwt(2, 4, 0x100);
            }
        }
    }

    fn dwt(&mut self, discriminator: u8, size: u8, value: u32) {
        if self.lost == 0 && self.units.losses && self.random.one_in(30) {
            self.lost = 1 + self.random.below(12);
        }
        if self.lost > 0 {
            self.lost -= 1;
            self.overflow = true;
            return;
        }
        // The packet waits, and a global timestamp precedes it.
        if self.units.delays && !self.late && self.random.one_in(6) {
            self.late = true;
            let value = self.now + self.random.below(300);
            self.global(value);
        }
        // The unit sends in order.
        self.late |= self.now < self.sent;
        let after_overflow = std::mem::take(&mut self.overflow);
        let event = DwtEvent { discriminator, size, value, after_overflow };
        self.traces.elements.push(Element::DwtEvent(event));
        if self.late || self.random.one_in(2) {
            let late = std::mem::take(&mut self.late);
            let delay = if late { TimeDelay::Packet } else { TimeDelay::None };
            let (delta, total, after_overflow) = (0, 0, false);
            let stamp = LocalTimestamp { delta, total, delay, after_overflow };
            self.traces.elements.push(Element::LocalTimestamp(stamp));
        }
        self.packets += 1;
        if self.packets.is_multiple_of(self.units.global) {
            self.global(self.now);
        }
    }

    fn global(&mut self, value: u64) {
        let value = value.max(self.sent);
        self.sent = value;
        let (clock_changed, after_overflow) = (false, false);
        let stamp = Element::GlobalTimestamp { value, clock_changed, after_overflow };
        self.traces.elements.push(stamp);
    }

    fn exception(&mut self, number: u16, step: u32) {
        if self.units.exceptions {
            self.dwt(1, 2, u32::from(number) | step << 12);
        }
    }

    /// A handler in the place of another one, `after`, or above a task.
    fn handler(&mut self, number: u16, after: bool, task: &mut u64) {
        self.transfer(Transfer {
            kind: if after { Kind::TailChain } else { Kind::Exception },
            target: 0x9000,
            function: HANDLER,
            exception: number,
            ret: (!after).then_some(0x100),
            entry: true,
            ..empty(0, 0)
        });
        self.exception(number, 1);
        let count = 5 + self.random.below(40);
        self.execute(count, None);
        if number == 14 {
            *task = 0x2000_0000 + 0x100 * self.random.below(4);
            self.dwt(17, 4, *task as u32);
        }
        self.execute(5, None);
        self.exception(number, 2);
    }

    fn make(mut self) -> Traces {
        let enter = Kind::Enter;
        self.transfer(Transfer {
            kind: enter,
            target: 0x100,
            function: WORK,
            entry: true,
            ..empty(0, 0)
        });
        self.global(1);
        let mut task = 0;
        for _ in 0..40 {
            let count = self.random.below(1500);
            let own = Some(task).filter(|task| *task != 0);
            self.execute(count, own);
            let number = self.random.pick(&[14, 15]);
            self.handler(number, false, &mut task);
            if self.random.one_in(4) {
                let number = self.random.pick(&[14, 15]);
                self.handler(number, true, &mut task);
            }
            let (kind, target, function) = (Kind::ExceptionReturn, 0x100, WORK);
            self.transfer(Transfer { kind, target, function, ..empty(0, 0) });
            self.exception(0, 3);
        }
        if self.overflow {
            self.traces.elements.push(Element::Gap(Gap::Overflow));
        }
        self.global(self.now);
        self.traces.elements.push(Element::End);
        self.traces
    }
}

/// The thread of each instruction outside of handlers.
#[derive(Default)]
struct Attributed {
    ids: Vec<Option<u64>>,
    all: Vec<(u64, Option<u64>)>,
}

impl Visitor for Attributed {
    type Node = bool;

    fn thread(&mut self, _: usize, thread: usize, id: Option<u64>) -> bool {
        self.ids.resize(self.ids.len().max(thread + 1), None);
        self.ids[thread] = id;
        false
    }

    fn begin(&mut self, _: &Position, parent: bool, begin: &Begin) -> bool {
        parent || matches!(begin.entry, Entry::Exception(_))
    }

    fn end(&mut self, _: &Position, _: bool, _: Ending, _: bool) {}

    fn beneath(&mut self, _: &Position, root: bool, _: &Begin) -> (bool, bool) {
        (false, root)
    }

    fn run(&mut self, position: &Position, handler: bool, instructions: u64, _: u64) {
        if !handler {
            let id = self.ids[position.thread];
            let last = position.instructions;
            self.all.extend((last - instructions..last).map(|n| (n, id)));
        }
    }
}

fn traces(seed: u64, units: Units) -> Traces {
    let mut random = Random::new(seed);
    let traces = Traces { transfers: Vec::new(), elements: Vec::new(), tasks: Vec::new() };
    let (random, now, stamped, packets) = (&mut random, 0, 0, 0);
    let (lost, overflow, late, sent) = (0, false, false, 0);
    Maker { random, units, now, traces, stamped, packets, lost, overflow, late, sent }.make()
}

/// The share of instructions whose task is known and should be, in percent.
fn check(seed: u64, units: Units) -> u64 {
    let traces = traces(seed, units);
    let given = RunningEvents { origin: Origin::Comparator(0), bits: 32, idle: Vec::new() };
    let tasks = EventTasks::new(Arc::new([]), [None; 4], Some(given));
    let mut reported = Reported::new(&tasks, 1);
    traces.elements.iter().for_each(|element| reported.element(1, 0, *element));
    let stacks =
        |stores: Option<&Stores>| Stacks::new(1, Attributed::default()).with_stores(stores);
    let mut activations = Stacks::new(1, Activations::new(0));
    activations.transfers(&traces.transfers);
    activations.finish();
    let activations = activations.visitor;
    let stores = place(&reported.trace().expect("times"), 0, activations.handlers());
    assert!(!reported.switches_in_thread_mode(), "seed {seed} {units:?}");
    let mut stacks = stacks(Some(&stores));
    stacks.transfers(&traces.transfers);
    stacks.finish();
    let (mut known, mut all) = (0, 0);
    for (n, id) in stacks.visitor.all {
        let task = traces.tasks[n as usize];
        if id.is_some() {
            assert_eq!(id, task, "seed {seed} {units:?}: instruction {n}");
        }
        known += u64::from(id.is_some());
        all += u64::from(task.is_some());
    }
    known * 100 / all.max(1)
}

#[test]
fn no_instruction_belongs_to_another_task() {
    let mut known = [0; 2];
    let count = times(10);
    for seed in 0..count {
        for exceptions in [false, true] {
            for (stamps, global) in [(1, 1), (50, 1), (50, 5), (2000, 20), (20_000, 50)] {
                for (losses, delays) in [(false, false), (true, false), (false, true), (true, true)]
                {
                    let units = Units { stamps, global, exceptions, losses, delays };
                    let share = check(seed, units);
                    if (stamps, global, losses) == (50, 1, false) {
                        known[usize::from(exceptions)] += share / 2;
                    }
                }
            }
        }
    }
    // Handlers in a row are in an interval of timestamps together.
    let share = known.map(|known| known / count);
    assert!(share[0] >= 20 && share[1] >= 80, "{share:?}");
}
