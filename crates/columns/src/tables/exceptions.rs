//! Exceptions, and when they ended.

use std::borrow::Cow;

use tracewright::base::{Element, Exception, Role};
use tracewright::decode::Tally;

use super::common::{Of, Placed, infos, place, read_rows};
use super::{Definition, Division, Input, ROWS};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::rows::{Place, Row, Rows, Shared, Wanted};

pub(super) const TABLE: Definition = Definition {
    name: "exceptions",
    about: "exceptions and the exception return that ends each; in the order in which they end",
    columns: || infos(columns()),
    by: ROWS,
    division: Division::Buffers,
    read,
};

/// The most exceptions that are active in a source.
const DEPTH: usize = 256;

/// An exception, and what ended it.
#[derive(Clone, Copy)]
struct Ended {
    of: Of<Exception>,
    exit: Option<Place>,
    handler: Option<i32>,
    /// Whether it is selected.
    shown: bool,
}

impl Placed for Ended {
    fn place(&self) -> &Place {
        &self.of.place
    }
}

#[derive(Clone, Default)]
struct Source {
    active: Vec<Ended>,
    /// A range ended with an exception return: its element follows.
    returned: bool,
    /// The handler of the last exception is not known yet.
    entered: bool,
}

struct Exceptions<'a, 'b> {
    output: Output<'a, 'b, Ended>,
    sources: Vec<Source>,
    handlers: bool,
}

impl Exceptions<'_, '_> {
    fn put(&mut self, shared: &mut Shared, ended: Ended) -> bool {
        !ended.shown || self.output.push(shared, ended)
    }

    /// The last exception of a source ends.
    fn exit(&mut self, shared: &mut Shared, row: &Row) -> bool {
        let active = self.sources.get_mut(row.place.source as usize);
        let Some(ended) = active.and_then(|own| own.active.pop()) else { return true };
        self.put(shared, Ended { exit: Some(row.place), ..ended })
    }

    /// It is not known when the exceptions of a source end.
    fn lose(&mut self, shared: &mut Shared, source: usize) -> bool {
        let Some(own) = self.sources.get_mut(source) else { return true };
        let active = std::mem::take(&mut own.active);
        active.into_iter().all(|ended| self.put(shared, ended))
    }
}

impl Rows for Exceptions<'_, '_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        let n = row.place.source as usize;
        if n >= self.sources.len() {
            self.sources.resize(n + 1, Source::default());
        }
        let handlers = self.handlers;
        let Some(source) = self.sources.get_mut(n) else { return true };
        match &row.element {
            Element::Exception(exception) => {
                (source.returned, source.entered) = (false, true);
                let of = Of::new(row, *exception);
                source.active.push(Ended { of, exit: None, handler: None, shown: selected });
                if source.active.len() > DEPTH {
                    let first = source.active.remove(0);
                    return self.put(shared, first);
                }
                true
            }
            Element::Range(range) => {
                if std::mem::take(&mut source.entered) && handlers {
                    let handler = shared.function(n, range.start);
                    if let Some(last) = source.active.last_mut() {
                        last.handler = handler;
                    }
                }
                source.returned = range.last.role == Role::ExceptionReturn && range.taken();
                if source.returned { self.exit(shared, row) } else { true }
            }
            Element::ExceptionReturn if std::mem::take(&mut source.returned) => true,
            Element::ExceptionReturn => self.exit(shared, row),
            Element::Gap(_) | Element::Undecodable { .. } | Element::End => self.lose(shared, n),
            _ => true,
        }
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        let _ = (0..self.sources.len()).all(|n| self.lose(shared, n));
        self.sources.clear();
        self.output.flush(shared);
        !self.output.full()
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let output = Output::new(choose(columns(), input.columns), batches);
    let wanted = Wanted { functions: input.wants(&["function"]), ..Wanted::default() };
    let handlers = input.wants(&["handler_function"]);
    read_rows(input, wanted, &mut Exceptions { output, sources: Vec::new(), handlers })
}

fn columns() -> Vec<Column<Ended>> {
    type Own = Ended;
    let mut columns = place();
    columns.extend([
        column!(U16 "number" ! "number of the exception in its architecture",
            |_, r| r.of.own.number),
        column!(Name(words) "name" ? "name of the exception", |s, r| {
            let name = s.source(&r.of.place).and_then(|own| own.exception_name(r.of.own.number));
            name.map(|name: Cow<'static, str>| s.words.number(&name))
        }),
        column!(Hex "return_address" ? "preferred return address", |_, r| r.of.own.return_address),
        column!(Bool "also_target" ! "the return address is also the target of the branch before",
            |_, r| r.of.own.also_target),
        column!(Bool "tail_chain" ! "it was tail-chained", |_, r| r.of.own.tail_chain),
        column!(U64 "exit_element" ? "the exception return",
            |_, r| r.exit.map(|exit| exit.element)),
        column!(U64 "exit_time" ? "last timestamp before it",
            |_, r| r.exit.and_then(|exit| exit.time)),
        column!(U64 "ticks" ? "ticks from its timestamp to that", |_, r| {
            r.exit.and_then(|exit| exit.time?.checked_sub(r.of.place.time?))
        }),
        column!(I64 "dur" ? "the same in nanoseconds, where the clock is known", |s, r| {
            let exit = s.nanoseconds(r.exit.and_then(|exit| exit.time));
            exit.zip(s.nanoseconds(r.of.place.time)).map(|(exit, entry)| exit - entry)
        }),
        column!(U64 "inclusive_instructions" ? "instructions of the buffer up to the exception return",
            |_, r| r.exit.map(|exit| exit.instruction.saturating_sub(r.of.place.instruction))),
        column!(Name(functions) "function" ? "function that was interrupted",
            |s, r| r.of.function).on_request(),
        column!(Name(functions) "handler_function" ? "function of the first instruction after it",
            |s, r| r.handler).on_request(),
    ]);
    columns
}
