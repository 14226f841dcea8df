//! The `tracewright` command: one file per verb, argument handling only.
//!
//! It is a library so that the package for Python has the same command. Programs depend on the
//! crate `tracewright`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]

mod about;
mod args;
mod arguments;
mod command_line;
mod contradictions;
mod coverage_runs;
mod decisions;
pub mod demo;
mod dwt_stores;
mod exemptions;
mod exported;
mod fail;
mod fleet;
mod hardware;
mod index;
mod input;
mod inputs;
mod joined;
mod listing;
mod live;
mod logs;
mod message;
mod options;
mod output;
mod programs;
mod recordings;
mod report;
mod run;
mod samples;
mod select;
mod sources;
mod stacks;
mod start;
mod tasks;
mod verbs;

use std::ffi::OsString;
use std::io::{ErrorKind as IoErrorKind, Write};
use std::path::Path;

use anstream::ColorChoice;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use tracewright::base::is_unshown;
use tracewright::capture::plain;
use tracewright::protocols::Registry;

use crate::args::{Cli, Verb};
use crate::fail::Fail;

/// Runs the command with these arguments, the first of which is the name that it was called by, and
/// returns its exit code. The arguments of a process are those of its first call.
pub fn run(all: Vec<OsString>) -> u8 {
    let mut cli = match Cli::try_parse_from(arguments::of_process(all)) {
        Ok(cli) => cli,
        Err(error) if is_alone(&error) => {
            eprint!("{}", start::page());
            return 2;
        }
        Err(error) if error.use_stderr() => return usage(error),
        // Help, which is an output as any other.
        Err(help) => return ended(help_text(&help)),
    };
    ColorChoice::from(cli.color).write_global();
    arguments::set_level(cli.level());
    live::report_large_files();
    let done = match cli.verb {
        Verb::Info(args) => verbs::info::run(&args),
        Verb::Packets(args) => verbs::packets::run(&args),
        Verb::Decode(args) => verbs::decode::run(&args),
        Verb::Instructions(args) => verbs::instructions::run(&args),
        Verb::Frames(args) => verbs::frames::run(&args),
        Verb::Encode(args) => verbs::encode::run(&args),
        Verb::Log(args) => verbs::log::run(&args.verb),
        Verb::Unit(args) => verbs::unit::run(&args.verb),
        Verb::View(args) => verbs::view::run(&args),
        Verb::Dap(args) => verbs::dap::run(&args),
        Verb::Gdb(args) => verbs::gdb::run(&args),
        Verb::Gdbserver(args) => verbs::gdb::serve(&args),
        Verb::Index(args) => verbs::index::run(&args),
        Verb::Find(args) => verbs::find::run(&args),
        Verb::Compare(args) => verbs::compare::run(&args),
        Verb::Functions(args) => verbs::functions::run(&args),
        Verb::Branches(args) => verbs::branches::run(&args),
        Verb::Table(args) => verbs::table::run(&args),
        Verb::Sql(args) => verbs::sql::run(&args),
        Verb::Calls(args) => verbs::calls::run(&args),
        Verb::Timing(args) => verbs::timing::run(&args),
        Verb::Timeline(args) => verbs::timeline::run(&args),
        Verb::Coverage(args) => verbs::coverage::run(&args),
        Verb::History(args) => verbs::history::run(&args),
        Verb::Diff(args) => verbs::diff::run(&args),
        Verb::Report(args) => verbs::report::run(&args),
        Verb::Profile(args) => verbs::profile::run(&args),
        Verb::Units(args) => verbs::units::run(&args),
        Verb::Merge(args) => verbs::merge::run(&args),
        Verb::PerfScript(args) => verbs::perf_script::run(&args),
        Verb::Demo(args) => verbs::demo::run(&args),
        Verb::Itm(args) => verbs::itm::run(&args),
        Verb::Bench(args) => verbs::bench::run(&args),
        Verb::Selftest(args) => verbs::selftest::run(&args),
        Verb::Completions { shell } => verbs::completions::run(shell),
        Verb::Man { folder } => verbs::man::run(&folder),
    };
    ended(done)
}

