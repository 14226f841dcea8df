//! The format of callgrind, which `callgrind_annotate` and KCachegrind read: executions of each
//! instruction, by function. (Valgrind manual, "Callgrind Format Specification")

use std::borrow::Cow;
use std::fmt::Write;

use tracewright_analysis::Profile;

use crate::functions::{functions, total};
use crate::text::line;

/// A name in its line. A number in parentheses at its beginning would stand for another name.
fn name(text: &str) -> Cow<'_, str> {
    let text = line(text);
    match text.strip_prefix('(') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("_{rest}").into(),
        _ => text,
    }
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
            let function = name(if function.is_empty() { "???" } else { &function });
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
