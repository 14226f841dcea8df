//! Requests that end others: `pause`, `disconnect` and `cancel`, which arrive while a run or an
//! answer takes long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::framing::Received;
use crate::message::Request;

/// The most requests that are remembered as cancelled.
const MOST_CANCELLED: usize = 1 << 10;

/// What the thread that reads has for the one that answers.
#[derive(Debug, Default)]
pub struct Control {
    /// A run or an answer ends.
    stop: Arc<AtomicBool>,
    /// A message waits.
    attention: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Messages that end a run and are not answered yet.
    stops: u64,
    /// The number of the request that is answered.
    answered: Option<u64>,
    /// The numbers of requests that the client has cancelled.
    cancelled: Vec<u64>,
    is_closed: bool,
}

/// Whether a request ends a run.
pub(crate) fn ends(command: &str) -> bool {
    matches!(command, "pause" | "disconnect" | "terminate")
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message has arrived: the thread that reads states it before it passes the message on.
    pub fn arrives(&self, received: &Received) {
        let Received::Message(content) = received else { return };
        let Ok(request) = Request::parse(content) else { return };
        let mut state = self.state();
        if ends(&request.command) {
            state.stops += 1;
            self.stop.store(true, Ordering::Relaxed);
        }
        if request.command == "cancel"
            && let Ok(Some(number)) = request.arguments.count("requestId")
        {
            let number = number as u64;
            if state.cancelled.len() >= MOST_CANCELLED {
                state.cancelled.clear();
            }
            state.cancelled.push(number);
            if state.answered == Some(number) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// A message waits.
    pub fn waits(&self) {
        self.attention.store(true, Ordering::Relaxed);
    }

    /// The client has closed the connection: no one waits for the end of a run.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What ends runs and answers, where it is set.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// What ends work while the client waits for nothing, where it is set.
    pub(crate) fn attention(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.attention)
    }

    /// The messages up to here ask for no end of what follows.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        *state = State { is_closed: state.is_closed, ..State::default() };
        self.stop.store(state.is_closed, Ordering::Relaxed);
    }

    /// A request is answered from here on. Whether it is cancelled already.
    pub(crate) fn begin(&self, request: &Request) -> bool {
        let mut state = self.state();
        if ends(&request.command) {
            state.stops = state.stops.saturating_sub(1);
        }
        state.answered = Some(request.seq);
        self.stop.store(false, Ordering::Relaxed);
        state.cancelled.contains(&request.seq)
    }

    /// The request is answered. Whether it was cancelled.
    pub(crate) fn end(&self, request: &Request) -> bool {
        let mut state = self.state();
        state.answered = None;
        // Those before it will not be answered any more.
        let was_cancelled = state.cancelled.contains(&request.seq);
        state.cancelled.retain(|number| *number > request.seq);
        // A request to stop ends the run that follows, and no answer.
        self.stop.store(state.stops > 0 || state.is_closed, Ordering::Relaxed);
        was_cancelled
    }
}
