//! Which packets, elements and instructions are listed.

use std::collections::BTreeSet;

use tracewright::capture::plain::line;
use tracewright::decode::Program;
use tracewright::symbols::{demangled, is_named};
use tracewright::views::filter::{KINDS, packet_kinds};
use tracewright::views::functions::is_called;
use tracewright::views::{Filter, Source};

use crate::args::SelectArgs;
use crate::arguments;
use crate::fail::Fail;
use crate::input::{Input, Job};

/// Whether packets, elements or both are listed.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub packets: bool,
    pub elements: bool,
}

/// Refuses kinds of `args` that nothing of what is `listed` has, and functions that no program of
/// `input` has.
pub fn check(args: &SelectArgs, listed: Listed, input: &Input) -> Result<(), Fail> {
    check_kinds(args, listed)?;
    let sources = || input.buffers.iter().flat_map(|&buffer| input.job(buffer).sources);
    for name in &args.function {
        let (mut any, mut found) = (false, false);
        for source in sources() {
            any = true;
            found = !code(name, source)?.is_empty();
            if found {
                break;
            }
        }
        if any && !found {
            return Err(no_function("--function", name));
        }
    }
    Ok(())
}

fn check_kinds(args: &SelectArgs, listed: Listed) -> Result<(), Fail> {
    let elements = KINDS.into_iter().filter(|_| listed.elements);
    let packets = packet_kinds(arguments::protocols()).filter(|_| listed.packets);
    let kinds: BTreeSet<&str> = elements.chain(packets).collect();
    let Some(unknown) = args.only.iter().find(|kind| !kinds.contains(kind.as_str())) else {
        return Ok(());
    };
    let mut close: Vec<&str> =
        kinds.iter().copied().filter(|kind| is_close(unknown, kind)).collect();
    if close.is_empty() || !listed.packets {
        close = kinds.into_iter().collect();
    }
    let of = match (listed.packets, listed.elements) {
        (true, true) => "packets or elements",
        (true, false) => "packets",
        _ => "elements",
    };
    let why = format!("it is no kind of {of}; expected some of {}", close.join(", "));
    Err(Fail::option("--only", &line(unknown), &why))
}

/// Whether `kind` may be meant by `text`: one contains the other, or a word of it.
fn is_close(text: &str, kind: &str) -> bool {
    let words = |text: &str, other: &str| {
        text.split(['-', '_', ' ']).any(|word| word.len() > 2 && other.contains(word))
    };
    words(text, kind) || words(kind, text)
}

/// The filter of `args` for the sources of `job`.
pub fn filter(args: &SelectArgs, job: &Job<'_>) -> Result<Filter, Fail> {
    let mut addresses = None;
    if !args.address.is_empty() || !args.function.is_empty() {
        let mut all = vec![args.address.clone(); job.sources.len()];
        for name in &args.function {
            for (own, source) in all.iter_mut().zip(job.sources) {
                own.extend(code(name, source)?);
            }
        }
        addresses = Some(all);
    }
    Ok(Filter::new(args.only.clone(), addresses, args.context))
}

/// Refuses a function that no program image has.
fn no_function(option: &str, name: &str) -> Fail {
    let why = "no program image has this function; names are those of the symbols, or demangled, \
               with or without parameters";
    Fail::option(option, &line(name), why)
}

/// Refuses a `pattern` of `--function` of which no function of `input` has the name.
pub fn named(input: &Input, pattern: &str) -> Result<(), Fail> {
    named_by("--function", input, pattern)
}

/// Refuses a `pattern` of an option of which no function of `input` has the name.
pub fn named_by(option: &str, input: &Input, pattern: &str) -> Result<(), Fail> {
    let is = |symbol: &str| is_called(pattern, &demangled(symbol), Some(symbol));
    let mut sources = input.buffers.iter().flat_map(|&buffer| input.job(buffer).sources);
    let found = sources.any(|source| match &source.program {
        Program::Image(image) => image.symbols().iter().any(|symbol| is(symbol.name)),
        // The functions of each process are not searched.
        _ => true,
    });
    if found { Ok(()) } else { Err(no_function(option, pattern)) }
}

/// The code of the functions called `name` in the program of `source`.
fn code(name: &str, source: &Source) -> Result<Vec<std::ops::Range<u64>>, Fail> {
    let Program::Image(image) = &source.program else {
        let why = "functions have other addresses in each process; select them with --address";
        return Err(Fail::option("--function", &line(name), why));
    };
    let named = image.symbols().iter().filter(|symbol| is_named(symbol.name, name));
    Ok(named.map(|s| s.start..s.start.saturating_add(s.size.max(1))).collect())
}
