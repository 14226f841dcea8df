//! Operating systems and names of tasks in TOML.

use toml::{Table, Value};
use tracewright_base::Invalid;

use super::orti;
use super::system::{Current, NameAt, Offset, Place, System, TABLE, TaskFile, number};
use crate::itm::Origin;
use crate::running::RunningEvents;

/// The most bytes of the name of a task.
const MAX_LENGTH: u64 = 256;
/// The most elements of the variable of the running tasks.
const MAX_CORES: u64 = 256;

const FILE_KEYS: [&str; 3] = ["os", "names", "events"];
const EVENT_KEYS: [&str; 3] = ["running", "bits", "idle"];
const KEYS: [&str; 13] = [
    "title",
    "detect",
    "detect_functions",
    "current",
    "name",
    "strip",
    "wrappers",
    "switch_at",
    "idle",
    "idle_tasks",
    "events",
    "blocking",
    "tried",
];
const CURRENT_KEYS: [&str; 7] =
    ["symbol", "offset", "variable", "offsets", "size", "value", "cores"];
const NAME_KEYS: [&str; 6] = ["type", "member", "offset", "offsets", "text", "length"];
const OFFSETS_KEYS: [&str; 3] = ["array", "index", "element"];

impl System {
    /// The systems that are known.
    pub fn known() -> Vec<System> {
        TaskFile::read(TABLE).map(|file| file.systems).unwrap_or_default()
    }
}

impl TaskFile {
    /// Reads a file: TOML, or ORTI.
    ///
    /// # Errors
    /// The key that is wrong, and what was expected; for ORTI, the line.
    pub fn read(text: &str) -> Result<TaskFile, Invalid> {
        if orti::is_orti(text) {
            return orti::read(text);
        }
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            // Its own text has the whole line.
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("line {line}: not TOML: {}", error.message())
        })?;
        keys(&table, &FILE_KEYS, "the file")?;
        let mut file = TaskFile::default();
        if let Some(systems) = table.get("os") {
            for (key, value) in table_of(systems, "os")? {
                let own = table_of(value, &format!("os.{key}"))?;
                let system = system(key, own).map_err(|why| format!("os.{key}: {why}"))?;
                file.systems.push(system);
            }
        }
        file.events = table.get("events").map(events).transpose()?;
        if let Some(names) = table.get("names") {
            for (key, value) in table_of(names, "names")? {
                let name = text_of(value, key)?.to_owned();
                match number(key) {
                    Some(value) => _ = file.names.insert(value, name),
                    None if key.starts_with(|c: char| c.is_ascii_digit()) => {
                        return Err(format!("names: `{key}` is no number and no variable").into());
                    }
                    None => file.expressions.push((key.clone(), name)),
                }
            }
        }
        Ok(file)
    }
}

fn system(key: &str, table: &Table) -> Result<System, String> {
    keys(table, &KEYS, "it")?;
    let list = |name: &str| -> Result<Vec<String>, String> {
        let Some(value) = table.get(name) else { return Ok(Vec::new()) };
        let all = value.as_array().ok_or_else(|| format!("{name}: expected a list of texts"))?;
        all.iter().map(|value| Ok(text_of(value, name)?.to_owned())).collect()
    };
    let (detect, detect_functions) = (list("detect")?, list("detect_functions")?);
    if detect.is_empty() && detect_functions.is_empty() {
        return Err("detect: expected names of variables".to_owned());
    }
    Ok(System {
        key: key.to_owned(),
        title: match table.get("title") {
            Some(title) => text_of(title, "title")?.to_owned(),
            None => key.to_owned(),
        },
        detect,
        detect_functions,
        current: table.get("current").map(current).transpose()?,
        name: table.get("name").map(name_at).transpose()?,
        strip: list("strip")?,
        wrappers: list("wrappers")?,
        switch_at: list("switch_at")?,
        idle: list("idle")?,
        idle_tasks: list("idle_tasks")?,
        events: table.get("events").map(events).transpose()?,
        blocking: list("blocking")?,
        tried: list("tried")?,
    })
}

