//! `tracewright units`

use std::fmt::Write;
use std::path::Path;

use serde_json::json;
use tracewright::capture::plain;
use tracewright_fleet::{Extent, Piece, ProgramSums, Unit};

use crate::args::{JobArg, UnitsArgs, UnitsFormat};
use crate::fail::Fail;
use crate::fleet::{self, Reading, Survey, Work};
use crate::inputs::{Inputs, is_standard, lists};
use crate::message;
use crate::output::Output;

/// Runs the verb.
pub fn run(args: &UnitsArgs) -> Result<bool, Fail> {
    let mut paths = vec![args.input.path().to_owned()];
    paths.extend(args.more.iter().cloned());
    let named = Inputs::default().lists(&paths);
    let paths = lists(&paths)?;
    let name = match args.job {
        JobArg::Counts if paths.len() > 1 => return Err(fleet::one_capture()),
        JobArg::Counts => fleet::COUNTS,
        JobArg::BranchList => fleet::BRANCH_LIST,
    };
    let job = fleet::job(name, args.how.committed, true);
    let output = args.output.as_deref();
    fleet::writable(output, &[named])?;
    let (how, quiet) = (Some(&args.how), false);
    let programs = &ProgramSums::default();
    let reading = Reading {
        input: &args.input,
        how,
        index: &args.index,
        quiet,
        output,
        instructions: true,
        programs,
    };
    let threads = args.threads.jobs().count;
    let how = Survey { forced: args.force, keep_going: args.keep_going, threads };
    let work = Work::survey(&paths, reading, (job, args.unit_size), how)?;
    match output {
        Some(path) => planned(&work, path)?,
        None => list(&work, args.format)?,
    }
    if let Some(path) = &work.undivided {
        message::line(&format!(
            "note: {} has no index: its buffers are not divided; `tracewright index` makes one",
            path.display()
        ));
    }
    for fail in &work.failed {
        message::line(&format!("tracewright: left out: {fail}"));
    }
    Ok(work.failed.is_empty() && !work.plan.units.is_empty())
}

/// Writes the plan.
fn planned(work: &Work<'_>, path: &Path) -> Result<(), Fail> {
    work.check_paths()?;
    fleet::written(&|to| work.write_plan(to), Some(path), false)?;
    if is_standard(path) {
        return Ok(());
    }
    message::line(&format!(
        "note: {} units of {} captures; `--plan {} --units K/N` computes a share",
        work.plan.units.len(),
        work.plan.total(),
        path.display()
    ));
    Ok(())
}

/// Prints the units.
fn list(work: &Work<'_>, format: UnitsFormat) -> Result<(), Fail> {
    let mut output = Output::standard()?;
    let mut text = String::new();
    for unit in &work.plan.units {
        match format {
            UnitsFormat::Text => listed(work, unit, &mut text)?,
            UnitsFormat::Json => object(work, unit, &mut text)?,
        }
    }
    match format {
        UnitsFormat::Text => output.print(&text)?,
        UnitsFormat::Json => output.json(&text)?,
    }
    output.close()
}

/// The buffer of a piece.
fn extent(work: &Work<'_>, piece: &Piece) -> Option<Extent> {
    work.plan.captures.get(&piece.capture)?.buffer(piece.buffer).cloned()
}

/// The line of a unit.
fn listed(work: &Work<'_>, unit: &Unit, to: &mut String) -> Result<(), Fail> {
    let mut places = Vec::new();
    for piece in &work.plan.pieces(unit) {
        let (begin, end) = piece.segments;
        let extent = extent(work, piece);
        let name = plain::line(extent.as_ref().map_or("", |own| &*own.name));
        let path = work.path(piece)?.to_string_lossy();
        let path = plain::line(&path);
        places.push(match extent.as_ref().is_some_and(|own| own.segments > 1) {
            true => format!("{path} {name} segments {begin}..{end}"),
            false => format!("{path} {name}"),
        });
    }
    let _ = writeln!(to, "{}  {:>12} bytes  {}", unit.id, unit.bytes, places.join("; "));
    Ok(())
}

/// The object of a unit.
fn object(work: &Work<'_>, unit: &Unit, to: &mut String) -> Result<(), Fail> {
    let mut pieces = Vec::new();
    for piece in &work.plan.pieces(unit) {
        let Piece { capture, segments: (begin, end), .. } = piece;
        pieces.push(json!({
            "capture": capture.to_string(),
            "path": work.path(piece)?.to_string_lossy(),
            "buffer": extent(work, piece).map(|own| own.name.to_string()),
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
