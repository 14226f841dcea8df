//! Expressions: the commands and the queries of the console, and names.

use serde_json::{Value, json};
use tracewright::index::{Answer, FindError, Found};

use crate::message::{Arguments, Refused, refused};
use crate::session::Session;

/// The most results that are printed.
const MOST: usize = 100;

const HELP: &str = "\
when                    where the trace is: instruction, element, time
goto start|end          go to the first or the last instruction
goto instruction N      go to instruction N, counted from 0 over all sources
goto time T             go to the first element with this timestamp or a later one
goto element N[+K]      go to instruction K of element N
goto QUERY              go to the first result: goto last exception, goto function main
QUERY                   list results: all function main, count line main.c:12, last gap
NAME                    a function, a variable or pc";

impl Session<'_> {
    /// The answer to `evaluate`, and whether the position is another one.
    pub(crate) fn evaluate(&mut self, arguments: &Arguments) -> Result<(Value, bool), Refused> {
        let text = arguments.text("expression")?.unwrap_or_default().trim().to_owned();
        let is_console = arguments.text("context")? == Some("repl");
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let result = |text: String| Ok((json!({ "result": text, "variablesReference": 0 }), false));
        match words.as_slice() {
            [] => refused("there is no expression"),
            ["help"] if is_console => result(HELP.to_owned()),
            ["when"] => result(self.when()?),
            ["goto", to @ ..] if is_console => match self.machine.go_to_place(to)? {
                Ok(()) => {
                    let body = json!({ "result": self.when()?, "variablesReference": 0 });
                    Ok((body, true))
                }
                Err(why) => refused(why.to_string()),
            },
            [name] => match self.name(name, arguments)? {
                Some(value) => Ok((value, false)),
                None if is_console => result(self.find(&words)?),
                None => refused(format!("`{name}` is not known from a trace")),
            },
            _ => result(self.find(&words)?),
        }
    }

    fn when(&mut self) -> Result<String, FindError> {
        let here = self.machine.here();
        let time = here.time.map_or("not known".into(), |time| time.to_string());
        let thread = self.thread_id(here.source)?;
        Ok(format!(
            "instruction {}, element {}, time {time}, thread {thread}, pc {:#x}",
            here.number, here.position, here.address
        ))
    }

    /// The results of a query.
    fn find(&mut self, words: &[&str]) -> Result<String, Refused> {
        let words = match words {
            ["find", rest @ ..] => rest,
            words => words,
        };
        let found = match self.machine.query(words, MOST + 1)? {
            Err(why) => return refused(why.to_string()),
            Ok(Answer::Count(count)) => return Ok(count.to_string()),
            Ok(Answer::Elements(found)) => found,
        };
        if found.is_empty() {
            return Ok("nothing in the trace matches the query".into());
        }
        let line = |found: &Found| {
            let time = found.time.map_or(String::new(), |time| format!("  time {time}"));
            format!(
                "element {}  instruction {}{time}  {}",
                found.number, found.instruction, found.element
            )
        };
        let mut lines: Vec<String> = found.iter().take(MOST).map(line).collect();
        if found.len() > MOST {
            lines.push(format!("... and more: the first {MOST} are listed"));
        }
        Ok(lines.join("\n"))
    }

    /// What is known of a name: the program counter, a function, a variable.
    fn name(&mut self, name: &str, arguments: &Arguments) -> Result<Option<Value>, Refused> {
        if matches!(name, "pc" | "$pc") {
            let address = match arguments.count("frameId")? {
                Some(id) => self.frames.get(id)?.address,
                None => Some(self.machine.here().address),
            };
            let text = address.map_or("unavailable".into(), |address| format!("{address:#x}"));
            let mut value = json!({ "result": text, "variablesReference": 0 });
            if let (Some(_), Some(object)) = (address, value.as_object_mut()) {
                object.insert("memoryReference".into(), text.into());
            }
            return Ok(Some(value));
        }
        if let [address] = self.function(name).as_slice() {
            return Ok(Some(json!({
                "result": format!("{address:#x} <{name}>"),
                "type": "function",
                "variablesReference": 0,
                "memoryReference": format!("{address:#x}"),
            })));
        }
        let Some(object) = self.objects.named(name).cloned() else { return Ok(None) };
        let value = self.value(&object)?;
        Ok(Some(json!({
            "result": value,
            "type": format!("{} bytes at {:#x}", object.size, object.address),
            "variablesReference": 0,
            "memoryReference": format!("{:#x}", object.address),
        })))
    }
}
