//! Coverage by runs of an older state of a program: it is valid for functions that are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{A64, Machine, RISCV, T32, encoded, execute, words};
use crate::common::{Folder, Output, command};

/// The older state. The literal of `table` is the address of `numbers`.
const OLD: &str = "\
#include \"start.h\"
volatile unsigned numbers[4] = {1, 2, 3, 4};
NOINLINE unsigned helper(unsigned n) {
  return n + 1;
}
NOINLINE unsigned same(unsigned n) {
  if (n > 2)
    return helper(n);
  return 0;
}
NOINLINE unsigned table(unsigned n) {
  return numbers[n & 3];
}
NOINLINE unsigned gone(unsigned n) {
  return n;
}
NOINLINE unsigned commented(unsigned n) {
  n += 1;
  sink = n;
  return n;
}
static inline __attribute__((always_inline)) unsigned square(unsigned n) {
  return n * n;
}
unsigned (*volatile pointer)(unsigned) = square;
NOINLINE unsigned rare(unsigned n) {
  if (n == 77)
    return 1;
  return 2;
}
";

const CALLS: &str =
    "  sink = same(3) + table(1) + commented(2) + rare(77) + square(sink) + pointer(3);\n";

/// The newer state: another constant in `helper`, a comment in `commented`, a function and a
/// variable before all others, none of which is called by `program` if `calls` is empty.
fn newer(calls: &str) -> String {
    let added = "volatile unsigned first[9] = {1};\nNOINLINE unsigned added(unsigned n) {\n  if (n)\n    \
                 sink = first[n];\n  return n;\n}\n";
    let text = OLD.replace("return n + 1", "return n + 2");
    let text = text.replace("  sink = n;\n", "  sink = n;\n  // Nothing.\n");
    let text = text.replace("start.h\"\n", &format!("start.h\"\n{added}"));
    let gone = "NOINLINE unsigned gone(unsigned n) {\n  return n;\n}\n";
    format!("{}void program(void) {{\n  sink = added(1);\n{calls}}}\n", text.replace(gone, ""))
}

fn run(folder: &Path, text: &str) -> Output {
    let output: Output = command(&words(text)).current_dir(folder).output().unwrap().into();
    assert_eq!(output.code, Some(0), "{text}: {}", output.err);
    output
}

/// The objects of JSON of this type.
fn objects(output: &Output, kind: &str) -> Vec<Value> {
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    all.filter(|line| line["type"] == kind).collect()
}

/// The executed lines of each function of the program, counted from its first one.
fn executed(output: &Output) -> BTreeMap<String, BTreeSet<u64>> {
    let number = |own: &Value, key: &str| own[key].as_u64().unwrap_or(0);
    let is_own =
        |own: &&Value| own["path"].as_str().is_some_and(|path| path.ends_with("program.c"));
    let lines = objects(output, "line");
    let functions = objects(output, "source-function");
    let of = |function: &Value| {
        let part = number(function, "first_line")..=number(function, "last_line");
        let own = lines.iter().filter(is_own).filter(|line| number(line, "executions") > 0);
        let own = own.map(|line| number(line, "line")).filter(|line| part.contains(line));
        (
            function["name"].as_str().unwrap().to_owned(),
            own.map(|line| line - part.start()).collect(),
        )
    };
    functions.iter().filter(is_own).map(of).collect()
}

fn check(machine: &Machine) {
    let folder = Folder::new(&format!("states-{}{}", machine.name, machine.optimise));
    let path = folder.path("");
    let old = format!("{OLD}void program(void) {{\n{CALLS}  sink += gone(1);\n}}\n");
    let trace = |source: &str, name: &str| {
        let (elf, log) = execute(machine, &path, "states", source)?;
        fs::rename(encoded(&path, machine.protocols[0], &elf, &log), path.join(name)).unwrap();
        Some(())
    };
    let made = trace(&old, "old").and_then(|()| trace(&newer(CALLS), "full"));
    if made.and_then(|()| trace(&newer(&format!("  if (sink == 99)\n  {CALLS}")), "new")).is_none()
    {
        return;
    }
    run(&path, "coverage old --tag OLD --save old.runs");
    run(&path, "coverage new --tag NEW --save new.runs");
    let both = run(&path, "coverage --load new.runs --older old.runs --format json");
    let states: BTreeMap<_, _> = objects(&both, "function-state")
        .into_iter()
        .map(|own| {
            (own["name"].as_str().unwrap().to_owned(), own["state"].as_str().unwrap().to_owned())
        })
        .collect();
    for (name, state) in [
        ("helper", "changed"),
        ("same", "unchanged"),
        ("rare", "unchanged"),
        ("gone", "removed"),
        ("commented", "changed"),
        ("added", "added"),
        ("program", "changed"),
    ] {
        assert_eq!(states.get(name).map(String::as_str), Some(state), "{} {name}", machine.name);
    }
    // Where it is optimised, the inlined code may belong to the line of the call.
    if machine.optimise == "-O0" {
        assert_eq!(states["square"], "unknown");
    }
    // Elsewhere than in a literal, the address of a variable may be anything.
    if machine.name == "t32" {
        assert_eq!(states["table"], "unchanged");
    }
    assert!(both.err.contains("functions since the older state: unchanged "), "{}", both.err);
    // What older runs cover of a function is what it executes where the newer state calls it.
    let [alone, full] = ["new", "full"]
        .map(|name| executed(&run(&path, &format!("coverage {name} --format json"))));
    let with = executed(&both);
    let mut valid = 0;
    for (name, lines) in &with {
        let unchanged = states.get(name).is_some_and(|state| state == "unchanged");
        let want = if unchanged { &full[name] } else { &alone[name] };
        assert_eq!(lines, want, "{} {name}", machine.name);
        valid += usize::from(unchanged && !lines.is_empty());
    }
    assert!(valid >= 2 && alone["same"].is_empty() && with["rare"].len() >= 2, "{with:?}");
    // With the capture itself.
    let capture = run(&path, "coverage new --older old.runs --format json");
    assert_eq!(executed(&capture), with);
    // Without --older, they are different programs.
    let refused = command(&words("coverage --load new.runs --load old.runs"));
    let refused: Output = { refused }.current_dir(&path).output().unwrap().into();
    assert_eq!((refused.code, refused.err.contains("different programs")), (Some(2), true));
    let text = run(&path, "coverage new --older old.runs --by state").out;
    assert!(text.lines().any(|line| line.contains("changed             yes  helper ")), "{text}");
}

#[test]
fn states_a64() {
    check(&Machine { optimise: "-O0", ..A64 });
    check(&Machine { optimise: "-O1", ..A64 });
}

#[test]
fn states_t32() {
    let compile = "--target=arm-linux-gnueabihf -march=armv7-a -mthumb -mno-movt";
    check(&Machine { optimise: "-O1", compile, ..T32 });
}

#[test]
fn states_riscv() {
    check(&Machine { optimise: "-O1", ..RISCV });
}
