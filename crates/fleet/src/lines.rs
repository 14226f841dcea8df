//! Files of parts and plans: lines of JSON, the last of which has the digest of the others.

use serde_json::{Value, json};
use tracewright::analysis::coverage_runs::Digest;

use crate::capture::{CaptureIdentity, Extent};
use crate::error::FleetError;

/// Lines of a file.
#[derive(Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    count: u64,
}

impl Lines {
    /// Adds a line.
    pub(crate) fn put(&mut self, line: std::fmt::Arguments<'_>) {
        self.bytes.extend_from_slice(format!("{line}\n").as_bytes());
        self.count += 1;
    }

    /// The file: the lines, and their digest.
    pub(crate) fn end(self) -> Vec<u8> {
        let Lines { mut bytes, count } = self;
        let sha256 = Digest::of(&bytes);
        let end = format!("{{\"type\":\"end\",\"lines\":{count},\"sha256\":\"{sha256}\"}}\n");
        bytes.extend_from_slice(end.as_bytes());
        bytes
    }
}

/// Whether a file with these first bytes is of this type.
pub(crate) fn is_at(head: &[u8], of: &str) -> bool {
    head.starts_with(format!("{{\"type\":\"{of}\"").as_bytes())
}

/// The first line of a file and the others. Fails where the file is of another type or version, and
/// where it was cut or altered. Messages name it `what`.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    of: &str,
    known: u64,
    what: &'static str,
) -> Result<(Value, std::str::Lines<'a>), FleetError> {
    let failed = |line: usize, why: &str| refused(line, &why);
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_at(bytes, of));
    let text = text.ok_or_else(|| failed(1, &format!("it is not a {what}")))?;
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
        return Err(failed(count, "the line has another number of lines than the file, or none"));
    }
    let mut lines = all.get(..last).unwrap_or_default().lines();
    let head = lines.next().and_then(parse).ok_or_else(|| other(1, what))?;
    let version = head.get("version");
    if version.and_then(Value::as_u64) != Some(known) {
        let version = version.map_or("no version".to_owned(), |own| format!("version {own}"));
        return Err(failed(1, &format!("the format has {version}, and version {known} is known")));
    }
    Ok((head, lines))
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
        .map(|Extent { number, name, bytes, segments }| json!([number, name, bytes, segments]));
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
            name: name.as_str()?.to_owned(),
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
