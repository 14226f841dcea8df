//! Files of parts and plans: lines of JSON, the last of which has the digest of the others.
//!
//! They are read and written line by line: files of many captures are larger than what is held of
//! them.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};
use tracewright::analysis::coverage_runs::{Digest, Digester};

use crate::capture::{CaptureIdentity, Extent};
use crate::error::FleetError;

/// The most bytes of a file.
const MOST: u64 = 1 << 32;

/// Lines of a file that is written to `W`.
pub(crate) struct Lines<W> {
    to: W,
    line: String,
    digester: Digester,
    count: u64,
}

impl<W: Write> Lines<W> {
    /// A file without lines.
    pub(crate) fn new(to: W) -> Lines<W> {
        Lines { to, line: String::new(), digester: Digester::default(), count: 0 }
    }

    /// Adds a line.
    pub(crate) fn put(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.line.clear();
        std::fmt::Write::write_fmt(&mut self.line, line).map_err(io::Error::other)?;
        self.line.push('\n');
        self.digester.add(self.line.as_bytes());
        self.count += 1;
        self.to.write_all(self.line.as_bytes())
    }

    /// Adds the last line, which has the digest of the others.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let (count, sha256) = (self.count, self.digester.finish());
        writeln!(self.to, "{{\"type\":\"end\",\"lines\":{count},\"sha256\":\"{sha256}\"}}")?;
        self.to.flush()
    }
}

/// Whether a file with these first bytes is of this type.
pub(crate) fn is_at(head: &[u8], of: &str) -> bool {
    head.starts_with(format!("{{\"type\":\"{of}\"").as_bytes())
}

/// What a file is expected to be.
pub(crate) struct Expected {
    /// The type of its first line.
    pub(crate) of: &'static str,
    /// The version of the format.
    pub(crate) version: u64,
    /// What messages name it.
    pub(crate) what: &'static str,
}

/// Passes each line of a file but the last one to `each`, with its number from 1. Fails where the
/// file is of another type or version, and where it was cut or altered: that is found at its end,
/// and is the error also where a line is wrong, as that is the reason.
pub(crate) fn read(
    from: &mut dyn BufRead,
    expected: &Expected,
    each: &mut dyn FnMut(usize, &Value) -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    let Expected { of, version: known, what } = *expected;
    let failed = |line: usize, why: &str| Err(refused(line, &why));
    let mut from = from.take(MOST.saturating_add(1));
    let (mut line, mut digester) = (Vec::new(), Digester::default());
    let (mut number, mut wrong) = (0, None);
    while next(&mut from, &mut line)? {
        number += 1;
        if number == 1 && !is_at(&line, of) {
            return failed(1, &format!("it is not a {what}"));
        }
        if line.pop_if(|last| *last == b'\n').is_none() {
            return match from.limit() {
                0 => failed(number, &format!("the file has more than {MOST} bytes")),
                _ => failed(number, "the file is cut"),
            };
        }
        if let Some(end) = last(&line) {
            let stated = end.get("sha256").and_then(Value::as_str).and_then(Digest::parse);
            if stated != Some(digester.finish()) {
                return failed(number, "the file was altered: its digest is another one");
            }
            if next(&mut from, &mut line)? {
                return failed(number + 1, "the file was altered: there is a line after the last");
            }
            if end.get("lines").and_then(Value::as_u64) != Some(number as u64 - 1) {
                let why = "the line has another number of lines than the file, or none";
                return failed(number, why);
            }
            return wrong.map_or(Ok(()), Err);
        }
        digester.add(&line);
        digester.add(b"\n");
        if wrong.is_none() {
            let value = std::str::from_utf8(&line).ok().and_then(parse);
            let done = value.ok_or_else(|| other(number, what)).and_then(|value| {
                if number == 1 {
                    check_version(&value, known)?;
                }
                each(number, &value)
            });
            wrong = done.err();
        }
    }
    match number {
        0 => failed(1, &format!("it is not a {what}")),
        _ => failed(number, "the file is cut: it has no last line"),
    }
}

/// Reads a line with its end. `false`: there is none.
fn next(from: &mut io::Take<&mut dyn BufRead>, line: &mut Vec<u8>) -> Result<bool, FleetError> {
    line.clear();
    Ok(from.read_until(b'\n', line)? > 0)
}

/// The last line of a file; `None` where it is another one.
fn last(line: &[u8]) -> Option<Value> {
    is_at(line, "end").then(|| std::str::from_utf8(line).ok().and_then(parse))?
}

fn check_version(head: &Value, known: u64) -> Result<(), FleetError> {
    let version = head.get("version");
    if version.and_then(Value::as_u64) == Some(known) {
        return Ok(());
    }
    let version = version.map_or("no version".to_owned(), |own| format!("version {own}"));
    Err(refused(1, &format!("the format has {version}, and version {known} is known")))
}

/// A line that cannot be used.
pub(crate) fn refused(line: usize, why: &dyn std::fmt::Display) -> FleetError {
    FleetError::NotAPart { line, why: why.to_string() }
}

/// A line that is none of a `what`.
pub(crate) fn other(line: usize, what: &str) -> FleetError {
    refused(line, &format_args!("the line is not that of a {what}"))
}

pub(crate) fn parse(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

pub(crate) fn digest(value: &Value) -> Option<Digest> {
    Digest::parse(value.as_str()?)
}

pub(crate) fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The line of a capture, which is at `path`.
pub(crate) fn capture(own: &CaptureIdentity, path: Option<&str>) -> String {
    let CaptureIdentity { data, programs, options, buffers } = own;
    let buffers = buffers
        .iter()
        .map(|Extent { number, name, bytes, segments }| json!([number, &**name, bytes, segments]));
    let path = path.map_or(String::new(), |path| format!("\"path\":{},", json!(path)));
    format!(
        "{{\"type\":\"capture\",{path}\"data\":\"{data}\",\"programs\":\"{programs}\",\
         \"options\":\"{options}\",\"buffers\":{}}}",
        buffers.collect::<Value>()
    )
}

/// The capture of a line.
pub(crate) fn read_capture(line: &Value) -> Option<CaptureIdentity> {
    let extent = |value: &Value| {
        let [own, name, bytes, segments] = value.as_array()?.as_slice() else { return None };
        Some(Extent {
            number: number(own)?,
            name: name.as_str()?.into(),
            bytes: bytes.as_u64()?,
            segments: number(segments)?,
        })
    };
    Some(CaptureIdentity {
        data: digest(line.get("data")?)?,
        programs: digest(line.get("programs")?)?,
        options: digest(line.get("options")?)?,
        buffers: line.get("buffers")?.as_array()?.iter().map(extent).collect::<Option<_>>()?,
    })
}
