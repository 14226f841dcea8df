//! The units of a table: what is decoded at once, as rows of a table themselves.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type, UInt64Type};
use datafusion::common::{Result, exec_datafusion_err};
use tracewright_columns::{Division, Query, Table};

use crate::captures::{Captures, Opened};
use crate::narrow;
use crate::selection::Selection;

/// The most bytes of a unit.
const MOST: u64 = 64 << 20;
/// Units of each partition, so that partitions can be divided again.
const OF_PARTITION: u64 = 4;
/// Segments between two runs that are decoded, as it takes as long to begin anew.
const BETWEEN: usize = 4;

/// What is decoded at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The name of the capture.
    pub capture: String,
    /// The number of the buffer; `None` for all buffers of the capture together.
    pub buffer: Option<u32>,
    /// The first segment of the index, and that after the last; `None` for the whole buffer.
    pub segments: Option<(u64, u64)>,
    /// Bytes of trace.
    pub bytes: u64,
    /// The elements, where they are known.
    pub elements: Option<u64>,
}

/// The schema of a table of units.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("capture", DataType::Utf8, false),
        Field::new("buffer", DataType::UInt32, true),
        Field::new("first_segment", DataType::UInt64, true),
        Field::new("end_segment", DataType::UInt64, true),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("elements", DataType::UInt64, true),
    ]))
}

/// Units as rows.
///
/// # Errors
/// Where they are no record batch.
pub fn batch(units: &[Unit]) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(units.iter().map(|unit| &unit.capture))),
        Arc::new(units.iter().map(|unit| unit.buffer).collect::<UInt32Array>()),
        Arc::new(units.iter().map(|unit| Some(unit.segments?.0)).collect::<UInt64Array>()),
        Arc::new(units.iter().map(|unit| Some(unit.segments?.1)).collect::<UInt64Array>()),
        Arc::new(UInt64Array::from_iter_values(units.iter().map(|unit| unit.bytes))),
        Arc::new(units.iter().map(|unit| unit.elements).collect::<UInt64Array>()),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// The units that are rows of `batch`.
///
/// # Errors
/// Where the batch has other columns.
pub fn read(batch: &RecordBatch) -> Result<Vec<Unit>> {
    if batch.schema().fields() != schema().fields() {
        return Err(exec_datafusion_err!("no table of units: {}", batch.schema()));
    }
    let captures = batch.column(0).as_string::<i32>();
    let buffers = batch.column(1).as_primitive::<UInt32Type>();
    let [firsts, ends, bytes, elements] =
        [2, 3, 4, 5].map(|n| batch.column(n).as_primitive::<UInt64Type>());
    let at = |own: &UInt64Array, n: usize| own.is_valid(n).then(|| own.value(n));
    let unit = |n: usize| Unit {
        capture: captures.value(n).to_owned(),
        buffer: buffers.is_valid(n).then(|| buffers.value(n)),
        segments: at(firsts, n).zip(at(ends, n)),
        bytes: bytes.value(n),
        elements: at(elements, n),
    };
    Ok((0..batch.num_rows()).map(unit).collect())
}

/// The units of `table` that may have rows of `selection`, each of `least` bytes or more where a
/// buffer has as many, in as many partitions as have some, at most `partitions`. There is at least
/// one, which may be empty.
pub fn plan(
    table: &Table,
    captures: &Captures,
    selection: &Selection,
    (partitions, least): (usize, u64),
) -> Vec<Vec<Unit>> {
    let mut pieces = Vec::new();
    for opened in captures.iter() {
        if let Some(query) = narrow::query(table, opened, selection) {
            of_capture(table, opened, &query, selection, &mut pieces);
        }
    }
    let all: u64 = pieces.iter().map(|piece| piece.bytes()).sum();
    let size = (all / (partitions.max(1) as u64 * OF_PARTITION)).clamp(least.min(MOST), MOST);
    let units: Vec<Unit> = pieces.iter().flat_map(|piece| piece.units(size)).collect();
    shares(units, partitions)
}

