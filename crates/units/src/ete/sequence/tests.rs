mod changed;
mod machine;
mod orders;

use super::*;
use crate::ete::implementation::Implementation;
use crate::program::{self, Action, BusAccess, Program, ProgramStep};
use crate::routine::Routine;
use crate::sink::{Buffer, Mode, Sink, Watermark};
use crate::values::Values;

fn unit() -> Implementation {
    Implementation::named("ETE").unwrap()
}

/// Arm ARM Table K10-3, with TRCRSR.
fn minimal() -> Values {
    [
        ("TRCCONFIGR", 0x18c1),
        ("TRCEVENTCTL0R", 0),
        ("TRCEVENTCTL1R", 0),
        ("TRCRSR", 0x1000),
        ("TRCSTALLCTLR", 0),
        ("TRCTSCTLR", 0),
        ("TRCSYNCPR", 0xc),
        ("TRCTRACEIDR", 0x10),
        ("TRCVICTLR", 0x006f_0201),
        ("TRCVIIECTLR", 0),
        ("TRCVISSCTLR", 0),
    ]
    .into_iter()
    .collect()
}

fn buffer() -> Sink {
    let (base, limit) = (0x8000_0000, 0x8001_0000);
    Sink::Trbe(Buffer { base, limit, mode: Mode::Fill, watermark: None })
}

fn recorded(steps: &[ProgramStep]) -> Vec<BusAccess> {
    Program { steps: steps.to_vec(), ..Program::default() }.accesses()
}

fn rules_broken(steps: &[ProgramStep]) -> Vec<&'static str> {
    check(&unit(), &recorded(steps)).iter().map(|finding| finding.rule).collect()
}

/// The sequences of K10.5.7 and K10.5.10, and the parts of each whose order the text leaves open:
/// two steps of one group may be exchanged.
fn sequences() -> Vec<(&'static str, Vec<ProgramStep>)> {
    let unit = unit();
    let (values, sink) = (minimal(), buffer());
    let alone = State::new(&unit, &values);
    let state = State { sink: Some(&sink), tables: 0x4000_0000, ..alone };
    let with_sink = enable(&unit, &minimal(), Some(&buffer()));
    let disable_with_sink = steps(Routine::Disable, &state);
    let mut session = with_sink.clone();
    session.extend(disable_with_sink.clone());
    vec![
        ("K10.5.7.1.1 enable", enable(&unit, &minimal(), None)),
        ("K10.5.7.1.2 disable", disable(&alone)),
        ("K10.5.7.1.3 save", save(&alone)),
        ("K10.5.7.1.3 restore", restore(&alone)),
        ("K10.5.7.1 enable with sink", with_sink),
        ("K10.5.7.1 disable with sink", disable_with_sink),
        ("K10.5.10 switch out", switch_out(&state)),
        ("K10.5.10 switch out, tracing", switch_out_tracing(&state)),
        ("K10.5.10 switch in", switch_in(&state)),
        ("session", session),
    ]
}

#[test]
fn the_sequences_of_the_specification_pass() {
    for (name, steps) in sequences() {
        assert_eq!(check(&unit(), &recorded(&steps)), [], "{name}");
    }
    for watermark in [Watermark::Wrap(0x1000), Watermark::Trigger(0x1000)] {
        let sink = Sink::Trbe(Buffer { watermark: Some(watermark), ..*buffer().buffer() });
        assert_eq!(rules_broken(&enable(&unit(), &minimal(), Some(&sink))), [""; 0]);
    }
    let etr = Sink::Etr(Buffer { mode: Mode::Circular, ..*buffer().buffer() });
    let mut session = enable(&unit(), &minimal(), Some(&etr));
    // The unit before its sink.
    session.rotate_left(start(&etr).len());
    assert_eq!(rules_broken(&session), ["unit-before-sink", "sink-before-unit"]);
    let mut session = enable(&unit(), &minimal(), Some(&etr));
    let (unit, values) = (unit(), Values::default());
    session
        .extend(steps(Routine::Disable, &State { sink: Some(&etr), ..State::new(&unit, &values) }));
    assert_eq!(rules_broken(&session), [""; 0]);
}

fn shown(step: &ProgramStep) -> String {
    let text = Program { steps: vec![step.clone()], ..Program::default() }.text();
    text.split('#').next().unwrap_or_default().trim().to_owned()
}

