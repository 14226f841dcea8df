//! Requests to programs and back.

use tracewright_testing::Random;

use crate::etm::settings::Selection;
use crate::etm::{Etm, sequence};
use crate::request::{Condition, DataParts, Occurrence, Request, Span};
use crate::unit::Unit;
use crate::values::Values;

const UNITS: [&str; 10] = [
    "Cortex-A8",
    "Cortex-A7",
    "Cortex-R5",
    "Cortex-M4",
    "ETM9-medium",
    "ETM9-large",
    "ETMv1.0",
    "ETMv2.1",
    "ETMv3.1",
    "ETMv3.5",
];

fn any_request(random: &mut Random, unit: &str) -> Request {
    let address = |random: &mut Random| u64::from(random.next() as u32 >> 4) & !3;
    let span = |random: &mut Random| {
        let start = address(random);
        Span { start, end: start + 4 + random.below(0x1000) * 4 }
    };
    let some = |random: &mut Random, most: u64| random.below(most + 1);
    let m_profile = unit == "Cortex-M4";
    let (trace, exclude) = match random.below(4) {
        _ if m_profile => (Vec::new(), Vec::new()),
        0 => (Vec::new(), Vec::new()),
        1 => ((0..=some(random, 1)).map(|_| span(random)).collect(), Vec::new()),
        2 => (Vec::new(), (0..=some(random, 1)).map(|_| span(random)).collect()),
        _ => (vec![span(random)], vec![span(random)]),
    };
    let data = match random.below(3) {
        0 if !m_profile => vec![span(random)],
        _ => Vec::new(),
    };
    let all_data = data.is_empty() && !m_profile && random.below(3) == 0;
    let traced = !data.is_empty() || all_data;
    let on = match random.below(4) {
        _ if m_profile => Occurrence::Execute(address(random)),
        0 => Occurrence::Execute(address(random)),
        1 => Occurrence::Read(address(random)),
        // A byte, a halfword or a word.
        2 => Occurrence::Write(address(random) + random.below(4)),
        _ => Occurrence::Input(1),
    };
    let value = match on {
        Occurrence::Write(address) => {
            let bits = [32, 8, 16, 8][(address & 3) as usize];
            Some(random.next() as u32 >> (32 - bits))
        }
        _ => None,
    };
    let times = match on {
        Occurrence::Input(_) => 1,
        _ if m_profile => 1,
        _ => 1 + some(random, 20) as u16,
    };
    let trigger = (random.below(2) == 0).then_some(Condition { on, value, times });
    Request {
        trace,
        exclude,
        between: match random.below(4) {
            0 => vec![(address(random), address(random))],
            _ => Vec::new(),
        },
        data,
        all_data,
        parts: match random.below(3) {
            _ if !traced => DataParts::Both,
            0 => DataParts::Address,
            1 => DataParts::Value,
            _ => DataParts::Both,
        },
        context: (random.below(4) == 0).then(|| random.next() as u32),
        trigger,
        context_bytes: [0, 0, 1, 2, 4][random.below(5) as usize],
        cycles: random.below(2) == 0,
        branch_output: random.below(4) == 0,
        stall: random.below(4) == 0,
        halt: trigger.is_some() && random.below(4) == 0,
        trace_id: (random.below(2) == 0).then(|| 1 + random.below(0x6f) as u8),
        ..Request::default()
    }
}

/// A program has no finding but warnings that the request asks for, its sequence obeys the
/// procedure, and it is the program of the request that is read from it.
#[test]
fn requests_and_programs() {
    let mut random = Random::new(19);
    let mut made = [0u64; UNITS.len()];
    let times = tracewright_testing::times(1500);
    for round in 0..times as usize {
        let at = round % UNITS.len();
        let unit = Etm::named(UNITS[at]).unwrap();
        let request = any_request(&mut random, UNITS[at]);
        let Ok(program) = unit.program(&request) else { continue };
        made[at] += 1;
        let case = format!("{} {request:?}", UNITS[at]);
        let again = unit.request(&program.values).unwrap_or_else(|| panic!("{case}"));
        assert_eq!(again, request, "{case}");
        assert_eq!(unit.program(&again).as_ref(), Ok(&program), "{case}");
        let findings = unit.lint(&program.values);
        assert!(findings.is_empty(), "{case}: {findings:?}");
        let findings = sequence::findings(&unit.resources, &program.accesses());
        assert!(findings.is_empty(), "{case}: {findings:?}");
    }
    assert!(made.iter().all(|made| *made >= times / 200), "{made:?}");
    assert!(made.iter().sum::<u64>() >= times / 4, "{made:?}");
}

