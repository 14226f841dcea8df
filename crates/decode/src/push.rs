//! Trace data that a caller pushes, for a consumer that may ask it to wait.
//!
//! | here | *Reference CoreSight Trace Decoder*, tables 1 and 2 |
//! |---|---|
//! | [`Push::data`] | `OP_DATA`, `ITrcDataIn` |
//! | [`Push::end`] | `OP_EOT` |
//! | [`Push::flush`] | `OP_FLUSH` |
//! | [`Push::reset`] | `OP_RESET` |
//! | [`Response::Continue`] | `RESP_CONT` |
//! | [`Response::Wait`] | `RESP_WAIT` |
//! | [`Response::Failed`] | `RESP_FATAL` |

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tracewright_base::Element;
use tracewright_image::LiveMemory;

use crate::listener::Listener;
use crate::queue::Queue;
use crate::session::Session;

/// What a consumer answers, and what a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Data may follow.
    Continue,
    /// Nothing may follow but [`flush`](Push::flush) or [`reset`](Push::reset), until one returns
    /// another response: the consumer has no room after this element, or memory is read that is
    /// [not known yet](tracewright_image::ReadAnswer::Later).
    Wait,
    /// Decoding ends: nothing may follow but [`reset`](Push::reset).
    Failed,
}

/// Receives elements, and answers each.
pub trait Consumer {
    /// An element of source `source` at offset `at`. `content` are the bytes of
    /// [`Element::Custom`]; of other elements there are none.
    fn element(&mut self, source: usize, at: u64, element: Element, content: &[u8]) -> Response;
}

/// A call that does not fit the calls before it. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// The consumer waits: [`Push::flush`] comes first.
    Waiting,
    /// The data do not follow those before them, which end at this offset. [`Push::reset`] begins
    /// at another one.
    Offset(u64),
    /// Decoding has failed or ended: [`Push::reset`] comes first.
    Ended,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::Waiting => f.write_str("the consumer waits: flush first"),
            PushError::Offset(at) => write!(
                f,
                "the data do not follow those before them, which end at offset {at}: reset first"
            ),
            PushError::Ended => f.write_str("decoding has failed or ended: reset first"),
        }
    }
}

impl Error for PushError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The data end, and the elements of the end are not all decoded.
    Ending,
    /// All elements are decoded.
    Ended,
    Failed,
}

/// Decodes data that are pushed, and delivers each element once, also where the consumer waits
/// within the elements of one packet or the turns of a counted loop.
///
/// Beside the consumer, each call takes a monitor: a [`Listener`] that receives packets, frames and
/// events of the link as it [wants](Listener::wants) them, and elements, and never waits. It may be
/// ahead of the consumer by the bytes of one call, at most 4 KiB. Where it is
/// [full](Listener::full), such as [`Reports`](crate::Reports) after a number of errors, decoding
/// has failed. Of several monitors in a pair all must be full; [`ErrorLimit`](crate::ErrorLimit)
/// around the pair ends decoding after a number of errors. `()` monitors nothing.
#[derive(Debug)]
pub struct Push {
    session: Session,
    memory: Option<Arc<LiveMemory>>,
    queue: Queue,
    state: State,
    waits: bool,
    at: u64,
}

/// As many bytes are decoded before their elements are delivered.
const PIECE: usize = 1 << 12;

impl Push {
    /// Decodes by `session`, which was fed nothing. `memory` is that of
    /// [`Memory::live`](crate::Memory::live), where there is one.
    pub fn new(session: Session, memory: Option<Arc<LiveMemory>>) -> Push {
        let (queue, at) = (Queue::default(), session.state().at());
        Push { session, memory, queue, state: State::Open, waits: false, at }
    }

