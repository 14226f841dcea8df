//! `tracewright find`

use tracewright::analysis::stacks::FunctionId;
use tracewright::capture::plain::line as plain_line;
use tracewright::decode::{Fork, Listener};
use tracewright::frames::Event as LinkEvent;
use tracewright::index::query::Which;
use tracewright::index::{Answer, Finder, Found, Query};
use tracewright::views::explain::Remark;
use tracewright::views::json::{self, Object};
use tracewright::views::text;

use crate::args::{FindArgs, FindFormat};
use crate::fail::Fail;
use crate::index::{inputs, open};
use crate::input::{Input, Job};
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::Runs;
use crate::tasks::WhileRunning;

/// The bytes of trace in which the call stack of a result is found.
const SPAN: u64 = 1 << 16;

/// Runs the verb.
pub fn run(args: &FindArgs) -> Result<bool, Fail> {
    let words = args.query.join(" ");
    let mut query = Query::parse(&args.query)
        .map_err(|error| Fail::option("QUERY", &format!("`{words}`"), &error.to_string()))?;
    if args.all {
        match query.which {
            Which::First | Which::All => query.which = Which::All,
            _ => {
                let why = "is for queries without `last`, `nth` or `count`";
                return Err(Fail::option("--all", "", why));
            }
        }
    }
    if args.how.committed {
        return Err(Fail::option("--committed", "of `find`", "a search reads all elements"));
    }
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(false)?;
    input.decodable()?;
    if input.buffers.iter().any(|&buffer| input.capture().buffers[buffer].is_piped()) {
        return Err(Fail::input(&input.path, "a pipe cannot be searched; write it to a file"));
    }
    let running = WhileRunning::new(&args.running, &input, false, args.input.path())?;
    let index = open(&input, &args.index)?;
    let mut output = Output::open(args.output.as_deref(), &inputs(&input, &args.index))?;
    if args.format == FindFormat::Json {
        output.json(&json::head("find"))?;
    }
    let mut any = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        if job.plan.sources.is_empty() {
            continue;
        }
        let finder = Finder::new(input.trace.subject(), job.plan, index.as_ref());
        let Some(mut finder) = finder else { continue };
        if let Some(tasks) = &running {
            let runs = Runs::new(input.buffers.len(), false, None);
            finder = finder.while_running(tasks.running(&job, &runs.options(args.threads.jobs()))?);
        }
        finder.jobs = args.threads.jobs().count;
        if let Some(limit) = args.limit {
            finder.limit = limit;
        }
        let answer = finder.find(&query);
        let answer = answer.map_err(|error| Fail::input(&input.path, &error.to_string()))?;
        if let Some(damage) = finder.damage() {
            message::line(&format!("note: a part of the index is not used: {damage}"));
        }
        let span = args.stack.unwrap_or(match query.which {
            Which::All | Which::Count => 0,
            Which::First | Which::Last | Which::Nth(_) => SPAN,
        });
        any |= match answer {
            Answer::Count(count) => {
                match args.format {
                    FindFormat::Text => output.print(&format!("{count}\n"))?,
                    FindFormat::Json => {
                        let mut line = String::new();
                        let object = Object::new(&mut line).text("type", "count");
                        object.text("buffer", &job.buffer.name).number("count", count).end();
                        output.json(&(line + "\n"))?;
                    }
                }
                count > 0
            }
            Answer::Elements(found) => {
                for found in &found {
                    if let Some(event) = found.link {
                        match args.format {
                            FindFormat::Text => output.print(&link_line(found, event))?,
                            FindFormat::Json => output.json(&link_object(&job, found, event))?,
                        }
                        continue;
                    }
                    let stack = stack(&job, &finder, found, span)?;
                    match args.format {
                        FindFormat::Text => output.print(&line(&job, found, &stack))?,
                        FindFormat::Json => output.json(&object(&job, found, &stack))?,
                    }
                }
                !found.is_empty()
            }
        };
    }
    if let Some(running) = &running {
        running.check()?;
    }
    output.close()?;
    let traced = report::is_traced(&input);
    if traced && !any && args.format == FindFormat::Text {
        explain_nothing(&input, &words);
    }
    Ok(traced && any)
}

/// Prints why nothing was found, where the trace cannot have it.
fn explain_nothing(input: &Input, query: &str) {
    let has = |word: &str| query.split_ascii_whitespace().any(|its| its == word);
    let instructions = ["exception", "function", "address", "line", "instruction", "context"];
    if recordings::only(input) && instructions.into_iter().any(has) {
        let help = match has("exception") {
            true => {
                "its DWT traces exceptions as events: `dwt enter N` finds them, and `tracewright \
                 itm --exceptions` lists them"
            }
            false => "`tracewright itm` prints what it has",
        };
        report::remarks(&[Remark {
            what: "the trace is that of an ITM or STM, which has no instructions and no exceptions of \
                   a trace unit"
                .into(),
            help: help.into(),
        }]);
    } else {
        message::line("note: nothing in the trace matches the query");
    }
}

