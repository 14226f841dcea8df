//! Parts as files: lines of JSON. `docs/units.md` describes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::captures::{Captures, Place};
use crate::error::FleetError;
use crate::lines::{
    Expected, Lines, capture, digest, is_at, number, other, read, read_capture, refused,
};
use crate::part::{Done, Part, Payload, States};
use crate::plan::{Piece, whole_pieces};
use crate::program_sums::Codes;
use crate::unit_id::UnitId;

/// The type of the first line.
const TYPE: &str = "tracewright-part";
/// The version of the format.
const VERSION: u64 = 5;
const EXPECTED: Expected = Expected { of: TYPE, version: VERSION, what: "part" };

impl Part {
    /// Whether a file with these first bytes is a part.
    pub fn is_at(head: &[u8]) -> bool {
        is_at(head, TYPE)
    }

    /// The file. Equal parts have equal bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A vector takes all bytes.
        let _ = self.write_to(&mut bytes);
        bytes
    }

    /// Writes the file to `to`.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_to(&self, to: impl Write) -> io::Result<()> {
        let mut lines = Lines::new(to);
        let (rows, head) = match &self.payload {
            Payload::Counts(_) => (false, Value::Null),
            Payload::Rows { head, .. } => (true, json!(head)),
        };
        lines.put(format_args!(
            "{{\"type\":\"{TYPE}\",\"version\":{VERSION},\"tool\":{},\"job\":{},\"plan\":\"{}\",\
             \"captures\":{},\"listed\":{},\"rows\":{rows},\"head\":{head}}}",
            json!(self.tool),
            json!(self.job),
            self.plan,
            self.total,
            json!(self.listed)
        ))?;
        for own in self.captures.iter() {
            lines.put(format_args!("{}", capture(&own, None)))?;
        }
        for ((id, path), code) in &self.programs {
            lines.put(format_args!(
                "{{\"type\":\"program\",\"build_id\":{},\"path\":{},\"code\":\"{code:016x}\"}}",
                json!(id),
                json!(path)
            ))?;
        }
        self.write_units(&mut lines)?;
        for (position, why) in &self.unopened {
            let why = json!(why);
            lines.put(format_args!(
                "{{\"type\":\"unopened\",\"position\":{position},\"failed\":{why}}}"
            ))?;
        }
        match &self.payload {
            Payload::Counts(counts) => {
                for (key, count) in counts {
                    lines.put(format_args!("[{},{count}]", json!(key)))?;
                }
            }
            Payload::Rows { rows, .. } => {
                for (own, text) in rows {
                    let Piece { capture, buffer, segments: (begin, end) } = own;
                    lines.put(format_args!(
                        "[\"{capture}\",{buffer},{begin},{end},{}]",
                        json!(text)
                    ))?;
                }
            }
        }
        lines.end()
    }

    /// Writes the lines of units, in the order of their identifiers.
    fn write_units(&self, lines: &mut Lines<impl Write>) -> io::Result<()> {
        let divided: Vec<(&Piece, &Done)> = self.pieces.iter().collect();
        let of_pieces = divided.iter().zip(0..).map(|((_, done), n)| (done.unit, Of::Piece(n)));
        let whole = self.captures.whole().filter_map(|(place, data, unit)| {
            let (id, _) = self.whole(&data, unit?);
            Some((id, Of::Capture(place)))
        });
        let mut units: Vec<(UnitId, Of)> = Vec::new();
        units.reserve_exact(self.pieces.len() + self.captures.len());
        units.extend(of_pieces.chain(whole));
        // Those of a unit are sorted when it is written.
        units.sort_unstable_by_key(|(id, _)| *id);
        for all in units.chunk_by(|one, other| one.0 == other.0) {
            let Some((id, _)) = all.first() else { continue };
            let mut pieces: Vec<(Piece, Option<&Done>)> = Vec::new();
            for (_, of) in all {
                match of {
                    Of::Piece(n) => {
                        let own = divided.get(*n as usize);
                        pieces.extend(own.map(|(own, done)| (Piece::clone(own), Some(*done))));
                    }
                    Of::Capture(place) => {
                        let own = self.captures.at(*place);
                        pieces.extend(own.iter().flat_map(whole_pieces).map(|own| (own, None)));
                    }
                }
            }
            pieces.sort_by(|(one, _), (other, _)| one.cmp(other));
            let mut text = String::new();
            for (n, (own, done)) in pieces.iter().enumerate() {
                text.push_str(if n > 0 { "," } else { "" });
                piece(own, *done, &mut text);
            }
            let failed = self.failed.get(id);
            let failed = failed.map_or(String::new(), |why| format!("\"failed\":{},", json!(why)));
            lines.put(format_args!(
                "{{\"type\":\"unit\",\"id\":\"{id}\",{failed}\"pieces\":[{text}]}}"
            ))?;
        }
        Ok(())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`FleetError::NotAPart`], also where the file was cut or altered, and where its own units
    /// have a segment in common.
    pub fn read(bytes: &[u8]) -> Result<Part, FleetError> {
        Part::read_from(&mut &*bytes)
    }

    /// Reads a file to its end.
    ///
    /// # Errors
    /// As [`read`](Part::read), and those of `from`.
    pub fn read_from(from: &mut dyn BufRead) -> Result<Part, FleetError> {
        let (mut part, mut count) = (None, 1);
        read(from, &EXPECTED, &mut |n, line| {
            count = n;
            let Some(part) = &mut part else {
                part = Some(first(line).ok_or_else(|| other(n, "part"))?);
                return Ok(());
            };
            let added = Part::line(part, line).ok_or_else(|| other(n, "part"))?;
            added.map_err(|error| refused(n, &error))
        })?;
        let part = part.ok_or_else(|| other(1, "part"))?;
        part.check_pieces().map_err(|why| refused(count, &why))?;
        Ok(part)
    }

    /// Adds what a line has. `None` where it is no line of a part.
    fn line(&mut self, line: &Value) -> Option<Result<(), FleetError>> {
        if let Some(fields) = line.as_array() {
            return self.payload_line(fields).map(Ok);
        }
        match line.get("type")?.as_str()? {
            "capture" => {
                let own = read_capture(line)?;
                self.captures.insert(&own).then_some(Ok(()))
            }
            "program" => {
                let text = |name| Some(line.get(name)?.as_str()?.to_owned());
                let code = u64::from_str_radix(&text("code")?, 16).ok()?;
                let file = (text("build_id")?, text("path")?);
                self.programs.insert(file, code).is_none().then_some(Ok(()))
            }
            "unit" => {
                let unit = UnitId::parse(line.get("id")?.as_str()?)?;
                if let Some(why) = line.get("failed") {
                    self.failed.insert(unit, why.as_str()?.to_owned());
                }
                let pieces = line.get("pieces")?.as_array()?.iter();
                let pieces = pieces.map(read_piece).collect::<Option<Vec<_>>>()?;
                (!pieces.is_empty()).then(|| self.put_unit(unit, pieces))
            }
            "unopened" => {
                let position = number(line.get("position")?)?;
                let why = line.get("failed")?.as_str()?.to_owned();
                let is_own = self.listed.iter().any(|own| (own.0..own.1).contains(&position));
                (is_own && self.unopened.insert(position, why).is_none()).then_some(Ok(()))
            }
            _ => None,
        }
    }

    fn payload_line(&mut self, fields: &[Value]) -> Option<()> {
        match (&mut self.payload, fields) {
            (Payload::Counts(counts), [key, count]) => {
                let (key, count) = (key.as_str()?.to_owned(), count.as_u64()?);
                counts.insert(key, count).is_none().then_some(())
            }
            (Payload::Rows { rows, .. }, [capture, buffer, begin, end, text]) => {
                let piece = Piece {
                    capture: digest(capture)?,
                    buffer: number(buffer)?,
                    segments: (number(begin)?, number(end)?),
                };
                rows.insert(piece, text.as_str()?.to_owned()).is_none().then_some(())
            }
            _ => None,
        }
    }
}