/// As [`run`], with other protocols than those of the library, too: a command for them has a `main`
/// of a few lines. `docs/decode-tree.md` has an example.
pub fn run_with(all: Vec<OsString>, protocols: Registry) -> u8 {
    arguments::set_protocols(protocols);
    run(all)
}

/// Whether the command was called without arguments.
fn is_alone(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        && arguments::all().len() <= 1
}

/// Prints why the arguments are not accepted. The message repeats some of them.
fn usage(error: clap::Error) -> u8 {
    let error = with_advice(error);
    let shown = |arg: OsString| plain::line(&arg.to_string_lossy()).into_owned();
    let hidden = |arg: OsString| arg.to_string_lossy().contains(is_unshown);
    if !arguments::all().iter().cloned().any(hidden) {
        let _ = error.print();
    } else {
        // The same error, with what can be shown of the arguments.
        match Cli::try_parse_from(arguments::all().iter().cloned().map(shown)) {
            Err(same) if same.kind() == error.kind() => drop(with_advice(same).print()),
            _ => message::errors(&error.to_string()),
        }
    }
    2
}

/// The error of a word that is no verb, with what to write where the word is a file, with the verbs
/// that it may mean, and with all verbs where none has a similar name; that of options of units,
/// with the verbs that have them.
fn with_advice(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && let Some(advice) = units_instead(option)
    {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let advice = if Path::new(word).exists() {
        format!("to see what a file is: tracewright info {}", plain::line(word))
    } else {
        let (path, verbs) = verbs_beside(word);
        match start::meant(word).filter(|_| path.is_empty()) {
            Some([verb]) => format!("the verb for it is {verb}"),
            Some(verbs) => format!("the verbs for it are {}", verbs.join(", ")),
            None if error.get(ContextKind::SuggestedSubcommand).is_some() => return error,
            None => format!("the verbs {path}are {}", verbs.join(", ")),
        }
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

/// Why the verb of this command does not have this option of units, and which one has.
fn units_instead(option: &str) -> Option<String> {
    if !["--units", "--unit", "--unit-size", "--parts"].contains(&option) {
        return None;
    }
    let texts = arguments::texts();
    let (of, other) = texts.iter().find_map(|verb| match verb.as_str() {
        "functions" => {
            Some(("a call may begin any number of segments before it ends", "table functions"))
        }
        "calls" => Some(("a call may begin any number of segments before it ends", "table calls")),
        "timing" => Some((
            "an activation may begin any number of segments before it ends, and percentiles have no \
             sum",
            "table calls",
        )),
        "itm" => Some((
            "a line of text may begin any number of segments before it ends",
            "table software_writes",
        )),
        _ => None,
    })?;
    let buffers = if other == "table software_writes" { "" } else { ", whole buffers only" };
    Some(format!(
        "the verb has no units: {of}; `tracewright {other} --units K/N` has{buffers}, and `merge` \
         adds its parts up (docs/units.md)"
    ))
}

/// The verbs that can stand in the place of `word`, and of which verb they are.
fn verbs_beside(word: &str) -> (String, Vec<String>) {
    let mut all = Cli::command();
    all.build();
    let mut command = &all;
    let mut path = String::new();
    for arg in arguments::texts().into_iter().take_while(|arg| arg != word) {
        if let Some(verb) = command.find_subcommand(&arg) {
            (command, path) = (verb, format!("of `{arg}` "));
        }
    }
    let is_shown = |verb: &&clap::Command| !verb.is_hide_set() && verb.get_name() != "help";
    let shown = command.get_subcommands().filter(is_shown);
    (path, shown.map(|verb| verb.get_name().to_owned()).collect())
}

/// Prints the help of the command line.
fn help_text(help: &clap::Error) -> Result<bool, Fail> {
    let done = help.print().and_then(|()| std::io::stdout().flush());
    match done {
        Err(error) if error.kind() != IoErrorKind::BrokenPipe => Err(Fail::write(None, &error)),
        _ => Ok(true),
    }
}

/// The exit code of a command, whose error is printed.
fn ended(done: Result<bool, Fail>) -> u8 {
    match done {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(fail) => {
            message::error(&format!("tracewright: error: {fail}"));
            2
        }
    }
}
