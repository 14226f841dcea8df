//! The commands of `monitor`.

use tracewright::index::{Answer, FindError, Found, Query};
use tracewright_replay::{Direction, Position};

use crate::server::Server;

/// The most results that are printed.
const MOST: usize = 100;

const HELP: &str = "\
monitor when                    where the trace is: instruction, element, time
monitor goto start|end          go to the first or the last instruction
monitor goto instruction N      go to instruction N, counted from 0 over all sources
monitor goto time T             go to the first element with this timestamp or a later one
monitor goto element N[+K]      go to instruction K of element N, as `find` and `when` name it
monitor goto QUERY              go to the first result: last exception, function main, line main.c:12
monitor find QUERY              list results, as `tracewright find`
monitor stack on|off            whether a stack is invented, in which gdb finds the callers
monitor info                    the trace, and what is known of it
Registers other than pc are not in the trace. With `stack on`, sp and the link or frame register
have values that the server invents, only return addresses are known of the memory of the stack,
and of cpsr or xpsr only T is known. After `goto`, gdb needs `maintenance flush register-cache`,
`maintenance flush dcache` and `frame` or `thread N`: the commands tw-goto, tw-start and tw-end of
`tracewright gdb` do that.
";

impl Server<'_> {
    /// Executes a command, and returns what it prints.
    pub(crate) fn command(&mut self, text: &str) -> Result<String, FindError> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words.as_slice() {
            [] | ["help"] => Ok(HELP.to_owned()),
            ["when"] => Ok(self.when()),
            ["info"] => self.info(),
            ["stack", "on" | "off"] => {
                self.with_stack = words.last() == Some(&"on");
                self.synthetic = None;
                Ok(String::new())
            }
            ["stack"] => Ok(format!("{}\n", if self.with_stack { "on" } else { "off" })),
            ["goto", to @ ..] => match self.goto(to)? {
                Ok(()) => Ok(self.when()),
                Err(why) => Ok(why),
            },
            ["find", query @ ..] => self.find(query),
            _ => Ok(format!("`{text}` is no command of the trace; `monitor help` lists them\n")),
        }
    }

    fn when(&self) -> String {
        let here = self.machine.here();
        let time = here.time.map_or("not known".into(), |time| time.to_string());
        format!(
            "instruction {}, element {}, time {time}, thread {}, pc {:#x}\n",
            here.number,
            here.position,
            here.source + 1,
            here.address
        )
    }

    fn info(&mut self) -> Result<String, FindError> {
        let mut text = self.when();
        let sources = self.machine.sources().len();
        text +=
            &format!("sources with instructions: {sources}, which are threads 1 and following\n");
        let functions = self.machine.code().functions().len();
        text += &format!("functions of the program: {functions}\n");
        text += match (self.with_stack, self.tables.is_empty()) {
            (false, _) => "callers: not shown to gdb (`monitor stack on`)\n",
            (true, true) => {
                "callers: not shown to gdb, as the program has no unwind tables (.debug_frame or \
                 .eh_frame)\n"
            }
            (true, false) => "callers: by a stack that is invented from the unwind tables\n",
        };
        Ok(text)
    }

    /// Goes to a place before a session, as `monitor goto` does in one; why there is none.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn go(&mut self, place: &str) -> Result<Result<(), String>, FindError> {
        let words: Vec<&str> = place.split_ascii_whitespace().collect();
        let gone = self.goto(&words)?;
        self.selected = self.machine.here().source;
        Ok(gone)
    }

    fn goto(&mut self, to: &[&str]) -> Result<Result<(), String>, FindError> {
        let none = |what: &str| Ok(Err(format!("the trace has no such {what}\n")));
        match to {
            ["start" | "begin"] => self.machine.go_to_end(Direction::Backward)?,
            ["end"] => self.machine.go_to_end(Direction::Forward)?,
            ["element", text] if !text.contains("..") => {
                let Ok(position) = text.parse::<Position>() else {
                    return Ok(Err(format!("`{text}` is not N or N+K\n")));
                };
                if !self.machine.go(position)? {
                    return none("element");
                }
            }
            [what @ ("instruction" | "time"), text] if !text.contains("..") => {
                let Ok(number) = tracewright::index::query::number(text) else {
                    return Ok(Err(format!("`{text}` is not a number\n")));
                };
                let gone = match *what {
                    "time" => self.machine.go_to_time(number)?,
                    _ => self.machine.go_to_instruction(number)?,
                };
                if !gone {
                    return none(what);
                }
            }
            query => match self.found(query)? {
                Err(why) => return Ok(Err(why)),
                Ok(Answer::Count(_)) => return Ok(Err("`count` finds no place\n".into())),
                Ok(Answer::Elements(found)) => {
                    let Some(first) = found.first() else { return none("element") };
                    let position = Position { element: first.number, instruction: 0 };
                    let number = first.number;
                    if !self.machine.go(position)? {
                        let why = format!("no instruction follows the result, element {number}\n");
                        return Ok(Err(why));
                    }
                }
            },
        }
        // gdb shows the thread that it has selected, until it selects another one.
        Ok(Ok(()))
    }

    /// The answer to a query; why it has none.
    fn found(&mut self, query: &[&str]) -> Result<Result<Answer, String>, FindError> {
        let query = match Query::parse(query) {
            Ok(query) => query,
            Err(error) => return Ok(Err(format!("{error}\n"))),
        };
        let finder = self.machine.finder();
        finder.limit = MOST + 1;
        Ok(match finder.find(&query) {
            Ok(answer) => Ok(answer),
            Err(error @ FindError::Read(_)) => return Err(error),
            Err(error) => Err(format!("{error}\n")),
        })
    }

    fn find(&mut self, query: &[&str]) -> Result<String, FindError> {
        let found = match self.found(query)? {
            Err(why) => return Ok(why),
            Ok(Answer::Count(count)) => return Ok(format!("{count}\n")),
            Ok(Answer::Elements(found)) => found,
        };
        if found.is_empty() {
            return Ok("nothing in the trace matches the query\n".into());
        }
        let line = |found: &Found| {
            let time = found.time.map_or(String::new(), |time| format!("  time {time}"));
            format!(
                "element {}  instruction {}{time}  {}\n",
                found.number, found.instruction, found.element
            )
        };
        let mut text: String = found.iter().take(MOST).map(line).collect();
        if found.len() > MOST {
            text += &format!("... and more: the first {MOST} are listed\n");
        }
        Ok(text)
    }
}
