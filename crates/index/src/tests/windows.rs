//! Windows with and without an index.

use std::ops::Range;

use tracewright_base::Element;
use tracewright_decode::{Event, Fork, Growth, Listener, Plan, Size, Wants};
use tracewright_testing::Random;

use super::{Case, captures, making, shared};
use crate::index::IndexedBuffer;
use crate::window::{self, Window};

/// Writes a line for each call. `GROWS`: its output is taken while it is made.
#[derive(Default)]
struct Lines<const GROWS: bool> {
    lines: Vec<String>,
    packets: bool,
}

impl<const GROWS: bool> Fork for Lines<GROWS> {
    type State = ();
    type Output = Vec<String>;

    fn fork(&self) -> Self {
        Lines::default()
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {}

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    fn size(&self) -> Size {
        let growth = if GROWS { Growth::Steady } else { Growth::None };
        Size { growth, ..Size::of(self.lines.len() << 10) }
    }
}

impl<const GROWS: bool> Listener for Lines<GROWS> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.lines.push(format!("{source} {at} {element:?}"));
    }

    fn event(&mut self, event: &Event<'_>) {
        let line = match event {
            _ if !self.packets => return,
            Event::Packet { source, bytes, packet } => {
                format!("{source} {} packet {packet}", bytes.at())
            }
            Event::Undecodable { source, bytes, fault } => {
                format!("{source} {} undecodable {:?} {fault}", bytes.at(), bytes.span)
            }
            Event::Link { at, event } => format!("link {at} {event:?}"),
            _ => return,
        };
        self.lines.push(line);
    }

    fn wants(&self) -> Wants {
        if self.packets { Wants::EACH_PACKET } else { Wants::ELEMENTS }
    }
}

/// Elements with their state.
#[derive(Default)]
struct Items {
    items: Vec<(usize, u64, Element)>,
}

impl Listener for Items {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.items.push((source, at, element));
    }
}

/// The lines of a window, from all elements.
fn brute_force(items: &[(usize, u64, Element)], window: &Window) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut times, mut contexts) = ([None; 16], [None; 16]);
    let mut shown = [false; 16];
    let mut instructions = 0u64;
    for (number, (source, at, element)) in items.iter().enumerate() {
        if let Some(time) = element.ticks() {
            times[*source] = Some(time);
        }
        let own = match element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        };
        let inside = |range: &Option<Range<u64>>, from: u64, to: u64| {
            range.as_ref().is_none_or(|range| from < range.end && to > range.start)
        };
        let last = instructions + own.max(1);
        let timed = window
            .time
            .as_ref()
            .is_none_or(|range| times[*source].is_some_and(|time| range.contains(&time)));
        if inside(&window.offset, *at, at + 1)
            && inside(&window.element, number as u64, number as u64 + 1)
            && inside(&window.instruction, instructions, last)
            && timed
        {
            let is_context = matches!(element, Element::Context(_));
            if !std::mem::replace(&mut shown[*source], true)
                && !is_context
                && let Some((at, context)) = contexts[*source]
            {
                lines.push(format!("{source} {at} {:?}", Element::Context(context)));
            }
            lines.push(format!("{source} {at} {element:?}"));
        }
        if let Element::Context(context) = element {
            contexts[*source] = Some((*at, *context));
        }
        instructions += own;
    }
    lines
}

fn some_range(random: &mut Random, least: u64, most: u64) -> Range<u64> {
    let start = least + random.below(most - least + 1);
    let most_bits = random.below(12);
    let len = 1 + random.below(1 << most_bits).min((most - least) / 4 + 1);
    start..start + len
}

/// Compares lines; the first difference is reported.
fn same(one: &[String], other: &[String], what: &str) {
    let first = one.iter().zip(other).position(|(one, other)| one != other);
    let n = first.unwrap_or(one.len().min(other.len()));
    assert_eq!(one.get(n), other.get(n), "line {n} of {} and {} of {what}", one.len(), other.len());
}

