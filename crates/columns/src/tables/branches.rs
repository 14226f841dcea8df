//! Branches and exceptions: from which address to which.

use std::borrow::Cow;

use tracewright::base::{Counted, Element, Kind, Range, Role};
use tracewright::decode::Tally;

use super::common::{Placed, infos, place, read_rows};
use super::{Definition, Division, Input, ROWS};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::rows::{Place, Row, Rows, Shared, Wanted};

pub(super) const TABLE: Definition = Definition {
    name: "branches",
    about: "branches, taken or not, and exceptions: from which address to which",
    columns: || infos(columns()),
    by: ROWS,
    division: Division::Buffers,
    read,
};

const KINDS: &[&str] = &[
    "branch",
    "indirect branch",
    "call",
    "indirect call",
    "return",
    "exception return",
    "other",
    "exception",
];

/// A branch.
#[derive(Clone, Copy)]
struct Branch {
    place: Place,
    from: Option<u64>,
    to: Option<u64>,
    taken: bool,
    conditional: bool,
    /// The target is not in the opcode.
    indirect: bool,
    kind: &'static str,
    exception: Option<u16>,
    cycles: Counted,
    times: u64,
    /// Functions and lines: numbers of `from` and `to`.
    functions: [Option<i32>; 2],
    lines: [Option<u32>; 2],
}

impl Placed for Branch {
    fn place(&self) -> &Place {
        &self.place
    }
}

fn kind(range: &Range) -> &'static str {
    let indirect = range.last.kind == Kind::Indirect;
    if !matches!(range.last.kind, Kind::Branch | Kind::Indirect) {
        return "other";
    }
    match (range.last.role, indirect) {
        (Role::Call | Role::Link | Role::Swap, false) => "call",
        (Role::Call | Role::Link | Role::Swap, true) => "indirect call",
        (Role::Return | Role::ImpliedReturn, _) => "return",
        (Role::ExceptionReturn, _) => "exception return",
        (Role::Jump | Role::Loop | Role::Compare, false) => "branch",
        (Role::Jump | Role::Loop | Role::Compare, true) => "indirect branch",
    }
}

/// The last branch of each source, whose target is not known yet.
struct Branches<'a, 'b, 'c> {
    output: Output<'a, 'b, Branch>,
    open: Vec<Option<Branch>>,
    wanted: Wanted,
    input: &'c Input<'c>,
}

impl Branches<'_, '_, '_> {
    /// Control of a source is at `to`, or it is not known where.
    fn arrive(&mut self, shared: &mut Shared, source: usize, to: Option<u64>) -> bool {
        let Some(mut branch) = self.open.get_mut(source).and_then(Option::take) else {
            return true;
        };
        branch.to = to;
        self.name(shared, &mut branch, 1, to);
        self.output.push(shared, branch)
    }

    /// Looks for the function and the line of one end of a branch.
    fn name(&self, shared: &mut Shared, branch: &mut Branch, end: usize, address: Option<u64>) {
        let Some(address) = address else { return };
        let source = branch.place.source as usize;
        if self.wanted.functions
            && let Some(function) = branch.functions.get_mut(end)
        {
            *function = shared.function(source, address);
        }
        if self.wanted.lines
            && let Some(line) = branch.lines.get_mut(end)
        {
            *line = shared.line(self.input.trace, address).map(|(_, line)| line);
        }
    }

    fn leave(&mut self, shared: &mut Shared, mut branch: Branch) {
        let source = branch.place.source as usize;
        let from = branch.from;
        self.name(shared, &mut branch, 0, from);
        if source >= self.open.len() {
            self.open.resize(source + 1, None);
        }
        if let Some(open) = self.open.get_mut(source) {
            *open = Some(branch);
        }
    }
}