/// The functions of the call stack at a result, the outermost first. Empty where none of them has a
/// name.
fn stack(
    job: &Job<'_>,
    finder: &Finder<'_>,
    found: &Found,
    span: u64,
) -> Result<Vec<String>, Fail> {
    let code = job.code();
    if span == 0 || code.functions().is_empty() {
        return Ok(Vec::new());
    }
    let stack = finder.stack(found, &code, span);
    let stack = stack.map_err(|error| Fail::input(&job.capture().path, &error.to_string()))?;
    if !stack.iter().any(|frame| matches!(frame.function, FunctionId::Known(_))) {
        return Ok(Vec::new());
    }
    Ok(stack.iter().map(|frame| code.name(frame.function).into_owned()).collect())
}

/// The line of a result: element, instruction and time, the line of `decode`, and the stack.
pub(super) fn line(job: &Job<'_>, found: &Found, stack: &[String]) -> String {
    let shown = text::Shown { elements: true, ..text::Shown::default() };
    let mut sources = job.sources.to_vec();
    enter(&mut sources, found);
    let mut view = text::Listing::new(Vec::new(), sources, job.buffer.size(), shown);
    view.element(found.source, found.at, found.element);
    let listed = String::from_utf8_lossy(&view.take()).into_owned();
    let mut line = format!("element {}  instruction {}", found.number, found.instruction);
    if let Some(time) = found.time {
        line += &format!("  time {time}");
    }
    // A write of text makes no line before the end of the text.
    let listed = listed.lines().next().map_or_else(
        || format!("offset {}  {}", found.at, found.element),
        |listed| format!("offset {}", listed.trim_start()),
    );
    let stack = match stack {
        [] => String::new(),
        frames => format!("  stack {}", plain_line(&frames.join(";"))),
    };
    format!("{line}  {listed}{stack}\n")
}

/// The name of an event of the trace link, and its value.
fn link_event(event: LinkEvent) -> (&'static str, Option<u8>) {
    match event {
        LinkEvent::Trigger(value) => ("trigger", Some(value)),
        LinkEvent::Flush(value) => ("flush", Some(value)),
        LinkEvent::Barrier => ("barrier", None),
        LinkEvent::HalfSync => ("half-sync", None),
        _ => ("full-sync", None),
    }
}

/// The line of an event of the trace link.
fn link_line(found: &Found, event: LinkEvent) -> String {
    let (name, value) = link_event(event);
    let value = value.map_or(String::new(), |value| format!(", value {value:#04x}"));
    let Found { number, instruction, at, .. } = found;
    format!(
        "element {number}  instruction {instruction}  offset {at}  link  {name}  of the trace \
         link{value}\n"
    )
}

/// The object of an event of the trace link.
fn link_object(job: &Job<'_>, found: &Found, event: LinkEvent) -> String {
    let (name, value) = link_event(event);
    let mut line = String::new();
    Object::new(&mut line)
        .text("type", "found")
        .text("buffer", &job.buffer.name)
        .number("element", found.number)
        .number("instruction", found.instruction)
        .number("offset", found.at)
        .text("kind", name)
        .flag("link", true)
        .maybe_number("value", value.map(u64::from))
        .end();
    line + "\n"
}

/// The object of a result.
fn object(job: &Job<'_>, found: &Found, stack: &[String]) -> String {
    let shown = json::Shown { elements: true, ..json::Shown::default() };
    let mut sources = job.sources.to_vec();
    enter(&mut sources, found);
    let name = &job.buffer.name;
    let mut view =
        json::Listing::new(Vec::new(), job.plan, sources, name, job.buffer.size(), shown);
    // The line of the buffer.
    view.take();
    view.element(found.source, found.at, found.element);
    let listed = String::from_utf8_lossy(&view.take()).into_owned();
    let mut line = String::new();
    let mut object = Object::new(&mut line)
        .text("type", "found")
        .text("buffer", name)
        .number("element", found.number)
        .number("instruction", found.instruction);
    if let Some(time) = found.time {
        object = object.digits("time", time);
    }
    let context = found.context.and_then(|context| context.context_id);
    object = object.maybe_number("in_context", context.map(u64::from));
    if !stack.is_empty() {
        object = object.list("stack", stack, |name, out| json::object::string(name, out));
    }
    object.end();
    // The fields of the element follow.
    let rest =
        listed.trim_end().trim_start_matches('{').trim_start_matches("\"type\":\"element\",");
    line.truncate(line.len() - 1);
    format!("{line},{rest}\n")
}

/// The program memory of the context.
fn enter(sources: &mut [tracewright::views::Source], found: &Found) {
    if let (Some(source), Some(context)) = (sources.get_mut(found.source), found.context) {
        source.follow(&tracewright::base::Element::Context(context));
    }
}
