use tracewright_base::{Context, Security, Step};
use tracewright_testing::Random;

use super::*;
use crate::ete::model::Model;
use crate::verdict::Filter;

/// A program without a finding: Arm ARM Table K10-3, with TRCRSR.
const BASE: &str = "TRCCONFIGR=18c1 TRCEVENTCTL0R=0 TRCEVENTCTL1R=0 TRCRSR=0 TRCSTALLCTLR=0 \
    TRCTSCTLR=0 TRCSYNCPR=c TRCTRACEIDR=10 TRCVICTLR=006f0201 TRCVIIECTLR=0 TRCVISSCTLR=0";

/// A range, two single comparators, a selector of one, a counter, the sequencer.
const RANGE: &str = "TRCACVR0=1000 TRCACVR1=1fff TRCACATR0=0 TRCACATR1=0";
const SINGLES: &str = "TRCACVR2=2000 TRCACATR2=0 TRCACVR3=3000 TRCACATR3=0";
const COUNTER: &str = "TRCCNTVR0=5 TRCCNTRLDVR0=5 TRCCNTCTLR0=1";
const SEQUENCER: &str = "TRCSEQEVR0=0 TRCSEQEVR1=0 TRCSEQEVR2=0 TRCSEQRSTEVR=0 TRCSEQSTR=0";

/// Values of a text; a register that is named again replaces the first, and `-NAME` removes it.
fn values(text: &str) -> Values {
    let mut values = Values::default();
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) => values.set(name, u64::from_str_radix(value, 16).unwrap()),
            None => values.remove(word.trim_start_matches('-')),
        }
    }
    values
}

fn rules(unit: &str, text: &str) -> Vec<&'static str> {
    let unit = Implementation::named(unit).unwrap();
    let all = format!("{BASE} {RANGE} {SINGLES} {COUNTER} {SEQUENCER} {text}");
    check(&unit, &values(&all)).into_iter().map(|finding| finding.rule).collect()
}

