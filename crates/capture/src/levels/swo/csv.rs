//! Levels as comma-separated values, as Saleae Logic, sigrok and DSView export them: a row for each
//! change with its time, or a row for each sample.

use std::io::{BufRead, BufReader, Read};

use super::edges::{Edges, MAX_CHANGES};
use super::{Recorded, select};
use crate::plain::line;

/// The greatest length of a row.
const MAX_ROW: u64 = 1 << 16;

/// The unit of times: a picosecond.
const RATE: u64 = 1_000_000_000_000;

/// Whether a file with the first bytes `head` has rows of levels: a header with a time, or rows of
/// 0 and 1.
pub(super) fn is_levels(head: &[u8]) -> bool {
    let text = match head.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => head.get(..end).unwrap_or_default(),
        None => return false,
    };
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut rows = text.lines().map(str::trim).filter(|row| !row.is_empty());
    let mut header = None;
    let row = loop {
        match rows.next() {
            None => return false,
            Some(row) if row.starts_with([';', '#']) => {}
            Some(row) if is_header(row) && header.is_none() => header = Some(row),
            Some(row) => break row,
        }
    };
    let timed = header.is_some_and(|row| time_unit(first(row)).is_some());
    let mut all = std::iter::once(row).chain(rows).take(64);
    let is_level = |field: &str| matches!(field, "0" | "1");
    let columns = row.split(',').count();
    columns > usize::from(timed)
        && (timed || header.is_some() && columns >= 1)
        && all.all(|row| {
            let mut fields = row.split(',').map(str::trim);
            let time = !timed || fields.next().is_some_and(|time| picoseconds(time, 1).is_some());
            time && row.split(',').count() == columns && fields.all(is_level)
        })
}

fn first(row: &str) -> &str {
    row.split(',').next().unwrap_or_default().trim().trim_matches('"')
}

/// Whether a row has names: no field is a number.
fn is_header(row: &str) -> bool {
    row.split(',').all(|field| {
        let field = field.trim().trim_matches('"');
        !field.is_empty() && field.parse::<f64>().is_err()
    })
}

/// The picoseconds of a unit of a column of times with this name; `None` for another column.
fn time_unit(name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    let unit = name.strip_prefix("time")?.trim_matches([' ', '[', ']', '(', ')']).to_owned();
    match unit.as_str() {
        "" | "s" | "seconds" => Some(RATE),
        "ms" => Some(1_000_000_000),
        "us" | "\u{b5}s" => Some(1_000_000),
        "ns" => Some(1_000),
        "ps" => Some(1),
        _ => None,
    }
}

/// A decimal number of units in picoseconds. Times before the trigger are negative.
fn picoseconds(text: &str, unit: u64) -> Option<i128> {
    if text.contains(['e', 'E']) {
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
        return Some((value * unit as f64).round() as i128);
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mut value = whole.parse::<i128>().ok()? * i128::from(unit);
    if !fraction.is_empty() {
        let scale = 10i128.pow(fraction.len() as u32);
        value += fraction.parse::<i128>().ok()? * i128::from(unit) / scale;
    }
    Some(if negative { -value } else { value })
}

/// The levels of the signal `signal`.
pub(super) fn read(file: impl Read, signal: Option<&str>) -> Result<Recorded, String> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut rate, mut unit, mut names) = (None, None, Vec::new());
    let (mut edges, mut origin, mut channel) = (Edges::default(), None, None);
    let mut text = String::new();
    let mut number = 0u64;
    loop {
        text.clear();
        let read = reader.by_ref().take(MAX_ROW).read_line(&mut text);
        if read.map_err(|error| error.to_string())? == 0 {
            break;
        }
        number += 1;
        let row = text.trim();
        if let Some(comment) = row.strip_prefix([';', '#']) {
            rate = rate.or_else(|| sample_rate(comment));
            continue;
        }
        if row.is_empty() {
            continue;
        }
        if channel.is_none() && names.is_empty() && is_header(row) {
            names = row.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect();
            unit = time_unit(first(row));
            continue;
        }
        let column = match channel {
            Some(column) => column,
            None => {
                let skip = usize::from(unit.is_some());
                let levels = names.get(skip..).unwrap_or_default();
                let column = skip + if names.is_empty() { 0 } else { select(levels, signal)? };
                channel = Some(column);
                column
            }
        };
        let wrong = || format!("line {number}: `{}` is not a row of levels", line(row));
        let mut fields = row.split(',').map(str::trim);
        let level = match fields.clone().nth(column).ok_or_else(wrong)? {
            "0" => false,
            "1" => true,
            _ => return Err(wrong()),
        };
        match unit {
            None => edges.level(level, MAX_CHANGES)?,
            Some(unit) => {
                let time = fields.next().and_then(|time| picoseconds(time, unit));
                let time = time.ok_or_else(wrong)?;
                let time = time - *origin.get_or_insert(time);
                let time = u64::try_from(time).map_err(|_| wrong())?;
                edges.level_at(time, level, MAX_CHANGES)?;
            }
        }
    }
    Ok(Recorded { edges, rate: if unit.is_some() { Some(RATE) } else { rate } })
}

/// The samples in a second of a comment such as `Samplerate: 8 MHz`.
fn sample_rate(comment: &str) -> Option<u64> {
    let lower = comment.to_ascii_lowercase().replace("sample rate", "samplerate");
    let (_, rest) = lower.split_once("samplerate")?;
    crate::levels::sigrok::hertz(rest.trim_start_matches([':', '=', ' ']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Recorded, String> {
        super::read(text.as_bytes(), None)
    }

    #[test]
    fn rows_of_each_program() {
        for (text, changes, rate) in [
            // Saleae Logic 2.
            (
                "Time [s],SWO\n0.000000000,1\n0.000000125,0\n0.000000250,1\n",
                [125_000, 250_000],
                RATE,
            ),
            // Saleae Logic 1, from a trigger on.
            ("Time[s], SWO\n-0.001, 1\n0.000, 0\n0.001, 1\n", [1_000_000_000, 2_000_000_000], RATE),
            // sigrok.
            (
                "; CSV, generated by libsigrok 0.5\n; Samplerate: 8 MHz\nSWO\n1\n0\n0\n1\n",
                [1, 3],
                8_000_000,
            ),
            // DSView.
            (
                "; CSV, generated by libsigrok4DSL\n; Sample rate: 10 MHz\nTime(s), D0, SWO\n0, 0, 1\n\
                 1e-6, 0, 0\n2e-6, 0, 1\n",
                [1_000_000, 2_000_000],
                RATE,
            ),
        ] {
            assert!(is_levels(text.as_bytes()), "{text}");
            let found = read(text).unwrap();
            assert_eq!(found.edges.changes, changes, "{text}");
            assert_eq!(found.rate, Some(rate), "{text}");
        }
    }

    #[test]
    fn other_text_has_no_levels() {
        for text in [
            "a,b\n1,2\n",
            "0,1,0\n1,0,1\n",
            "time,text\n0,hello\n",
            "Time [s],SWO\n",
            "0x21, 0x00\n",
            "hello\n",
            "",
        ] {
            assert!(!is_levels(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn wrong_rows_are_refused() {
        for (text, why) in [
            ("Time [s],SWO\n0,1\n1,2\n", "line 3"),
            ("Time [s],SWO\n1,1\n0,0\n", "line 3"),
            ("Time [s],SWO\n0\n", "line 2"),
            ("Time [s],A,B\n0,1,1\n", "no signal SWO; name one of A, B"),
        ] {
            let error = read(text).err().unwrap();
            assert!(error.contains(why), "{error}");
        }
    }
}
