//! The `tracewright` command: one file per verb, argument handling only.
#![forbid(unsafe_code)]

mod args;
mod demo;
mod fail;
mod input;
mod listing;
mod logs;
mod output;
mod report;
mod run;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Verb};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.verb {
        Verb::Info(args) => verbs::info::run(&args),
        Verb::Packets(args) => verbs::packets::run(&args),
        Verb::Decode(args) => verbs::decode::run(&args),
        Verb::Instructions(args) => verbs::instructions::run(&args),
        Verb::Frames(args) => verbs::frames::run(&args),
        Verb::Encode(args) => verbs::encode::run(&args),
        Verb::Log(args) => verbs::log::run(&args.verb),
        Verb::Compare(args) => verbs::compare::run(&args),
        Verb::Demo(args) => verbs::demo::run(&args),
        Verb::Bench(args) => verbs::bench::run(&args),
        Verb::Completions { shell } => verbs::completions::run(shell),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(fail) => {
            report::message(&format!("tracewright: error: {fail}"));
            ExitCode::from(2)
        }
    }
}
