//! For each rule on sequences a recording that breaks it and one that does not.

use crate::etm::Etm;
use crate::etm::sequence::{self, RULES};
use crate::program;

const START: &str = "w ETMLAR 0xc5acce55\nr ETMPDSR 1\nr ETMCR 0x400\nw ETMCR 0x400\nr ETMSR 2\n";
const END: &str = "w ETMCR 0x0\nr ETMSR 0\n";

/// A rule, the unit, a recording that breaks it, one that does not. `<` stands for the start of a
/// correct program, `>` for its end.
const ROWS: &[(&str, &str, &str, &str)] = &[
    ("unknown-register", "ETMv3.3", "<w 0x19c4 1\n>", "<>"),
    ("unknown-register", "ETMv1.1", "w ETMTECR2 0\n", ""),
    ("read-only", "ETMv3.3", "<w ETMCCR 0\n>", "<w ETMTEEVR 0x6f\n>"),
    ("write-only", "ETMv3.0", "r ETMTEEVR\n", "r ETMCCR\n"),
    ("write-only", "ETMv3.3", "r ETMLAR\n", "r ETMTEEVR\n"),
    ("reserved-bits", "ETMv3.3", "<w ETMTEEVR 0x2006f\n>", "<w ETMTEEVR 0x1006f\n>"),
    ("not-programming", "ETMv3.3", "w ETMLAR 0xc5acce55\nw ETMTEEVR 0x6f\n", "<w ETMTEEVR 0x6f\n>"),
    ("not-programming", "ETMv3.3", "r ETMCR 0x0\nw ETMCR 0xc\n", "r ETMCR 0x0\nw ETMCR 0x400\n"),
    (
        "not-programming",
        "ETMv1.2",
        "r ETMCR 0\nw ETMCR 0x400\nw ETMTEEVR 0x6f\n",
        "r ETMCR 0\nw ETMCR 0x400\nr ETMSR 2\nw ETMTEEVR 0x6f\n>",
    ),
    ("control-together", "ETMv3.3", "r ETMCR 0\nw ETMCR 0x40c\n", "r ETMCR 0\nw ETMCR 0x400\n"),
    (
        "control-together",
        "ETMv3.3",
        "r ETMCR 0\nw ETMCR 0x400\nw ETMCR 0x40c\n",
        "r ETMCR 0\nw ETMCR 0x400\nr ETMSR 2\nw ETMCR 0x40c\n",
    ),
    (
        "powered-down",
        "ETMv3.3",
        "r ETMCR 0x401\nw ETMCR 0x401\nr ETMSR 2\nw ETMTEEVR 0x6f\n",
        "<w ETMTEEVR 0x6f\n>",
    ),
    ("software-locked", "ETMv3.3", "w ETMCR 0x400\n", "<>"),
    (
        "os-locked",
        "ETMv3.3",
        "w ETMLAR 0xc5acce55\nw ETMOSLAR 0xc5acce55\nr ETMCR\n",
        "w ETMLAR 0xc5acce55\nw ETMOSLAR 0xc5acce55\nw ETMOSLAR 0\nr ETMCR\n",
    ),
    (
        "core-select",
        "ETMv3.3",
        "<w ETMCR 0x2000400\n>",
        "<w ETMCR 0x401\nw ETMCR 0x2000401\nw ETMCR 0x2000400\nw ETMCR 0x2000000\nr ETMSR 0\n",
    ),
    (
        "state-overwritten",
        "ETMv3.3",
        "<w ETMSQR 1\nw ETMSQ12EVR 0x6f\n>",
        "<w ETMSQ12EVR 0x6f\nw ETMSQR 1\n>",
    ),
    (
        "state-overwritten",
        "ETMv3.3",
        "<w ETMCNTVR2 1\nw ETMCNTRLDVR2 5\n>",
        "<w ETMCNTVR1 1\nw ETMCNTRLDVR2 5\n>",
    ),
    ("enable-unpolled", "ETMv3.3", "<w ETMCR 0\n", "<>"),
    ("left-programming", "ETMv3.3", "<", "<>"),
    (
        "power-status-unread",
        "ETMv3.3",
        "w ETMLAR 0xc5acce55\nw ETMOSLAR 0xc5acce55\nr ETMOSSRR 1\nr ETMOSSRR 7\n",
        "w ETMLAR 0xc5acce55\nr ETMPDSR 1\nw ETMOSLAR 0xc5acce55\nr ETMOSSRR 1\nr ETMOSSRR 7\n",
    ),
    ("save-unlocked", "ETMv3.3", "r ETMOSSRR 1\n", "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 1\n"),
    (
        "save-first-read",
        "ETMv3.3",
        "w ETMOSLAR 0xc5acce55\nw ETMOSSRR 1\n",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR\nw ETMOSSRR 1\n",
    ),
    (
        "save-mixed",
        "ETMv3.3",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 2\nr ETMOSSRR 1\nw ETMOSSRR 1\n",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 2\nw ETMOSSRR 1\nw ETMOSSRR 1\n",
    ),
    (
        "save-count",
        "ETMv3.3",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 1\nr ETMOSSRR 1\nr ETMOSSRR 1\n",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 2\nr ETMOSSRR 1\nr ETMOSSRR 1\n",
    ),
    (
        "save-count",
        "ETMv3.3",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 2\nr ETMOSSRR 1\nw ETMOSLAR 0\n",
        "w ETMOSLAR 0xc5acce55\nr ETMOSSRR 1\nr ETMOSSRR 1\nw ETMOSLAR 0\n",
    ),
];

fn broken(unit: &str, recording: &str) -> Vec<&'static str> {
    let text = recording.replace('<', START).replace('>', END);
    let accesses = program::read(&text).unwrap();
    let unit = Etm::named(unit).unwrap();
    sequence::findings(&unit.resources, &accesses).iter().map(|finding| finding.rule).collect()
}

#[test]
fn each_rule_is_broken_and_obeyed() {
    for (rule, unit, bad, good) in ROWS {
        let with_bad = broken(unit, bad);
        assert!(with_bad.contains(rule), "{rule}: {bad:?}: {with_bad:?}");
        let with_good = broken(unit, good);
        assert!(!with_good.contains(rule), "{rule}: {good:?}: {with_good:?}");
    }
    for (rule, _) in RULES {
        assert!(ROWS.iter().any(|row| row.0 == *rule), "no test of {rule}");
    }
    assert_eq!(broken("ETMv3.3", "<>"), [] as [&str; 0]);
    // A register by its number: ETMCCR is read-only, and 0x2ff is none.
    assert!(broken("ETMv3.3", "w #1 0").contains(&"read-only"));
    assert!(broken("ETMv3.3", "w #767 0").contains(&"unknown-register"));
}

/// IHI 0014, Examples 3-3 and 3-5: save and restore, with a count of 0 and of 3.
#[test]
fn save_and_restore() {
    for count in [0, 3] {
        let start = "w ETMLAR 0xc5acce55\nr ETMPDSR 1\nw 0x300 0xc5acce55\n";
        let reads = "r 0x308 5\n".repeat(count);
        let save = format!("{start}r 0x308 {count}\n{reads}");
        assert_eq!(broken("ETMv3.3", &save), [] as [&str; 0]);
        let writes = "w 0x308 5\n".repeat(count);
        let restore = format!("{start}r 0x308\n{writes}w 0x300 0\ndsb\nisb\n");
        assert_eq!(broken("ETMv3.3", &restore), [] as [&str; 0]);
    }
}
