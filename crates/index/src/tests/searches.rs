//! Queries with and without an index, and by reading all elements.

use tracewright_base::{Element, Gap, Software};
use tracewright_decode::Listener;
use tracewright_testing::Random;

use super::{Case, captures, making, shared};
use crate::query::{Condition, Query, Which};
use crate::{Answer, Finder, Index};

/// All elements, with what a query can ask for.
#[derive(Default)]
struct Items {
    items: Vec<Item>,
    times: [Option<u64>; 16],
    contexts: [Option<Option<u32>>; 16],
    instructions: u64,
}

struct Item {
    source: usize,
    at: u64,
    element: Element,
    instruction: u64,
    time: Option<u64>,
    /// The context ID of the source, if a context is known.
    context: Option<Option<u32>>,
}

impl Listener for Items {
    const PACKETS: bool = false;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        match element {
            Element::Timestamp { value, .. } | Element::GlobalTimestamp { value, .. } => {
                self.times[source] = Some(value);
            }
            Element::SoftwareWrite(write) if write.time().is_some() => {
                self.times[source] = write.time();
            }
            Element::Context(context) => self.contexts[source] = Some(context.context_id),
            _ => {}
        }
        let (time, context) = (self.times[source], self.contexts[source]);
        let instruction = self.instructions;
        self.items.push(Item { source, at, element, instruction, time, context });
        if let Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
        }
    }
}

/// Whether an element matches a condition; `text` is what was written to its port so far.
fn is(
    item: &Item,
    n: usize,
    condition: &Condition,
    number: u64,
    starts: &[u64],
    case: &Case,
) -> bool {
    let element = &item.element;
    let executed = |from: u64, to: u64| match element {
        Element::Range(range) => range.start < to && range.start + u64::from(range.bytes) > from,
        _ => false,
    };
    match condition {
        Condition::Any => true,
        Condition::Function(_) => starts.iter().any(|start| executed(*start, start + 1)),
        Condition::Address(range) => executed(range.start, range.end),
        Condition::Exception(want) => match element {
            Element::Exception(exception) => {
                want.is_none_or(|want| want == u64::from(exception.number))
            }
            _ => false,
        },
        Condition::Context(want) => {
            (n > 0 || matches!(element, Element::Context(_)))
                && item.context.is_some_and(|id| want.is_none_or(|w| id.map(u64::from) == Some(w)))
        }
        Condition::Access { address, value } => match element {
            Element::DataAccess(access) => {
                let touched = |range: &std::ops::Range<u64>| {
                    let bytes = u64::from(access.size.max(1));
                    access.address().is_some_and(|a| (a..a + bytes).any(|a| range.contains(&a)))
                };
                address.as_ref().is_none_or(touched)
                    && value.is_none_or(|value| access.value() == Some(value))
            }
            _ => false,
        },
        Condition::Gap => match element {
            Element::Gap(gap) => *gap != Gap::Start,
            Element::NoCode { .. } | Element::Undecodable { .. } => true,
            element => element.is_after_overflow(),
        },
        Condition::Event(want) => match element {
            Element::Events(bits) => {
                (0..8).any(|bit| bits >> bit & 1 == 1 && want.is_none_or(|want| want == bit))
            }
            _ => false,
        },
        Condition::Trigger => match element {
            Element::Trigger => true,
            Element::SoftwareWrite(write) => write.has(Software::TRIGGER),
            _ => false,
        },
        Condition::Time(range) => item.time.is_some_and(|time| range.contains(&time)),
        Condition::Offset(range) => range.contains(&item.at),
        Condition::Element(range) => range.contains(&number),
        Condition::Instruction(range) => {
            let own = match element {
                Element::Range(range) => u64::from(range.instructions),
                _ => 1,
            };
            (item.instruction..item.instruction + own.max(1)).any(|n| range.contains(&n))
        }
        Condition::Write { .. } => matches!(element, Element::SoftwareWrite(_)),
        #[allow(unreachable_patterns, reason = "the enum may grow")]
        _ => panic!("{}: {condition:?}", case.name),
    }
}

