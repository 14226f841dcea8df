//! Handlers and stores in the trace of an ITM.

use tracewright_base::{Dwt, Element, ExceptionStep, Gap, TimeDelay};
use tracewright_decode::Listener;

use super::{Bounds, Handler, Trace};
use crate::running::{EventTasks, LowAddress};

/// The most handlers that are open.
const MAX_OPEN: usize = 512;

/// Which time of a handler an event is.
#[derive(Clone, Copy, Debug)]
enum Edge {
    Begin(usize),
    End(usize),
    /// A store outside of known handlers.
    Both(usize),
}

/// Receives the elements of an ITM, and stores the handlers and when they named the running task,
/// by global timestamps.
#[derive(Clone, Debug)]
pub struct Reported {
    tasks: EventTasks,
    source: usize,
    handlers: Vec<Handler>,
    open: Vec<usize>,
    low: [Option<LowAddress>; 4],
    /// The events since the last local timestamp, each with its earliest time, if it was not
    /// delayed; those since the last global one.
    unstamped: Vec<(Edge, Option<u64>)>,
    untimed: Vec<Edge>,
    /// The earliest time of the event before.
    before: Option<u64>,
    now: Option<u64>,
    first: Option<u64>,
    losses: u32,
    /// The clock of the timestamps has changed.
    clock_changed: bool,
}

impl Reported {
    /// Those of the source with this number.
    pub fn new(tasks: &EventTasks, source: usize) -> Reported {
        Reported {
            tasks: tasks.clone(),
            source,
            handlers: Vec::new(),
            open: Vec::new(),
            low: [None; 4],
            unstamped: Vec::new(),
            untimed: Vec::new(),
            before: None,
            now: None,
            first: None,
            losses: 0,
            clock_changed: false,
        }
    }

    /// The handlers, and stores outside of them, in order.
    pub fn handlers(&self) -> &[Handler] {
        &self.handlers
    }

    /// The first and the last global timestamp. `None` where there is none, or where their clock
    /// has changed.
    pub fn extent(&self) -> Option<(u64, u64)> {
        self.first.zip(self.now).filter(|_| !self.clock_changed)
    }

    /// The trace; `None` as for [`extent`](Self::extent).
    pub fn trace(&self) -> Option<Trace<'_>> {
        let (handlers, losses) = (self.handlers.as_slice(), self.losses);
        Some(Trace { handlers, extent: self.extent()?, losses })
    }

    /// Whether tasks are named outside of handlers, too: the system switches them there.
    pub fn switches_in_thread_mode(&self) -> bool {
        let mut before = None;
        self.handlers.iter().any(|own| {
            if own.number.is_some() && matches!(own.named, Some(Some(_))) {
                before = Some(own.losses);
            }
            own.number.is_none() && before == Some(own.losses)
        })
    }

    /// Whether a store names a task.
    pub fn names_tasks(&self) -> bool {
        self.handlers.iter().any(|own| matches!(own.named, Some(Some(_))))
    }

    fn set(&mut self, edge: Edge, change: impl Fn(&mut Bounds)) {
        let (Edge::Begin(n) | Edge::End(n) | Edge::Both(n)) = edge;
        let Some(own) = self.handlers.get_mut(n) else { return };
        if !matches!(edge, Edge::End(_)) {
            change(&mut own.begin);
        }
        if !matches!(edge, Edge::Begin(_)) {
            change(&mut own.end);
        }
    }

    fn event(&mut self, edge: Edge) {
        self.unstamped.push((edge, self.now));
        self.untimed.push(edge);
    }

    fn add(&mut self, number: Option<u16>) -> usize {
        let losses = self.losses;
        self.handlers.push(Handler { number, losses, ..Handler::default() });
        self.handlers.len() - 1
    }

    fn step(&mut self, number: u16, step: ExceptionStep) {
        let open = |own: &Reported, n: &usize| {
            own.handlers.get(*n).is_some_and(|own| own.number == Some(number))
        };
        match step {
            // Thread mode is no handler.
            ExceptionStep::Entered | ExceptionStep::Exited if number == 0 => {}
            ExceptionStep::Entered => {
                let next = self.add(Some(number));
                if self.open.len() >= MAX_OPEN {
                    self.open.clear();
                }
                self.open.push(next);
                self.event(Edge::Begin(next));
            }
            ExceptionStep::Exited => {
                if let Some(at) = self.open.iter().rposition(|n| open(self, n))
                    && let Some(&own) = self.open.get(at)
                {
                    self.open.truncate(at);
                    self.event(Edge::End(own));
                }
            }
            ExceptionStep::Returned => {
                let at = self.open.iter().rposition(|n| open(self, n)).map_or(0, |at| at + 1);
                self.open.truncate(at);
            }
        }
    }

    fn named(&mut self, value: Option<u64>) {
        match self.open.last() {
            Some(&n) => {
                if let Some(own) = self.handlers.get_mut(n) {
                    own.named = Some(value);
                }
            }
            None => {
                let n = self.add(None);
                if let Some(own) = self.handlers.get_mut(n) {
                    own.named = Some(value);
                }
                self.event(Edge::Both(n));
            }
        }
    }

    fn dwt(&mut self, event: Dwt) {
        match event {
            Dwt::Exception { number, step } => self.step(number, step),
            Dwt::DataAddress { comparator, size, address } => {
                if let Some(low) = self.low.get_mut(usize::from(comparator)) {
                    *low = Some(LowAddress { address, size });
                }
            }
            Dwt::DataValue { comparator, .. } => {
                let low = self.low.get_mut(usize::from(comparator)).and_then(Option::take);
                if let Some(value) = self.tasks.stored(event, low) {
                    self.named(value);
                }
            }
            _ => {}
        }
    }

    /// The events since the last local timestamp were delayed, or not.
    fn stamped(&mut self, late: bool) {
        for (edge, from) in std::mem::take(&mut self.unstamped) {
            // Events are in order.
            let from = if late { self.before } else { from.max(self.before) };
            self.before = from;
            self.set(edge, |bounds| bounds.from = from);
        }
    }

    fn lost(&mut self) {
        self.stamped(true);
        // A store in those that are open may be among what is lost.
        for n in std::mem::take(&mut self.open) {
            if let Some(own) = self.handlers.get_mut(n) {
                own.named = Some(None);
            }
        }
        self.low = [None; 4];
        self.losses += 1;
    }
}

impl Listener for Reported {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if source != self.source {
            return;
        }
        if element.is_after_overflow() {
            self.lost();
        }
        match element {
            Element::DwtEvent(event) => self.dwt(event.meaning()),
            Element::SoftwareWrite(write) => {
                let value = self.tasks.written(write.channel, write.bits, write.value());
                if value.is_some() {
                    self.named(value);
                }
            }
            Element::LocalTimestamp(time) => {
                self.stamped(matches!(time.delay, TimeDelay::Packet | TimeDelay::Both));
            }
            Element::GlobalTimestamp { value, clock_changed, .. } => {
                self.clock_changed |= clock_changed || self.now.is_some_and(|now| now > value);
                for edge in std::mem::take(&mut self.untimed) {
                    self.set(edge, |bounds| bounds.to = Some(value));
                }
                self.first.get_or_insert(value);
                self.now = Some(value);
            }
            Element::Gap(Gap::Start | Gap::BadPacket) => {}
            Element::Gap(_) | Element::Undecodable { .. } => self.lost(),
            Element::End => self.stamped(true),
            _ => {}
        }
    }
}