/// Whether K10.5.7 and K10.5.10 leave the order of two neighbours open: registers that are
/// programmed, saved or restored together.
fn unordered(a: &ProgramStep, b: &ProgramStep) -> bool {
    let group = |step: &ProgramStep| match &step.action {
        Action::Write { register, .. } => match part(&register.name) {
            Part::Unit(_) | Part::Buffer => 1,
            Part::Filter | Part::Translation => 2,
            Part::Enable => 3,
            _ => 0,
        },
        Action::Read { register } => match part(&register.name) {
            Part::Unit(_) | Part::Buffer | Part::Contents => 4,
            Part::Enable => 4,
            _ => 0,
        },
        _ => 0,
    };
    matches!((group(a), group(b)), (1, 1) | (4, 4) | (1, 2) | (2, 1) | (2, 2) | (2, 4) | (4, 2))
}

/// Mutants that break no rule, by what they contain, and why.
const ALLOWED: &[(&str, &str)] = &[
    // A recording need not contain what the buffer was before, and how it is read.
    ("enable with sink | without write TRBLIMITR_EL1 = 0x00000000", "it may be disabled already"),
    ("enable with sink | without isb [1]", "it may be disabled already"),
    ("enable with sink | exchanged write TRBLIMITR_EL1 = 0x00000000 and isb", "the same"),
    ("enable with sink | exchanged isb and write TRBBASER_EL1", "the same"),
    ("enable with sink | without write TRBTRG_EL1", "triggers are ignored"),
    ("enable with sink | without isb [8]", "the ISB before TRCPRGCTLR synchronises it, too"),
    ("enable with sink | exchanged write TRBLIMITR_EL1 = 0x80010019 and isb", "the same"),
    ("enable with sink | exchanged isb and write TRCCONFIGR", "the same"),
    ("disable with sink | without write TRBLIMITR_EL1", "the sink may stay enabled"),
    ("disable with sink | without read TRB", "software may know them"),
    ("exchanged write TRFCR_EL1 = 0x00000003 and write TRBLIMITR_EL1", "the unit is disabled"),
    ("exchanged write TRBLIMITR_EL1 = 0x80010018 and dsb sy", "no trace is left to complete"),
    ("without read BUFFER", "the contents may be read later"),
    ("exchanged isb and read BUFFER", "the DSB completes the contents"),
    ("exchanged read TRCVMIDCCTLR0 (0x688) and isb", "saved registers need no ISB"),
    ("exchanged tsb csync and read TR", "a control register is read before it changes"),
    ("exchanged write TRCPRGCTLR (0x004) = 0x00000000 and read TRBLIMITR", "the same"),
    ("exchanged read TRFCR_EL1 and read TRCPRGCTLR", "the same"),
    ("switch out, tracing | without write TTBR0_EL1", "the process is not switched"),
    ("exchanged write TRCPRGCTLR (0x004) = 0x00000001 and write TRCCONFIGR", "the unit is locked"),
];

/// Every omission of a step and every exchange of two neighbours is found, but for those of
/// `ALLOWED`. The rule that is found first is that of the table beside this file.
#[test]
fn each_mutant_is_found() {
    let table = include_str!("mutants.txt");
    let rule = |mutant: &str| {
        table.lines().find_map(|line| line.rsplit_once(" | ").filter(|(m, _)| *m == mutant))
    };
    let bless = std::env::var_os("BLESS").is_some();
    let (mut used, mut lines) = (vec![false; ALLOWED.len()], Vec::new());
    let mut unfound = Vec::new();
    let mut judge = |mutant: String, steps: &[ProgramStep]| {
        let broken = rules_broken(steps);
        let Some(first) = broken.first() else {
            match ALLOWED.iter().position(|(part, _)| mutant.contains(part)) {
                Some(allowed) => used[allowed] = true,
                None => unfound.push(mutant),
            }
            return;
        };
        if !bless {
            assert_eq!(rule(&mutant).map(|(_, rule)| rule), Some(*first), "{mutant}");
        }
        lines.push(format!("{mutant} | {first}"));
    };
    let named = sequences();
    for (name, steps) in named.iter().filter(|(name, _)| *name != "session") {
        for n in 0..steps.len() {
            let mut mutant = steps.clone();
            let gone = mutant.remove(n);
            judge(format!("{name} | without {} [{n}]", shown(&gone)), &mutant);
        }
        for n in 1..steps.len() {
            let (a, b) = (&steps[n - 1], &steps[n]);
            if unordered(a, b) {
                continue;
            }
            let mut mutant = steps.clone();
            mutant.swap(n - 1, n);
            judge(format!("{name} | exchanged {} and {} [{n}]", shown(a), shown(b)), &mutant);
        }
    }
    assert!(unfound.is_empty(), "not found:\n{}", unfound.join("\n"));
    for (used, (part, why)) in used.iter().zip(ALLOWED) {
        assert!(*used, "found after all: {part}: {why}");
    }
    let lines = lines.join("\n") + "\n";
    if bless {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ete/sequence/mutants.txt");
        std::fs::write(path, lines).unwrap();
    } else {
        assert_eq!(table, lines);
    }
}