/// A condition that the element of `item` meets, or nearly.
fn condition(item: &Item, number: u64, symbols: &[String], random: &mut Random) -> String {
    let element = match item.element {
        Element::Range(range) => {
            let inside = range.start + random.below(u64::from(range.bytes.max(1)));
            match random.below(4) {
                0 if !symbols.is_empty() => {
                    format!("function {}", symbols[random.below(symbols.len() as u64) as usize])
                }
                0 => format!("address {:#x}", range.start),
                1 => format!("address {inside:#x}..{:#x}", inside + 1 + random.below(300)),
                2 => format!("instruction {}", item.instruction + random.below(9)),
                _ => format!("element {}..{}", number / 2, number + 3),
            }
        }
        Element::Exception(exception) if random.below(3) > 0 => {
            format!("exception {}", exception.number)
        }
        Element::Exception(_) => "exception".into(),
        Element::Context(context) => match context.context_id {
            Some(id) => format!("context {id}"),
            None => "context".into(),
        },
        Element::Timestamp { value, .. } => format!("time {value}"),
        Element::GlobalTimestamp { value, .. } => format!("time {}..{}", value, value + 100),
        Element::SoftwareWrite(_) => "write".into(),
        Element::DataAccess(access) => match (access.address(), access.value()) {
            (Some(address), _) if random.below(2) == 0 => {
                format!("access {address:#x}..{:#x}", address + 1 + random.below(64))
            }
            (_, Some(value)) => format!("access ={value}"),
            _ => "access".into(),
        },
        Element::Events(_) => ["event", "event 1", "event 0"][random.below(3) as usize].into(),
        Element::Trigger => "trigger".into(),
        Element::Gap(_) | Element::NoCode { .. } | Element::Undecodable { .. } => "gap".into(),
        _ => format!("offset {}..{}", item.at, item.at + 40),
    };
    match (item.context.flatten(), item.time) {
        (Some(id), _) if random.below(4) == 0 => format!("{element} and context {id}"),
        (_, Some(time)) if random.below(4) == 0 => format!("{element} and time {}", time / 2),
        _ => element,
    }
}

/// The numbers of the matches of `query` in `domain`, by reading all elements.
fn brute_force(
    case: &Case,
    items: &[Item],
    query: &Query,
    starts: &dyn Fn(usize, &str) -> Vec<u64>,
) -> Vec<u64> {
    let mut domain = 0..items.len() as u64;
    if let Some((bound, other)) = &query.bound {
        let Some(&number) = brute_force(case, items, other, starts).first() else {
            return Vec::new();
        };
        match bound {
            crate::query::Bound::Before => domain.end = number,
            crate::query::Bound::After => domain.start = number + 1,
        }
    }
    let matching = items.iter().enumerate().filter(|(number, item)| {
        let number = *number as u64;
        domain.contains(&number)
            && query.conditions.iter().enumerate().all(|(n, condition)| {
                let starts = match condition {
                    Condition::Function(name) => starts(item.source, name),
                    _ => Vec::new(),
                };
                is(item, n, condition, number, &starts, case)
            })
    });
    let all: Vec<u64> = matching.map(|(number, _)| number as u64).collect();
    match query.which {
        Which::First => all.first().copied().into_iter().collect(),
        Which::Last => all.last().copied().into_iter().collect(),
        Which::Nth(n) => all.get(n as usize - 1).copied().into_iter().collect(),
        Which::Count | Which::All => all,
    }
}

fn check(case: &Case, times: u64, index: &Index) {
    let mut random = Random::new(11);
    for plan in &case.plans {
        let mut all = Items::default();
        case.decode(plan, &mut all);
        let items = all.items;
        let image = |source: usize| {
            case.memory.of(&case.capture, plan.sources[source].of(&case.capture).expect("its own"))
        };
        let symbols: Vec<String> = image(0).symbols().iter().map(|s| s.name.to_owned()).collect();
        let symbols: Vec<String> = symbols.into_iter().filter(|name| !name.contains(' ')).collect();
        let starts = |source: usize, name: &str| -> Vec<u64> {
            let image = image(source);
            image.symbols().iter().filter(|s| s.name == name).map(|s| s.start).collect()
        };
        let mut kinds: std::collections::BTreeMap<&str, Vec<usize>> = Default::default();
        for (n, item) in items.iter().enumerate() {
            kinds.entry(item.element.kind()).or_default().push(n);
        }
        let kinds: Vec<Vec<usize>> = kinds.into_values().collect();
        for _ in 0..times {
            let one = |random: &mut Random| {
                let kind = &kinds[random.below(kinds.len() as u64) as usize];
                let n = kind[random.below(kind.len() as u64) as usize];
                condition(&items[n], n as u64, &symbols, random)
            };
            let nth = format!("nth {}", 1 + random.below(5));
            let which = ["first", "last", nth.as_str(), "count", "all"][random.below(5) as usize];
            let mut text = format!("{which} {}", one(&mut random));
            match random.below(4) {
                0 => text += &format!(" before last {}", one(&mut random)),
                1 => text += &format!(" after {}", one(&mut random)),
                _ => {}
            }
            let query = Query::parse(&[&text]).expect("a query");
            let want = brute_force(case, &items, &query, &starts);
            let mut answers = Vec::new();
            for index in [Some(index), None] {
                let mut finder = Finder::new(case.subject(), plan, index).expect("a finder");
                let answer = finder.find(&query).expect("an answer");
                assert_eq!(finder.damage(), None);
                match &answer {
                    Answer::Count(count) => {
                        assert_eq!(*count, want.len() as u64, "{}: {text}", case.name);
                    }
                    Answer::Elements(found) => {
                        let numbers: Vec<u64> = found.iter().map(|found| found.number).collect();
                        assert_eq!(numbers, want, "{}: {text}", case.name);
                        for found in found {
                            let item = &items[found.number as usize];
                            assert_eq!(
                                (found.source, found.at, found.element, found.time),
                                (item.source, item.at, item.element, item.time)
                            );
                            assert_eq!(found.instruction, item.instruction);
                            let context = found.context.map(|context| context.context_id);
                            assert_eq!(context, item.context);
                        }
                    }
                }
                answers.push(answer);
            }
            assert_eq!(answers[0], answers[1], "{}: {text}", case.name);
        }
    }
}

