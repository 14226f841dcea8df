//! Parts as files: lines of JSON. `docs/units.md` describes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::error::FleetError;
use crate::lines::{
    Lines, capture, digest, is_at, number, other, parse, read, read_capture, refused,
};
use crate::part::{Done, Part, Payload};
use crate::plan::Piece;

/// The type of the first line.
const TYPE: &str = "tracewright-part";
/// The version of the format.
const VERSION: u64 = 3;

impl Part {
    /// Whether a file with these first bytes is a part.
    pub fn is_at(head: &[u8]) -> bool {
        is_at(head, TYPE)
    }

    /// The file. Equal parts have equal bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        let (rows, head) = match &self.payload {
            Payload::Counts(_) => (false, Value::Null),
            Payload::Rows { head, .. } => (true, json!(head)),
        };
        lines.put(format_args!(
            "{{\"type\":\"{TYPE}\",\"version\":{VERSION},\"tool\":{},\"job\":{},\"plan\":\"{}\",\
             \"captures\":{},\"rows\":{rows},\"head\":{head}}}",
            json!(self.tool),
            json!(self.job),
            self.plan,
            self.total
        ));
        self.captures.values().for_each(|own| lines.put(format_args!("{}", capture(own, None))));
        let mut units: BTreeMap<&str, String> = BTreeMap::new();
        for (own, done) in &self.pieces {
            let pieces = units.entry(&done.unit).or_default();
            if !pieces.is_empty() {
                pieces.push(',');
            }
            piece(own, done, pieces);
        }
        for (id, pieces) in units {
            let failed = self.failed.get(id);
            let failed = failed.map_or(String::new(), |why| format!("\"failed\":{},", json!(why)));
            lines.put(format_args!(
                "{{\"type\":\"unit\",\"id\":{},{failed}\"pieces\":[{pieces}]}}",
                json!(id),
            ));
        }
        match &self.payload {
            Payload::Counts(counts) => {
                for (key, count) in counts {
                    lines.put(format_args!("[{},{count}]", json!(key)));
                }
            }
            Payload::Rows { rows, .. } => {
                for (own, text) in rows {
                    let Piece { capture, buffer, segments: (begin, end) } = own;
                    lines.put(format_args!(
                        "[\"{capture}\",{buffer},{begin},{end},{}]",
                        json!(text)
                    ));
                }
            }
        }
        lines.end()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`FleetError::NotAPart`], also where the file was cut or altered, and where its own units
    /// have a segment in common.
    pub fn read(bytes: &[u8]) -> Result<Part, FleetError> {
        let (head, lines) = read(bytes, TYPE, VERSION, "part")?;
        let part = first(&head).ok_or_else(|| other(1, "part"))?;
        let (mut part, mut count) = (part, 1);
        for line in lines {
            count += 1;
            let added = parse(line).and_then(|own| part.line(&own));
            added.ok_or_else(|| other(count, "part"))?.map_err(|error| refused(count, &error))?;
        }
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
                self.captures.insert(own.data, own).is_none().then_some(Ok(()))
            }
            "unit" => {
                let unit = line.get("id")?.as_str()?.to_owned();
                if let Some(why) = line.get("failed") {
                    self.failed.insert(unit.clone(), why.as_str()?.to_owned());
                }
                let pieces = line.get("pieces")?.as_array()?.iter();
                let pieces =
                    pieces.map(|own| read_piece(own, &unit)).collect::<Option<Vec<_>>>()?;
                let mut pieces = (!pieces.is_empty()).then_some(pieces)?.into_iter();
                Some(pieces.try_for_each(|(piece, done)| self.put(piece, done)))
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
    Some(Part {
        tool: line.get("tool")?.as_str()?.to_owned(),
        job: line.get("job")?.as_str()?.to_owned(),
        plan: digest(line.get("plan")?)?,
        total: number(line.get("captures")?)?,
        captures: BTreeMap::new(),
        pieces: BTreeMap::new(),
        failed: BTreeMap::new(),
        payload,
    })
}

/// Adds the array of a piece to a text.
fn piece(own: &Piece, done: &Done, to: &mut String) {
    let Piece { capture, buffer, segments: (begin, end) } = own;
    let _ = write!(to, "[\"{capture}\",{buffer},{begin},{end},");
    let _ = match &done.states {
        Some([begin, end]) => write!(to, "[\"{begin}\",\"{end}\"]]"),
        None => write!(to, "null]"),
    };
}

fn read_piece(value: &Value, unit: &str) -> Option<(Piece, Done)> {
    let [capture, buffer, begin, end, states] = value.as_array()?.as_slice() else { return None };
    let states = match states {
        Value::Null => None,
        other => {
            let [begin, end] = other.as_array()?.as_slice() else { return None };
            Some([digest(begin)?, digest(end)?])
        }
    };
    let segments = (number(begin)?, number(end)?);
    let piece = Piece { capture: digest(capture)?, buffer: number(buffer)?, segments };
    Some((piece, Done { unit: unit.to_owned(), states }))
}