fn current(value: &Value) -> Result<Current, String> {
    let table = table_of(value, "current")?;
    keys(table, &CURRENT_KEYS, "current")?;
    let place = match (table.get("symbol"), table.get("variable")) {
        (Some(symbol), None) => {
            let offset = offset(table, "current")?.unwrap_or(Offset::At(0));
            Place::Symbol(text_of(symbol, "current.symbol")?.to_owned(), offset)
        }
        (None, Some(variable)) => {
            Place::Variable(text_of(variable, "current.variable")?.to_owned())
        }
        _ => return Err("current: expected either `symbol` or `variable`".to_owned()),
    };
    let size = unsigned(table, "size", 8)?;
    if size.is_some_and(|size| ![1, 2, 4, 8].contains(&size)) {
        return Err("current.size: expected 1, 2, 4 or 8".to_owned());
    }
    let is_number = match table.get("value").map(|value| text_of(value, "current.value")) {
        None => false,
        Some(kind) => match kind? {
            "pointer" => false,
            "number" => true,
            _ => return Err("current.value: expected \"pointer\" or \"number\"".to_owned()),
        },
    };
    let cores = unsigned(table, "cores", MAX_CORES)?.unwrap_or(1).max(1);
    Ok(Current { size, cores, is_number, ..Current::of(place) })
}

fn name_at(value: &Value) -> Result<NameAt, String> {
    let table = table_of(value, "name")?;
    keys(table, &NAME_KEYS, "name")?;
    let member = match (table.get("type"), table.get("member")) {
        (Some(kind), Some(member)) => {
            let both = (text_of(kind, "name.type")?, text_of(member, "name.member")?);
            Some((both.0.to_owned(), both.1.to_owned()))
        }
        (None, None) => None,
        _ => return Err("name: `type` and `member` belong together".to_owned()),
    };
    let text = table.get("text").map(|value| text_of(value, "name.text")).transpose()?;
    let is_pointer = match text {
        Some("inline") => false,
        Some("pointer") => true,
        _ => return Err("name.text: expected \"inline\" or \"pointer\"".to_owned()),
    };
    let offset = offset(table, "name")?;
    if member.is_none() && offset.is_none() {
        return Err("name: expected `type` and `member`, `offset` or `offsets`".to_owned());
    }
    let length = unsigned(table, "length", MAX_LENGTH)?.unwrap_or(32) as usize;
    Ok(NameAt { member, offset, is_pointer, length })
}

fn events(value: &Value) -> Result<RunningEvents, String> {
    let table = table_of(value, "events")?;
    keys(table, &EVENT_KEYS, "events")?;
    let running = table.get("running").ok_or("events: `running` is missing")?;
    let origin = text_of(running, "events.running")?.parse::<Origin>();
    let origin = origin.map_err(|why| format!("events.running: {why}"))?;
    let bits = unsigned(table, "bits", 64)?.unwrap_or(32) as u8;
    if ![8, 16, 32, 64].contains(&bits) {
        return Err("events.bits: expected 8, 16, 32 or 64".to_owned());
    }
    let wrong = || "events.idle: expected a list of numbers from 0 on".to_owned();
    let idle = match table.get("idle") {
        None => &Vec::new(),
        Some(list) => list.as_array().ok_or_else(wrong)?,
    };
    let value = |value: &Value| {
        value.as_integer().and_then(|value| u64::try_from(value).ok()).ok_or_else(wrong)
    };
    let idle = idle.iter().map(value).collect::<Result<_, _>>()?;
    Ok(RunningEvents { origin, bits, idle })
}

fn offset(table: &Table, of: &str) -> Result<Option<Offset>, String> {
    let at = unsigned(table, "offset", u64::MAX)?;
    let Some(offsets) = table.get("offsets") else { return Ok(at.map(Offset::At)) };
    if at.is_some() {
        return Err(format!("{of}: expected either `offset` or `offsets`"));
    }
    let own = table_of(offsets, "offsets")?;
    keys(own, &OFFSETS_KEYS, "offsets")?;
    let text = |name: &str| match own.get(name) {
        Some(value) => Ok(text_of(value, name)?.to_owned()),
        None => Err(format!("{of}.offsets: `{name}` is missing")),
    };
    let index = unsigned(own, "index", 1 << 16)?;
    let index = index.ok_or_else(|| format!("{of}.offsets: `index` is missing"))?;
    Ok(Some(Offset::Element { array: text("array")?, index, size: text("element")? }))
}

fn keys(table: &Table, known: &[&str], of: &str) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            Err(format!("{of} has an unknown key `{key}`; expected one of {}", known.join(", ")))
        }
        None => Ok(()),
    }
}

fn table_of<'a>(value: &'a Value, name: &str) -> Result<&'a Table, String> {
    value.as_table().ok_or_else(|| format!("{name}: expected a table"))
}

fn text_of<'a>(value: &'a Value, name: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("{name}: expected a text"))
}

fn unsigned(table: &Table, name: &str, most: u64) -> Result<Option<u64>, String> {
    let Some(value) = table.get(name) else { return Ok(None) };
    let value = value.as_integer().and_then(|value| u64::try_from(value).ok());
    let value = value.filter(|value| *value <= most);
    value.map(Some).ok_or_else(|| format!("{name}: expected a number from 0 to {most}"))
}