/// What `row` makes of a source that is left by it.
fn branch(row: &Row) -> Option<Branch> {
    let Row { place, times, .. } = *row;
    let made = |from, kind| Branch {
        place,
        from,
        to: None,
        taken: true,
        conditional: false,
        indirect: true,
        kind,
        exception: None,
        cycles: Counted::UNKNOWN,
        times,
        functions: [None; 2],
        lines: [None; 2],
    };
    match &row.element {
        Element::Range(range)
            if matches!(range.last.kind, Kind::Branch | Kind::Indirect)
                || range.last.conditional() =>
        {
            Some(Branch {
                taken: range.taken(),
                conditional: range.last.conditional(),
                indirect: range.last.kind == Kind::Indirect,
                cycles: range.cycles,
                ..made(Some(range.last_address()), kind(range))
            })
        }
        Element::Exception(exception) => Some(Branch {
            exception: Some(exception.number),
            ..made(exception.return_address, "exception")
        }),
        _ => None,
    }
}

impl Rows for Branches<'_, '_, '_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        let source = row.place.source as usize;
        let open = self.open.get(source).copied().flatten();
        let more = match &row.element {
            Element::Range(range) => self.arrive(shared, source, Some(range.start)),
            Element::Exception(exception) => {
                // The instruction at the target of the branch before was not executed, but control
                // was there.
                let direct = open.is_some_and(|own| !own.indirect);
                let known = direct || exception.also_target;
                self.arrive(shared, source, exception.return_address.filter(|_| known))
            }
            Element::NoCode { address, .. } => self.arrive(shared, source, Some(*address)),
            Element::Corrected { taken } => {
                if let Some(Some(open)) = self.open.get_mut(source) {
                    open.taken = *taken;
                }
                true
            }
            Element::Gap(_)
            | Element::TraceOn(_)
            | Element::Unknown { .. }
            | Element::Undecodable { .. }
            | Element::End => self.arrive(shared, source, None),
            Element::Inconsistency(reason) if !reason.is_ambiguity() => {
                self.arrive(shared, source, None)
            }
            _ => true,
        };
        if selected && let Some(branch) = branch(row) {
            self.leave(shared, branch);
        }
        more
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        for source in 0..self.open.len() {
            if !self.arrive(shared, source, None) {
                break;
            }
        }
        self.output.flush(shared);
        !self.output.full()
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let output = Output::new(choose(columns(), input.columns), batches);
    let wanted = Wanted {
        functions: input.wants(&["from_function", "to_function"]),
        lines: input.wants(&["from_line", "to_line"]),
        ..Wanted::default()
    };
    read_rows(input, Wanted::default(), &mut Branches { output, open: Vec::new(), wanted, input })
}

fn columns() -> Vec<Column<Branch>> {
    type Own = Branch;
    let mut columns = place();
    columns.extend([
        column!(Hex "from_address" ? "the branch, or the return address of an exception",
            |_, r| r.from),
        column!(Hex "to_address" ? "what follows; null where that is not known", |_, r| r.to),
        column!(Bool "taken" ! "the branch was taken", |_, r| r.taken),
        column!(Bool "conditional" ! "the branch has a condition", |_, r| r.conditional),
        column!(Bool "indirect" ! "the target is not in the opcode", |_, r| r.indirect),
        column!(Kind(KINDS) "kind" ! "kind of the branch; other: a conditional instruction that is none",
            |_, r| Some(r.kind)),
        column!(U16 "exception" ? "number of the exception", |_, r| r.exception),
        column!(Name(words) "exception_name" ? "name of the exception", |s, r| {
            let name = r.exception.and_then(|number| s.source(&r.place)?.exception_name(number));
            name.map(|name: Cow<'static, str>| s.words.number(&name))
        }),
        column!(U32 "cycles" ? "processor cycles of the range before it", |_, r| r.cycles.get()),
        column!(U64 "times" ! "how often: 1 but in loops whose turns are not listed",
            |_, r| r.times),
        column!(Name(functions) "from_function" ? "function that is left",
            |s, r| r.functions[0]).on_request(),
        column!(Name(functions) "to_function" ? "function that is entered",
            |s, r| r.functions[1]).on_request(),
        column!(U32 "from_line" ? "line that is left", |_, r| r.lines[0]).on_request(),
        column!(U32 "to_line" ? "line that is entered", |_, r| r.lines[1]).on_request(),
    ]);
    columns
}