/// A recorded sequence, and every rule that it breaks, in the order of the accesses. These are the
/// rules that no omission or exchange of the routines breaks.
#[test]
fn recordings_that_break_rules() {
    for (text, want) in [
        ("isb\nmsr TRCPRGCTLR, 1\nisb\nmrs TRCSTATR 0\n", &[][..]),
        ("w TRCPRGCTLR 1\nisb\nr TRCSTATR 0\nw TRCVICTLR 0x201\n", &["programmed-while-enabled"]),
        ("w TRCPRGCTLR 0\nw 0x080 0x201\n", &["programmed-before-idle", "disable-not-awaited"]),
        (
            "w TRCFOO 1\nr TRCACVR99 0\nw 0x3fc 2\nw #255 2\nr TRCPROCSELR\n",
            &["unknown-register"; 5],
        ),
        // Registers of others, for tests, and the upper half of TRCACVR0.
        ("w VBAR_EL1 1\nr TRCITCTRL 0\nw 0xee8 0\nw 0x404 0\n", &[]),
        ("w TRCPRGCTLR 1\nisb\nr TRCSTATR 1\nr TRCSTATR 0\n", &["poll-unsynchronised"]),
        (
            "w TRCPRGCTLR 1\nisb\nr TRCSTATR 0\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n",
            &["last-instructions-lost"],
        ),
        ("w TRCPRGCTLR 1\nisb\nr TRCSTATR 0\nr TRCCONFIGR\n", &["saved-while-enabled"]),
        (
            "w TRBBASER_EL1 0x1000\nw TRBPTR_EL1 0x5000\nw TRBSR_EL1 0\nisb\n\
             w TRBLIMITR_EL1 0x5019\nw TRBPTR_EL1 0x1000\n",
            &["pointer-range", "buffer-programmed-while-enabled"],
        ),
        (
            "w TRBBASER_EL1 0x1000\nw TRBPTR_EL1 0x1000\nw TRBSR_EL1 0\nw TRBTRG_EL1 64\nisb\n\
             w TRBLIMITR_EL1 0x5009\n",
            &["watermark-not-armed"],
        ),
        (
            "w TRBBASER_EL1 0x1000\nw TRBPTR_EL1 0x1000\nw TRBSR_EL1 0x200000\n\
             w TRBTRG_EL1 64\nisb\nw TRBLIMITR_EL1 0x5009\nw TRCEVENTCTL1R 0x800\nisb\n\
             w TRCPRGCTLR 1\nisb\nr TRCSTATR 0\n",
            &["watermark-with-trigger"],
        ),
        (
            "w TRBLIMITR_EL1 0x5019\nisb\nw TRBLIMITR_EL1 0x5018\nw TRBPTR_EL1 0\nisb\n",
            &["buffer-write-unordered"],
        ),
        // XE enables the buffer in External mode.
        (
            "w TRBLIMITR_EL1 0x5058\nisb\nw TRBPTR_EL1 0\nw TRBCR 1\n",
            &["buffer-programmed-while-enabled"],
        ),
        (
            "r TRBSR_EL1 0x20000\nr TRBBASER_EL1 0x1000\nr TRBPTR_EL1 0x1000\n\
             w TRBLIMITR_EL1 0x5019\nisb\n",
            &["stopped"],
        ),
        (
            "r SCR_EL3 0\nr MDCR_EL3 0x3000000\nw TRBLIMITR_EL1 0x5019\nisb\n",
            &["buffer-enabled-outside-owner"],
        ),
        ("r SCR_EL3 1\nr MDCR_EL3 0x3000000\nw TRBLIMITR_EL1 0x5019\nisb\n", &[]),
        ("w TRFCR_EL1 3\ntsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n", &["tracing-not-prohibited"]),
        ("tsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n", &["prohibition-not-recorded"]),
        (
            "exception\ntsb\nw OSLAR_EL1 1\nisb\nr TRCCONFIGR 0\nisb\nr TRCSTATR 3\n",
            &["read-unstable"],
        ),
        (
            "exception\ntsb\nw OSLAR_EL1 1\nisb\nr TRCSTATR 3\nr TRCVICTLR 1\nw TRCVICTLR 2\n\
             w OSLAR_EL1 0\nisb\n",
            &["restored-otherwise"],
        ),
        // A state that is restored under the OS Lock, and not unlocked.
        (
            "exception\ntsb\nw OSLAR_EL1 1\nisb\nr TRCSTATR 3\nw TRCPRGCTLR 1\nw TRCCONFIGR 1\n\
             w TRCEVENTCTL0R 0\nw TRCEVENTCTL1R 0\nw TRCRSR 0\nw TRCSYNCPR 0\nw TRCTSCTLR 0\n\
             w TRCVICTLR 1\neret\n",
            &["restored-and-locked"],
        ),
        // Software waits for a unit that the OS Lock has stopped.
        (
            "exception\ntsb\nw OSLAR_EL1 1\nisb\nr TRCSTATR 3\nisb\nr TRCSTATR 3\nisb\n\
             r TRCSTATR 3\nisb\nr TRCSTATR 3\n",
            &["unit-not-enabled"],
        ),
        // The trace buffer of a process that is switched in was disabled.
        (
            "w TRBBASER_EL1 0\nw TRBPTR_EL1 0\nw TRBSR_EL1 0\nw TRBTRG_EL1 0\nw TRBMAR_EL1 0\n\
             w TRCCONFIGR 1\nw TRFCR_EL1 3\nw TTBR0_EL1 0\nisb\nw TRBLIMITR_EL1 0\nw TRCPRGCTLR 1\nisb\n",
            &[],
        ),
        // An exception to EL1 ends tracing, unless TRFCR_EL1.E1TRE is known to be 1.
        ("exception\ntsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n", &[]),
        (
            "r TRFCR_EL1 1\ntsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n",
            &["prohibition-unsynchronised"],
        ),
        ("w TRFCR_EL1 1\neret\nexception\ntsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n", &[]),
        (
            "w TRFCR_EL1 3\neret\nexception\ntsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n",
            &["tracing-not-prohibited"],
        ),
        // The exception return permits tracing, and the trace from there on is not flushed.
        (
            "w TRCPRGCTLR 1\nisb\nr TRCSTATR 0\nexception\ntsb\neret\nexception\n\
             w TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n",
            &["not-flushed"],
        ),
        ("exception EL1\nw TRCPRGCTLR 1\neret EL1\n", &["enable-not-awaited"]),
        (
            "isb\nw TRCPRGCTLR 1\nexception EL1\ntsb\nw TRCPRGCTLR 0\nisb\nr TRCSTATR 3\n\
             eret EL1\nr TRCSTATR 0\n",
            &["handler-changed-state"],
        ),
        ("w TRBLIMITR_EL1 0\nw TTBR0_EL1 0\nisb\n", &["buffer-disable-unsynchronised"]),
        (
            "w TRBLIMITR_EL1 0x5009\nisb\nw TTBR0_EL1 0\nisb\n",
            &["translation-while-buffer-enabled"],
        ),
        (
            "isb\nw TRCPRGCTLR 1\nisb\nr TRCSTATR 0\nw TRBLIMITR_EL1 1\n",
            &["unit-before-sink", "unit-before-sink"],
        ),
    ] {
        let accesses = program::read(text).unwrap();
        let found: Vec<&str> = check(&unit(), &accesses).iter().map(|f| f.rule).collect();
        // The recordings have the registers that a rule is about only.
        let other = ["register-not-programmed", "restore-incomplete"];
        let found: Vec<_> = found.into_iter().filter(|rule| !other.contains(rule)).collect();
        assert_eq!(found, want, "{text}");
    }
}