/// What is listed of a window, and the parts of its ranges that are inside.
pub(super) fn lines(
    case: &Case,
    plan: &Plan,
    window: &Window,
    indexed: Option<&IndexedBuffer>,
    packets: bool,
) -> (Vec<String>, Vec<(u64, u64)>) {
    lines_of(case, plan, window, indexed, Lines::<true> { packets, ..Lines::default() })
}

fn lines_of<const GROWS: bool>(
    case: &Case,
    plan: &Plan,
    window: &Window,
    indexed: Option<&IndexedBuffer>,
    listener: Lines<GROWS>,
) -> (Vec<String>, Vec<(u64, u64)>) {
    let session = case.subject().session(plan).expect("a session");
    let buffer = &case.capture.buffers[plan.buffer];
    let (mut lines, mut parts) = (Vec::new(), Vec::new());
    window::run(
        session,
        buffer,
        window,
        indexed,
        listener,
        &mut |skip, inside| parts.push((skip, inside)),
        &mut |part| {
            lines.extend(part);
            true
        },
    )
    .expect("a window");
    (lines, parts)
}

fn check(case: &Case, times: u64) {
    let index = case.index(&making(case, false));
    let mut random = Random::new(7);
    for plan in &case.plans {
        let buffer = &case.capture.buffers[plan.buffer];
        let mut all = Items::default();
        case.decode(plan, &mut all);
        let items = all.items;
        let reported = || items.iter().filter_map(|(.., element)| element.ticks());
        let (first, last) = (reported().min().unwrap_or(0), reported().max().unwrap_or(0));
        let instructions: u64 = items
            .iter()
            .map(|(.., element)| match element {
                Element::Range(range) => range.instructions.into(),
                _ => 0u64,
            })
            .sum();
        for n in 0..times {
            let mut window = Window::default();
            match n % 5 {
                0 => window.offset = Some(some_range(&mut random, 0, buffer.len())),
                1 => window.time = Some(some_range(&mut random, first, last)),
                2 => window.instruction = Some(some_range(&mut random, 0, instructions)),
                3 => window.element = Some(some_range(&mut random, 0, items.len() as u64)),
                _ => {
                    window.offset = Some(some_range(&mut random, 0, buffer.len()));
                    window.instruction = Some(some_range(&mut random, 0, instructions));
                }
            }
            let packets = n % 3 == 0;
            let run = |indexed| lines(case, plan, &window, indexed, packets);
            let (with, without) = (run(index.buffer(plan.buffer)), run(None));
            same(&with.0, &without.0, &format!("{}: {window:?}", case.name));
            assert_eq!(with.1, without.1, "{}: {window:?}", case.name);
            if !packets {
                let indexed = index.buffer(plan.buffer);
                let at_once = lines_of(case, plan, &window, indexed, Lines::<false>::default());
                same(&at_once.0, &with.0, &format!("{}: {window:?}, at once", case.name));
                assert_eq!(at_once.1, with.1, "{}: {window:?}", case.name);
            }
            let parts = &without.1;
            // Only the first and the last range may be cut.
            if let Some(range) = window.instruction.clone().filter(|_| window.offset.is_none()) {
                let inside: u64 = parts.iter().map(|(_, inside)| inside).sum();
                let last = range.end.min(instructions);
                assert_eq!(inside, last.saturating_sub(range.start), "{}: {range:?}", case.name);
                assert!(parts.iter().skip(1).all(|(skip, _)| *skip == 0));
            }
            let mut elements = without.0;
            if packets {
                elements.retain(|line| {
                    let word = line.split(' ').nth(2).unwrap_or_default();
                    !line.starts_with("link") && word != "packet" && word != "undecodable"
                });
            }
            let want = brute_force(&items, &window);
            same(&elements, &want, &format!("{}: {window:?}, all elements", case.name));
        }
    }
}

#[test]
fn windows_are_those_of_the_whole_trace() {
    for case in captures() {
        check(&case, tracewright_testing::times(15));
    }
}

#[test]
fn windows_of_several_cores_are_those_of_the_whole_trace() {
    for case in shared(&["juno_r1_1"]) {
        check(&case, tracewright_testing::times(5));
    }
}
