//! For each rule on values a program that breaks it and one that does not.

use crate::etm::Etm;
use crate::etm::lint::{self, RULES};
use crate::finding::Severity;
use crate::unit::Unit;
use crate::values::Values;

/// A program for a Cortex-A8 without a finding: instructions from 0x8000 to 0x8fff, all data.
const A8: &[(&str, u64)] = &[
    ("ETMCR", 0x80c),
    ("ETMTRIGGER", 0x406f),
    ("ETMTEEVR", 0x6f),
    ("ETMTECR1", 0x1),
    ("ETMTECR2", 0),
    ("ETMACVR1", 0x8000),
    ("ETMACTR1", 0x19),
    ("ETMACVR2", 0x9000),
    ("ETMACTR2", 0x19),
    ("ETMVDEVR", 0x6f),
    ("ETMVDCR1", 0),
    ("ETMVDCR3", 0x1_0000),
    ("ETMSYNCFR", 0x400),
    ("ETMTRACEIDR", 0x10),
];

/// The same for the largest unit of a version, without the registers that ETMv1.0 lacks.
const LARGE: &[(&str, u64)] = &[
    ("ETMCR", 0x80c),
    ("ETMTRIGGER", 0x406f),
    ("ETMTEEVR", 0x6f),
    ("ETMTECR1", 0x1),
    ("ETMTECR2", 0),
    ("ETMACVR1", 0x8000),
    ("ETMACTR1", 0x19),
    ("ETMACVR2", 0x9000),
    ("ETMACTR2", 0x19),
    ("ETMVDEVR", 0x6f),
    ("ETMVDCR1", 0),
    ("ETMVDCR2", 0),
    ("ETMVDCR3", 0x1_0000),
];

/// A program for a Cortex-M4 without a finding.
const M4: &[(&str, u64)] =
    &[("ETMCR", 0x810), ("ETMTRIGGER", 0x406f), ("ETMTEEVR", 0x6f), ("ETMTECR1", 0x100_0000)];

type Changes = &'static [(&'static str, u64)];

/// A value that removes the register from the program.
const UNKNOWN: u64 = u64::MAX;

/// A rule, the unit, a program without a finding, changes that break the rule, and changes that
/// are near and do not.
struct Row(&'static str, &'static str, Changes, Changes, Changes);

const DATA_1: Changes = &[
    ("ETMVDCR3", 0),
    ("ETMVDCR1", 0x4),
    ("ETMACVR3", 0x2000_0001),
    ("ETMACTR3", 0x24),
    ("ETMDCVR2", 0xabab_abab),
    ("ETMDCMR2", 0),
];

