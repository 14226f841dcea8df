//! `tracewright units`

use std::fmt::Write;

use serde_json::json;
use tracewright_fleet::{Piece, Unit};

use crate::args::{JobArg, UnitsArgs, UnitsFormat};
use crate::fail::Fail;
use crate::fleet::{self, Work};
use crate::inputs::lists;
use crate::message;
use crate::output::Output;

/// Runs the verb.
pub fn run(args: &UnitsArgs) -> Result<bool, Fail> {
    let mut paths = vec![args.input.path().to_owned()];
    paths.extend(args.more.iter().cloned());
    let paths = lists(&paths)?;
    let name = match args.job {
        JobArg::Counts if paths.len() > 1 => return Err(fleet::one_capture()),
        JobArg::Counts => fleet::COUNTS,
        JobArg::BranchList => fleet::BRANCH_LIST,
    };
    let job = fleet::job(name, args.how.committed, true);
    let paths = (&paths[..], false);
    let work = Work::open(paths, (&args.input, &args.how), &args.index, job, args.unit_size)?;
    let mut output = Output::standard()?;
    let mut text = String::new();
    for unit in &work.plan.units {
        match args.format {
            UnitsFormat::Text => listed(&work, unit, &mut text)?,
            UnitsFormat::Json => object(&work, unit, &mut text)?,
        }
    }
    match args.format {
        UnitsFormat::Text => output.print(&text)?,
        UnitsFormat::Json => output.json(&text)?,
    }
    output.close()?;
    let whole = work.captures.iter().filter(|own| own.index.is_none());
    if let Some(own) = whole.take(1).next() {
        message::line(&format!(
            "note: {} has no index: its buffers are not divided; `tracewright index` makes one",
            own.input.path.display()
        ));
    }
    Ok(!work.plan.units.is_empty())
}

/// The line of a unit.
fn listed(work: &Work, unit: &Unit, to: &mut String) -> Result<(), Fail> {
    let mut places = Vec::new();
    for piece in &unit.pieces {
        let Piece { buffer, segments: (begin, end), .. } = piece;
        let own = work.of(piece)?;
        let extent = own.identity.buffer(*buffer);
        let name = extent.map_or("", |own| own.name.as_str());
        let path = own.input.path.display();
        places.push(match extent.is_some_and(|own| own.segments > 1) {
            true => format!("{path} {name} segments {begin}..{end}"),
            false => format!("{path} {name}"),
        });
    }
    let _ = writeln!(to, "{}  {:>12} bytes  {}", unit.id, unit.bytes, places.join("; "));
    Ok(())
}

/// The object of a unit.
fn object(work: &Work, unit: &Unit, to: &mut String) -> Result<(), Fail> {
    let mut pieces = Vec::new();
    for piece in &unit.pieces {
        let Piece { capture, buffer, segments: (begin, end) } = piece;
        let own = work.of(piece)?;
        let name = own.identity.buffer(*buffer).map(|own| own.name.clone());
        pieces.push(json!({
            "capture": capture.to_string(),
            "path": own.input.path.to_string_lossy(),
            "buffer": name,
            "segments": [begin, end],
        }));
    }
    let line = json!({
        "id": unit.id,
        "job": work.plan.job.name,
        "bytes": unit.bytes,
        "pieces": pieces,
    });
    let _ = writeln!(to, "{line}");
    Ok(())
}
