//! Contexts, as intervals.

use tracewright::base::{Context, Element};
use tracewright::decode::Tally;

use super::common::{Of, Placed, infos, place, read_rows};
use super::words::{ISAS, PRIVILEGES, SECURITIES, isa, security};
use super::{Definition, Division, Input, WINDOW};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::rows::{Place, Row, Rows, Shared, Wanted};

pub(super) const TABLE: Definition = Definition {
    name: "contexts",
    about: "contexts, and the element up to which each holds; in the order in which they end",
    columns: || infos(columns()),
    by: WINDOW,
    division: Division::Buffers,
    read,
};

/// A context that ended.
struct Interval {
    of: Of<Context>,
    until: Option<u64>,
}

impl Placed for Interval {
    fn place(&self) -> &Place {
        &self.of.place
    }
}

/// The open context of each source.
struct Contexts<'a, 'b> {
    output: Output<'a, 'b, Interval>,
    open: Vec<Option<Of<Context>>>,
}

impl Rows for Contexts<'_, '_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        let Element::Context(context) = row.element else { return true };
        let source = row.place.source as usize;
        if source >= self.open.len() {
            self.open.resize(source + 1, None);
        }
        let Some(open) = self.open.get_mut(source) else { return true };
        let before = std::mem::replace(open, selected.then(|| Of::new(row, context)));
        let until = Some(row.place.element);
        before.is_none_or(|of| self.output.push(shared, Interval { of, until }))
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        for of in std::mem::take(&mut self.open).into_iter().flatten() {
            if !self.output.push(shared, Interval { of, until: None }) {
                break;
            }
        }
        self.output.flush(shared);
        !self.output.full()
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let output = Output::new(choose(columns(), input.columns), batches);
    read_rows(input, Wanted::default(), &mut Contexts { output, open: Vec::new() })
}

fn columns() -> Vec<Column<Interval>> {
    type Own = Interval;
    let mut columns = place();
    columns.extend([
        column!(U64 "until_element" ? "the next context of the source; null: the end of what was decoded",
            |_, r| r.until),
        column!(Kind(ISAS) "isa" ? "instruction set", |_, r| r.of.own.known_isa().map(isa)),
        column!(U8 "bits" ! "width: 32 or 64", |_, r| if r.of.own.bits64 { 64 } else { 32 }),
        column!(U8 "el" ? "exception level, or RISC-V privilege", |_, r| r.of.own.el),
        column!(Kind(PRIVILEGES) "privilege" ? "of RISC-V", |_, r| r.of.own.level()),
        column!(Kind(SECURITIES) "security" ? "security state",
            |_, r| r.of.own.security.map(security)),
        column!(Hex32 "context_id" ? "context ID", |_, r| r.of.own.context_id),
        column!(Hex32 "vmid" ? "virtual context ID", |_, r| r.of.own.vmid),
    ]);
    columns
}