const ROWS: &[Row] = &[
    Row("reserved-bits", "Cortex-A8", A8, &[("ETMTEEVR", 0x2_006f)], &[("ETMTEEVR", 0x6f)]),
    Row("reserved-bits", "ETMv1.1", LARGE, &[], &[("ETMTECR2", UNKNOWN)]),
    Row("reserved-value", "Cortex-A8", A8, &[("ETMCR", 0x87c)], &[("ETMCR", 0x84c)]),
    Row("reserved-value", "Cortex-A8", A8, &[("ETMCR", 0x2_080c)], &[("ETMCR", 0x1_080c)]),
    Row("reserved-value", "Cortex-A8", A8, &[("ETMSQR", 3)], &[("ETMSQR", 2)]),
    Row("powered-down", "Cortex-A8", A8, &[("ETMCR", 0x80d)], &[]),
    Row("programming", "Cortex-A8", A8, &[("ETMCR", 0xc0c)], &[]),
    Row("port-disabled", "ETM9", LARGE, &[("ETMCR", 0x00c)], &[]),
    Row("os-locked", "ETMv3.3", LARGE, &[("ETMOSLSR", 3)], &[("ETMOSLSR", 1)]),
    Row("state-lost", "ETMv3.3", LARGE, &[("ETMPDSR", 3)], &[("ETMPDSR", 1)]),
    Row("coprocessor-filter", "Cortex-A8", A8, &[("ETMCR", 0x8_080c)], &[("ETMCR", 0x8_080e)]),
    Row(
        "stall-and-suppress",
        "ETMv3.3",
        LARGE,
        &[("ETMCR", 0x4_088c), ("ETMFFLR", 9), ("ETMFFRR", 0x100_0000)],
        &[("ETMCR", 0x4_080c), ("ETMFFLR", 9)],
    ),
    Row(
        "fifo-level-zero",
        "Cortex-A8",
        A8,
        &[("ETMCR", 0x4_080c), ("ETMFFLR", 0)],
        &[("ETMCR", 0x80c), ("ETMFFLR", 0)],
    ),
    Row(
        "fifo-level-large",
        "ETM9-small",
        LARGE,
        &[("ETMCR", 0x88c), ("ETMFFLR", 10), ("ETMFFRR", 0x100_0000)],
        &[("ETMCR", 0x88c), ("ETMFFLR", 9), ("ETMFFRR", 0x100_0000)],
    ),
    Row(
        "stall-missing",
        "Cortex-A8",
        A8,
        &[("ETMCR", 0x88c), ("ETMFFLR", 9), ("ETMFFRR", 0x100_0000)],
        &[],
    ),
    Row("port-size", "Cortex-R5", A8, &[("ETMCR", 0x85c)], &[("ETMCR", 0x84c)]),
    Row("port-size", "Cortex-A8", A8, &[("ETMSCR", 0x80c)], &[("ETMSCR", 0xc0c)]),
    Row("control-missing", "Cortex-M4", M4, &[("ETMCR", 0x1810)], &[]),
    Row("core-select", "Cortex-A8", A8, &[("ETMCR", 0x200_080c)], &[]),
    Row("access-type", "Cortex-A8", A8, &[("ETMACTR1", 0x1f), ("ETMACTR2", 0x1f)], &[]),
    Row("access-type", "Cortex-A8", A8, &[("ETMACTR1", 0x11), ("ETMACTR2", 0x11)], &[]),
    Row("access-type", "Cortex-A8", A8, &[("ETMACTR1", 0xc19), ("ETMACTR2", 0xc19)], &[]),
    Row(
        "access-type",
        "ETMv1.1",
        LARGE,
        &[("ETMACTR1", 0x1a), ("ETMACTR2", 0x1a), ("ETMTECR2", UNKNOWN)],
        &[("ETMTECR2", UNKNOWN)],
    ),
    Row("access-type", "Cortex-R5", A8, &[("ETMACTR1", 0x18), ("ETMACTR2", 0x18)], &[]),
    Row("value-of-instruction", "Cortex-A8", A8, &[("ETMACTR1", 0x39)], &[]),
    Row(
        "data-address-missing",
        "ETMv3.3",
        LARGE,
        &[("ETMACTR1", 0x1c), ("ETMACTR2", 0x1c), ("ETMCCER", 0x1800)],
        &[("ETMCCER", 0x1800)],
    ),
    Row("range-types", "Cortex-A8", A8, &[("ETMACTR2", 0x11a)], &[]),
    Row(
        "range-types",
        "Cortex-A8",
        A8,
        &[
            ("ETMVDCR3", 0x1),
            ("ETMACTR1", 0x3c),
            ("ETMACTR2", 0x3c),
            ("ETMDCVR1", 0),
            ("ETMDCMR1", 0),
        ],
        &[
            ("ETMVDCR3", 0x1),
            ("ETMACTR1", 0x3c),
            ("ETMACTR2", 0x1c),
            ("ETMDCVR1", 0),
            ("ETMDCMR1", 0),
        ],
    ),
    Row("range-order", "Cortex-A8", A8, &[("ETMACVR2", 0x8000)], &[("ETMACVR2", 0x8004)]),
    Row(
        "range-top",
        "Cortex-A8",
        A8,
        &[("ETMACVR2", 0xffff_ffff), ("ETMACTR1", 0x9), ("ETMACTR2", 0x9)],
        &[("ETMACVR2", 0xffff_ffff), ("ETMACTR1", 0x9), ("ETMACTR2", 0x19)],
    ),
    Row(
        "data-alignment",
        "Cortex-A8",
        A8,
        &[("ETMVDCR3", 0), ("ETMVDCR1", 8), ("ETMACVR4", 0x2001), ("ETMACTR4", 0x1c)],
        &[("ETMVDCR3", 0), ("ETMVDCR1", 8), ("ETMACVR4", 0x2001), ("ETMACTR4", 0x04)],
    ),
    Row(
        "comparator-missing",
        "Cortex-A8",
        A8,
        &[("ETMVDCR3", 0), ("ETMVDCR1", 0x10), ("ETMACVR5", 0x2000), ("ETMACTR5", 0x3c)],
        &[
            ("ETMVDCR3", 0),
            ("ETMVDCR1", 0x4),
            ("ETMACVR3", 0x2000),
            ("ETMACTR3", 0x3c),
            ("ETMDCVR2", 1),
            ("ETMDCMR2", 0),
        ],
    ),
    Row("comparator-missing", "Cortex-A8", A8, &[("ETMACVR9", 0x2000)], &[("ETMACVR9", 0)]),
    Row(
        "comparator-missing",
        "Cortex-A8",
        A8,
        &[("ETMACTR1", 0x219), ("ETMACTR2", 0x219), ("ETMCIDCVR2", 1), ("ETMCIDCMR", 0)],
        &[("ETMACTR1", 0x119), ("ETMACTR2", 0x119), ("ETMCIDCVR1", 1), ("ETMCIDCMR", 0)],
    ),
    Row(
        "masked-bits",
        "Cortex-A8",
        A8,
        &[("ETMCIDCVR1", 0x1f), ("ETMCIDCMR", 0xff)],
        &[("ETMCIDCVR1", 0x100), ("ETMCIDCMR", 0xff)],
    ),
    Row("value-width", "Cortex-A8", A8, &[("ETMDCVR2", 0xab)], &[]),
    Row("value-width", "ETMv2.0", LARGE, &[("ETMDCVR2", 0xab), ("ETMDCMR2", 0)], &[]),
    Row("value-width", "ETMv1.2", LARGE, &[("ETMDCVR2", 0xab), ("ETMDCMR2", 0xffff_ff00)], &[]),
    Row(
        "data-excludes",
        "Cortex-A8",
        A8,
        &[("ETMTECR1", 0x100_0001), ("ETMACTR1", 0x1c), ("ETMACTR2", 0x1c)],
        &[("ETMTECR1", 0x100_0001)],
    ),
    Row("includes-nothing", "Cortex-A8", A8, &[("ETMTECR1", 0)], &[("ETMTECR1", 0x100_0000)]),
    Row(
        "excludes-all",
        "Cortex-A8",
        A8,
        &[("ETMTECR1", 0x100_0001), ("ETMACVR1", 0), ("ETMACVR2", 0xffff_ffff)],
        &[("ETMACVR1", 0), ("ETMACVR2", 0xffff_ffff)],
    ),
    Row(
        "start-and-stop",
        "Cortex-A8",
        A8,
        &[("ETMTECR1", 0x300_0000), ("ETMTSSCR", 0x1_0001)],
        &[("ETMTECR1", 0x300_0000), ("ETMTSSCR", 0x2_0001)],
    ),
    Row(
        "start-stop-missing",
        "ETMv2.0",
        LARGE,
        &[("ETMTECR1", 0x300_0000), ("ETMCCR", 0x83c9_9088)],
        &[("ETMTECR1", 0x100_0000), ("ETMCCR", 0x83c9_9088)],
    ),
    Row(
        "start-without-stop",
        "Cortex-A8",
        A8,
        &[("ETMTECR1", 0x300_0000), ("ETMTSSCR", 0x1)],
        &[("ETMTECR1", 0x300_0000), ("ETMTSSCR", 0x2_0001)],
    ),
    Row(
        "start-stop-fetch",
        "Cortex-A8",
        A8,
        &[("ETMTECR1", 0x300_0000), ("ETMTSSCR", 0x2_0001), ("ETMACTR1", 0x18)],
        &[("ETMTECR1", 0x300_0000), ("ETMTSSCR", 0x2_0001)],
    ),
    Row(
        "exact-instruction",
        "Cortex-A8",
        A8,
        &[("ETMVDCR3", 0x1), ("ETMTECR1", 0x100_0000), ("ETMACTR1", 0x99), ("ETMACTR2", 0x99)],
        &[("ETMVDCR3", 0x1), ("ETMTECR1", 0x100_0000)],
    ),
    Row("exact-imprecise", "Cortex-A8", A8, &[("ETMACTR1", 0x99), ("ETMACTR2", 0x99)], &[]),
    Row(
        "single-instruction",
        "Cortex-A8",
        A8,
        &[("ETMTECR2", 0x4), ("ETMACVR3", 0x8000), ("ETMACTR3", 0x19)],
        &[("ETMTECR2", 0x4), ("ETMACVR3", 0x8000), ("ETMACTR3", 0x1c)],
    ),
    Row("view-includes-nothing", "Cortex-A8", A8, &[("ETMVDCR3", 0)], &[]),
    Row("view-memory-map", "Cortex-A8", A8, &[("ETMVDCR2", 1)], &[("ETMVDCR2", 0)]),
    Row("view-without-data", "Cortex-M4", M4, &[("ETMVDCR3", 1)], &[("ETMVDCR3", 0)]),
    Row("event-resource", "Cortex-A8", A8, &[("ETMTRIGGER", 0x42)], &[("ETMTRIGGER", 0x01)]),
    Row("event-resource", "Cortex-A8", A8, &[("ETMTRIGGER", 0x57)], &[]),
    Row(
        "event-resource",
        "ETMv1.0",
        LARGE,
        &[("ETMTRIGGER", 0x58), ("ETMTECR2", UNKNOWN)],
        &[("ETMTECR2", UNKNOWN)],
    ),
    Row("sequencer-unwritten", "Cortex-A8", A8, &[("ETMTRIGGER", 0x52)], SEQUENCER),
    Row(
        "sequencer-both",
        "Cortex-A8",
        A8,
        &[
            ("ETMTRIGGER", 0x52),
            ("ETMSQ12EVR", 0x60),
            ("ETMSQ21EVR", 0x406f),
            ("ETMSQ23EVR", 0x61),
            ("ETMSQ31EVR", 0x406f),
            ("ETMSQ32EVR", 0x406f),
            ("ETMSQ13EVR", 0x60),
        ],
        SEQUENCER,
    ),
    Row("counter-zero", "Cortex-A8", A8, COUNTER_ZERO, COUNTER_ONE),
    Row("counter-or", "Cortex-A8", A8, COUNTER_OR, COUNTER_AND),
    Row("counter-free", "ETMv1.3", LARGE, COUNTER_ONE, COUNTER_EVENT),
    Row(
        "input-selection",
        "Cortex-R5",
        A8,
        &[("ETMEXTINSELR", 0xff00)],
        &[("ETMEXTINSELR", 0x100)],
    ),
    Row("ice-missing", "ETMv3.4", LARGE, &[("ETMTESSEICR", 1), ("ETMCCER", 0x4_1800)], &[]),
    Row("ice-missing", "Cortex-M4", M4, &[("ETMTESSEICR", 0x10)], &[("ETMTESSEICR", 0x8)]),
    Row("sync-frequency", "Cortex-A8", A8, &[("ETMSYNCFR", 0)], &[]),
    Row("sync-fixed", "Cortex-M4", M4, &[("ETMSYNCFR", 0x800)], &[("ETMSYNCFR", 0x400)]),
    Row("trace-id", "Cortex-A8", A8, &[("ETMTRACEIDR", 0)], &[("ETMTRACEIDR", 0x6f)]),
    Row("not-written", "Cortex-A8", A8, &[("ETMTECR2", UNKNOWN)], &[]),
    Row("not-written", "Cortex-A8", A8, &[("ETMACTR2", UNKNOWN)], &[]),
    Row("not-written", "Cortex-A8", A8, &[("ETMVDCR3", UNKNOWN)], &[("ETMCR", 0x800)]),
    Row("trigger-not-written", "Cortex-A8", A8, &[("ETMTRIGGER", UNKNOWN)], &[]),
];