#[test]
fn answers_are_those_of_the_whole_trace() {
    for case in captures() {
        let index = case.index(&making(&case, false));
        check(&case, tracewright_testing::times(12), &index);
    }
}

#[test]
fn answers_of_several_cores_are_those_of_the_whole_trace() {
    for case in shared(&["juno_r1_1"]) {
        let index = case.index(&making(&case, false));
        check(&case, tracewright_testing::times(4), &index);
    }
}

/// Text that a program writes byte by byte, over several segments.
#[test]
fn text_is_found_where_it_is_complete() {
    let case = captures().into_iter().find(|case| case.name.contains("/itm/")).expect("an ITM");
    let index = case.index(&making(&case, false));
    let plan = &case.plans[0];
    let mut all = Items::default();
    case.decode(plan, &mut all);
    let mut written: std::collections::BTreeMap<u64, Vec<(u8, u64)>> = Default::default();
    for (number, item) in all.items.iter().enumerate() {
        if let Element::SoftwareWrite(write) = item.element {
            let bytes = write.value().to_le_bytes();
            let bytes = &bytes[..usize::from(write.bits) / 8];
            let port = crate::channel(write.channel);
            let to = written.entry(port).or_default();
            to.extend(bytes.iter().map(|byte| (*byte, number as u64)));
        }
    }
    let mut checked = 0;
    for (port, bytes) in written {
        for window in bytes.windows(3) {
            let text: Vec<u8> = window.iter().map(|(byte, _)| *byte).collect();
            if !text.iter().all(u8::is_ascii_alphanumeric) {
                continue;
            }
            let text = String::from_utf8(text).expect("letters");
            let ends: Vec<u64> = bytes
                .windows(3)
                .filter(|w| w.iter().map(|(byte, _)| *byte).eq(text.bytes()))
                .map(|w| w[2].1)
                .collect();
            for index in [Some(&index), None] {
                let mut finder = Finder::new(case.subject(), plan, index).expect("a finder");
                let mut numbers = |which: &str| {
                    let query = Query::parse(&[format!("{which} write {port} ~{text}")]);
                    match finder.find(&query.expect("a query")).expect("an answer") {
                        Answer::Elements(found) => found.iter().map(|f| f.number).collect(),
                        Answer::Count(count) => vec![count],
                    }
                };
                let mut want = ends.clone();
                want.dedup();
                assert_eq!(numbers("all"), want, "{text}");
                assert_eq!(numbers("last"), want[want.len() - 1..], "{text}");
                assert_eq!(numbers("count"), [want.len() as u64], "{text}");
            }
            checked += 1;
        }
    }
    assert!(checked > 0);
}

/// Next and previous elements, one after another, are all elements.
#[test]
fn elements_are_visited_both_ways() {
    for case in captures() {
        let index = case.index(&making(&case, false));
        for plan in &case.plans {
            let mut all = Items::default();
            case.decode(plan, &mut all);
            let mut finder = Finder::new(case.subject(), plan, Some(&index)).expect("a finder");
            let conditions = [Condition::Any];
            let step = all.items.len() / 7 + 1;
            for n in (0..all.items.len()).step_by(step) {
                let next = finder.next(n as u64, &conditions).expect("an answer");
                assert_eq!(
                    next.map(|f| f.number),
                    (n + 1 < all.items.len()).then_some(n as u64 + 1)
                );
                let previous = finder.previous(n as u64, &conditions).expect("an answer");
                assert_eq!(previous.map(|found| found.number), (n as u64).checked_sub(1));
            }
        }
    }
}
