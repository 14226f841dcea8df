//! Parts as files: lines of JSON. `docs/units.md` describes them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tracewright::analysis::coverage_runs::Digest;

use crate::capture::{CaptureIdentity, Extent};
use crate::error::FleetError;
use crate::part::{Done, Part, Payload};
use crate::plan::Piece;

/// The type of the first line.
const TYPE: &str = "tracewright-part";
/// The version of the format.
const VERSION: u64 = 2;

impl Part {
    /// Whether a file with these first bytes is a part.
    pub fn is_at(head: &[u8]) -> bool {
        head.starts_with(format!("{{\"type\":\"{TYPE}\"").as_bytes())
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
        for own in self.captures.values() {
            let CaptureIdentity { data, programs, options, buffers } = own;
            let buffers: Vec<Value> = buffers.iter().map(extent).collect();
            lines.put(format_args!(
                "{{\"type\":\"capture\",\"data\":\"{data}\",\"programs\":\"{programs}\",\
                 \"options\":\"{options}\",\"buffers\":{}}}",
                Value::from(buffers)
            ));
        }
        for (id, done) in &self.units {
            let pieces: Vec<Value> = done.iter().map(piece).collect();
            lines.put(format_args!(
                "{{\"type\":\"unit\",\"id\":{},\"pieces\":{}}}",
                json!(id),
                Value::from(pieces)
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
        let Lines { mut bytes, count } = lines;
        let sha256 = Digest::of(&bytes);
        let end = format!("{{\"type\":\"end\",\"lines\":{count},\"sha256\":\"{sha256}\"}}\n");
        bytes.extend_from_slice(end.as_bytes());
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`FleetError::NotAPart`], also where the file was cut or altered, and where its own units
    /// have a segment in common.
    pub fn read(bytes: &[u8]) -> Result<Part, FleetError> {
        let failed = |line: usize, why: &str| FleetError::NotAPart { line, why: why.to_owned() };
        let text = std::str::from_utf8(bytes).map_err(|_| failed(1, "it is not a part"))?;
        if !Part::is_at(bytes) {
            return Err(failed(1, "it is not a part"));
        }
        let count = text.lines().count();
        let all = text.strip_suffix('\n').ok_or_else(|| failed(count, "the file is cut"))?;
        let last = all.rfind('\n').map_or(0, |at| at + 1);
        let end = parse(all.get(last..).unwrap_or_default());
        let end = end.filter(|own| own.get("type").and_then(Value::as_str) == Some("end"));
        let end = end.ok_or_else(|| failed(count, "the file is cut: it has no last line"))?;
        let before = bytes.get(..last).unwrap_or_default();
        let stated = end.get("sha256").and_then(Value::as_str).and_then(Digest::parse);
        if stated != Some(Digest::of(before)) {
            return Err(failed(count, "the file was altered: its digest is another one"));
        }
        let stated = end.get("lines").and_then(Value::as_u64);
        if stated != Some(count.saturating_sub(1) as u64) {
            let why = "the line has another number of lines than the file, or none";
            return Err(failed(count, why));
        }
        let mut lines = all.get(..last).unwrap_or_default().lines();
        let head = lines.next().and_then(parse);
        let version = head.as_ref().and_then(|own| own.get("version"));
        if version.and_then(Value::as_u64) != Some(VERSION) {
            let version = version.map_or("no version".to_owned(), |own| format!("version {own}"));
            let why = format!("the format has {version}, and version {VERSION} is known");
            return Err(failed(1, &why));
        }
        let part = head.as_ref().and_then(first);
        let mut part = part.ok_or_else(|| failed(1, "the line is not that of a part"))?;
        for (n, line) in lines.enumerate() {
            let added = parse(line).and_then(|own| part.line(&own));
            added.ok_or_else(|| failed(n + 2, "the line is not that of a part"))?;
        }
        part.check_pieces().map_err(|why| failed(count, &why))?;
        Ok(part)
    }

    /// Adds what a line has.
    fn line(&mut self, line: &Value) -> Option<()> {
        if let Some(fields) = line.as_array() {
            return self.payload_line(fields);
        }
        match line.get("type")?.as_str()? {
            "capture" => {
                let buffers = line.get("buffers")?.as_array()?.iter().map(read_extent);
                let own = CaptureIdentity {
                    data: digest(line.get("data")?)?,
                    programs: digest(line.get("programs")?)?,
                    options: digest(line.get("options")?)?,
                    buffers: buffers.collect::<Option<_>>()?,
                };
                self.captures.insert(own.data, own).is_none().then_some(())
            }
            "unit" => {
                let id = line.get("id")?.as_str()?.to_owned();
                let pieces = line.get("pieces")?.as_array()?.iter().map(read_piece);
                let pieces = pieces.collect::<Option<_>>()?;
                self.units.insert(id, pieces).is_none().then_some(())
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

/// Lines of a file.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    count: u64,
}

impl Lines {
    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        self.bytes.extend_from_slice(format!("{line}\n").as_bytes());
        self.count += 1;
    }
}

fn parse(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

fn digest(value: &Value) -> Option<Digest> {
    Digest::parse(value.as_str()?)
}

fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
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
        units: BTreeMap::new(),
        payload,
    })
}

fn extent(own: &Extent) -> Value {
    let Extent { number, name, bytes, segments } = own;
    json!([number, name, bytes, segments])
}

fn read_extent(value: &Value) -> Option<Extent> {
    let [own, name, bytes, segments] = value.as_array()?.as_slice() else { return None };
    Some(Extent {
        number: number(own)?,
        name: name.as_str()?.to_owned(),
        bytes: bytes.as_u64()?,
        segments: number(segments)?,
    })
}

fn piece(done: &Done) -> Value {
    let Piece { capture, buffer, segments: (begin, end) } = &done.piece;
    let states = done.states.map(|own| own.map(|state| state.to_string()));
    json!([capture.to_string(), buffer, begin, end, states])
}

fn read_piece(value: &Value) -> Option<Done> {
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
    Some(Done { piece, states })
}