const SEQUENCER: Changes = &[
    ("ETMTRIGGER", 0x52),
    ("ETMSQ12EVR", 0x60),
    ("ETMSQ21EVR", 0x406f),
    ("ETMSQ23EVR", 0x61),
    ("ETMSQ31EVR", 0x406f),
    ("ETMSQ32EVR", 0x406f),
    ("ETMSQ13EVR", 0x406f),
];

const COUNTER_ZERO: Changes = &counter(0, 0x60);
const COUNTER_ONE: Changes = &counter(1, 0x60);
const COUNTER_OR: Changes = &counter(1, 0x1_4080);
const COUNTER_AND: Changes = &counter(1, 0x8080);
const COUNTER_EVENT: Changes = &counter(1, 0x2_0060);

const fn counter(reload: u64, enable: u64) -> [(&'static str, u64); 4] {
    [
        ("ETMTRIGGER", 0x40),
        ("ETMCNTRLDVR1", reload),
        ("ETMCNTENR1", enable),
        ("ETMCNTRLDEVR1", 0x406f),
    ]
}

/// The rules that a program breaks.
fn broken(unit: &str, base: Changes, changes: Changes) -> Vec<&'static str> {
    let unit = Etm::named(unit).unwrap();
    let mut values: Values = base.iter().copied().collect();
    for (name, value) in changes {
        match *value {
            UNKNOWN => values.remove(name),
            value => values.set(name, value),
        }
    }
    lint::findings(&unit.settings(&values)).iter().map(|finding| finding.rule).collect()
}