/// For each rule: a program that breaks it and no other rule, and one that differs little and
/// breaks none. The unit is an ETE unless the row names another.
const ROWS: &[(&str, &str, &str, &str)] = &[
    ("reserved-bits", "ETE", "TRCSYNCPR=8000000c", "TRCSYNCPR=c"),
    ("register-missing", "ETE", "TRCACVR8=1000", "TRCACVR7=1000"),
    ("register-read-only", "ETE", "TRCSTATR=3", "TRCIDR8=0"),
    ("unit-disabled", "ETE", "TRCPRGCTLR=0", "TRCPRGCTLR=1"),
    ("status-not-programmed", "ETE", "-TRCRSR", "TRCRSR=1000"),
    ("identification-fixed", "ETE", "TRCIDR9=5", "TRCIDR9=0"),
    ("identification-fixed", "ETE", "TRCIDR0=2801ce81", "TRCIDR0=2801cea1"),
    ("identification-fixed", "ETE", "TRCIDR2=d0001008", "TRCIDR2=d0001088"),
    ("identification-fixed", "ETE", "TRCIDR3=0f770004", "TRCIDR3=0d770004"),
    ("option-missing", "ETE", "TRCCONFIGR=1fc1", "TRCCONFIGR=18c1"),
    ("option-reserved", "ETE", "TRCCONFIGR=58c1 TRCQCTLR=0", "TRCCONFIGR=38c1 TRCQCTLR=0"),
    ("threshold-missing", "ETE", "TRCCONFIGR=18d1", "TRCCONFIGR=18d1 TRCCCCTLR=100"),
    ("threshold-low", "ETE", "TRCCONFIGR=18d1 TRCCCCTLR=3", "TRCCONFIGR=18d1 TRCCCCTLR=4"),
    ("period-reserved", "ETE", "TRCSYNCPR=7", "TRCSYNCPR=8"),
    ("trace-id-reserved", "ETE", "TRCTRACEIDR=70", "TRCTRACEIDR=6f"),
    ("broadcast-missing", "ETE", "TRCCONFIGR=8c9", "TRCCONFIGR=8c9 TRCBBCTLR=0"),
    ("broadcast-nowhere", "ETE", "TRCCONFIGR=8c9 TRCBBCTLR=100", "TRCCONFIGR=8c9 TRCBBCTLR=101"),
    ("return-stack-unused", "ETE", "TRCCONFIGR=18c9 TRCBBCTLR=0", "TRCCONFIGR=18c9 TRCBBCTLR=101"),
    ("q-filter-missing", "ETE", "TRCCONFIGR=38c1", "TRCCONFIGR=38c1 TRCQCTLR=0"),
    ("stall-without-level", "ETE", "TRCSTALLCTLR=100", "TRCSTALLCTLR=104"),
    ("overflow-prevention-missing", "ETE", "TRCSTALLCTLR=2000", "TRCSTALLCTLR=400"),
    ("timestamps-off", "ETE", "TRCCONFIGR=10c1 TRCTSCTLR=1", "TRCTSCTLR=1"),
    ("view-missing", "ETMv4", "-TRCVICTLR -TRCRSR", "-TRCRSR"),
    ("view-event-false", "ETE", "TRCVICTLR=006f0200", "TRCVICTLR=006f0201"),
    ("view-imprecise", "ETE", "TRCVICTLR=006f0202 TRCRSCTLR2=50001", "TRCRSCTLR2=50001"),
    ("levels-excluded", "ETE", "TRCVICTLR=007f0201", "TRCVICTLR=017f0201"),
    ("forced-errors-missing", "Cortex-A55", "TRCVICTLR=006f0a01 -TRCRSR", "-TRCRSR"),
    ("stopped", "ETE", "TRCVICTLR=006f0001", "TRCVICTLR=006f0001 TRCVISSCTLR=80004"),
    ("start-is-stop", "ETE", "TRCVISSCTLR=40004", "TRCVISSCTLR=80004"),
    ("points-unordered", "ETE", "TRCVISSCTLR=80004 TRCACVR2=4000", "TRCVISSCTLR=40008"),
    (
        "comparator-missing",
        "ETE",
        "TRCVISSCTLR=1000000 TRCACATR8=0 TRCACVR8=0",
        "TRCVISSCTLR=80000",
    ),
    ("comparator-not-programmed", "ETE", "TRCVISSCTLR=10", "TRCVISSCTLR=4"),
    ("range-reversed", "ETE", "TRCVIIECTLR=1 TRCACVR1=fff", "TRCVIIECTLR=1"),
    (
        "range-attributes",
        "ETE",
        "TRCVIIECTLR=1 TRCACATR0=100",
        "TRCVIIECTLR=1 TRCACATR0=100 TRCACATR1=100",
    ),
    ("comparator-shared", "ETE", "TRCVIIECTLR=1 TRCVISSCTLR=1", "TRCVIIECTLR=1 TRCVISSCTLR=4"),
    ("exclude-covers", "ETE", "TRCVIIECTLR=10001", "TRCVIIECTLR=20001"),
    ("context-comparator", "ETE", "TRCACATR2=4", "TRCACATR2=4 TRCCIDCVR0=7"),
    ("masked-value", "ETE", "TRCCIDCVR0=107 TRCCIDCCTLR0=2", "TRCCIDCVR0=7 TRCCIDCCTLR0=2"),
    ("selector-missing", "ETE", "TRCTSCTLR=10", "TRCTSCTLR=f TRCRSCTLR15=40004"),
    ("selector-not-programmed", "ETE", "TRCTSCTLR=2", "TRCTSCTLR=2 TRCRSCTLR2=40004"),
    ("selector-group", "ETE", "TRCTSCTLR=2 TRCRSCTLR2=80001", "TRCTSCTLR=2 TRCRSCTLR2=60001"),
    ("selector-empty", "ETE", "TRCTSCTLR=2 TRCRSCTLR2=40000", "TRCTSCTLR=0 TRCRSCTLR2=40000"),
    ("selector-resource", "ETE", "TRCTSCTLR=2 TRCRSCTLR2=60002", "TRCTSCTLR=2 TRCRSCTLR2=60001"),
    (
        "pair-reserved",
        "ETE",
        "TRCTSCTLR=81 TRCRSCTLR2=40004 TRCRSCTLR3=140008",
        "TRCTSCTLR=81 TRCRSCTLR2=140004 TRCRSCTLR3=40008",
    ),
    (
        "pair-reserved",
        "ETE",
        "TRCTSCTLR=81 TRCRSCTLR2=340004 TRCRSCTLR3=40008",
        "TRCTSCTLR=81 TRCRSCTLR2=240004 TRCRSCTLR3=140008",
    ),
    (
        "counter-not-programmed",
        "ETE",
        "TRCTSCTLR=2 TRCRSCTLR2=20001 -TRCCNTVR0",
        "TRCTSCTLR=2 TRCRSCTLR2=20001",
    ),
    ("chain-of-even", "ETE", "TRCCNTCTLR0=20000", "TRCCNTCTLR1=20000"),
    (
        "sequencer-not-programmed",
        "ETE",
        "TRCTSCTLR=2 TRCRSCTLR2=20010 -TRCSEQSTR",
        "TRCTSCTLR=2 TRCRSCTLR2=20010",
    ),
    (
        "input-not-programmed",
        "ETE",
        "TRCTSCTLR=2 TRCRSCTLR2=1",
        "TRCTSCTLR=2 TRCRSCTLR2=1 TRCEXTINSELR0=11",
    ),
    (
        "single-shot-not-programmed",
        "ETE",
        "TRCTSCTLR=2 TRCRSCTLR2=30001 TRCSSCCR0=4",
        "TRCTSCTLR=2 TRCRSCTLR2=30001 TRCSSCCR0=4 TRCSSCSR0=1",
    ),
    (
        "single-shot-fired",
        "ETE",
        "TRCSSCCR0=4 TRCSSCSR0=80000001",
        "TRCSSCCR0=1000004 TRCSSCSR0=80000001",
    ),
    (
        "event-missing",
        "Cortex-M55",
        "-TRCRSR TRCCONFIGR=1801 TRCEVENTCTL1R=4",
        "-TRCRSR TRCCONFIGR=1801",
    ),
    ("event-never", "ETE", "TRCEVENTCTL1R=1", "TRCEVENTCTL1R=1 TRCEVENTCTL0R=2 TRCRSCTLR2=40004"),
    (
        "trigger-missing",
        "Cortex-A55",
        "-TRCRSR TRCEVENTCTL0R=2 TRCRSCTLR2=40004 TRCEVENTCTL1R=800",
        "-TRCRSR TRCEVENTCTL0R=2 TRCRSCTLR2=40004 TRCEVENTCTL1R=1",
    ),
];

