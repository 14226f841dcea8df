//! What a thread has to answer with.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use tracewright::index::Finder;
use tracewright::index::view::{FunctionSums, Player};

use crate::answer::Problem;
use crate::request::Request;
use crate::served::{Served, ServedBuffer};

/// The most bytes that are decoded for one answer.
pub(crate) const DETAIL: u64 = 1 << 22;

/// By source: functions and their sums. A function may be there twice.
pub(crate) type Sums = Vec<Vec<(u32, FunctionSums)>>;

/// A thread that answers: its decoders have cached code.
pub(crate) struct Worker<'a> {
    pub(crate) served: &'a Served<'a>,
    players: Vec<Option<Player<'a>>>,
    /// Those that decode the other half of a part.
    seconds: Vec<Option<Player<'a>>>,
    finders: Vec<Option<Finder<'a>>>,
    /// The answer is not wanted any more.
    stop: Arc<AtomicBool>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(served: &'a Served<'a>) -> Worker<'a> {
        let count = served.buffers.len();
        let [players, seconds] = [(); 2].map(|()| (0..count).map(|_| None).collect());
        let finders = (0..count).map(|_| None).collect();
        Worker { served, players, seconds, finders, stop: Arc::default() }
    }

    #[cfg(feature = "server")]
    /// The next answer is not wanted any more where `stop` is set.
    pub(crate) fn begin(&mut self, stop: Arc<AtomicBool>) {
        for player in self.players.iter_mut().chain(&mut self.seconds).flatten() {
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
        let buffer = self.served_buffer(n)?;
        let own = self.players.get_mut(n).ok_or_else(|| Problem::absent("buffer"))?;
        player(self.served, buffer, &self.stop, own)
    }

    /// The sums of the functions of each source in a part. Both halves of a long one are made at
    /// the same time, as most of it is the decoding of its two edges.
    pub(crate) fn sums(&mut self, n: usize, offsets: Range<u64>) -> Result<Sums, Problem> {
        let buffer = self.served_buffer(n)?;
        let width = buffer.view.granule();
        let (first, last) = (offsets.start.div_ceil(width), offsets.end / width);
        let decodes =
            |edge: u64| !edge.is_multiple_of(width) && edge < buffer.view.buffer().covered();
        let two = first <= last && decodes(offsets.start) && decodes(offsets.end);
        if !two || !cfg!(feature = "server") {
            return Ok(self.player(n)?.sums(offsets)?);
        }
        let middle = first.midpoint(last).saturating_mul(width);
        let absent = || Problem::absent("buffer");
        let before = self.players.get_mut(n).ok_or_else(absent)?;
        let before = player(self.served, buffer, &self.stop, before)?;
        let after = self.seconds.get_mut(n).ok_or_else(absent)?;
        let after = player(self.served, buffer, &self.stop, after)?;
        let (before, after) = thread::scope(|scope| {
            let later = scope.spawn(|| after.sums(middle..offsets.end));
            (before.sums(offsets.start..middle), later.join())
        });
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

/// The player in `place`, which is made when it is needed first.
fn player<'a, 'p>(
    served: &Served<'a>,
    buffer: &'a ServedBuffer<'a>,
    stop: &Arc<AtomicBool>,
    place: &'p mut Option<Player<'a>>,
) -> Result<&'p mut Player<'a>, Problem> {
    if place.is_none() {
        let subject = served.trace.subject();
        *place = Player::with_tasks(subject, buffer.plan, &buffer.view, served.tasks);
        if let Some(player) = place {
            player.stop = Some(Arc::clone(stop));
        }
    }
    place.as_mut().ok_or_else(|| Problem::absent("buffer"))
}