/// Consecutive units, in shares of about equal size.
fn shares(units: Vec<Unit>, partitions: usize) -> Vec<Vec<Unit>> {
    // A unit without bytes takes some time, too.
    let weight = |unit: &Unit| u128::from(unit.bytes) + 1;
    let all: u128 = units.iter().map(weight).sum();
    let mut shares = vec![Vec::new(); partitions.max(1)];
    let mut before = 0u128;
    for unit in units {
        // The share in which the middle of the unit is.
        let middle = before + weight(&unit) / 2;
        before += weight(&unit);
        let n = middle * shares.len() as u128 / all.max(1);
        if let Some(share) = shares.get_mut(n as usize) {
            share.push(unit);
        }
    }
    shares.retain(|share| !share.is_empty());
    if shares.is_empty() {
        shares.push(Vec::new());
    }
    shares
}

/// What is decoded of a capture, before it is divided.
enum Piece<'a> {
    Whole(Unit),
    /// A run of segments of a buffer.
    Segments(&'a Opened, u32, (usize, usize)),
}

impl Piece<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Piece::Whole(unit) => unit.bytes,
            Piece::Segments(opened, buffer, run) => bytes(opened, *buffer, *run),
        }
    }

    /// The units of about `size` bytes.
    fn units(&self, size: u64) -> Vec<Unit> {
        let (opened, buffer, (first, end)) = match self {
            Piece::Whole(unit) => return vec![unit.clone()],
            Piece::Segments(opened, buffer, run) => (opened, *buffer, *run),
        };
        let Some(index) = opened.indexed(buffer as usize) else { return Vec::new() };
        let all = bytes(opened, buffer, (first, end));
        let begin = index.begin(first).unwrap_or(0);
        let mut borders = vec![first];
        let count = all.div_ceil(size.max(1)).max(1);
        borders.extend((1..count).filter_map(|n| {
            let at = begin + (u128::from(all) * u128::from(n) / u128::from(count)) as u64;
            index.with_byte(at).filter(|n| *n < end)
        }));
        borders.push(end);
        borders.dedup();
        let pairs = borders.iter().zip(borders.iter().skip(1));
        let unit = |(first, end): (&usize, &usize)| Unit {
            capture: opened.name.clone(),
            buffer: Some(buffer),
            segments: Some((*first as u64, *end as u64)),
            bytes: bytes(opened, buffer, (*first, *end)),
            elements: Some(
                index.position(*end).elements.saturating_sub(index.position(*first).elements),
            ),
        };
        pairs.map(unit).collect()
    }
}

/// The bytes of a run of segments.
fn bytes(opened: &Opened, buffer: u32, (first, end): (usize, usize)) -> u64 {
    let at = |n| opened.indexed(buffer as usize).and_then(|own| own.begin(n)).unwrap_or(0);
    at(end).saturating_sub(at(first))
}

fn of_capture<'a>(
    table: &Table,
    opened: &'a Opened,
    query: &Query,
    selection: &Selection,
    to: &mut Vec<Piece<'a>>,
) {
    let capture = || opened.name.clone();
    let buffers = &opened.trace.capture().buffers;
    let whole = |buffer: Option<usize>| {
        let of = |n: usize| buffers.get(n).map_or(0, |own| own.len());
        let bytes = match buffer {
            Some(n) => of(n),
            None => (0..buffers.len()).map(of).sum(),
        };
        let buffer = buffer.and_then(|n| u32::try_from(n).ok());
        Piece::Whole(Unit { capture: capture(), buffer, segments: None, bytes, elements: None })
    };
    let division = table.division();
    if division == Division::Captures {
        return to.push(whole(None));
    }
    let selected = |n: usize| selection.numbers("buffer").is_none_or(|own| own.contains(n as u64));
    for plan in opened.trace.plans().iter().filter(|plan| selected(plan.buffer)) {
        let run = || {
            let (index, own) = (opened.index.as_ref()?, opened.indexed(plan.buffer)?);
            let segments = narrow::segments(table, (index, own), query, selection)?;
            Some((u32::try_from(plan.buffer).ok()?, runs(&segments)))
        };
        match run().filter(|_| division == Division::Segments) {
            Some((buffer, runs)) => {
                to.extend(runs.into_iter().map(|run| Piece::Segments(opened, buffer, run)));
            }
            None => to.push(whole(Some(plan.buffer))),
        }
    }
}

/// Segments as runs, with what is between two that are near each other.
fn runs(segments: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &n in segments {
        match runs.last_mut() {
            Some(run) if n <= run.1 + BETWEEN => run.1 = n + 1,
            _ => runs.push((n, n + 1)),
        }
    }
    runs
}