/// The accesses of a public driver, as an access list.
#[test]
fn a_public_driver() {
    let of = |text: &str| {
        let accesses = program::read(text).unwrap();
        let found = check(&unit(), &accesses);
        found.iter().map(|f| (f.rule, f.at.clone())).collect::<Vec<_>>()
    };
    let rules = |found: Vec<(&'static str, String)>| {
        found.into_iter().map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    let recordings = |name: &str| match name {
        "enable" => include_str!("../../../tests/recordings/linux-enable.txt"),
        "disable" => include_str!("../../../tests/recordings/linux-disable.txt"),
        _ => include_str!("../../../tests/recordings/linux-5.13-enable-end.txt"),
    };
    assert_eq!(of(recordings("enable")), []);
    // The driver has the value of TRFCR_EL1 in memory, and polls PMSTABLE only.
    assert_eq!(rules(of(recordings("disable"))), ["filter-not-saved", "disable-not-awaited"]);
    let old = rules(of(recordings("5.13")));
    let old: Vec<_> = old.into_iter().filter(|rule| *rule != "register-not-programmed").collect();
    assert_eq!(old, ["enable-unsynchronised", "poll-unsynchronised", "poll-unsynchronised"]);
}

/// Every rule has a name of its own and is broken by a test of this file.
#[test]
fn every_rule_is_tested() {
    let tests = concat!(include_str!("tests.rs"), include_str!("mutants.txt"));
    for rule in rules::RULES {
        assert_eq!(rules::RULES.iter().filter(|r| r.name == rule.name).count(), 1);
        let name = rule.name;
        assert!(
            tests.contains(&format!("\"{name}\"")) || tests.contains(&format!("| {name}\n")),
            "{name}"
        );
    }
}
