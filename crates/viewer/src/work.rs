//! What a thread has to answer with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tracewright::index::Finder;
use tracewright::index::view::Player;

use crate::answer::Problem;
use crate::request::Request;
use crate::served::{Served, ServedBuffer};

/// The most bytes that are decoded for one answer.
pub(crate) const DETAIL: u64 = 1 << 22;

/// A thread that answers: its decoders have cached code.
pub(crate) struct Worker<'a> {
    pub(crate) served: &'a Served<'a>,
    players: Vec<Option<Player<'a>>>,
    finders: Vec<Option<Finder<'a>>>,
    /// The answer is not wanted any more.
    stop: Arc<AtomicBool>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(served: &'a Served<'a>) -> Worker<'a> {
        let count = served.buffers.len();
        let (players, finders) = ((0..count).map(|_| None), (0..count).map(|_| None));
        let stop = Arc::default();
        Worker { served, players: players.collect(), finders: finders.collect(), stop }
    }

    #[cfg(feature = "server")]
    /// The next answer is not wanted any more where `stop` is set.
    pub(crate) fn begin(&mut self, stop: Arc<AtomicBool>) {
        for player in self.players.iter_mut().flatten() {
            player.stop = Some(Arc::clone(&stop));
        }
        for finder in self.finders.iter_mut().flatten() {
            finder.stop = Some(Arc::clone(&stop));
        }
        self.stop = stop;
    }

    /// The position of the buffer of a request in [`Served::buffers`].
    pub(crate) fn buffer(&self, request: &Request) -> Result<usize, Problem> {
        let absent = || Problem::absent("buffer");
        match request.number("buffer")? {
            None if self.served.buffers.is_empty() => Err(absent()),
            None => Ok(0),
            Some(number) => {
                let mut buffers = self.served.buffers.iter();
                buffers.position(|own| own.number as u64 == number).ok_or_else(absent)
            }
        }
    }

    /// The buffer of a request.
    pub(crate) fn served_buffer(&self, n: usize) -> Result<&'a ServedBuffer<'a>, Problem> {
        self.served.buffers.get(n).ok_or_else(|| Problem::absent("buffer"))
    }

    /// The source of a request.
    pub(crate) fn source(
        &self,
        request: &Request,
        buffer: &ServedBuffer<'_>,
    ) -> Result<Option<usize>, Problem> {
        let Some(number) = request.number("source")? else { return Ok(None) };
        let number = usize::try_from(number).ok().filter(|n| *n < buffer.sources.len());
        number.map(Some).ok_or_else(|| Problem::absent("source"))
    }

    /// The player of a buffer.
    pub(crate) fn player(&mut self, n: usize) -> Result<&mut Player<'a>, Problem> {
        let absent = || Problem::absent("buffer");
        let buffer = self.served.buffers.get(n).ok_or_else(absent)?;
        let subject = self.served.trace.subject();
        let own = self.players.get_mut(n).ok_or_else(absent)?;
        if own.is_none() {
            *own = Player::with_tasks(subject, buffer.plan, &buffer.view, self.served.tasks);
            if let Some(player) = own {
                player.stop = Some(Arc::clone(&self.stop));
            }
        }
        own.as_mut().ok_or_else(absent)
    }

    /// The finder of a buffer.
    pub(crate) fn finder(&mut self, n: usize) -> Result<&mut Finder<'a>, Problem> {
        let absent = || Problem::absent("buffer");
        let buffer = self.served.buffers.get(n).ok_or_else(absent)?;
        let subject = self.served.trace.subject();
        let own = self.finders.get_mut(n).ok_or_else(absent)?;
        if own.is_none() {
            *own = Finder::new(subject, buffer.plan, Some(self.served.index));
            if let Some(finder) = own {
                finder.stop = Some(Arc::clone(&self.stop));
            }
        }
        own.as_mut().ok_or_else(absent)
    }

    /// A range of offsets of a request, in the buffer.
    pub(crate) fn offsets(
        &self,
        request: &Request,
        buffer: &ServedBuffer<'_>,
    ) -> Result<std::ops::Range<u64>, Problem> {
        let len = buffer.view.buffer().covered();
        let from = request.number("from")?.unwrap_or(0).min(len);
        let to = request.number("to")?.unwrap_or(len).min(len);
        if from > to {
            return Err(Problem::parameter("to", "at least `from`"));
        }
        Ok(from..to)
    }
}