/// Rules that a Cortex-A55 and an ETMv4 of the captures break with the common part of the rows.
const COMMON: [&str; 2] = ["register-missing", "option-missing"];

#[test]
fn each_rule_is_broken_by_a_program_and_not_by_another() {
    for rule in RULES {
        let rows = ROWS.iter().filter(|(name, ..)| *name == rule.name).count();
        assert!(rows > 0, "{}", rule.name);
    }
    for (rule, unit, bad, good) in ROWS {
        let others = |found: Vec<&'static str>| {
            let other = |name: &&'static str| *unit == "ETE" || !COMMON.contains(name);
            found.into_iter().filter(other).collect::<Vec<_>>()
        };
        let mut found = others(rules(unit, bad));
        found.dedup();
        assert_eq!(found, [*rule], "{unit} {bad}");
        assert_eq!(others(rules(unit, good)), [""; 0], "{unit} {good}");
    }
}

/// The program of a real capture: a debugger wrote each register.
#[test]
fn the_registers_of_a_real_capture() {
    let Some(path) =
        tracewright_testing::shared("conformance/arm/snapshots/a55-test-tpiu/device2.ini")
    else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split_once("[regs]").unwrap().1;
    let keys = crate::values::read(text).unwrap();
    let values: Values = keys.into_iter().collect();
    let unit = Implementation::identified(&values).unwrap();
    let found: Vec<_> = check(&unit, &values).into_iter().map(|f| f.rule).collect();
    assert_eq!(found, [""; 0]);
}