/// A part without units, of the first line.
fn first(line: &Value) -> Option<Part> {
    let payload = match line.get("rows")?.as_bool()? {
        true => {
            let head = line.get("head")?.as_str()?.to_owned();
            Payload::Rows { head, rows: BTreeMap::new() }
        }
        false => Payload::Counts(BTreeMap::new()),
    };
    let total = number(line.get("captures")?)?;
    let mut listed = Vec::new();
    for own in line.get("listed")?.as_array()? {
        let [begin, end] = own.as_array()?.as_slice() else { return None };
        let (begin, end) = (number(begin)?, number(end)?);
        let after = listed.last().map_or(0, |(_, last): &(usize, usize)| last + 1);
        let is_next = (listed.is_empty() || after <= begin) && begin < end && end <= total;
        is_next.then(|| listed.push((begin, end)))?;
    }
    Some(Part {
        tool: line.get("tool")?.as_str()?.to_owned(),
        job: line.get("job")?.as_str()?.to_owned(),
        plan: digest(line.get("plan")?)?,
        total,
        listed,
        captures: Captures::new(),
        programs: Codes::new(),
        pieces: BTreeMap::new(),
        failed: BTreeMap::new(),
        unopened: BTreeMap::new(),
        payload,
    })
}

/// What a unit has.
enum Of {
    /// All buffers of the capture at this place.
    Capture(Place),
    /// The piece with this number.
    Piece(u32),
}

/// Adds the array of a piece to a text.
fn piece(own: &Piece, done: Option<&Done>, to: &mut String) {
    let Piece { capture, buffer, segments: (begin, end) } = own;
    let _ = write!(to, "[\"{capture}\",{buffer},{begin},{end},");
    let _ = match done.and_then(|done| done.states.as_deref()) {
        Some([begin, end]) => write!(to, "[\"{begin}\",\"{end}\"]]"),
        None => write!(to, "null]"),
    };
}

fn read_piece(value: &Value) -> Option<(Piece, States)> {
    let [capture, buffer, begin, end, states] = value.as_array()?.as_slice() else { return None };
    let states = match states {
        Value::Null => None,
        other => {
            let [begin, end] = other.as_array()?.as_slice() else { return None };
            Some([digest(begin)?, digest(end)?])
        }
    };
    let segments = (number(begin)?, number(end)?);
    Some((Piece { capture: digest(capture)?, buffer: number(buffer)?, segments }, states))
}
