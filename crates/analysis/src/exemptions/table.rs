//! Exemptions in TOML.

use toml::value::Datetime;
use toml::{Table, Value};
use tracewright_base::Invalid;

use super::exemption::{Exemption, ExemptionOrigin, Target};
use crate::coverage_runs::Digest;
use crate::part::PartKind;

const KEYS: [&str; 11] = [
    "file",
    "function",
    "lines",
    "decision",
    "condition",
    "value",
    "kind",
    "reason",
    "by",
    "date",
    "hash",
];

/// The most ranges of lines of an exemption.
const MOST_RANGES: usize = 1000;

/// Reads the text of a file of exemptions with a path: the tables `[[exempt]]`.
///
/// # Errors
/// The table that is wrong, by its position, and what was expected; the line where it is not TOML.
pub fn read(path: &str, text: &str) -> Result<Vec<Exemption>, Invalid> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: not TOML: {}", error.message())
    })?;
    if let Some(key) = table.keys().find(|key| *key != "exempt") {
        return Err(format!("`{key}` is not known; expected tables [[exempt]]").into());
    }
    let all = table.get("exempt").and_then(Value::as_array);
    let all = all.ok_or_else(|| "expected tables [[exempt]]".to_owned())?;
    let read = |(n, value): (usize, &Value)| {
        exemption((path, n + 1), value).map_err(|why| format!("exemption {}: {why}", n + 1))
    };
    Ok(all.iter().enumerate().map(read).collect::<Result<_, String>>()?)
}

fn exemption((path, number): (&str, usize), value: &Value) -> Result<Exemption, String> {
    let table = value.as_table().ok_or("expected a table")?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("`{key}` is not known; the keys are {}", KEYS.join(", ")));
    }
    let text = |key: &str| -> Result<Option<String>, String> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
        Ok(Some(
            text.ok_or_else(|| format!("{key}: expected a text that is not empty"))?.to_owned(),
        ))
    };
    let needed = |key: &str| text(key)?.ok_or_else(|| format!("`{key}` is missing"));
    let date = match table.get("date") {
        Some(Value::Datetime(date)) => Some(*date),
        Some(_) => needed("date")?.parse().ok(),
        None => return Err("`date` is missing".to_owned()),
    };
    let date = date.filter(|own: &Datetime| own.time.is_none() && own.date.is_some());
    let date = date.ok_or("date: expected a day as YYYY-MM-DD, such as 2026-11-30")?.to_string();
    let hash = match text("hash")? {
        None => None,
        Some(hash) => {
            Some(Digest::parse(&hash).ok_or("hash: expected 64 lower-case hexadecimal digits")?)
        }
    };
    let kind = match text("kind")? {
        None => None,
        Some(kind) => {
            let known = PartKind::ALL.into_iter().find(|(name, _)| *name == kind);
            let names = PartKind::ALL.map(|(name, _)| name).join(", ");
            Some(known.ok_or_else(|| format!("kind: expected one of {names}"))?.1)
        }
    };
    Ok(Exemption {
        origin: ExemptionOrigin::Table(path.to_owned(), number),
        file: needed("file")?,
        function: text("function")?,
        target: target(table)?,
        kind,
        reason: needed("reason")?,
        by: needed("by")?,
        date,
        hash,
    })
}

fn target(table: &Table) -> Result<Target, String> {
    let lines = table.get("lines").map(ranges).transpose()?;
    let condition = match table.get("condition") {
        None => None,
        Some(value) => {
            let number = value.as_integer().and_then(|n| usize::try_from(n).ok());
            let number = number.and_then(|n| n.checked_sub(1));
            Some(number.ok_or("condition: expected the number of a condition, from 1")?)
        }
    };
    let value = match table.get("value") {
        None => None,
        Some(value) => Some(value.as_bool().ok_or("value: expected true or false")?),
    };
    let Some(decision) = table.get("decision") else {
        if condition.is_some() || value.is_some() {
            return Err("`condition` and `value` are of a `decision`".to_owned());
        }
        return Ok(lines.map_or(Target::All, Target::Lines));
    };
    if lines.is_some() {
        return Err("expected either `lines` or `decision`".to_owned());
    }
    if table.contains_key("kind") {
        return Err("expected either `kind` or `decision`".to_owned());
    }
    let place = decision.as_array().map_or(&[][..], Vec::as_slice);
    let number =
        |value: &Value| value.as_integer().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    let place = match place {
        [line, column] => number(line).zip(number(column)),
        _ => None,
    };
    let place = place.ok_or("decision: expected [line, column], both from 1")?;
    Ok(Target::Decision { place, condition, value })
}

/// Ranges of lines, as `3`, `"3-5"`, `"3-5, 9"`.
fn ranges(value: &Value) -> Result<Vec<(u32, u32)>, String> {
    let wrong = || "lines: expected a line or ranges, as \"3-5, 9\", from 1".to_owned();
    let text = match value {
        Value::Integer(line) => line.to_string(),
        Value::String(text) => text.clone(),
        _ => return Err(wrong()),
    };
    let number = |text: &str| text.trim().parse().ok().filter(|line: &u32| *line > 0);
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first <= last { Ok((first, last)) } else { Err(wrong()) }
    };
    let all: Vec<_> = text.split(',').take(MOST_RANGES + 1).map(range).collect::<Result<_, _>>()?;
    match all.len() {
        0..=MOST_RANGES => Ok(all),
        _ => Err(format!("lines: more than {MOST_RANGES} ranges")),
    }
}
