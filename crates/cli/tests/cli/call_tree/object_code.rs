//! Coverage of the object code, compared with the listing of another disassembler and with the
//! addresses that the emulator executed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{A64, Machine, RISCV, T32, address, encoded, execute, oracle, words};
use crate::common::{Folder, args, tracewright};

/// `pick` calls through a pointer, `last` is called in place of a return; `unused` is never called.
const SOURCE: &str = "\
#include \"start.h\"
NOINLINE unsigned one(unsigned n) {
  return n + 1;
}
NOINLINE unsigned two(unsigned n) {
  sink = n;
  return n + 2;
}
NOINLINE unsigned unused(unsigned n) {
  return two(n) + one(n);
}
unsigned (*volatile pointers[3])(unsigned) = {one, two, unused};
NOINLINE unsigned pick(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++)
    sum += pointers[i & 1](i);
  if (n == 77)
    return unused(sum);
  return sum;
}
void program(void) {
  sink = pick(5) + one(2);
}
";

/// The calls and the returns of each function, by a listing: their addresses.
type Listed = BTreeMap<String, (usize, BTreeSet<u64>, BTreeSet<u64>)>;

fn listed(elf: &Path) -> Listed {
    let options = words("-d --no-show-raw-insn --no-print-imm-hex");
    let output =
        Command::new("llvm-objdump-19").args(options).arg(elf).output().expect("a listing");
    let text = String::from_utf8(output.stdout).expect("text");
    let (mut all, mut own) = (Listed::new(), String::new());
    for line in text.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            own = name.to_owned();
        }
        let Some((at, rest)) = line.split_once(':') else { continue };
        let Ok(at) = u64::from_str_radix(at.trim(), 16) else { continue };
        let mut cells = rest.split_whitespace();
        let Some(name) = cells.next() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let to: String = cells.collect();
        let entry = all.entry(own.clone()).or_default();
        entry.0 += 1;
        match name {
            "bl" | "blr" | "blx" | "jal" | "jalr" => _ = entry.1.insert(at),
            "ret" => _ = entry.2.insert(at),
            "bx" if to == "lr" => _ = entry.2.insert(at),
            "pop" | "ldm" | "ldmia" | "pop.w" if to.contains("pc") => _ = entry.2.insert(at),
            _ => {}
        }
    }
    all
}

fn check(machine: &Machine) {
    let folder = Folder::new(&format!("object-{}{}", machine.name, machine.optimise));
    let path = folder.path("");
    let Some((elf, log)) = execute(machine, &path, "object", SOURCE) else { return };
    let snapshot = encoded(&path, machine.protocols[0], &elf, &log);
    let log = fs::read_to_string(log).expect("a log");
    let executed: BTreeSet<u64> = log.lines().filter_map(oracle::pc).map(|pc| pc & !1).collect();
    let output = tracewright(&args("coverage --by object --format json", &[&snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let functions: BTreeMap<String, Value> = all
        .filter(|own| own["type"] == "object-function")
        .map(|own| (own["symbol"].as_str().expect("a symbol").to_owned(), own))
        .collect();
    let listed = listed(&elf);
    for name in ["one", "two", "unused", "pick", "program"] {
        let (own, (count, calls, returns)) = (&functions[name], &listed[name]);
        assert_eq!(own["instructions"].as_u64(), Some(*count as u64), "{} {name}", machine.name);
        let sites = |key: &str| -> BTreeMap<u64, bool> {
            let all = own[key].as_array().expect("sites").iter();
            let own = all.filter(|own| own["kind"].is_null() || own["kind"] == "return");
            own.map(|own| (address(own), own["count"].as_u64().expect("a count") > 0)).collect()
        };
        let want = |all: &BTreeSet<u64>| -> BTreeMap<u64, bool> {
            all.iter().map(|at| (*at, executed.contains(at))).collect()
        };
        assert_eq!(sites("calls"), want(calls), "{} {name}", machine.name);
        assert_eq!(sites("exits"), want(returns), "{} {name}", machine.name);
        let first = address(own);
        assert_eq!(own["entered"].as_u64().map(|n| n > 0), Some(executed.contains(&first)));
    }
    let calls = functions["pick"]["calls"].as_array().expect("calls");
    let indirect = calls.iter().find(|own| own["indirect"] == true).expect("an indirect call");
    let callees: Vec<_> = indirect["callees"]
        .as_array()
        .expect("callees")
        .iter()
        .map(|own| (own["name"].as_str().expect("a name"), own["count"].as_u64()))
        .collect();
    assert_eq!(callees, [("one", Some(3)), ("two", Some(2))], "{}", machine.name);
    assert_eq!(indirect["count"].as_u64(), Some(5));
    assert_eq!(functions["unused"]["entered"].as_u64(), Some(0));
    let one = tracewright(&args("coverage --by object --function one", &[&snapshot])).out;
    let rows = one.lines().filter(|line| !line.starts_with("executed "));
    assert_eq!(rows.count(), 3, "{one}");
    assert_eq!(tracewright(&args("coverage --by object --function x", &[&snapshot])).code, Some(2));
    // A capture twice: its counts are added.
    let twice =
        tracewright(&args("coverage --by object --format json --add", &[&snapshot, &snapshot]));
    assert!(twice.out.contains("{\"name\":\"one\",\"count\":6}"), "{}", twice.out);
    let text = tracewright(&args("coverage --by object", &[&snapshot])).out;
    assert!(text.contains(": one 3, two 2") && text.contains("never executed"), "{text}");
}

#[test]
fn object_code_a64() {
    check(&Machine { optimise: "-O0", ..A64 });
    check(&Machine { optimise: "-O1", ..A64 });
}

#[test]
fn object_code_t32() {
    check(&Machine { optimise: "-O1", ..T32 });
}

#[test]
fn object_code_riscv() {
    check(&Machine { optimise: "-O0", ..RISCV });
}