#[test]
fn each_rule_is_broken_and_obeyed() {
    for Row(rule, unit, base, bad, good) in ROWS {
        let mut base = base.to_vec();
        let old = matches!(*unit, "ETMv1.0" | "ETMv1.1");
        if matches!(*rule, "value-width") {
            base.extend(DATA_1);
            match *unit {
                "ETMv2.0" => base.extend([("ETMDCVR2", 0xab), ("ETMDCMR2", 0xffff_ff00)]),
                "ETMv1.2" => base.extend([("ETMDCVR2", 0xab00), ("ETMDCMR2", 0xffff_00ff)]),
                _ => {}
            }
        }
        let base: Changes = base.leak();
        let with_bad = broken(unit, base, bad);
        assert!(with_bad.contains(rule), "{rule} {unit}: {with_bad:?}");
        let with_good = broken(unit, base, good);
        assert!(!with_good.contains(rule), "{rule} {unit}: {with_good:?}");
        // The programs themselves have no other finding.
        let own = broken(unit, base, if old { good } else { &[] });
        let other: Vec<_> = own.iter().filter(|found| *found != rule).collect();
        assert!(other.is_empty() || *unit == "ETM9-small", "{rule} {unit}: {other:?}");
    }
    for (rule, _) in RULES {
        assert!(ROWS.iter().any(|row| row.0 == *rule), "no test of {rule}");
    }
}