/// Requests that a unit refuses, and the parts that it names.
#[test]
fn refusals() {
    let span = Span { start: 0x8000, end: 0x9000 };
    for (unit, request, parts) in [
        ("Cortex-M4", Request { trace: vec![span], ..Request::default() }, 1),
        ("Cortex-M4", Request { all_data: true, ..Request::default() }, 1),
        ("Cortex-M4", Request { context: Some(1), cycles: true, ..Request::default() }, 2),
        ("Cortex-A8", Request { timestamps: true, ..Request::default() }, 1),
        ("Cortex-A8", Request { trace: vec![span; 5], ..Request::default() }, 1),
        ("Cortex-A8", Request { levels: Some(1), ..Request::default() }, 1),
        ("Cortex-A8", Request { halt: true, ..Request::default() }, 1),
        ("ETMv1.1", Request { between: vec![(0x8000, 0x9000)], ..Request::default() }, 1),
        ("ETM9-small", Request { trace: vec![span, span], ..Request::default() }, 1),
    ] {
        let refusals = Etm::named(unit).unwrap().program(&request).unwrap_err();
        assert_eq!(refusals.len(), parts, "{unit}: {refusals:?}");
    }
}

/// IHI 0014, 3.7.2: start and stop addresses, and excluded ranges.
#[test]
fn start_stop_and_exclude() {
    let unit = Etm::named("Cortex-A8").unwrap();
    let request = Request {
        exclude: vec![Span { start: 0x8000, end: 0x8100 }],
        between: vec![(0x9000, 0x9080)],
        ..Request::default()
    };
    let values = unit.program(&request).unwrap().values;
    assert_eq!(values.get("ETMTEEVR"), Some(0x6f));
    assert_eq!(values.get("ETMTECR1"), Some(0x300_0008));
    assert_eq!(values.get("ETMTSSCR"), Some(0x0010_0020));
    assert_eq!(
        unit.explain(&values)[0],
        "Traces instructions other than execution of \
         0x8000..0x8100, while the start/stop block is on."
    );
}

/// 3.5.14: an output whose event never occurs is not mentioned. (0x406f: not always)
#[test]
fn external_outputs() {
    let unit = Etm::named("Cortex-A8").unwrap();
    for (first, second, outputs) in
        [(0x406f, 0x406f, &[][..]), (0x8941, 0x406f, &[1]), (0x406f, 0x8941, &[2])]
    {
        let values = [("ETMEXTOUTEVR1", first), ("ETMEXTOUTEVR2", second)].into_iter().collect();
        let lines = unit.explain(&values);
        let lines: Vec<_> = lines.iter().filter(|line| line.contains("External output")).collect();
        assert_eq!(lines.len(), outputs.len(), "{lines:?}");
        for (line, n) in lines.into_iter().zip(outputs) {
            assert!(line.starts_with(&format!("External output {n} is active while (counter 2")));
        }
    }
}

/// Events that are always or never active (0x6f, 0x406f) have no name as a condition.
#[test]
fn constant_events() {
    let unit = Etm::named("Cortex-A8").unwrap();
    for (name, event, want) in [
        ("ETMEXTOUTEVR1", 0x6f, "External output 1 is active in each cycle."),
        ("ETMEXTOUTEVR1", 0x40, "External output 1 is active while counter 1"),
        ("ETMTRIGGER", 0x6f, "The trigger occurs at the first cycle."),
        ("ETMCNTENR1", 0x6f, "to 0 in each cycle; it is reloaded while an event"),
        ("ETMCNTRLDEVR1", 0x406f, "; it is reloaded in no cycle."),
        ("ETMSQ12EVR", 0x6f, "The sequencer moves from state 1 to 2 in each cycle."),
        ("ETMTEEVR", 0x406f, "the TraceEnable event is never active."),
    ] {
        let mut values = Values::from_iter([("ETMCR", 0xc00), ("ETMTRIGGER", 0x40)]);
        values.set("ETMEXTOUTEVR2", 0x50);
        values.set(name, event);
        let text = unit.explain(&values).join("\n");
        assert!(text.contains(want), "{name} {event:#x}: {text}");
    }
}

/// 2.7.3, Figures 2-20 and 2-21: before ETMv3.1 the first address of an access decides, and that of
/// a word is up to 3 bytes below a byte in it.
#[test]
fn data_that_begins_inside_a_word() {
    for (unit, start, end, low, kind) in [
        ("ETMv1.3", 0x2003, 0x2004, 0x2000, 0x1c),
        ("ETMv3.0", 0x2003, 0x2004, 0x2000, 0x1c),
        ("ETMv3.0", 0x2002, 0x2006, 0x2000, 0x0c),
        ("ETMv3.0", 0x2001, 0x2002, 0x2000, 0x0c),
        ("ETMv3.0", 0x2000, 0x2001, 0x2000, 0x04),
        ("ETMv3.1", 0x2003, 0x2004, 0x2003, 0x04),
    ] {
        let request = Request { data: vec![Span { start, end }], ..Request::default() };
        let unit = Etm::named(unit).unwrap();
        let program = unit.program(&request).unwrap();
        let settings = unit.settings(&program.values);
        let n = Selection::numbers(settings.view_includes().ranges).next().unwrap();
        let [first, last] = [2 * n - 1, 2 * n].map(|n| settings.comparator(n));
        let got = [first.address, last.address, first.kind.0, last.kind.0];
        let unit = unit.name();
        assert_eq!(got, [low, end as u32, kind, kind], "{unit} {start:#x}");
        let reported = program.text().contains("the word that has the first byte");
        assert_eq!(reported, u64::from(low) != start, "{unit} {start:#x}");
    }
}
