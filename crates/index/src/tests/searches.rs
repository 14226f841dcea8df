//! Queries with and without an index, and by reading all elements.

use tracewright_base::{Channel, Dwt, Element, ExceptionStep, Gap, Role, Software};
use tracewright_decode::{Listener, Plan};
use tracewright_testing::Random;

use super::{Case, captures, making, shared};
use crate::find::{Answer, Finder};
use crate::found::Found;
use crate::index::Index;
use crate::query::{Condition, DwtCondition, Port, Query, Which};

/// All elements, with what a query can ask for.
#[derive(Default)]
struct Items {
    items: Vec<Item>,
    times: [Option<u64>; 16],
    contexts: [Option<Option<u32>>; 16],
    instructions: u64,
}

pub(super) struct Item {
    source: usize,
    at: u64,
    element: Element,
    instruction: u64,
    time: Option<u64>,
    /// The context ID of the source, if a context is known.
    context: Option<Option<u32>>,
}

impl Listener for Items {
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
        Condition::Addresses(all) => all.iter().any(|range| executed(range.start, range.end)),
        Condition::Exception(want) => match element {
            Element::Exception(exception) => {
                want.is_none_or(|want| want == u64::from(exception.number))
            }
            _ => false,
        },
        Condition::ExceptionReturn => returns(element),
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
        Condition::Write { port, value, text: None } => match element {
            Element::SoftwareWrite(write) => {
                port.is_none_or(|port| is_to(write.channel, port))
                    && value.is_none_or(|value| write.bits > 0 && value == write.value())
            }
            _ => false,
        },
        Condition::Dwt(condition) => match element {
            Element::DwtEvent(event) => is_dwt(condition, event.meaning()),
            _ => false,
        },
        #[allow(unreachable_patterns, reason = "the enum may grow")]
        _ => panic!("{}: {condition:?}", case.name),
    }
}

/// Whether an element is a return from an exception.
fn returns(element: &Element) -> bool {
    match element {
        Element::Range(range) => range.last.role == Role::ExceptionReturn && range.taken(),
        element => matches!(element, Element::ExceptionReturn),
    }
}

/// Whether an event of a DWT is one that a condition describes.
fn is_dwt(condition: &DwtCondition, event: Dwt) -> bool {
    match (condition, event) {
        (DwtCondition::Any, _) | (DwtCondition::Sleep, Dwt::Sleep) => true,
        (DwtCondition::Exception(want, of), Dwt::Exception { number, step }) => {
            *want == step && of.is_none_or(|of| of == u64::from(number))
        }
        (DwtCondition::Sample(of), Dwt::PcSample(pc)) => {
            of.as_ref().is_none_or(|of| of.contains(&u64::from(pc)))
        }
        (
            DwtCondition::Data { comparator: of, value: None },
            Dwt::DataPc { comparator, .. }
            | Dwt::DataMatch { comparator }
            | Dwt::DataAddress { comparator, .. }
            | Dwt::DataValue { comparator, .. },
        ) => of.is_none_or(|of| of == u64::from(comparator)),
        (
            DwtCondition::Data { comparator: of, value: Some(want) },
            Dwt::DataValue { comparator, value, .. },
        ) => of.is_none_or(|of| of == u64::from(comparator)) && *want == u64::from(value),
        _ => false,
    }
}

/// Whether `channel` is `port`.
fn is_to(channel: Channel, port: Port) -> bool {
    match (channel, port) {
        (Channel::Port { page, port }, Port::Number(number)) => {
            u64::from(page.unwrap_or(0)) * 32 + u64::from(port) == number
        }
        (Channel::Master { channel, .. }, Port::Number(number)) => {
            channel.map(u64::from) == Some(number)
        }
        (Channel::Master { master, channel }, Port::Channel { master: own, channel: number }) => {
            (master.map(u64::from), channel.map(u64::from)) == (Some(own), Some(number))
        }
        (Channel::Port { .. }, Port::Channel { .. }) => false,
    }
}

