//! What must hold of ETMv1 and ETMv2: made-up programs there and back, whatever the port and the
//! unit.

use std::ops::Range;

use tracewright::base::step::{Retired, Step, Taken};
use tracewright::base::{Access, Element, Isa, OffsetMap};
use tracewright::base::{Piece, Start};
use tracewright::frames::cycles::port::{Driver, Mode, Sampler, Wiring};
use tracewright::frames::cycles::{
    Cycle, Version, Width, cycles, etb, etmp, openocd, records, text,
};
use tracewright::image::{Cache, CacheOptions, Image};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::etmv2;
use tracewright::protocols::etmv2::fifo::{Fifo, Out};
use tracewright::protocols::registry::{AnyConfig, AnyProtocol};

use crate::script::{Events, LDC_WORDS, Script};
use tracewright_testing::Random;

/// A trace unit and its ETMCR.
#[derive(Clone, Debug)]
pub struct Unit {
    pub version: Version,
    pub registers: Vec<(&'static str, u64)>,
}

/// ETMCR.
const CPRT: u64 = 1 << 1;
const VALUES: u64 = 1 << 2;
const ADDRESSES: u64 = 1 << 3;
const STALL: u64 = 1 << 7;
const BRANCHES: u64 = 1 << 8;
const CYCLES: u64 = 1 << 12;
const CONTEXT: u64 = 3 << 14;
const SIZE: u64 = 7 << 4;

impl Unit {
    /// Any unit at all, whose processor waits for its FIFO.
    pub fn any(random: &mut Random, events: Events) -> Unit {
        let version = if random.index(2) == 0 { Version::V1 } else { Version::V2 };
        let mut control = random.next() & (CPRT | VALUES | ADDRESSES | CYCLES | CONTEXT) | STALL;
        control |= (random.index(3) as u64) << 4;
        if random.index(4) == 0 {
            control |= BRANCHES;
        }
        let minor = random.index(4) as u64;
        let rate = |random: &mut Random| [0, 20, 128][random.index(3)];
        let fifo = match version {
            // ETM7 and ETM9. (IHI 0014, Tables 2-19 and 2-20)
            Version::V1 => [9, 10, 18, 20, 45][random.index(5)],
            Version::V2 => [20, 48, 95][random.index(3)],
        };
        let registers = vec![
            ("ETMCR", control),
            ("ETMCCR", minor << 28),
            // ETMv2.1 may load the PC first.
            ("ETMIDR", 0x4100_2100 | (minor & 1) << 4 | (minor & minor >> 1 & 1) << 16),
            ("ETMSYNCFR", [0, 300][random.index(2)]),
            ("HIVECS", events.high_vectors.into()),
            ("LDCWORDS", u64::from(LDC_WORDS) << 4),
            ("fifo", fifo),
            ("seed", random.next()),
            ("noise", random.next() & 1),
            ("hasty", random.next() & 1),
            ("waits", rate(random)),
            ("early-data", rate(random)),
            ("speculation", rate(random)),
            ("fold", rate(random)),
            ("miss", rate(random)),
            ("in-progress", [0, 128, 255][random.index(3)]),
        ];
        Unit { version, registers }
    }

    pub fn get(&self, name: &str) -> Option<u64> {
        self.registers.iter().find(|(known, _)| *known == name).map(|r| r.1)
    }

    /// The same with another value of a register.
    #[must_use]
    pub fn with(&self, name: &'static str, value: u64) -> Unit {
        let mut unit = self.clone();
        unit.registers.retain(|(known, _)| *known != name);
        unit.registers.push((name, value));
        unit
    }

    fn control(&self) -> u64 {
        self.get("ETMCR").unwrap_or(0)
    }

    fn traces(&self, bits: u64) -> bool {
        self.control() & bits != 0
    }

    /// The port.
    pub fn width(&self) -> Width {
        Width::of_control(self.control() as u32).expect("a width")
    }

    fn protocol(&self) -> AnyProtocol {
        match self.version {
            Version::V1 => AnyProtocol::Etmv1,
            Version::V2 => AnyProtocol::Etmv2,
        }
    }

