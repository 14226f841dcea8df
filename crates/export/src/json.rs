//! A profile as JSON Lines: an object for each file, range, branch and sequence. Addresses are
//! those in the file.

use std::fmt::Write;

use tracewright_analysis::{Profile, Target};

use crate::text;

/// The fields of a target.
fn target(name: &str, target: Target) -> String {
    match target {
        Target::Unknown => String::new(),
        Target::Here(address) => format!(",\"{name}\":\"{address:#x}\""),
        Target::Outside(address) => format!(",\"{name}_outside\":\"{address:#x}\""),
    }
}

/// The lines.
pub(crate) fn write(profile: &Profile) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{{\"type\":\"profile\",\"instructions\":{},\"ranges_outside\":{},\"saturated\":{}}}",
        profile.instructions, profile.outside, profile.saturated
    );
    for module in profile.modules.values() {
        let id: String =
            module.file.build_id.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        let id = if id.is_empty() { String::new() } else { format!(",\"build_id\":\"{id}\"") };
        let _ = writeln!(
            out,
            "{{\"type\":\"file\",\"path\":{}{id},\"kernel\":{}}}",
            text::json(&module.file.path),
            module.file.kernel
        );
        for ((start, last), count) in &module.ranges {
            let symbol = module.file.symbols.at(*start);
            let symbol = symbol.map(|s| format!(",\"symbol\":{}", text::json(s.name)));
            let _ = writeln!(
                out,
                "{{\"type\":\"range\",\"start\":\"{start:#x}\",\"last\":\"{last:#x}\",\
                 \"instructions\":{},\"taken\":{},\"not_taken\":{}{}}}",
                count.instructions,
                count.taken,
                count.not_taken,
                symbol.unwrap_or_default()
            );
        }
        for (branch, count) in &module.branches {
            let _ = writeln!(
                out,
                "{{\"type\":\"branch\",\"from\":\"{:#x}\"{},\"indirect\":{},\"followed\":{},\
                 \"count\":{}}}",
                branch.from,
                target("to", branch.to),
                count.indirect,
                count.followed,
                count.count
            );
        }
        for (trace, count) in &module.traces {
            let _ = writeln!(
                out,
                "{{\"type\":\"sequence\",\"start\":\"{:#x}\",\"last\":\"{:#x}\"{},\"count\":{count}}}",
                trace.start,
                trace.last,
                target("from", trace.from)
            );
        }
    }
    out
}
