//! The table of rules in `docs/trace-buffers.md`: each rule of the Arm ARM, D6.2, is in it, and
//! each test that it names exists.

use std::fs;
use std::path::Path;

/// The rules of D6.2, in the order of the section.
const RULES: &[&str] = &[
    "RSDCKT", "RYCHKJ", "RBGLHT", "RFRHXV", "IYPSDY", "IJYSQZ", "RYMYQX", "RLNTVR", "ISQYCT",
    "ITRCDR", "RYMVZL", "RPHSKP", "RHNTLG", "RBSMLW", "IYHJDQ", "RJYTYH", "IFPXHD", "RMSPSD",
    "RXXZHM", "RHXZZM", "RXZWXQ", "ICRSGP", "ISFTPM", "IVRFQC", "RJWWWM", "RMGZWR", "RCPDDM",
    "IYSXXN", "RDJMDD", "SDSSHH", "RDCVBN", "RMDJNK", "RNWSKV", "RFVRXJ", "RYGMLW",
];

const TESTS: &[&str] = &[
    "crates/units/src/buffers/trbe/tests/rules.rs",
    "crates/units/src/buffers/trbe/tests/tables.rs",
    "crates/units/src/buffers/trbe/tests/faults.rs",
    "crates/units/src/buffers/trbe/tests/operations.rs",
    "crates/capture/src/sink/trbe.rs",
    "crates/capture/tests/integration/sinks.rs",
    "crates/tracewright/tests/integration/sinks/encode.rs",
    "crates/tracewright/tests/integration/sinks/scheduler.rs",
];

#[test]
fn each_rule_has_a_test_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &&str| fs::read_to_string(root.join(path)).unwrap();
    let tests: String = TESTS.iter().map(read).collect();
    let page = read(&"docs/trace-buffers.md");
    let table = page.split("| rule | model | test |").nth(1).unwrap();
    let mut listed = Vec::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [rules, model, names] = cells[..] else { panic!("{row}") };
        listed.extend(rules.split(", ").map(str::to_owned));
        if names == "-" {
            assert!(model.starts_with("not modelled: "), "{row}");
            continue;
        }
        for name in names.split(", ") {
            let name = name.trim_matches('`');
            assert!(tests.contains(&format!("fn {name}()")), "{name} of {row}");
        }
        for rule in rules.split(", ") {
            assert!(tests.contains(rule), "no test cites {rule}");
        }
    }
    for rule in RULES {
        assert!(listed.iter().any(|other| other == rule), "{rule}");
    }
}