    /// Of an instruction the transfers before the first that is traced are not in the trace; of
    /// those after it that are not, all but the value is. `traced`, and the last of `data`, are in
    /// the order of addresses.
    fn leave_out(&self, data: &mut Vec<Moved>, traced: &mut Vec<bool>, by: Option<&Retired>) {
        let mut own = data.split_off(data.len() - traced.len());
        let pc_first = self.version == Version::V2
            && self.get("ETMIDR").unwrap_or(0) >> 16 & 1 != 0
            && by.is_some_and(|by| by.instruction.kind == tracewright::base::Kind::Indirect)
            && own.len() > 1
            && own.iter().all(|moved| !moved.write);
        if pc_first {
            own.rotate_right(1);
            traced.rotate_right(1);
        }
        let first = traced.iter().position(|traced| *traced).unwrap_or(own.len());
        for (moved, traced) in own.iter_mut().zip(traced.iter()) {
            moved.value = moved.value.filter(|_| *traced);
        }
        data.extend(own.drain(first..));
        traced.clear();
    }

    fn config(&self) -> AnyConfig {
        self.protocol().configure(None, &|name| self.get(name)).expect("registers")
    }

    /// The port's cycles while `steps` were done.
    pub fn trace(&self, steps: &[Step]) -> Vec<Cycle> {
        let unit = AnyUnit::new(self.protocol(), None, &|name| self.get(name));
        let mut unit = unit.expect("registers").expect("an encoder");
        let mut bytes = Vec::new();
        unit.steps(steps, &mut bytes);
        unit.finish(&mut bytes);
        cycles(&bytes, self.width()).collect()
    }

    /// The elements of `cycles`.
    pub fn decode(&self, image: &Image, cycles: &[Cycle]) -> Vec<Element> {
        self.decode_with_places(image, cycles).into_iter().map(|(_, element)| element).collect()
    }

