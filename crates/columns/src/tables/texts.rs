//! Lines of text that software wrote.

use tracewright::base::Element;
use tracewright::decode::Tally;
use tracewright::views::text::{Line, Ports};

use super::common::{Of, infos, place, read_rows};
use super::writes::{channel, master, port};
use super::{Definition, Division, Input, WINDOW};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::rows::{Row, Rows, Shared, Wanted};

pub(super) const TABLE: Definition = Definition {
    name: "texts",
    about: "lines of text that software wrote to a port or channel",
    columns: || infos(columns()),
    by: WINDOW,
    division: Division::Buffers,
    read,
};

/// The incomplete lines of each source.
struct Texts<'a, 'b> {
    output: Output<'a, 'b, Of<Line>>,
    ports: Vec<Ports>,
}

impl Rows for Texts<'_, '_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        let source = row.place.source as usize;
        if source >= self.ports.len() {
            self.ports.resize(source + 1, Ports::default());
        }
        let mut done = Vec::new();
        if let Some(ports) = self.ports.get_mut(source)
            && (selected || !matches!(row.element, Element::SoftwareWrite(_)))
        {
            ports.element(row.place.offset, &row.element, |line| done.push(line));
        }
        done.into_iter().all(|line| {
            let mut of = Of::new(row, line);
            of.place.offset = of.own.at;
            self.output.push(shared, of)
        })
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        self.ports.clear();
        self.output.flush(shared);
        !self.output.full()
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let output = Output::new(choose(columns(), input.columns), batches);
    read_rows(input, Wanted::default(), &mut Texts { output, ports: Vec::new() })
}

fn columns() -> Vec<Column<Of<Line>>> {
    type Own = Of<Line>;
    let mut columns = place();
    columns.extend([
        column!(U16 "port" ? "stimulus port of an ITM", |_, r| port(r.own.channel)),
        column!(U16 "master" ? "master of an STM", |_, r| master(r.own.channel)),
        column!(U16 "channel" ? "channel of an STM", |_, r| channel(r.own.channel)),
        column!(Text "text" ! "the text, with its line feed",
            |_, r| String::from_utf8_lossy(&r.own.text).into_owned()),
    ]);
    columns
}
