//! A model of a processor, its DWT and its ITM: what is true, and what is sent.

use std::collections::BTreeMap;

use tracewright_base::{Channel, DwtEvent, Element, Gap, LocalTimestamp, Software, TimeDelay};
use tracewright_testing::Random;

/// What the processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Entered(u16),
    Exited(u16),
    Returned(u16),
    Store(u32),
    /// Software writes to port 3.
    Write(u8),
    /// Packets of other events.
    Sample,
}

const PENDSV: u16 = 14;

/// A program: what it does at which cycle.
pub(crate) struct Program<'a> {
    random: &'a mut Random,
    now: u64,
    all: Vec<(u64, What)>,
}

impl Program<'_> {
    fn add(&mut self, what: What) {
        self.all.push((self.now, what));
        self.now += 1 + self.random.below(40);
    }

    fn handler(&mut self, number: u16, depth: u64) {
        self.add(What::Entered(number));
        if depth < 2 && self.random.one_in(4) {
            self.handler(number + 20, depth + 1);
            self.add(What::Returned(number));
        }
        if number == PENDSV {
            let task = 0x2000_0000 + 0x100 * self.random.below(3) as u32;
            self.add(What::Store(task));
        }
        self.add(What::Exited(number));
    }

    pub(crate) fn run(random: &mut Random, turns: u64) -> Vec<(u64, What)> {
        let mut own = Program { random, now: 1000, all: Vec::new() };
        for _ in 0..turns {
            own.now += own.random.below(3000);
            if own.random.one_in(4) {
                own.add(What::Sample);
            }
            let number = own.random.pick(&[PENDSV, 15]);
            own.handler(number, 0);
            // The handler that follows is tail-chained.
            if own.random.one_in(4) {
                let number = own.random.pick(&[PENDSV, 16]);
                own.handler(number, 0);
            }
            own.add(What::Returned(0));
        }
        own.all
    }
}

/// What a unit sends for a program, and what is true of it.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) elements: Vec<Element>,
    /// By the number of the element: the time in the clock of the trace, and the bounds that the
    /// timestamps allow.
    pub(crate) times: BTreeMap<u64, u64>,
    pub(crate) bounds: BTreeMap<u64, (Option<u64>, Option<u64>)>,
}

/// How a unit sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) tick: u64,
    pub(crate) delays: bool,
    pub(crate) losses: bool,
    pub(crate) by_address: bool,
}

pub(crate) const fn dwt(discriminator: u8, size: u8, value: u32, after_overflow: bool) -> Element {
    Element::DwtEvent(DwtEvent { discriminator, size, value, after_overflow })
}

impl Trace {
    fn push(&mut self, what: What, by_address: bool, lost: bool) {
        let step = |number: u16, step: u32| dwt(1, 2, u32::from(number) | step << 12, lost);
        match what {
            What::Entered(number) => self.elements.push(step(number, 1)),
            What::Exited(number) => self.elements.push(step(number, 2)),
            What::Returned(number) => self.elements.push(step(number, 3)),
            What::Store(value) => {
                if by_address {
                    self.elements.push(dwt(11, 2, 0x0010, lost));
                }
                self.elements.push(dwt(19, 4, value, lost && !by_address));
            }
            What::Write(value) => {
                let channel = Channel::Port { page: Some(0), port: 3 };
                let write = Software::new(channel, 8, value.into());
                let write = if lost { write.with(Software::AFTER_OVERFLOW) } else { write };
                self.elements.push(Element::SoftwareWrite(write));
            }
            What::Sample => self.elements.push(dwt(2, 4, 0x100, lost)),
        }
    }

    /// The trace of `program` that `unit` sends.
    pub(crate) fn of(program: &[(u64, What)], unit: Unit, random: &mut Random) -> Trace {
        let mut trace = Trace::default();
        trace.elements.push(Element::Gap(Gap::Start));
        // The clock of the trace is that of the program less `since`, plus `base`.
        let (mut since, mut base, mut ticks, mut latest) = (0, 0, 0, 0);
        let (mut clock, mut stamped, mut lower) = (0, None::<u64>, None::<u64>);
        let (mut window, mut lost, mut lose) = (Vec::<u64>::new(), false, 0);
        let mut delayed = false;
        for &(happened, what) in program {
            let out = happened.max(clock);
            clock = out;
            delayed |= out > happened;
            if unit.losses && lose == 0 && random.one_in(60) {
                lose = 1 + random.below(8);
            }
            if lose > 0 {
                lose -= 1;
                if !lost {
                    // Whether they were delayed is not known.
                    for at in window.drain(..) {
                        trace.bounds.insert(at, (lower, None));
                    }
                    (lost, stamped, lower, delayed) = (true, None, None, false);
                    base = latest;
                    (since, ticks) = (out / unit.tick * unit.tick, 0);
                }
                continue;
            }
            // The packet waits in the unit, and a timestamp of another one precedes it.
            let waits = unit.delays && window.is_empty() && random.one_in(8);
            if waits && !lost {
                clock = out + 1 + random.below(300);
                if random.one_in(2) {
                    trace.push(What::Sample, false, false);
                    let total =
                        trace.stamp((clock, since, base), &mut ticks, unit, TimeDelay::None);
                    (stamped, latest) = (Some(total), total);
                    clock += random.below(100);
                }
                delayed = true;
            }
            trace.push(what, unit.by_address, lost);
            let at = trace.elements.len() as u64 - 1;
            if lost {
                lost = false;
                // Packets before the first timestamp are of any time.
                (lower, stamped) = (None, None);
            }
            if what != What::Sample {
                // One that waited since before the loss has a time before that of the trace.
                if let Some(time) = (happened + base).checked_sub(since) {
                    trace.times.insert(at, time);
                }
                window.push(at);
            }
            let sends = delayed || random.one_in(2);
            if !sends {
                continue;
            }
            let late = unit.delays && random.one_in(4);
            if late {
                clock += random.below(200);
            }
            let delay = match (delayed, late) {
                (false, false) => TimeDelay::None,
                (false, true) => TimeDelay::Timestamp,
                (true, false) => TimeDelay::Packet,
                (true, true) => TimeDelay::Both,
            };
            let total = trace.stamp((clock, since, base), &mut ticks, unit, delay);
            let exact = delay == TimeDelay::None && what != What::Sample;
            let from = if delayed { lower } else { stamped };
            for (n, at) in window.iter().enumerate() {
                let own = exact && n + 1 == window.len();
                let from = if own { Some(total) } else { from };
                trace.bounds.insert(*at, (from, Some(total + unit.tick - 1)));
            }
            if let Some(last) = window.last().and_then(|at| trace.bounds.get(at)) {
                lower = last.0;
            }
            window.clear();
            (stamped, latest, delayed) = (Some(total), total, false);
        }
        trace.elements.push(Element::End);
        trace
    }

    /// Sends a timestamp at a time of the program. Returns its time in the trace.
    fn stamp(
        &mut self,
        (now, since, base): (u64, u64, u64),
        ticks: &mut u64,
        unit: Unit,
        delay: TimeDelay,
    ) -> u64 {
        let all = (now - since) / unit.tick;
        let delta = (all - *ticks) as u32;
        *ticks = all;
        let total = all * unit.tick;
        let stamp = LocalTimestamp { delta, total, delay, after_overflow: false };
        self.elements.push(Element::LocalTimestamp(stamp));
        base + total
    }
}
