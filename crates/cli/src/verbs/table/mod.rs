//! `tracewright table`

use crate::args::TableArgs;
use crate::fail::Fail;

/// Runs the verb.
#[cfg(not(feature = "columns"))]
pub fn run(_: &TableArgs) -> Result<bool, Fail> {
    Err(Fail::text(
        "this command was built without tables; build it with \
         `cargo install --path crates/cli --features columns`",
    ))
}

#[cfg(feature = "columns")]
mod units;

#[cfg(feature = "columns")]
pub use with_columns::run;

#[cfg(feature = "columns")]
mod with_columns {
    use std::fmt::Write as _;
    use std::fs::{self, OpenOptions};
    use std::io::{self, BufWriter, IsTerminal, Write};
    use std::path::{Path, PathBuf};

    use tracewright::capture::Replacement;
    use tracewright_columns::files::{Format, TableFile, Written};
    use tracewright_columns::{Query, Table, TableError, Type, table, tables};

    use super::{Fail, TableArgs};
    use crate::args::TableOptions;
    use crate::index::{self, Selected};
    use crate::input::Input;
    use crate::inputs::{Inputs, is_standard, lists};
    use crate::message;
    use crate::output::Output;
    use crate::report;

    pub fn run(args: &TableArgs) -> Result<bool, Fail> {
        let args = &args.0;
        let Some(name) = &args.name else { return list() };
        let table = table(name).map_err(|error| Fail::text(&error.to_string()))?;
        args.share.check(false)?;
        if args.share.wanted() {
            return super::units::run(args, &table);
        }
        let mut paths = vec![args.input.path().to_owned()];
        paths.extend(args.more.iter().cloned());
        Inputs::default().lists(&paths).refuse(args.output.as_deref())?;
        let paths = lists(&paths)?;
        let done = write(args, &table, &paths)?;
        if done.rows == 0 && done.failed.is_empty() {
            message::line(&format!(
                "note: table {name} has no rows here; `tracewright info` has what the trace has, and \
                 `tracewright table gaps` what is missing"
            ));
        }
        for fail in &done.failed {
            message::line(&format!("tracewright: left out: {fail}"));
        }
        Ok(done.failed.is_empty() && done.unchanged && !(args.strict && done.flawed))
    }

    /// What was written.
    #[derive(Default)]
    struct Done {
        rows: u64,
        /// The inputs did not change while they were read.
        unchanged: bool,
        /// Trace is damaged, or sources could not be decoded.
        flawed: bool,
        /// The captures that were left out.
        failed: Vec<Fail>,
    }

    /// Writes the rows of the captures at `paths` to `out`.
    fn fill(
        args: &TableOptions,
        table: &Table,
        paths: &[PathBuf],
        format: Format,
        mut out: impl Write + Send,
    ) -> Result<Done, Fail> {
        let mut file: Option<TableFile<'_>> = None;
        let mut done = Done { unchanged: true, ..Done::default() };
        let mut out = Some(&mut out);
        for path in paths {
            let input = match open(args, path) {
                Err(fail) if args.keep_going => {
                    done.failed.push(fail);
                    continue;
                }
                other => other?,
            };
            let opened = index::open(&input, &args.window.index)?;
            index::inputs(&input, &args.window.index).refuse(args.output.as_deref())?;
            let trace = input.trace.clone().partial().with_jobs(args.threads.jobs());
            let query = query(args, &input);
            let several = paths.len() > 1;
            let mut own = match (file.take(), out.take()) {
                (Some(file), _) => file,
                (None, Some(out)) => TableFile::new((table, &trace), &query, format, several, out)
                    .map_err(|error| failed(args, error))?,
                (None, None) => return Ok(done),
            };
            let limit = args.limit.map(|limit| limit.saturating_sub(own.rows()));
            let name = path.to_string_lossy();
            own.add(&name, &trace, &Query { limit, ..query }, opened.as_ref())
                .map_err(|error| failed(args, error))?;
            done.unchanged &= input.is_unchanged();
            done.flawed |= !trace.left_out().is_empty();
            file = Some(own);
        }
        if let Some(file) = file {
            let Written { rows, tally } = file.finish().map_err(|error| failed(args, error))?;
            done.rows = rows;
            done.flawed |= tally.flawed();
            return Ok(done);
        }
        match done.failed.pop() {
            Some(fail) => Err(fail),
            None => Ok(done),
        }
    }