    /// The session, for changes of its memory.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The offset of the next byte.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Takes data at offset `at`, and returns how many bytes it took: all, or fewer where the
    /// response is not [`Continue`](Response::Continue). The caller gives the others again, after
    /// [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`PushError`] where the call does not fit those before it.
    pub fn data(
        &mut self,
        at: u64,
        bytes: &[u8],
        consumer: &mut dyn Consumer,
        monitor: &mut dyn Listener,
    ) -> Result<(usize, Response), PushError> {
        match self.state {
            State::Ended | State::Failed | State::Ending => return Err(PushError::Ended),
            State::Open if self.waits => return Err(PushError::Waiting),
            State::Open if at != self.at => return Err(PushError::Offset(self.at)),
            State::Open => {}
        }
        let mut taken = 0;
        for piece in bytes.chunks(PIECE) {
            if !self.decode(Some(piece), monitor) {
                self.waits = true;
                return Ok((taken, Response::Wait));
            }
            taken += piece.len();
            self.at += piece.len() as u64;
            match self.deliver(consumer) {
                Response::Continue if monitor.full() => return Ok((taken, self.fail())),
                Response::Continue => {}
                response => return Ok((taken, response)),
            }
        }
        Ok((taken, Response::Continue))
    }

    /// Delivers elements that wait. Where nothing waits, it does nothing.
    pub fn flush(&mut self, consumer: &mut dyn Consumer, monitor: &mut dyn Listener) -> Response {
        self.waits = false;
        match self.deliver(consumer) {
            Response::Continue if self.state != State::Ended && monitor.full() => self.fail(),
            Response::Continue if self.state == State::Ending => self.finish(consumer, monitor),
            response => response,
        }
    }

    /// The data end: delivers the elements that depend on it. Where the response is
    /// [`Wait`](Response::Wait), [`flush`](Self::flush) continues.
    ///
    /// # Errors
    /// [`PushError`] where the call does not fit those before it.
    pub fn end(
        &mut self,
        consumer: &mut dyn Consumer,
        monitor: &mut dyn Listener,
    ) -> Result<Response, PushError> {
        match self.state {
            State::Open if self.waits => Err(PushError::Waiting),
            State::Open => {
                self.state = State::Ending;
                Ok(self.finish(consumer, monitor))
            }
            _ => Err(PushError::Ended),
        }
    }

    /// Drops all state and everything that waits: data at offset `at` follow, in which decoding
    /// synchronises anew.
    pub fn reset(&mut self, at: u64) {
        self.session.reset(at);
        self.queue.clear();
        (self.state, self.waits, self.at) = (State::Open, false, at);
    }

    fn finish(&mut self, consumer: &mut dyn Consumer, monitor: &mut dyn Listener) -> Response {
        if !self.decode(None, monitor) {
            self.waits = true;
            return Response::Wait;
        }
        self.state = State::Ended;
        self.deliver(consumer)
    }

    /// Decodes a piece, or the end. Where memory that it needs is not known yet, nothing happens;
    /// then it returns `false`.
    fn decode(&mut self, piece: Option<&[u8]>, monitor: &mut dyn Listener) -> bool {
        let Some(memory) = &self.memory else {
            run(&mut self.session, piece, &mut (&mut self.queue, monitor));
            return true;
        };
        let (before, late) = (self.session.state().clone(), memory.late());
        run(&mut self.session, piece, &mut self.queue);
        if memory.late() != late {
            self.queue.clear();
            self.session.resume(before);
            self.session.forget_code();
            return false;
        }
        // The monitor receives a piece once, when its code is known.
        if !monitor.wants().nothing {
            let after = self.session.state().clone();
            self.session.resume(before);
            run(&mut self.session, piece, monitor);
            self.session.resume(after);
        }
        true
    }

    fn fail(&mut self) -> Response {
        self.queue.clear();
        self.state = State::Failed;
        Response::Failed
    }

    fn deliver(&mut self, consumer: &mut dyn Consumer) -> Response {
        if self.state == State::Failed {
            return Response::Failed;
        }
        while let Some((source, at, element)) = self.queue.take() {
            let response = consumer.element(source, at, element, self.queue.content());
            match response {
                Response::Continue => {}
                Response::Wait => {
                    self.waits = true;
                    return response;
                }
                Response::Failed => return self.fail(),
            }
        }
        Response::Continue
    }
}

fn run(session: &mut Session, piece: Option<&[u8]>, listener: &mut dyn Listener) {
    match piece {
        Some(bytes) => session.feed(bytes, listener),
        None => session.finish(listener),
    }
}
