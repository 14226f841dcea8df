//! Parts of a table: the rows of units.

use std::collections::BTreeMap;

use tracewright::index::Window;
use tracewright::index::part::PartOf;
use tracewright_columns::files::{Format, TableFile};
use tracewright_columns::{Division, Query, Table};
use tracewright_fleet::{self as fleet, Payload, Piece, ProgramSums, States};

use crate::args::TableOptions;
use crate::fail::Fail;
use crate::fleet::{self as units, Opened, Reading, Survey, Work};
use crate::listing::Nothing;

/// Writes the part of `--units` or `--unit`.
pub fn run(args: &TableOptions, table: &Table) -> Result<bool, Fail> {
    let name = table.name();
    check(args, table)?;
    let output = args.output.as_deref();
    units::writable(output, &[])?;
    let (index, path) = (&args.window.index, args.input.path());
    let (quiet, instructions) = (false, false);
    let programs = &ProgramSums::default();
    let reading =
        Reading { input: &args.input, how: None, index, quiet, output, instructions, programs };
    let divides = table.division() == Division::Segments;
    let job = units::job(&described(args), false, divides);
    let (paths, size) = ([path.to_owned()], args.share.size());
    let mut work = Work::survey(&paths, reading, (job, size), Survey::default())?;
    let buffers = work.plan.captures.iter().map(|own| own.buffers.len()).max();
    if table.division() == Division::Captures && buffers > Some(1) {
        let what = format!(
            "rows of table {name} join the buffers of a capture: a unit is a whole capture, whose \
             table is written without --units"
        );
        return Err(Fail::input(path, &what));
    }
    let chosen = work.chosen(&args.share)?;
    let empty = Payload::Rows { head: String::new(), rows: BTreeMap::new() };
    let empty = (empty, args.share.allow_failed);
    let part =
        work.part(chosen, empty, &mut |opened, piece, to| rows(args, table, opened, piece, to))?;
    units::write(&part, (output, false), &[])?;
    Ok(true)
}

/// Fails where a part has not what is asked for.
fn check(args: &TableOptions, table: &Table) -> Result<(), Fail> {
    let name = table.name();
    if !args.more.is_empty() {
        let what =
            "units of a table are those of one capture, as rows have numbers of its elements";
        return Err(Fail::text(what));
    }
    if args.format.is_some_and(|format| Format::from(format) != Format::Csv) {
        let what = "a part of --units has CSV, whose rows `merge` joins";
        let format = args.format.map(crate::args::name).unwrap_or_default();
        return Err(Fail::option("--format", &format, what));
    }
    if !table.is_decoded() {
        let what = format!("table {name} describes the capture, and has no units");
        return Err(Fail::text(&what));
    }
    if name == "packets" {
        let what = "packets have no segment of their own: one that is incomplete at a border belongs \
                    to both sides; table packets is written without --units";
        return Err(Fail::text(what));
    }
    let incomplete = args.keep_going;
    units::refuse(&[
        (!args.window.window().is_all(), "--offset, --time, --instruction or --at"),
        (args.limit.is_some(), "--limit"),
        (incomplete, "--keep-going"),
        (args.strict, "--strict"),
    ])
}

/// The job: the table, and what selects its columns and rows.
fn described(args: &TableOptions) -> String {
    let mut all = vec![format!("table {}", args.name.as_deref().unwrap_or_default())];
    let columns = args.columns.iter().map(|names| format!("columns={}", names.join(",")));
    all.extend(columns);
    all.extend(args.signed.then(|| "signed".to_owned()));
    all.extend(args.only.iter().map(|kind| format!("only={kind}")));
    all.extend(args.address.iter().map(|own| format!("address={:#x}..{:#x}", own.start, own.end)));
    all.extend(args.function.iter().map(|name| format!("function={name}")));
    all.join(" ")
}

/// Adds the rows of a piece.
fn rows(
    args: &TableOptions,
    table: &Table,
    opened: &Opened,
    piece: &Piece,
    to: &mut Payload,
) -> Result<States, Fail> {
    let input = &opened.input;
    let job = input.job(piece.buffer);
    let failed = |why: String| Fail::text(&why);
    let mut window = Window::default();
    let index = fleet::divided(opened.index.as_ref(), job.plan);
    if let Some(index) = index {
        // What decoding finds is compared with the index before it is used.
        let part = PartOf { buffer: job.buffer, index };
        let (mut session, listener) = (job.session()?, Nothing);
        part.run(&mut session, piece.range(), listener, &|_, _| (), &mut |()| ())
            .map_err(|error| failed(error.to_string()))?;
        if piece.range() != (0..index.len()) {
            let at = |n: usize| index.position(n).elements;
            let last =
                if piece.range().end == index.len() { u64::MAX } else { at(piece.range().end) };
            window.element = Some(at(piece.range().start)..last);
        }
    }
    let query = Query {
        columns: args.columns.clone(),
        window,
        addresses: args.address.clone(),
        functions: args.function.clone(),
        kinds: args.only.clone(),
        buffers: Some(vec![piece.buffer]),
        signed: args.signed,
        ..Query::default()
    };
    let trace = input.trace.clone().partial().with_jobs(args.threads.jobs());
    let mut bytes = Vec::new();
    let mut file = TableFile::new((table, &trace), &query, Format::Csv, false, &mut bytes)
        .map_err(|error| failed(error.to_string()))?;
    let name = input.path.to_string_lossy();
    file.add(&name, &trace, &query, opened.index.as_ref())
        .and_then(|()| file.finish())
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
    let (names, text) = text.split_at(text.find('\n').map_or(text.len(), |at| at + 1));
    if let Payload::Rows { head, rows } = to {
        names.clone_into(head);
        rows.insert(piece.clone(), text.to_owned());
    }
    Ok(None)
}