/// A condition that the element of `item` meets, or nearly.
fn condition(item: &Item, number: u64, symbols: &[String], random: &mut Random) -> String {
    let element = match item.element {
        element if returns(&element) && random.below(2) == 0 => "exception-return".into(),
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
        Element::SoftwareWrite(write) => match random.below(2) {
            0 => format!("write ={:#x}", write.value()),
            _ => "write".into(),
        },
        Element::DwtEvent(event) => match event.meaning() {
            _ if random.below(4) == 0 => "dwt".into(),
            Dwt::Exception { number, step } => {
                let step = match step {
                    ExceptionStep::Entered => "enter",
                    ExceptionStep::Exited => "exit",
                    ExceptionStep::Returned => "return",
                };
                match random.below(2) {
                    0 => format!("dwt {step} {number}"),
                    _ => format!("dwt {step}"),
                }
            }
            Dwt::PcSample(pc) => format!("dwt sample {:#x}..{:#x}", pc & !63, pc | 63),
            Dwt::Sleep => "dwt sleep".into(),
            Dwt::DataValue { comparator, value, .. } => {
                format!("dwt data {comparator} ={value:#x}")
            }
            Dwt::DataPc { comparator, .. } => format!("dwt data {comparator}"),
            _ => "dwt data".into(),
        },
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
pub(super) fn brute_force(
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

/// The functions of a source of a plan.
pub(super) struct Names<'a> {
    pub(super) case: &'a Case,
    pub(super) plan: &'a Plan,
}

impl Names<'_> {
    fn image(&self, source: usize) -> std::sync::Arc<tracewright_image::Image> {
        let Names { case, plan } = self;
        case.memory.of(&case.capture, plan.sources[source].of(&case.capture).expect("its own"))
    }

    /// Names that are one word.
    fn all(&self) -> Vec<String> {
        let image = self.image(0);
        let names = image.symbols().iter().map(|s| s.name.to_owned());
        names.filter(|name| !name.contains(' ')).collect()
    }

    pub(super) fn starts(&self, source: usize, name: &str) -> Vec<u64> {
        let image = self.image(source);
        image.symbols().iter().filter(|s| s.name == name).map(|s| s.start).collect()
    }
}

/// Compares the answers with an index and without with that of reading all elements.
fn compare(names: &Names<'_>, index: &Index, items: &[Item], text: &str) {
    let mut query = Query::parse(&[text]).expect("a query");
    compare_query(names, index, items, &query, text);
    // The same addresses together with others, and with none that was executed.
    for condition in &mut query.conditions {
        let Condition::Address(range) = condition else { continue };
        let start = |item: &Item| match item.element {
            Element::Range(range) => Some(range.start..range.start + 1),
            _ => None,
        };
        let other = items.iter().filter_map(start).nth(text.len());
        let several = [Some(range.clone()), other, Some(1..2)];
        *condition = Condition::Addresses(several.into_iter().flatten().collect());
        let text = format!("{text}, several");
        return compare_query(names, index, items, &query, &text);
    }
}

fn compare_query(names: &Names<'_>, index: &Index, items: &[Item], query: &Query, text: &str) {
    let Names { case, plan } = names;
    let want = brute_force(case, items, query, &|source, name| names.starts(source, name));
    let mut answers = Vec::new();
    for index in [Some(index), None] {
        let mut finder = Finder::new(case.subject(), plan, index).expect("a finder");
        // Several threads find the same.
        finder.jobs = 1 + text.len() % 3;
        let answer = finder.find(query).expect("an answer");
        assert_eq!(finder.damage(), None);
        match &answer {
            Answer::Count(count) => {
                assert_eq!(*count, want.len() as u64, "{}: {text}", case.name);
            }
            Answer::Elements(found) => {
                let numbers: Vec<u64> = found.iter().map(|found| found.number).collect();
                assert_eq!(numbers, want, "{}: {text}", case.name);
                found.iter().for_each(|found| is_item(found, items));
            }
        }
        answers.push(answer);
    }
    assert_eq!(answers[0], answers[1], "{}: {text}", case.name);
}

/// What was found is the element with its number.
pub(super) fn is_item(found: &Found, items: &[Item]) {
    let item = &items[found.number as usize];
    assert_eq!(
        (found.source, found.at, found.element, found.time),
        (item.source, item.at, item.element, item.time)
    );
    assert_eq!(found.instruction, item.instruction);
    let context = found.context.map(|context| context.context_id);
    assert_eq!(context, item.context);
}

/// All elements of a buffer.
pub(super) fn items(case: &Case, plan: &Plan) -> Vec<Item> {
    let mut all = Items::default();
    case.decode(plan, &mut all);
    all.items
}

fn check(case: &Case, times: u64, index: &Index) {
    let mut random = Random::new(11);
    for plan in &case.plans {
        let items = items(case, plan);
        let names = Names { case, plan };
        let symbols = names.all();
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
            compare(&names, index, &items, &text);
        }
    }
}

