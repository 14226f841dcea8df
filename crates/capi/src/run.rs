//! Decodes a buffer to a listener.

use tracewright::decode::{input, Fork, Plan, Session, Tally};
use tracewright::run::{self, Selection};
use tracewright::Listener;

use crate::opened::Opened;
use crate::select::Selected;
use crate::status::{Failure, TW_ERR_INTERNAL, TW_ERR_READ};

/// The plans of the selected buffers with a source, each with the number of its first source.
///
/// # Errors
/// Where nothing can be decoded.
pub(crate) fn plans<'a>(
    opened: &'a Opened,
    selected: &Selected,
) -> Result<Vec<(&'a Plan, usize)>, Failure> {
    opened.decodable(selected.partial)?;
    let wanted = |plan: &Plan| selected.buffer.is_none_or(|buffer| buffer == plan.buffer);
    Ok(opened.plans().filter(|(plan, _)| wanted(plan) && !plan.sources.is_empty()).collect())
}

/// A session of `plan` in its initial state.
pub(crate) fn session(opened: &Opened, plan: &Plan) -> Result<Session, Failure> {
    opened.trace.subject().session(plan).map_err(|error| Failure::new(TW_ERR_INTERNAL, error))
}

/// The error of a buffer that cannot be read.
pub(crate) fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::new(TW_ERR_READ, format_args!("{name}: {error}"))
}

/// Decodes the selected part of the buffer of `plan` to `listener`, and counts. `write` receives
/// the listener's output in order, and returns whether more is wanted.
pub(crate) fn run<L: Listener + Fork + Send>(
    opened: &Opened,
    plan: &Plan,
    selected: &Selected,
    listener: L,
    mut write: impl FnMut(L::Output) -> bool,
) -> Result<Tally, Failure> {
    let Some(buffer) = opened.trace.capture().buffers.get(plan.buffer) else {
        return Ok(Tally::default());
    };
    let session = session(opened, plan)?;
    let index = selected.index.as_deref();
    let (window, jobs) = (selected.window.clone(), selected.jobs.clone());
    let part = Selection { window, running: None, index, parts: None, jobs, stop_after: None };
    let bytes = &mut *input::of(buffer);
    let ran = run::run(session, buffer, bytes, &part, listener, |output, _, _| write(output))
        .map_err(|error| unreadable(&buffer.name, &error))?;
    Ok(ran.tally)
}