/// Random values of the registers that select what is traced, most of which obey the rules.
fn any_program(r: &mut Random, unit: &Implementation) -> Values {
    let mut values = values(BASE);
    let pairs = unit.address_pairs().unwrap_or(8).max(1);
    let wild = |r: &mut Random| r.one_in(60);
    for n in 0..2 * u64::from(pairs) {
        let jump = if wild(r) { r.below(0x2000) } else { n * 0x100 + r.below(0x40) * 4 };
        values.set(&format!("TRCACVR{n}"), 0x1000 + jump);
        let attributes = if r.one_in(8) { r.below(0x80) << 8 } else { 0 };
        let pair = match n % 2 {
            1 if !wild(r) => values.get(&format!("TRCACATR{}", n - 1)),
            _ => None,
        };
        values.set(&format!("TRCACATR{n}"), pair.unwrap_or(attributes));
    }
    let one = |r: &mut Random, count: Option<u8>, width: u64| {
        let count = count.map_or(width, u64::from).min(width);
        if wild(r) || count == 0 { r.below(width) } else { r.below(count) }
    };
    let selectors = unit.selector_pairs().map_or(16, |pairs| 2 * u64::from(pairs));
    for n in 2..selectors {
        let group = if wild(r) { r.below(16) } else { r.pick(&[0, 2, 4, 5, 6]) };
        let select = match group {
            0 => one(r, unit.input_selectors(), 4),
            2 if r.one_in(3) => 4 + r.below(4),
            2 => one(r, unit.counters(), 4),
            4 => one(r, Some(2 * pairs), 16),
            5 => one(r, Some(pairs), 8),
            6 => one(r, unit.context_comparators(), 8),
            _ => r.below(8),
        };
        let inverted = if n % 2 == 0 { r.below(2) << 20 } else { u64::from(wild(r)) << 20 };
        let combined = if n % 2 == 0 { u64::from(wild(r)) << 21 } else { 0 };
        values.set(&format!("TRCRSCTLR{n}"), combined | inverted | group << 16 | 1 << select);
    }
    let event = |r: &mut Random| match r.below(4) {
        0 => r.below(2),
        1 if wild(r) => 0x80 | r.below(16),
        1 => 0x81 + r.below(selectors / 2 - 1),
        _ if wild(r) => r.below(32),
        _ => 2 + r.below(selectors - 2),
    };
    for n in 0..unit.counters().unwrap_or(4) {
        values.set(&format!("TRCCNTVR{n}"), r.below(9));
        values.set(&format!("TRCCNTRLDVR{n}"), r.below(9));
        values.set(&format!("TRCCNTCTLR{n}"), event(r) | event(r) << 8);
    }
    if unit.sequencer() != Some(false) {
        for name in ["TRCSEQEVR0", "TRCSEQEVR1", "TRCSEQEVR2"] {
            values.set(name, event(r) | event(r) << 8);
        }
        values.set("TRCSEQRSTEVR", event(r));
        values.set("TRCSEQSTR", 0);
    }
    if unit.version.is_ete() {
        (0..unit.input_selectors().unwrap_or(4)).for_each(|n| {
            values.set(&format!("TRCEXTINSELR{n}"), r.below(8));
        });
    } else {
        values.remove("TRCRSR");
        values.set("TRCEXTINSELR", 0x0302_0100);
    }
    values.set("TRCCIDCVR0", 7);
    values.set("TRCEVENTCTL0R", event(r) | event(r) << 8);
    values.set("TRCEVENTCTL1R", r.below(2));
    values.set("TRCVICTLR", 0x6f_0200 | event(r));
    let ranges = |r: &mut Random| if r.one_in(2) { 1 << one(r, Some(pairs), 8) } else { 0 };
    values.set("TRCVIIECTLR", ranges(r) | ranges(r) << 16);
    if r.one_in(2) {
        let (start, stop) = (one(r, Some(2 * pairs), 16), one(r, Some(2 * pairs), 16));
        values.set("TRCVISSCTLR", 1 << start | 1 << (16 + stop));
    }
    values
}

/// A program without an error reaches no rule of the model that is UNPREDICTABLE, whatever
/// executes; programs with errors do.
#[test]
fn programs_without_errors_are_predictable() {
    let units = ["ETE", "ETE-max", "ETE1.3", "Cortex-A53", "ETMv4.4"];
    let units = units.map(|name| Implementation::named(name).unwrap());
    let mut r = Random::new(23);
    let times = tracewright_testing::times(300);
    let (mut clean, mut wrong) = (0, 0);
    for round in 0..times {
        let unit = units[round as usize % units.len()];
        let values = any_program(&mut r, &unit);
        let found = check(&unit, &values);
        let mut model = Model::new(&unit, &values);
        for _ in 0..20 {
            model.step(&Step::Context(Context {
                el: Some(r.below(3) as u8),
                security: Some(r.pick(&[Security::NonSecure, Security::Secure])),
                context_id: Some(r.below(9) as u32),
                ..Context::default()
            }));
            model.instruction(0x1000 + r.below(0x400) * 4);
        }
        match (found.iter().find(|finding| finding.is_error()), model.unpredictable()) {
            (None, Some(rule)) => panic!("{rule}: {values:?}"),
            (None, None) => clean += 1,
            (Some(_), Some(_)) => wrong += 1,
            (Some(_), None) => {}
        }
    }
    assert!(clean > times / 20 && wrong > times / 20, "{clean} {wrong} of {times}");
}