/// Each kind of condition, each word for which elements, and each combination, on each capture. In
/// the default run each kind once on each capture, in turn with one of the others.
#[test]
fn each_kind_of_query_has_the_answer_of_the_whole_trace() {
    let mut answered = 0;
    for (turn, case) in captures().into_iter().enumerate() {
        let index = case.index(&making(&case, false));
        for plan in &case.plans {
            let items = items(&case, plan);
            let names = Names { case: &case, plan };
            let middle = &items[items.len() / 2];
            let (at, instruction) = (middle.at, middle.instruction);
            let time = middle.time.unwrap_or(1000);
            let range = items.iter().rev().find_map(|item| match item.element {
                Element::Range(range) => Some(range.start),
                _ => None,
            });
            let pc = range.unwrap_or(0x8000);
            let access = items.iter().find_map(|item| match item.element {
                Element::DataAccess(access) => Some((access.address()?, access.value()?)),
                _ => None,
            });
            let (address, value) = access.unwrap_or((0x1000, 1));
            let number = items.iter().find_map(|item| match item.element {
                Element::Exception(exception) => Some(exception.number),
                _ => None,
            });
            let id = items.iter().find_map(|item| item.context.flatten()).unwrap_or(7);
            let port = items.iter().find_map(|item| match item.element {
                Element::SoftwareWrite(write) => Some(write.channel),
                _ => None,
            });
            let port = match port {
                Some(Channel::Port { page, port }) => {
                    (u64::from(page.unwrap_or(0)) * 32 + u64::from(port)).to_string()
                }
                Some(Channel::Master { master: Some(master), channel: Some(channel) }) => {
                    format!("{master}:{channel}")
                }
                _ => "2".into(),
            };
            let mut conditions = vec![
                "any".into(),
                "exception".into(),
                format!("exception {}", number.unwrap_or(3)),
                "context".into(),
                format!("context {id}"),
                "gap".into(),
                "event".into(),
                "event 0".into(),
                "trigger".into(),
                "write".into(),
                format!("write {port}"),
                "write =0x35".into(),
                format!("write {port} =0x0a"),
                "dwt".into(),
                "dwt enter".into(),
                "dwt exit 15".into(),
                "dwt sample".into(),
                "dwt data".into(),
                "access".into(),
                format!("access {address:#x}"),
                format!("access {:#x}..{:#x} ={value}", address / 2, address + 9),
                format!("access ={value}"),
                format!("address {pc:#x}"),
                format!("address {:#x}..{:#x}", pc - pc % 64, pc + 200),
                format!("time {time}"),
                format!("time {}..{}", time / 2, time + 1),
                format!("offset {at}"),
                format!("offset {}..{}", at / 2, at + 1),
                format!("instruction {instruction}"),
                format!("instruction {}..{}", instruction / 2, instruction + 5),
                format!("element {}", items.len() / 3),
                format!("element {}..{}", items.len() / 4, items.len() / 2),
            ];
            conditions.extend(names.all().first().map(|name| format!("function {name}")));
            let words = ["first", "last", "nth 2", "count", "all"];
            let context = format!(" and context {id}");
            let timed = format!(" and time {}", time / 2);
            let rests = [
                String::new(),
                " before last any".into(),
                format!(" after first offset {}", at / 2),
                context.clone(),
                timed.clone(),
                format!(" before nth 3 offset {at} after first any"),
                format!("{context} before last any"),
                format!("{timed} after first any"),
            ];
            let all = tracewright_testing::is_long();
            for (n, condition) in conditions.iter().enumerate() {
                for (w, which) in words.iter().enumerate() {
                    for (r, rest) in rests.iter().enumerate() {
                        let own =
                            (w, r) == ((n + turn) % words.len(), (n + 3 * turn) % rests.len());
                        if all || own {
                            compare(&names, &index, &items, &format!("{which} {condition}{rest}"));
                            answered += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(answered >= 250, "{answered}");
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
            let port = crate::key::channel(write.channel);
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
                // The text may begin before the offset from which on it is searched for.
                let end = all.items[want[want.len() - 1] as usize].at;
                let query = Query::parse(&[format!("all write {port} ~{text} and offset {end}..")]);
                let answer = finder.find(&query.expect("a query")).expect("an answer");
                let Answer::Elements(found) = answer else { panic!("elements") };
                let found: Vec<u64> = found.iter().map(|found| found.number).collect();
                let at = |number: &u64| all.items[*number as usize].at;
                let own: Vec<u64> = want.into_iter().filter(|number| at(number) >= end).collect();
                assert_eq!(found, own, "{text} from {end} on");
            }
            checked += 1;
        }
    }
    assert!(checked > 0);
}
