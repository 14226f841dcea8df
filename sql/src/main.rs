//! `tracewright-sql`

#![forbid(unsafe_code)]

mod arguments;

use std::io::{self, BufWriter, ErrorKind};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use futures::StreamExt;
use tracewright::capture::plain;
use tracewright_sql::output::Output;
use tracewright_sql::{Captures, Limits, Session};

use crate::arguments::Arguments;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Closed) => ExitCode::SUCCESS,
        Err(Failed::Why(why)) => {
            message(&format!("tracewright-sql: {why}"));
            ExitCode::from(2)
        }
    }
}

/// Why there is no result.
enum Failed {
    /// Who read it wants no more.
    Closed,
    Why(String),
}

impl<E: std::error::Error + 'static> From<E> for Failed {
    fn from(error: E) -> Failed {
        let mut own: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(error) = own {
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
            {
                return Failed::Closed;
            }
            own = error.source();
        }
        Failed::Why(error.to_string())
    }
}

/// Prints a line of a message.
fn message(text: &str) {
    for line in text.lines() {
        eprintln!("{}", plain::line(line));
    }
}

fn run(arguments: &Arguments) -> Result<(), Failed> {
    let (paths, query) = arguments.query().map_err(Failed::Why)?;
    let captures = Arc::new(Captures::open(&paths, &arguments.opening().map_err(Failed::Why)?)?);
    if !arguments.quiet {
        let notes = captures.iter().flat_map(|own| own.notes.iter());
        notes.for_each(|note| message(&format!("note: {note}")));
    }
    let limits = Limits {
        partitions: arguments.partitions.unwrap_or(Limits::default().partitions),
        memory: Some(arguments.memory()),
        ..Limits::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(limits.partitions.max(1))
        .enable_all()
        .build()?;
    let session = Session::new(&captures, &limits)?;
    let rows = runtime.block_on(show(&session, &query, arguments))?;
    // What still decodes has no reader.
    runtime.shutdown_background();
    if rows == 0 && !arguments.quiet {
        message(
            "note: the result has no rows; `SELECT * FROM gaps` has what is missing in the trace, and \
             `SELECT * FROM missing` what is missing to decode it",
        );
    }
    Ok(())
}

/// Writes the result of `query`, and returns the number of its rows.
async fn show(session: &Session, query: &str, arguments: &Arguments) -> Result<u64, Failed> {
    let frame = session.query(query).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let mut batches = frame.execute_stream().await?;
    let mut output = Output::new(arguments.format.into(), BufWriter::new(io::stdout().lock()));
    let mut rows = 0;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        output.write(&batch)?;
    }
    output.finish(&schema, rows)?;
    Ok(rows)
}