/// Errors come before warnings, and a finding names a register of the table.
#[test]
fn findings_are_complete() {
    let unit = Etm::named("Cortex-A8").unwrap();
    let values: Values =
        [("ETMCR", 0x4_0c8d), ("ETMTECR1", 0), ("ETMFFLR", 0)].into_iter().collect();
    let findings = lint::findings(&unit.settings(&values));
    assert!(findings.is_sorted_by_key(|finding| finding.severity));
    assert_eq!(findings[0].severity, Severity::Error);
    for finding in findings {
        assert!(crate::etm::settings::number_of(&finding.at).is_some(), "{finding}");
        assert!(finding.section.starts_with("IHI 0014, "), "{finding}");
        assert!(!finding.what.ends_with('.') && !finding.remedy.is_empty(), "{finding}");
    }
}

/// A register has 32 bits: a value of more bits is reported, and its low bits are checked.
#[test]
fn values_of_more_than_32_bits() {
    let unit = Etm::named("Cortex-A8").unwrap();
    for (value, want) in [
        (0xc00, [].as_slice()),
        (0x1_0000_0c00, &["0x100000c00 has more than 32 bits"]),
        (
            0x1_8000_0c00,
            &["0x180000c00 has more than 32 bits", "bits 0x80000000 are reserved in ETMv3.3"],
        ),
    ] {
        let findings = unit.lint(&Values::from_iter([("ETMCR", value)]));
        let reserved = findings.iter().filter(|finding| finding.rule == "reserved-bits");
        let reserved: Vec<_> = reserved.map(|finding| finding.what.as_str()).collect();
        assert_eq!(reserved, want, "{value:#x}");
    }
}

/// 3.4.2 and 3.5.15: a register of which the value after a reset is known, and registers that the
/// version does not have, are not reported as unknown.
#[test]
fn registers_that_are_not_written() {
    let of = |unit: &str, values: &[(&str, u64)]| -> Vec<_> {
        let unit = Etm::named(unit).unwrap();
        let values = values.iter().copied().collect();
        let all = lint::findings(&unit.settings(&values)).into_iter();
        all.filter(|finding| finding.rule == "not-written").collect()
    };
    let found = of("ETMv3.4", &[("ETMTRACEIDR", 1)]);
    for finding in found {
        let unknown = finding.what.contains("it is unknown after a reset");
        assert_eq!(unknown, finding.at != "ETMCR", "{finding}");
    }
    for (unit, resource, registers) in [
        ("ETMv1.3", 0x58, &[][..]),
        ("ETMv2.0", 0x58, &["ETMCIDCVR1", "ETMCIDCMR"]),
        ("ETMv3.4", 0x40, &["ETMCNTRLDVR1", "ETMCNTENR1", "ETMCNTRLDEVR1"]),
        ("Cortex-M4", 0x41, &[]),
    ] {
        let base = [("ETMCR", 0), ("ETMTECR1", 1 << 24), ("ETMTECR2", 0), ("ETMTEEVR", 0x6f)];
        let found = of(unit, &[&base[..], &[("ETMTRIGGER", resource)]].concat());
        let mut got: Vec<_> = found.iter().map(|finding| finding.at.as_str()).collect();
        got.sort_unstable();
        let mut want = registers.to_vec();
        want.sort_unstable();
        assert_eq!(got, want, "{unit} {resource:#x}");
    }
}
