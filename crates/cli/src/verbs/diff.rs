//! `tracewright diff`

use std::sync::Arc;

use tracewright::analysis::decisions::Criterion;
use tracewright::views::{diff, json};

use crate::args::{DiffArgs, InfoFormat};
use crate::fail::Fail;
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::programs;
use crate::report;
use crate::tasks::Chosen;
use crate::verbs::{coverage, functions};

/// Runs the verb.
pub fn run(args: &DiffArgs) -> Result<bool, Fail> {
    let first = Input::read(&args.a, &args.sources, &args.images, Some(&args.how))?;
    let second = Input::read(&args.b, &args.sources, &args.images, Some(&args.how))?;
    second.inputs.refuse(args.output.as_deref())?;
    let [mut known, other] = programs::of_both([&first, &second], &args.threads.jobs())?;
    programs::add(&mut known, other, args.force)?;
    let mut output = Output::open(args.output.as_deref(), &first.inputs)?;
    let traced = [&first, &second].map(report::is_traced);
    // What is not there has no difference.
    let mut nothing = traced == [false; 2];
    let limit = args.limit.unwrap_or(usize::MAX);
    let json_form = args.format == InfoFormat::Json;
    if json_form {
        output.json(&json::head("diff"))?;
    }
    let same;
    if args.coverage {
        let how = coverage::CoverageOptions {
            parts: None,
            committed: args.how.committed,
            threads: &args.threads,
            window: None,
            running: None,
            path: &args.a,
            strict: false,
            decisions: &Arc::default(),
            criterion: Criterion::default(),
            both: false,
        };
        let a = coverage::sources(&first, &how, &mut output)?;
        let b = coverage::sources(&second, &how, &mut output)?;
        let (changed, unknown) = diff::lines(&a, &b);
        if unknown > 0 {
            message::line(&format!(
                "note: lines that are left out: {unknown}; trace was lost, and whether they differ \
                 is unknown"
            ));
        }
        same = changed.is_empty();
        match json_form {
            true => output.json(&diff::lines_json(&changed, limit))?,
            false => output.print(&diff::lines_text(&changed, limit))?,
        }
    } else {
        let how = functions::FunctionOptions {
            committed: args.how.committed,
            threads: &args.threads,
            switches: &args.switches,
            only: &Chosen::default(),
            window: None,
            path: &args.a,
        };
        let a = functions::by_name(&first, &how, &mut output)?;
        let b = functions::by_name(&second, &how, &mut output)?;
        let changed = diff::functions(&a, &b);
        same = changed.is_empty();
        if a.is_empty() && b.is_empty() && !nothing {
            nothing = true;
            message::line(
                "note: nothing is compared: neither capture has executed functions of known code",
            );
        }
        match json_form {
            true => output.json(&diff::functions_json(&changed, limit))?,
            false if same => {}
            false => output.print(&diff::functions_text(&changed, limit))?,
        }
    }
    if same && !json_form && !nothing {
        output.print("no difference\n")?;
    }
    output.close()?;
    Ok(same && !nothing && traced == [true; 2])
}
