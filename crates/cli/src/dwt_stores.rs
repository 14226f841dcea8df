//! Tasks of an ETM by the stores that the DWT of the same processor reports.

use tracewright::analysis::dwt_stores::{Activations, Reported, Stores, place};
use tracewright::analysis::tasks::Tasks;
use tracewright::analysis::{Code, Stacks, Transfers};
use tracewright::base::Batch;
use tracewright::capture::plain::line;
use tracewright::decode::Fork;
use tracewright::{Element, Listener};

use crate::fail::Fail;
use crate::input::Job;
use crate::message;
use crate::recordings::{self, is_itm};
use crate::stacks::transfers;

/// Batches whose transfers are taken at a time.
const PIECE: usize = 16;

/// Makes the call stacks of a source while it is decoded.
struct InOrder {
    transfers: Transfers,
    stacks: Stacks<Activations>,
    count: usize,
}

impl InOrder {
    fn take(&mut self) {
        self.count = 0;
        let part = self.transfers.take();
        self.stacks.transfers(part.transfers());
    }
}

impl Listener for InOrder {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.transfers.element(source, at, element);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        self.transfers.batch(batch);
        self.count += 1;
        if self.count >= PIECE {
            self.take();
        }
    }
}

/// The source of the instructions and the ITM of one processor, where that is certain.
fn pair(job: &Job<'_>) -> Option<(usize, usize)> {
    let of = |itm: bool| {
        let own = (0..).zip(job.sources).filter(move |(_, source)| is_itm(source) == itm);
        own.map(|(n, _)| n).collect::<Vec<usize>>()
    };
    match (&of(false)[..], &of(true)[..]) {
        (&[etm], &[itm]) => Some((etm, itm)),
        _ => None,
    }
}

/// What the handlers of a buffer store to the variable of the running task, by the trace of an ITM;
/// `None` where that is not known.
pub fn of(job: &Job<'_>, code: &Code, tasks: &Tasks) -> Result<Option<Stores>, Fail> {
    let events = tasks.running_events();
    if !events.may_name() || job.buffer.is_piped() || !job.sources.iter().any(is_itm) {
        return Ok(None);
    }
    let Some((etm, itm)) = pair(job) else { return Ok(None) };
    let Some((plan, session)) = recordings::session(job)? else { return Ok(None) };
    let id = job.plan.sources.get(itm).map(|planned| planned.id);
    let number = plan.sources.iter().position(|planned| Some(planned.id) == id);
    let Some(number) = number else { return Ok(None) };
    let mut reported = Reported::new(events, number);
    recordings::run(job, session, &mut reported)?;
    if !reported.names_tasks() {
        return Ok(None);
    }
    let name = |n: usize| job.sources.get(n).map_or_else(String::new, |own| line(&own.name).into());
    let refused = |why: &str| {
        message::line(&format!(
            "note: the tasks that {} names are not those of {}: {why}",
            name(itm),
            name(etm)
        ));
        Ok(None)
    };
    if reported.switches_in_thread_mode() {
        return refused("the system switches tasks outside of handlers, too");
    }
    let Some(trace) = reported.trace() else {
        return refused("the ITM has no global timestamps of one clock (ITM_TCR.GTSFREQ)");
    };
    let mut in_order = InOrder {
        transfers: transfers(job, code, false).watching(tasks),
        stacks: Stacks::new(job.sources.len(), Activations::new(etm))
            .with_switches(tasks.switches().iter().copied())
            .with_unwind_targets(code.unwind_targets()),
        count: 0,
    };
    recordings::run(job, job.session()?, &mut in_order)?;
    in_order.take();
    in_order.stacks.finish();
    let activations = in_order.stacks.visitor;
    let Some((first, last)) = activations.extent() else {
        return refused("its trace has no timestamps");
    };
    if last < trace.extent.0 || trace.extent.1 < first {
        return refused("their timestamps are of different times, or of different clocks");
    }
    let stores = place(&trace, etm, activations.handlers());
    if stores.named == 0 {
        return refused("no timestamps show which handler has named a task");
    }
    if stores.unknown > 0 {
        message::line(&format!(
            "note: of {} handlers of {} that may name a task, it is not known of {} which one: \
             timestamps leave several",
            stores.named + stores.unknown,
            name(etm),
            stores.unknown
        ));
    }
    Ok(Some(stores))
}
