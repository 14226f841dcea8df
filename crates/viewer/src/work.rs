//! What a thread has to answer with.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use tracewright::index::Finder;
use tracewright::index::view::{FunctionSums, Player};

use crate::answer::Problem;
use crate::players::Players;
use crate::request::Request;
use crate::served::{Served, ServedBuffer};

/// The most bytes that are decoded for one answer.
pub(crate) const DETAIL: u64 = 1 << 22;

/// By source: functions and their sums. A function may be there twice.
pub(crate) type Sums = Vec<Vec<(u32, FunctionSums)>>;

/// A thread that answers: its decoders have cached code.
pub(crate) struct Worker<'a> {
    pub(crate) served: &'a Served<'a>,
    players: Arc<Players<'a>>,
    /// The one in use, and the position of its buffer.
    player: Option<(usize, Player<'a>)>,
    finders: Vec<Option<Finder<'a>>>,
    /// The answer is not wanted any more.
    stop: Arc<AtomicBool>,
}

impl<'a> Worker<'a> {
    /// The only thread.
    pub(crate) fn new(served: &'a Served<'a>) -> Worker<'a> {
        Worker::with_players(served, Arc::new(Players::new(served, 2)))
    }

    /// A thread beside others, which have the same players.
    pub(crate) fn with_players(served: &'a Served<'a>, players: Arc<Players<'a>>) -> Worker<'a> {
        let finders = served.buffers.iter().map(|_| None).collect();
        Worker { served, players, player: None, finders, stop: Arc::default() }
    }

    /// The next answer is not wanted any more where `stop` is set.
    #[cfg(feature = "server")]
    pub(crate) fn begin(&mut self, stop: Arc<AtomicBool>) {
        if let Some((_, player)) = &mut self.player {
            player.stop = Some(Arc::clone(&stop));
        }
        for finder in self.finders.iter_mut().flatten() {
            finder.stop = Some(Arc::clone(&stop));
        }
        self.stop = stop;
    }

    /// The answer is made: others may have what it was made with.
    #[cfg(feature = "server")]
    pub(crate) fn end(&mut self) {
        if let Some((n, player)) = self.player.take() {
            self.players.put(n, player);
        }
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
        let player = match self.player.take() {
            Some((own, player)) if own == n => player,
            other => {
                if let Some((own, player)) = other {
                    self.players.put(own, player);
                }
                let mut player = self.players.take(n)?;
                player.stop = Some(Arc::clone(&self.stop));
                player
            }
        };
        Ok(&mut self.player.insert((n, player)).1)
    }

    /// The sums of the functions of each source in a part. Both halves of a long one are made at
    /// the same time where another player is free, as most of it is the decoding of its two edges.
    pub(crate) fn sums(&mut self, n: usize, offsets: Range<u64>) -> Result<Sums, Problem> {
        let buffer = self.served_buffer(n)?;
        let width = buffer.view.granule();
        let (first, last) = (offsets.start.div_ceil(width), offsets.end / width);
        let decodes =
            |edge: u64| !edge.is_multiple_of(width) && edge < buffer.view.buffer().covered();
        let two = first <= last && decodes(offsets.start) && decodes(offsets.end);
        let (players, stop) = (Arc::clone(&self.players), Arc::clone(&self.stop));
        let player = self.player(n)?;
        let other = if two && cfg!(feature = "server") { players.take_more(n) } else { None };
        let Some(mut other) = other else { return Ok(player.sums(offsets)?) };
        other.stop = Some(stop);
        let middle = first.midpoint(last).saturating_mul(width);
        let (before, after) = thread::scope(|scope| {
            let later = scope.spawn(|| other.sums(middle..offsets.end));
            (player.sums(offsets.start..middle), later.join())
        });
        players.put(n, other);
        let after = after.map_err(|_| Problem::new(500, "damaged", "the answer failed"))?;
        let mut sums = before?;
        for (own, after) in sums.iter_mut().zip(after?) {
            own.extend(after);
        }
        Ok(sums)
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
    ) -> Result<Range<u64>, Problem> {
        let len = buffer.view.buffer().covered();
        let from = request.number("from")?.unwrap_or(0).min(len);
        let to = request.number("to")?.unwrap_or(len).min(len);
        if from > to {
            return Err(Problem::parameter("to", "at least `from`"));
        }
        Ok(from..to)
    }
}
