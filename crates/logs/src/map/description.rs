//! The TOML of a map.

use regex::bytes::{Regex, RegexBuilder};
use toml::{Table, Value};
use tracewright_base::{Invalid, Isa};

use super::field::{FIELDS, Field};
use super::{LinePattern, LogMap, MapStep};

/// The keys of a map, and of one of its lines.
const KEYS: [&str; 6] = ["isa", "addresses", "skip", "other", "opcode", "line"];
const LINE_KEYS: [&str; 6] = ["step", "match", "values", "set", "merge", "more"];

/// The names of steps.
const STEPS: [(&str, MapStep); 9] = [
    ("instruction", MapStep::Instruction),
    ("trap", MapStep::Trap),
    ("interrupt", MapStep::Interrupt),
    ("csr", MapStep::Csr),
    ("repeat", MapStep::Repeat),
    ("read", MapStep::Read),
    ("write", MapStep::Write),
    ("move", MapStep::Move),
    ("nothing", MapStep::Nothing),
];

/// The instruction sets.
const SETS: [Isa; 5] = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64];

/// The most memory of one expression in bytes.
const MAX_PATTERN: usize = 1 << 22;

impl LogMap {
    /// Reads a map.
    ///
    /// # Errors
    /// The key that is wrong, and what was expected.
    pub fn read(text: &str) -> Result<LogMap, Invalid> {
        let table: Table = text.parse().map_err(|error| format!("not TOML: {error}"))?;
        known_keys(&table, &KEYS, "the map")?;
        let mut map = LogMap::default();
        if let Some(isa) = table.get("isa") {
            let isa = text_of(isa, "isa")?;
            let known = SETS.into_iter().find(|set| set.name().eq_ignore_ascii_case(isa));
            map.isa = Some(known.ok_or_else(|| {
                let names = SETS.map(Isa::name).join(", ");
                format!("isa: `{isa}` is no instruction set; expected one of {names}")
            })?);
        }
        map.ignores_others = word(&table, "other", &["error", "ignore"])? == Some("ignore");
        map.padded = word(&table, "addresses", &["padded", "plain"])? == Some("padded");
        map.opcode_of_memory = word(&table, "opcode", &["value", "memory"])? == Some("memory");
        for skip in list(&table, "skip")? {
            map.skip.push(pattern(text_of(skip, "skip")?, "skip")?);
        }
        for line in list(&table, "line")? {
            map.lines.push(line_of(line, true)?);
        }
        if map.lines.iter().all(|line| line.step != MapStep::Instruction) {
            return Err("no [[line]] has step = \"instruction\"".into());
        }
        Ok(map)
    }

    /// A map of one expression, whose lines are instructions. Others mean nothing.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn of_pattern(text: &str) -> Result<LogMap, Invalid> {
        let line = LinePattern::new(MapStep::Instruction, pattern(text, "the pattern")?)?;
        Ok(LogMap { lines: vec![line], ignores_others: true, ..LogMap::default() })
    }
}

impl LinePattern {
    fn new(step: MapStep, pattern: Regex) -> Result<LinePattern, String> {
        let mut groups = Vec::new();
        for name in pattern.capture_names() {
            let Some(name) = name else {
                groups.push(None);
                continue;
            };
            groups.push(Some(field(name)?));
        }
        let has = |wanted| groups.contains(&Some(wanted));
        if step == MapStep::Instruction && !has(Field::Address) {
            return Err(format!("`{pattern}` has no group (?<address>..)"));
        }
        Ok(LinePattern {
            step,
            pattern,
            groups,
            values: Vec::new(),
            set: Vec::new(),
            merge: false,
            more: Vec::new(),
        })
    }
}

fn line_of(value: &Value, more: bool) -> Result<LinePattern, String> {
    let table = value.as_table().ok_or("expected [[line]], a table")?;
    known_keys(table, &LINE_KEYS, "[[line]]")?;
    let text = table.get("match").ok_or("[[line]] has no `match`")?;
    let names = STEPS.map(|(name, _)| name);
    let name = word(table, "step", &names)?.ok_or("[[line]] has no `step`")?;
    let step = STEPS.iter().find(|(known, _)| *known == name);
    let step = step.map_or(MapStep::Nothing, |(_, step)| *step);
    let mut line = LinePattern::new(step, pattern(text_of(text, "match")?, "match")?)?;
    line.merge = match table.get("merge") {
        None => false,
        Some(merge) => merge.as_bool().ok_or("merge: expected true or false")?,
    };
    for (name, value) in tables(table, "set")? {
        line.set.push((field(name)?, text_of(value, name)?.to_owned()));
    }
    for (name, values) in tables(table, "values")? {
        let values = values.as_table().ok_or_else(|| format!("values.{name}: expected a table"))?;
        for (text, value) in values {
            line.values.push((field(name)?, text.clone(), text_of(value, name)?.to_owned()));
        }
    }
    for inner in list(table, "more")? {
        if !more {
            return Err("[[line.more]] has no `more` of its own".to_owned());
        }
        line.more.push(line_of(inner, false)?);
    }
    Ok(line)
}

/// The expression `text` of the key `key`. It matches bytes.
fn pattern(text: &str, key: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    builder.unicode(false).size_limit(MAX_PATTERN);
    builder.build().map_err(|error| format!("{key}: `{text}`: {error}"))
}

fn field(name: &str) -> Result<Field, String> {
    Field::named(name).ok_or_else(|| {
        let known = FIELDS.map(|(name, _)| name).join(", ");
        format!("`{name}` is no field; expected one of {known}")
    })
}

fn text_of<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("{key}: expected a text"))
}

/// The word of a key, which is one of `words`.
fn word<'a>(table: &'a Table, key: &str, words: &[&str]) -> Result<Option<&'a str>, String> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let text = text_of(value, key)?;
    if words.contains(&text) {
        return Ok(Some(text));
    }
    Err(format!("{key}: `{text}`; expected one of {}", words.join(", ")))
}

/// The elements of a key that has a list.
fn list<'a>(table: &'a Table, key: &str) -> Result<impl Iterator<Item = &'a Value>, String> {
    let values = match table.get(key) {
        None => &[][..],
        Some(value) => value.as_array().ok_or_else(|| format!("{key}: expected a list"))?,
    };
    Ok(values.iter())
}

/// The pairs of a key that has a table.
fn tables<'a>(
    table: &'a Table,
    key: &str,
) -> Result<impl Iterator<Item = (&'a str, &'a Value)>, String> {
    let table = match table.get(key) {
        None => None,
        Some(value) => Some(value.as_table().ok_or_else(|| format!("{key}: expected a table"))?),
    };
    Ok(table.into_iter().flatten().map(|(name, value)| (name.as_str(), value)))
}

fn known_keys(table: &Table, keys: &[&str], of: &str) -> Result<(), String> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("`{key}` is no key of {of}; expected one of {}", keys.join(", "))),
        None => Ok(()),
    }
}