    /// The same, with the number of the cycle of each.
    fn decode_with_places(&self, image: &Image, cycles: &[Cycle]) -> Vec<(usize, Element)> {
        let bytes: Vec<u8> = records(cycles.iter().copied(), self.width()).collect();
        let mut code =
            Cache::new(image.clone().into(), self.config().waypoints(), CacheOptions::default());
        let (mut stream, mut sink) = (self.config().stream(), Vec::new());
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let offsets = OffsetMap::new(&pieces);
        let taken = stream.feed(&bytes, &offsets, &mut code, &mut sink);
        assert_eq!(taken, bytes.len());
        stream.finish(&[], &offsets, &mut code, &mut sink);
        let record = self.width().record();
        sink.into_iter().map(|(at, element)| (at as usize / record, element)).collect()
    }
}

/// What was executed, as far as a trace can report it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Did {
    /// Instructions and exceptions.
    pub flow: Vec<Ran>,
    /// Data, in the order of the instructions.
    pub data: Vec<Moved>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ran {
    Instruction { address: u64, bytes: u32, isa: Isa, taken: bool },
    Exception { number: u16 },
    Context { id: Option<u32> },
}

impl Ran {
    /// `got` is this, or a half of it: the other half may be lost.
    fn is(&self, got: &Ran) -> bool {
        let half = match (*self, *got) {
            (
                Ran::Instruction { address: a, bytes: 4, isa: Isa::T32, .. },
                Ran::Instruction { address: b, bytes: 2, .. },
            ) => a == b || a + 2 == b,
            _ => false,
        };
        half || self == got
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moved {
    by: Option<u64>,
    size: u8,
    write: bool,
    address: Option<u64>,
    value: Option<u64>,
}

impl Moved {
    fn of(access: &Access) -> Moved {
        let write = access.direction == tracewright::base::Direction::Write;
        let (address, value) = (access.address(), access.value());
        Moved { by: access.by(), size: access.size, write, address, value }
    }
}

impl Did {
    /// What `steps` are in the trace of `unit`.
    fn wanted(unit: &Unit, steps: &[Step]) -> Did {
        let mut did = Did::default();
        let mut last: Option<Retired> = None;
        let mut moved = 0;
        // Which transfers of the last instruction are traced.
        let mut group = Vec::new();
        for step in steps {
            if !matches!(step, Step::Access(_)) {
                unit.leave_out(&mut did.data, &mut group, last.as_ref());
            }
            match step {
                Step::Retired(r) => {
                    let bytes = r.instruction.size.into();
                    let (isa, taken) = (r.instruction.isa, r.taken);
                    did.flow.push(Ran::Instruction { address: r.address, bytes, isa, taken });
                    (last, moved) = (Some(*r), did.data.len());
                }
                Step::Access(access) => {
                    let coprocessor = access.has(Access::COPROCESSOR);
                    let traced = match coprocessor {
                        true => unit.traces(CPRT) && unit.traces(VALUES),
                        false => unit.traces(VALUES | ADDRESSES),
                    };
                    if !traced {
                        continue;
                    }
                    let not_traced = access.has(Access::VALUE_NOT_TRACED);
                    let mut access = Moved::of(access);
                    access.by = last.map(|last| last.address);
                    access.address = access.address.filter(|_| unit.traces(ADDRESSES));
                    access.value = access.value.filter(|_| unit.traces(VALUES));
                    did.data.push(access);
                    group.push(!not_traced);
                }
                Step::Exception(taken) => {
                    if taken.cancels {
                        did.flow.pop();
                        did.data.truncate(moved);
                    }
                    if taken.cause == tracewright::base::step::Cause::DataFault {
                        did.data.truncate(moved);
                    }
                    let number = (taken.target & 0x1f) as u16 / 4;
                    did.flow.push(Ran::Exception { number });
                    moved = did.data.len();
                }
                _ => {}
            }
        }
        unit.leave_out(&mut did.data, &mut group, last.as_ref());
        did
    }

    /// What `elements` report.
    fn of(elements: &[Element]) -> Did {
        let mut did = Did::default();
        for element in elements {
            match element {
                Element::Range(r) => did.flow.push(Ran::Instruction {
                    address: r.start,
                    bytes: r.bytes,
                    isa: r.last.isa,
                    taken: r.taken(),
                }),
                Element::Exception(e) => did.flow.push(Ran::Exception { number: e.number }),
                Element::DataAccess(access) => did.data.push(Moved::of(access)),
                _ => {}
            }
        }
        did
    }

    /// The same with data in an order of its own: those of an ETMv2 may come late.
    fn in_order(mut self, unit: &Unit) -> Did {
        if unit.version == Version::V2 {
            self.data.sort();
        }
        self
    }
}

#[track_caller]
fn same(what: &str, unit: &Unit, want: &Did, got: &Did) {
    let first = |n: usize| n.saturating_sub(3)..n + 4;
    let n = want.flow.iter().zip(&got.flow).take_while(|(a, b)| a == b).count();
    assert!(
        want.flow == got.flow,
        "{what}: flow, number {n}\n want {:x?}\n got  {:x?}\n{unit:x?}",
        want.flow.get(clip(first(n), want.flow.len())),
        got.flow.get(clip(first(n), got.flow.len())),
    );
    let n = want.data.iter().zip(&got.data).take_while(|(a, b)| a == b).count();
    assert!(
        want.data == got.data,
        "{what}: data, number {n}\n want {:x?}\n got  {:x?}\n{unit:x?}",
        want.data.get(clip(first(n), want.data.len())),
        got.data.get(clip(first(n), got.data.len())),
    );
}

fn clip(range: Range<usize>, len: usize) -> Range<usize> {
    range.start.min(len)..range.end.min(len)
}

fn calm(elements: &[Element], unit: &Unit) {
    for (n, element) in elements.iter().enumerate() {
        let strange = matches!(
            element,
            Element::Inconsistency(_)
                | Element::Undecodable { .. }
                | Element::NoCode { .. }
                | Element::Unknown { .. }
        );
        let near = clip(n.saturating_sub(24)..n + 3, elements.len());
        assert!(!strange, "{element:x?} in {:x?}\n{unit:x?}", &elements[near]);
    }
}

/// There and back, in each width, with each TCD, with the trigger in some cycle; through each form
/// of a capture; cycles add up; and what was decoded encodes to the same cycles.
pub fn round_trip(seed: u64, len: usize) {
    let mut random = Random::new(seed | 1);
    let events = Events {
        exceptions: random.index(2) == 0,
        contexts: random.index(2) == 0,
        switches: random.index(3) == 0,
        high_vectors: random.index(3) == 0,
        ldc: true,
    };
    let unit = Unit::any(&mut random, events);
    let mut script = Script::new(&mut random, len, events);
    // Of a load multiple that reads the PC first, a part that an overflow ends looks like a whole
    // one.
    let pc_first = unit.get("ETMIDR").unwrap_or(0) >> 16 & 1 != 0;
    if unit.version == Version::V2 && !pc_first && random.index(2) == 0 {
        script.trace_in_part(&mut random);
    }
    let image = script.image();
    let want = Did::wanted(&unit, &script.steps).in_order(&unit);
    for width in 0..3 {
        let unit = unit.with("ETMCR", unit.control() & !SIZE | width << 4);
        let trace = unit.trace(&script.steps);
        let placed = unit.decode_with_places(&image, &trace);
        cycles_add_up(&unit, &trace, &placed);
        let elements: Vec<Element> = placed.into_iter().map(|(_, element)| element).collect();
        let got = Did::of(&elements).in_order(&unit);
        same("there and back", &unit, &want, &got);
        calm(&elements, &unit);
        discarded(&unit, &image, &trace, &elements);
        forms(&unit, &trace);
        triggers(&unit, &mut random, &script, &image, &elements);
    }
    again(&unit, &script, &image);
}

/// A capture device may leave out cycles of Trace Disabled. (IHI 0014, 4.4.2)
fn discarded(unit: &Unit, image: &Image, trace: &[Cycle], whole: &[Element]) {
    let traced: Vec<Cycle> =
        trace.iter().filter(|cycle| cycle.action(unit.version).stores()).copied().collect();
    // A capture without cycles decodes to nothing.
    if !traced.is_empty() {
        assert_eq!(unit.decode(image, &traced), whole, "without cycles of nothing\n{unit:x?}");
    }
}

/// The trigger is reported, and changes nothing else.
fn triggers(unit: &Unit, random: &mut Random, script: &Script, image: &Image, whole: &[Element]) {
    let mut steps = script.steps.clone();
    // What an instruction moved comes right after it.
    let offsets: Vec<usize> = (0..steps.len())
        .filter(|&n| matches!(steps[n], Step::Retired(_) | Step::Exception(_)))
        .collect();
    let Some(&at) = offsets.get(random.index(offsets.len())) else { return };
    steps.insert(at, Step::Trigger);
    let elements = unit.decode(image, &unit.trace(&steps));
    let found = elements.iter().filter(|e| **e == Element::Trigger).count();
    assert_eq!(found, 1, "the trigger\n{unit:x?}");
    let [got, want] = [&elements[..], whole].map(|e| Did::of(e).in_order(unit));
    // It takes a cycle of its own, so the periods may end elsewhere; what ran is the same.
    same("with a trigger", unit, &want, &got);
}

/// Each form of a capture holds the same cycles.
fn forms(unit: &Unit, trace: &[Cycle]) {
    let width = unit.width();
    let words: Vec<u32> = etb::write(trace.iter().copied(), width).collect();
    assert!(etb::read(words, width).zip(trace).all(|(a, b)| a == *b));

    let major = if unit.version == Version::V1 { 1 } else { 2 };
    let head = etmp::Head { major, width, cycles: trace.len() as u64, ..etmp::Head::default() };
    let mut file = String::new();
    text::write(&head, trace.iter().copied(), &mut file).expect("text");
    let (again, words) = text::read(&file).expect("a file");
    let words: Result<Vec<_>, _> = text::cycles(words, unit.version).collect();
    assert!(again == head && words.as_deref() == Ok(trace));

    let mut dump = Vec::new();
    openocd::write(0, unit.control() as u32, trace, &mut dump);
    let dump = openocd::Dump::read(&dump).expect("a dump").cycles().collect::<Vec<_>>();
    // In a cycle with the trigger PIPESTAT[3] of the status that it replaces is on the pins.
    assert_eq!(dump, trace);

    for mode in [Mode::Normal, Mode::Multiplexed, Mode::Demultiplexed] {
        for half_rate in [false, true] {
            let wiring = Wiring { mode, half_rate, width };
            if wiring.rates().is_none() {
                continue;
            }
            let (mut levels, mut got) = (Vec::new(), Vec::new());
            let mut driver = Driver::new(wiring);
            driver.push(trace, &mut levels);
            driver.finish(&mut levels);
            let mut sampler = Sampler::new(wiring);
            levels.into_iter().for_each(|level| sampler.sample(level, &mut got));
            assert_eq!(got[..trace.len()], *trace, "{wiring:?}");
        }
    }
}

/// Where cycles are traced, those of ranges and those between are, in each chunk that is traced,
/// all that passed from its start to its last status.
fn cycles_add_up(unit: &Unit, trace: &[Cycle], elements: &[(usize, Element)]) {
    let cycles = |element: &Element| match element {
        Element::Range(range) => u64::from(range.cycles.get().unwrap_or(0)),
        Element::Cycles(cycles) => cycles.unwrap_or(0).into(),
        _ => 0,
    };
    if !unit.traces(CYCLES) {
        let sum: u64 = elements.iter().map(|(_, element)| cycles(element)).sum();
        return assert_eq!(sum, 0);
    }
    let statuses = match unit.version {
        Version::V1 => functional_v1(trace),
        Version::V2 => functional_v2(trace),
    };
    let starts = elements.iter().enumerate();
    let starts = starts.filter(|(_, (_, element))| matches!(element, Element::TraceOn(_)));
    let starts: Vec<(usize, usize)> = starts.map(|(n, (at, _))| (n, *at)).collect();
    for (k, &(from, start)) in starts.iter().enumerate() {
        let (to, end) = starts.get(k + 1).copied().unwrap_or((elements.len(), trace.len()));
        let sum: u64 = elements[from..to].iter().map(|(_, element)| cycles(element)).sum();
        // Tracing is off where cycles need not be preserved; data may come late even then, and
        // those that come after the last instruction count only at the end.
        let nothing = |at: &usize| !trace[*at].action(unit.version).stores();
        let off = (start..end).find(nothing).unwrap_or(end);
        let last = |begin: usize, end: usize, all: bool| {
            let alone = |at: usize| unit.version == Version::V2 && trace[at].pipestat() == 5;
            let found = statuses.iter().rev().filter(|at| (begin..end).contains(*at));
            found.copied().find(|at| all || !alone(*at)).expect("the start") - start
        };
        let sound = last(start, off, false) as u64..=last(start, end, true) as u64;
        let those = &elements[from..to];
        assert!(
            sound.contains(&sum),
            "{sum} cycles from {start} to {off}, not {sound:?}: {those:x?}\n{unit:x?}"
        );
    }
}

/// Which cycles have the status of an instruction: all but waits and offsets.
fn functional_v1(trace: &[Cycle]) -> Vec<usize> {
    let (mut found, mut offset) = (Vec::new(), 0);
    for (n, cycle) in trace.iter().enumerate() {
        let status = if cycle.status == 6 { cycle.packet as u8 & 7 } else { cycle.status };
        if matches!(status, 4 | 5) {
            found.push(n);
            offset = 2;
        } else if offset > 0 {
            offset -= 1;
        } else if status < 3 {
            found.push(n);
        }
    }
    found
}

/// The same: an offset has the place of an instruction or begins the trace, and data may come
/// alone.
fn functional_v2(trace: &[Cycle]) -> Vec<usize> {
    let status = |cycle: &Cycle| match cycle.pipestat() {
        6 => (cycle.packet as u8 & 0xf, true),
        other => (other, false),
    };
    let functional = |cycle: &Cycle| match status(cycle) {
        (4, _) => false,
        (7, true) => true,
        (7, false) => cycle.packet & 1 != 0 && cycle.packet & 0xf != 7,
        _ => true,
    };
    (0..trace.len()).filter(|&n| functional(&trace[n])).collect()
}

/// What was decoded, taken for what was done, encodes to the same cycles.
fn again(unit: &Unit, script: &Script, image: &Image) {
    let mut unit = unit.clone();
    for name in ["noise", "waits", "miss", "hasty", "in-progress"] {
        unit = unit.with(name, 0);
    }
    // Transfers are reported in the order of the trace, which is the order of addresses here.
    let unit = unit.with("ETMIDR", 0x4100_2110);
    // Both are reported once per instruction, in the order of the instructions.
    let unit = unit.with("ETMCR", unit.control() & !CYCLES | VALUES | ADDRESSES | CPRT);
    let plain =
        |step: &&Step| !matches!(step, Step::Context(_) | Step::Off | Step::On | Step::Halted);
    let steps: Vec<Step> = script.steps.iter().filter(plain).copied().collect();
    let exceptions = steps.iter().any(|step| matches!(step, Step::Exception(_)));
    let apart = script.steps.iter().any(|step| matches!(step, Step::Off | Step::Halted));
    if exceptions || apart {
        return;
    }
    let trace = unit.trace(&steps);
    let elements = unit.decode(image, &trace);
    let want = Did::wanted(&unit, &steps).in_order(&unit);
    same("again", &unit, &want, &Did::of(&elements).in_order(&unit));
    let ranges: Vec<_> = elements
        .iter()
        .filter_map(|element| match element {
            Element::Range(range) => Some(*range),
            _ => None,
        })
        .collect();
    let mut next = ranges.iter().skip(1);
    let mut code = Cache::new(image.clone().into(), Default::default(), CacheOptions::default());
    let mut redone = Vec::new();
    for element in &elements {
        match element {
            Element::Range(range) => {
                use tracewright::base::{Code, Pc, Space};
                let pc = Pc { address: range.start, isa: range.last.isa, space: Space::ANY };
                let instruction = code.instruction(pc).expect("code");
                let (to, isa) = next
                    .next()
                    .map_or((range.end(), range.last.isa), |next| (next.start, next.last.isa));
                redone.push(Step::Retired(Retired {
                    address: range.start,
                    next: to,
                    next_isa: isa,
                    taken: range.taken(),
                    instruction,
                }));
            }
            Element::DataAccess(access) => redone.push(Step::Access(*access)),
            _ => {}
        }
    }
    // No packet reports where the last instruction goes.
    if let (Some(Step::Retired(last)), Some(n)) = (
        steps.iter().rev().find(|step| matches!(step, Step::Retired(_))),
        redone.iter().rposition(|step| matches!(step, Step::Retired(_))),
    ) {
        redone[n] = Step::Retired(*last);
    }
    let encoded = unit.trace(&redone);
    let n = encoded.iter().zip(&trace).take_while(|(a, b)| a == b).count();
    let k = steps.iter().zip(&redone).take_while(|(a, b)| like(a, b)).count();
    assert!(
        encoded == trace,
        "encoded again: cycle {n}; step {k}: {:x?}, {:x?}\n{unit:x?}",
        steps.get(k),
        redone.get(k)
    );
}

fn like(a: &Step, b: &Step) -> bool {
    match (a, b) {
        (Step::Access(a), Step::Access(b)) => {
            (a.address(), a.value(), a.size) == (b.address(), b.value(), b.size)
        }
        _ => a == b,
    }
}

/// A capture that begins in the middle decodes to the end of what the whole decodes to; damage and
/// unknown state affect the elements near it alone.
pub fn parts(seed: u64, len: usize) {
    let mut random = Random::new(seed | 1);
    let events = Events { exceptions: random.index(2) == 0, ..Events::default() };
    let unit = Unit::any(&mut random, events);
    let script = Script::new(&mut random, len, events);
    let image = script.image();
    let trace = unit.trace(&script.steps);
    let elements = unit.decode(&image, &trace);
    calm(&elements, &unit);
    let whole = Did::of(&elements);
    same_flow("whole", &unit, &Did::wanted(&unit, &script.steps).flow, &whole.flow);

    // From any cycle on.
    let start = random.index(trace.len() / 2);
    let elements = unit.decode(&image, &trace[start..]);
    let late = Did::of(&elements);
    let gone = whole.flow.len().checked_sub(late.flow.len()).expect("no more than there was");
    // It may begin between the halves of a BL.
    let half = late
        .flow
        .first()
        .is_some_and(|first| whole.flow[gone] != *first && whole.flow[gone].is(first));
    let skip = usize::from(half);
    same_flow("from the middle", &unit, &whole.flow[gone + skip..], &late.flow[skip..]);
    assert!(!late.flow.is_empty() || len < 4000, "nothing\n{unit:x?}");
    calm(&elements, &unit);

    // Up to any cycle: less of it, and nothing that is doubted.
    let end = random.index(trace.len());
    let elements = unit.decode(&image, &trace[..end]);
    calm(&elements, &unit);
    let early = Did::of(&elements).flow;
    // An exception may come after the end that withdraws the last; a BL may be half done.
    let sound = early.len().saturating_sub(1);
    same_flow("up to the middle", &unit, &whole.flow[..sound], &early[..sound]);

    // Some cycles are wrong.
    let mut damaged = trace.clone();
    for _ in 0..1 + random.index(3) {
        let at = random.index(damaged.len() / 3);
        match random.index(3) {
            0 => damaged[at].packet ^= 1 << random.index(unit.width().pins().into()),
            1 => damaged[at].status ^= 1 << random.index(3),
            _ => {
                damaged.remove(at);
            }
        }
    }
    let got = Did::of(&unit.decode(&image, &damaged));
    // Synchronisations come every 1024 cycles or soon after.
    let tail = whole.flow.len() / 4;
    if len >= 8000 {
        let (want, got) = (&whole.flow[whole.flow.len() - tail..], &got.flow);
        let from = got.len().checked_sub(tail).expect("as much as is sound");
        same_flow("after damage", &unit, want, &got[from..]);
    }

    // Some of the program is not known.
    let at = 0x8000 + random.index(0x400) as u32 / 4 * 4;
    let hole = at..at + 0x80;
    let elements = unit.decode(&script.image_without(hole.clone()), &trace);
    let got = Did::of(&elements);
    let mut rest = whole.flow.iter();
    let outside = |ran: &&Ran| match ran {
        Ran::Instruction { address, .. } => !hole.contains(&(*address as u32)),
        _ => true,
    };
    for ran in got.flow.iter().filter(outside) {
        assert!(rest.any(|other| other.is(ran)), "{ran:x?} with a hole\n{unit:x?}");
    }
    let know = |e: &Element| matches!(e, Element::NoCode { address, .. } if !hole.contains(&(*address as u32)));
    assert!(!elements.iter().any(know), "missing what is there\n{unit:x?}");
    // In the order that they came all data values are those of the whole.
    for moved in got.data.iter().filter(|moved| moved.by.is_some() && moved.value.is_some()) {
        // After what could not be read addresses begin anew.
        let like = |other: &&Moved| {
            let address = moved.address.and(other.address);
            Moved { address, ..**other } == *moved
        };
        assert!(whole.data.iter().find(like).is_some(), "{moved:x?} with a hole\n{unit:x?}");
    }

    // Nothing of it is known: addresses of branches are.
    let elements = unit.decode(&Image::default(), &trace);
    let targets: Vec<u64> = elements
        .iter()
        .filter_map(|element| match element {
            Element::NoCode { address, .. } => Some(*address),
            _ => None,
        })
        .collect();
    let mut ran = script.steps.iter().flat_map(|step| match step {
        // An offset may stand in the place of the second half.
        Step::Retired(retired) => [Some(retired.address), Some(retired.address + 2)],
        // What was interrupted before it was executed.
        Step::Exception(taken) => [Some(taken.return_address), None],
        _ => [None, None],
    });
    assert!(!targets.is_empty());
    for target in targets {
        assert!(
            ran.any(|address| address == Some(target)),
            "{target:#x} without a program\n{unit:x?}"
        );
    }
}

#[track_caller]
fn same_flow(what: &str, unit: &Unit, want: &[Ran], got: &[Ran]) {
    let want = Did { flow: want.to_vec(), data: Vec::new() };
    same(what, unit, &want, &Did { flow: got.to_vec(), data: Vec::new() });
}

/// A FIFO that overflows: only executed instructions are reported, and each run between two gaps is
/// whole.
pub fn overflow(seed: u64, len: usize) {
    let mut random = Random::new(seed | 1);
    let unit = Unit::any(&mut random, Events::default());
    let unit = unit.with("ETMCR", unit.control() & !STALL | VALUES | ADDRESSES);
    let script = Script::new(&mut random, len, Events::default());
    let elements = unit.decode(&script.image(), &unit.trace(&script.steps));
    let want = Did::wanted(&unit, &script.steps);
    let got = Did::of(&elements);
    let mut rest = want.flow.iter();
    for ran in &got.flow {
        assert!(rest.any(|other| other.is(ran)), "{ran:x?} was not done then\n{unit:x?}");
    }
    let mut rest = want.data.iter().collect::<Vec<_>>();
    // While it drains, a 16-bit port of an ETMv1 shows noise beside a single byte, and a value that
    // lost its last byte has that in its place.
    let sound = unit.version == Version::V2 || unit.width() != Width::W16;
    let mut moved: Vec<&Moved> = got.data.iter().filter(|m| sound && m.value.is_some()).collect();
    moved.sort_by_key(|moved| moved.address.is_none());
    for moved in moved {
        // Of a load multiple that reads the PC first, and was cut short, not all is known.
        let like = |other: &&Moved| {
            let address = moved.address.and(other.address);
            Moved { address, ..**other } == *moved
        };
        let at = rest.iter().position(like);
        let at = at.unwrap_or_else(|| {
            let by = |e: &Element| matches!(e, Element::DataAccess(a) if Moved::of(a) == *moved);
            let n = elements.iter().position(by).unwrap_or(0);
            let near = &elements[clip(n.saturating_sub(6)..n + 6, elements.len())];
            let there: Vec<_> = want.data.iter().filter(|m| m.by == moved.by).collect();
            panic!("{moved:x?} was not moved, but {there:x?}; {near:x?}\n{unit:x?}")
        });
        rest.swap_remove(at);
    }
    let lost = elements.iter().filter(|e| **e == Element::TraceOn(Start::Overflow)).count();
    // It may also have been the last that happened: then what the last instruction moved may be cut
    // off, and a value that comes late may be lost.
    if lost == 0 && got.flow.len() == want.flow.len() {
        let last = want.flow.iter().rev().find_map(|ran| match ran {
            Ran::Instruction { address, .. } => Some(*address),
            _ => None,
        });
        let place = |moved: &Moved| (moved.by, moved.address);
        let late: Vec<_> = got.data.iter().filter(|m| m.value.is_none()).map(place).collect();
        let sure = |mut did: Did| {
            did.data.retain(|moved| moved.by != last && !late.contains(&place(moved)));
            did.in_order(&unit)
        };
        same("without an overflow", &unit, &sure(want), &sure(got));
    }
}

/// What the FIFO of an ETMv2 sends while a made-up program runs: a word for each kind of packet, of
/// reason and of status.
pub fn kinds(seed: u64, len: usize) -> Vec<String> {
    let mut random = Random::new(seed | 1);
    let events = Events { exceptions: true, contexts: true, switches: true, ..Events::default() };
    let unit =
        Unit { version: Version::V2, ..Unit::any(&mut random, events) }.with("in-progress", 200);
    let mut script = Script::new(&mut random, len, events);
    script.trace_in_part(&mut random);
    let AnyConfig::Etmv2(config) = unit.config() else { return Vec::new() };
    let (mut fifo, mut words) = (Fifo::default(), Vec::new());
    for cycle in unit.trace(&script.steps) {
        let packet = etmv2::Packet::of(cycle);
        words.push(packet.to_string().split(' ').next().unwrap_or("").to_owned());
        for (_, out) in fifo.cycle(0, &packet, &config).into_iter().flatten() {
            words.push(match out {
                Out::Tfo(tfo) if tfo.current.is_some() => format!("in progress {:?}", tfo.reason),
                Out::Tfo(tfo) => format!("TFO {:?}", tfo.reason),
                Out::Item(item) => {
                    item.to_string().split([' ', ':']).next().unwrap_or("").to_owned()
                }
                other => format!("{other:?}").split('(').next().unwrap_or("").to_owned(),
            });
        }
    }
    words
}

/// An exception that nothing came before.
pub fn first_exception(taken: Taken) {
    for version in [Version::V1, Version::V2] {
        let mut random = Random::new(7);
        let unit = Unit { version, ..Unit::any(&mut random, Events::default()) };
        unit.decode(&Image::default(), &unit.trace(&[Step::Exception(taken), Step::Trigger]));
    }
}
