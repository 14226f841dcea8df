//! Executed ranges: one row each.

use tracewright::base::{Element, Range};

use super::common::{Of, infos, place, read_wanted, wanted};
use super::words::{ISAS, LASTS, ROLES, SECURITIES, isa, last, role, security};
use super::{Definition, Division, ROWS, executed};
use crate::arrays::column;
use crate::output::Column;
use crate::rows::Wanted;

pub(super) const TABLE: Definition = Definition {
    name: "ranges",
    about: "instructions executed one after another, up to the next branch",
    columns: || infos(columns()),
    by: ROWS,
    division: Division::Segments,
    read: |input, batches| match executed::read(input, batches) {
        Some(done) => done,
        None => {
            let wanted = Wanted { only_ranges: true, ..wanted(input) };
            read_wanted(input, wanted, columns(), range, batches)
        }
    },
};

#[inline]
pub(super) fn range(element: &Element) -> Option<Range> {
    match element {
        Element::Range(range) => Some(*range),
        _ => None,
    }
}

fn columns() -> Vec<Column<Of<Range>>> {
    type Own = Of<Range>;
    let mut columns = place();
    columns.extend([
        column!(Hex "address" ! "first instruction", |_, r| r.own.start),
        column!(Hex "end" ! "after the last instruction", |_, r| r.own.end()),
        column!(U32 "size" ! "bytes", |_, r| r.own.bytes),
        column!(U32 "instructions" ! "executed instructions", |_, r| r.own.instructions),
        column!(U64 "times" ! "how often: 1 but in loops whose turns are not listed",
            |_, r| r.times),
        column!(U32 "cycles" ? "processor cycles", |_, r| r.own.cycles.get()),
        column!(Kind(ISAS) "isa" ! "instruction set", |_, r| Some(isa(r.own.last.isa))),
        column!(Kind(LASTS) "last" ! "kind of the last instruction", |_, r| Some(last(&r.own))),
        column!(Kind(ROLES) "role" ? "purpose of the last instruction, where it is a branch",
            |_, r| role(r.own.last.role)),
        column!(Bool "conditional" ! "the last instruction has a condition",
            |_, r| r.own.last.conditional()),
        column!(Bool "taken" ! "the last instruction took effect", |_, r| r.own.taken()),
        column!(U8 "el" ? "exception level, or RISC-V privilege",
            |s, r| s.context(&r.place).context.and_then(|c| c.el)),
        column!(Kind(SECURITIES) "security" ? "security state",
            |s, r| s.context(&r.place).context.and_then(|c| c.security).map(security)),
        column!(Hex32 "context_id" ? "context ID",
            |s, r| s.context(&r.place).context.and_then(|c| c.context_id)),
        column!(Hex32 "vmid" ? "virtual context ID",
            |s, r| s.context(&r.place).context.and_then(|c| c.vmid)),
        column!(Name(functions) "function" ? "function of the first instruction",
            |s, r| r.function)
        .on_request(),
        column!(Name(files) "file" ? "source file of the first instruction",
            |s, r| r.line.map(|(file, _)| file))
        .on_request(),
        column!(U32 "line" ? "line of the first instruction",
            |_, r| r.line.map(|(_, line)| line))
        .on_request(),
    ]);
    columns
}