    /// Opens the capture at `path`, of which something can be decoded.
    fn open(args: &TableOptions, path: &Path) -> Result<Input, Fail> {
        let input = Input::open_other(path, &args.input, None)?;
        report::notes(&input);
        input.readable(args.strict)?;
        input.decodable()?;
        // A window of a pipe cannot be selected.
        Selected::whole(&input, Some(&args.window), false)?;
        Ok(input)
    }

    /// The error of a table as that of the command.
    fn failed(args: &TableOptions, error: TableError) -> Fail {
        match error {
            TableError::Decode(error) => error.into(),
            TableError::Write(error) => Fail::write(args.output.as_deref(), &error),
            other => Fail::text(&other.to_string()),
        }
    }

    fn query(args: &TableOptions, input: &Input) -> Query {
        Query {
            columns: args.columns.clone(),
            window: args.window.window(),
            addresses: args.address.clone(),
            functions: args.function.clone(),
            kinds: args.only.clone(),
            buffers: Some(input.buffers.clone()),
            limit: args.limit,
            signed: args.signed,
            ..Query::default()
        }
    }

    /// The format of the options, or that of the name of the file.
    fn format(args: &TableOptions, file: Option<&Path>) -> Result<Format, Fail> {
        match (args.format, file) {
            (Some(format), _) => Ok(format.into()),
            (None, None) => Ok(Format::Csv),
            (None, Some(path)) => Format::of(path).ok_or_else(|| {
                let ends: Vec<_> = Format::ALL.iter().map(|(_, end)| format!(".{end}")).collect();
                let why = format!(
                    "its format is not known; add --format, or end its name with {}",
                    ends.join(", ")
                );
                Fail::input(path, &why)
            }),
        }
    }

    /// Writes the table to the output of the options.
    fn write(args: &TableOptions, table: &Table, paths: &[PathBuf]) -> Result<Done, Fail> {
        let path = args.output.as_deref().filter(|path| !is_standard(path));
        let format = format(args, path)?;
        let Some(path) = path else {
            if io::stdout().is_terminal() && format != Format::Csv {
                return Err(Fail::text("a terminal shows CSV only; name a file with --output"));
            }
            return fill(args, table, paths, format, BufWriter::new(io::stdout()));
        };
        let unwritten = |error: io::Error| Fail::write(Some(path), &error);
        // A device or a pipe has no other file in its place.
        if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(unwritten)?;
            return fill(args, table, paths, format, BufWriter::new(file));
        }
        let mut file = Replacement::new(path).map_err(unwritten)?;
        let done = fill(args, table, paths, format, BufWriter::new(&mut file))?;
        file.finish().map_err(unwritten)?;
        Ok(done)
    }

    /// Lists the tables and their columns.
    fn list() -> Result<bool, Fail> {
        let mut output = Output::standard()?;
        let mut text = String::new();
        for table in tables() {
            let _ = writeln!(text, "{}: {}", table.name(), table.about());
            for column in table.columns() {
                let of = type_name(column.of);
                let null = if column.nullable { "?" } else { "" };
                let request = if column.on_request { " (on request)" } else { "" };
                let _ = writeln!(
                    text,
                    "  {:<23} {:<9} {}{request}",
                    column.name,
                    format!("{of}{null}"),
                    column.about
                );
            }
        }
        text.push_str(
            "\nA column with `?` may be null. Columns on request are in the table where --columns names \
             them, and in each view: NAME_view.\n",
        );
        output.print(&text)?;
        output.close()?;
        Ok(true)
    }

    const fn type_name(of: Type) -> &'static str {
        match of {
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::Hex => "u64 hex",
            Type::Hex32 => "u32 hex",
            Type::I64 => "i64",
            Type::F64 => "f64",
            Type::Bool => "bool",
            Type::Kind(_) => "kind",
            Type::Name => "name",
            Type::Text => "text",
            Type::Bytes => "bytes",
            Type::ListText => "texts",
        }
    }
}
