//! The format of callgrind, which `callgrind_annotate` and KCachegrind read: executions of each
//! instruction, by function. (Valgrind manual, "Callgrind Format Specification")

use std::fmt::Write;

use tracewright_analysis::Profile;

use crate::functions::{functions, total};

/// A name must not break its line.
fn name(text: &str) -> String {
    text.replace('\n', " ")
}

/// The file.
pub(crate) fn write(profile: &Profile) -> String {
    let mut out = String::from(
        "# callgrind format\nversion: 1\ncreator: tracewright\npositions: instr\nevents: Ir\n",
    );
    let mut sum = 0u64;
    for module in profile.modules.values() {
        let _ = write!(out, "\nob={}\n", name(&module.file.path));
        for (function, addresses) in functions(module) {
            let function = if function.is_empty() { "???".to_owned() } else { name(&function) };
            let _ = write!(out, "fl=???\nfn={function}\n");
            for (address, count) in &addresses {
                let _ = writeln!(out, "0x{address:x} {count}");
            }
            sum = sum.saturating_add(total(&addresses));
        }
    }
    let _ = write!(out, "\ntotals: {sum}\n");
    out
}
