//! The commands of `monitor`.

use std::fmt::Write;

use tracewright::analysis::stacks::FunctionId;
use tracewright::capture::plain::line;
use tracewright::index::{Answer, FindError, Found};

use crate::server::Server;
use crate::thread::Thread;

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
monitor frames [THREAD]         the callers: address, number of callers, function
monitor unwinder                a script for the Python of gdb, which shows these callers in place
                                of the stack: `pipe monitor unwinder | cat > tw.py`, `source tw.py`
Registers other than pc are not in the trace. With `stack on`, sp and the link or frame register
have values that the server invents, only return addresses are known of the memory of the stack,
and of cpsr or xpsr only T is known. After `goto`, gdb needs `maintenance flush register-cache`,
`maintenance flush dcache` and `frame` or `thread N`: the commands tw-goto, tw-start and tw-end of
`tracewright gdb` do that.
";

/// A script for the Python of gdb, 11.1 or later: it shows the callers of `monitor frames` in place
/// of those that gdb finds on a stack.
pub const UNWINDER: &str = include_str!("unwinder.py");

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
            ["frames"] => self.frames(self.selected),
            ["frames", id] => match id.parse() {
                Ok(id) => match self.thread(id)? {
                    Some(thread) => self.frames(thread),
                    None => Ok(String::new()),
                },
                Err(_) => Ok(format!("`{id}` is no number of a thread\n")),
            },
            ["unwinder"] => Ok(UNWINDER.to_owned()),
            _ => Ok(format!("`{text}` is no command of the trace; `monitor help` lists them\n")),
        }
    }

    /// A line for each frame, the innermost first. Those beneath a loss of trace are not certain.
    fn frames(&mut self, thread: Thread) -> Result<String, FindError> {
        let mut text = String::new();
        let mut interrupted = "";
        for frame in self.frames_of(thread)? {
            let Some(address) = frame.address else { break };
            let code = self.machine.code();
            let start = match frame.function {
                FunctionId::At(start) => Some(start),
                FunctionId::Known(number) => code.get(number).map(|own| own.function.start),
                FunctionId::Handler(_) | FunctionId::Unknown => None,
            };
            let start = start.unwrap_or(address);
            let name = line(&code.name(frame.function)).into_owned();
            let _ = writeln!(text, "{address:#x} {} {start:#x} {name}{interrupted}", frame.depth);
            if frame.uncertain {
                text += "trace was lost: what is further out is not certain\n";
                break;
            }
            interrupted = if frame.interrupts { " (interrupted)" } else { "" };
        }
        Ok(text)
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
        self.selected = Thread::of(self.machine.here().source);
        Ok(gone)
    }

    /// Goes to a place. gdb shows the thread that it has selected, until it selects another one.
    fn goto(&mut self, to: &[&str]) -> Result<Result<(), String>, FindError> {
        let gone = self.machine.go_to_place(to)?;
        Ok(gone.map_err(|why| format!("{why}\n")))
    }

    fn find(&mut self, query: &[&str]) -> Result<String, FindError> {
        let found = match self.machine.query(query, MOST + 1)? {
            Err(why) => return Ok(format!("{why}\n")),
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
