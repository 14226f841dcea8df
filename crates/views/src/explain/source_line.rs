//! The counts of a source in one line.

use std::fmt::Write;

use tracewright_decode::Counts;

use crate::sources::Source;

/// Appends the name of `source` and what was decoded of it.
pub(super) fn write(source: &Source, c: &Counts, out: &mut String) {
    let _ = write!(out, "  {} ({}", source.name, source.protocol());
    if let Some(id) = source.id {
        let _ = write!(out, ", ID {id:#04x}");
    }
    let _ = write!(out, "): {} bytes, {} packets, {} syncs", c.bytes(), c.packets, c.syncs);
    let mut rest = vec![(c.elements, "elements")];
    if source.config.protocol().traces_instructions() {
        rest.extend([(c.ranges, "ranges"), (c.instructions, "instructions")]);
    }
    for (count, what) in rest {
        let _ = write!(out, ", {count} {what}");
    }
    for (count, what) in [
        (c.unknown_instructions, "further instructions on unknown paths"),
        (c.exceptions, "exceptions"),
        (c.software_writes, "software writes"),
        (c.dwt_events, "DWT events"),
        (c.data_accesses, "data accesses"),
        (c.gaps, "gaps"),
        (c.unsynchronised, "bytes before a synchronisation"),
        (c.damaged(), "undecodable bytes"),
        (c.truncated, "bytes of an incomplete packet"),
        (c.no_code, "addresses without program memory"),
        (c.ambiguities, "ambiguities"),
        (c.inconsistencies, "inconsistencies"),
    ] {
        if count > 0 {
            let _ = write!(out, ", {count} {what}");
        }
    }
    out.push('\n');
}
