//! Builds the segments of a buffer, on one thread or several.
//!
//! The buffer is divided into chunks of whole segments at fixed offsets. A thread decodes a chunk
//! from the initial state, and begins [`Shape::lead`] bytes before it. The chunk before it has
//! verified that a decoder that begins there is in the actual state at the beginning of the chunk.
//! Where it could not, the calling thread decodes the chunk again from the actual state. So the
//! segments do not depend on the number of threads.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use tracewright_analysis::{SourceState, Transfers};
use tracewright_capture::Buffer;
use tracewright_decode::ordered::{self, Part};
use tracewright_decode::{Checkpoint, Route, Session};

use crate::chain::{Chain, Decoded, Shape};
use crate::collect::Functions;
use crate::halves::Half;
use crate::probe::{known_link, place};
use crate::segment::Segment;
use crate::tiles::listener::{Pieces, SegmentPieces, prints};

/// Chunks in a row that are decoded again before the calling thread decodes alone.
const MOST_FAILURES: u32 = 4;

/// Bytes that are read at once, approximately: few system calls, and less than a first-level cache.
const READ: usize = 1 << 14;

/// The bytes of a buffer from an offset on.
pub fn from(buffer: &Buffer, offset: u64) -> Box<dyn Read + Send> {
    let mut skip = offset;
    let mut all: Box<dyn Read + Send> = Box::new(io::empty());
    for file in &buffer.files {
        let (len, skipped) = (file.len(), skip.min(file.len()));
        skip -= skipped;
        if skipped < len {
            all = Box::new(all.chain(file.bytes.part(skipped, u64::MAX).reader()));
        }
    }
    all
}

/// What is built, and of what.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    /// The buffer, which is not a pipe.
    pub buffer: &'a Buffer,
    /// A session of the buffer in its initial state.
    pub session: Session,
    /// The functions of each source.
    pub functions: Functions,
    /// With a record of each occurrence.
    pub full: bool,
    /// What finds the transfers of the sources, for a [view](crate::view), which has the whole
    /// buffer.
    pub transfers: Option<Transfers>,
    /// How the buffer is divided.
    pub shape: Shape,
    /// What of the index is made. A half is made on one thread.
    pub half: Half,
    /// The number of threads.
    pub jobs: usize,
    /// Where to stop, at the beginning of a segment, if the trace does not end yet.
    pub stop: Option<u64>,
}

/// A chunk that a thread decoded.
struct Chunk {
    segments: Vec<Decoded>,
    /// The state at the end.
    end: Checkpoint,
    /// What transfers depend on, at the beginning and at the end.
    transfers: Option<[Vec<SourceState>; 2]>,
    /// The sources without bytes from the lead on.
    idle: Vec<bool>,
    /// What the chunk verified about the one after it.
    next: Verified,
}

impl Chunk {
    /// Whether the transfers of the chunk are those after `chain`. Sources without bytes get the
    /// state that they have there.
    fn transfers_follow(&mut self, chain: &Chain) -> bool {
        let (Some([before, after]), Some(view)) = (&mut self.transfers, &chain.view) else {
            return true;
        };
        let actual = view.state();
        let known = prints(&actual);
        for (n, idle) in self.idle.iter().enumerate() {
            let (Some(actual), Some(before), Some(after)) =
                (actual.get(n), before.get_mut(n), after.get_mut(n))
            else {
                return false;
            };
            if *idle {
                (*before, *after) = (actual.clone(), actual.clone());
                let views = self.segments.iter_mut().filter_map(|own| own.view.as_mut());
                for print in views.filter_map(|view| view.prints.get_mut(n)) {
                    *print = known.get(n).copied().unwrap_or(0);
                }
            }
            if before != actual {
                return false;
            }
        }
        true
    }
}

/// Whether a decoder that begins before a chunk is in the actual state at its beginning.
#[derive(Clone, Default)]
struct Verified {
    link: bool,
    sources: Vec<bool>,
}

/// Receives what is built, in order.
pub(crate) trait Receive {
    /// The pieces of tiles of the next segment.
    fn pieces(&mut self, pieces: SegmentPieces);

    /// The next segments, after their pieces. `last`: the trace ends. Returns whether more are
    /// wanted.
    fn segments(&mut self, segments: Vec<Segment>, last: bool) -> io::Result<bool>;
}

/// Passes on pieces, which take much memory, and returns the segment.
fn pass(decoded: Decoded, sink: &mut dyn Receive) -> Segment {
    if let Some(pieces) = decoded.view {
        sink.pieces(pieces);
    }
    decoded.segment
}

impl Build<'_> {
    /// Builds from the beginning of the buffer, or from the segment at `start` on, whose state is
    /// given.
    ///
    /// # Errors
    /// Where the buffer cannot be read, and those of `sink`.
    pub(crate) fn run(self, start: Option<Checkpoint>, sink: &mut dyn Receive) -> io::Result<()> {
        let Build { buffer, session, functions, full, transfers, shape, half, jobs, stop } = self;
        let total = stop.unwrap_or(u64::MAX).min(buffer.len());
        let blank = session.state().clone();
        let sources = session.state().sources();
        let mut chain = Chain::new(session, functions, full, shape).only(half);
        chain.view = transfers.map(|found| Pieces::new(found, sources, 1 << shape.tile_log2));
        if let Some(start) = start {
            chain.resume(start);
        }
        let chunk = shape.segment * shape.chunk;
        let chunks: Vec<(u64, u64)> = {
            let first = chain.at() / chunk;
            let chunks = (first..total.div_ceil(chunk)).map(|n| (n * chunk, (n + 1) * chunk));
            chunks.map(|(from, to)| (from.max(chain.at()), to.min(total))).collect()
        };
        let mut done = 0;
        if half == Half::Both && jobs > 1 && chunks.len() > 1 {
            let work = Work { buffer, blank: &blank, shape, chunks: &chunks };
            done = work.on_threads(&mut chain, jobs, sink)?;
        }
        for &(begin, end) in chunks.get(done..).unwrap_or_default() {
            chain.begin_chunk();
            let mut segments = Vec::new();
            let mut each = |decoded| segments.push(pass(decoded, sink));
            decode(&mut chain, &mut *from(buffer, begin), end, &mut each)?;
            if !sink.segments(segments, false)? {
                return Ok(());
            }
        }
        chain.begin_chunk();
        if stop.is_some() {
            return Ok(());
        }
        let last = pass(chain.finish(), sink);
        sink.segments(vec![last], true).map(drop)
    }
}

/// Decodes bytes of `reader` up to offset `end`, and passes the segments to `each`.
fn decode(
    chain: &mut Chain,
    reader: &mut dyn Read,
    end: u64,
    each: &mut dyn FnMut(Decoded),
) -> io::Result<()> {
    let step = chain.shape().step;
    let mut space = vec![0; READ.next_multiple_of(step)];
    while chain.at() < end {
        let most = usize::try_from(end - chain.at()).unwrap_or(usize::MAX).min(space.len());
        let bytes = fill(reader, space.get_mut(..most).unwrap_or_default())?;
        if bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece;
            (piece, rest) = rest.split_at(chain.next_len(end).min(rest.len()));
            chain.feed(piece, end).into_iter().for_each(&mut *each);
        }
    }
    // The buffer ends inside a segment.
    chain.close().into_iter().for_each(each);
    Ok(())
}

/// Reads until `space` is full or the bytes end, and returns the bytes that were read.
///
/// # Errors
/// Those of the reader.
pub fn fill<'a>(reader: &mut dyn Read, space: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let mut len = 0;
    while let Some(rest) = space.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(some) => len += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(space.get(..len).unwrap_or_default())
}

struct Work<'a> {
    buffer: &'a Buffer,
    blank: &'a Checkpoint,
    shape: Shape,
    chunks: &'a [(u64, u64)],
}

/// The states of the link before the chunks, which are found by a scan of the bytes, one after
/// another.
struct Links<'a> {
    work: &'a Work<'a>,
    /// The state at `at`, where it can be known.
    known: Option<Route>,
    at: u64,
    reader: Box<dyn Read + Send>,
    space: Vec<u8>,
    /// The states that were found and not taken.
    found: Vec<Option<Route>>,
}

impl<'a> Links<'a> {
    fn new(work: &'a Work<'a>, start: &Checkpoint) -> Links<'a> {
        Links {
            work,
            known: known_link(start.link()),
            at: start.at(),
            reader: from(work.buffer, start.at()),
            space: vec![0; 1 << 16],
            found: Vec::new(),
        }
    }

    /// The state before chunk `n`, where its decoding begins. It can be taken once.
    fn before(&mut self, n: usize) -> io::Result<Option<Route>> {
        while self.found.len() <= n {
            let begin = self.work.chunks.get(self.found.len()).map_or(self.at, |chunk| chunk.0);
            let lead = begin.saturating_sub(self.work.shape.lead);
            while let Some(link) = self.known.as_mut().filter(|_| self.at < lead) {
                let most = usize::try_from(lead - self.at).unwrap_or(usize::MAX);
                let most = most.min(self.space.len());
                let bytes =
                    fill(&mut *self.reader, self.space.get_mut(..most).unwrap_or_default())?;
                if bytes.is_empty() {
                    self.known = None;
                    break;
                }
                link.skip(self.at, bytes);
                self.at += bytes.len() as u64;
            }
            self.found.push(self.known.clone());
        }
        Ok(self.found.get_mut(n).and_then(Option::take))
    }
}

impl Work<'_> {
    /// Decodes the chunks on several threads, until too many must be decoded again. Returns the
    /// number of chunks that are done; `chain` is at their end.
    fn on_threads(
        &self,
        chain: &mut Chain,
        jobs: usize,
        sink: &mut dyn Receive,
    ) -> io::Result<usize> {
        let links = Mutex::new(Links::new(self, chain.session.state()));
        // Each thread takes a chain with its cached blocks, and returns it.
        let mut pattern = chain.clone();
        pattern.resume(self.blank.clone());
        if let Some(view) = &mut pattern.view {
            view.reset();
        }
        let pool: Mutex<Vec<Chain>> = Mutex::new(vec![pattern; jobs]);
        let first = Mutex::new(Some(chain.session.state().clone()));
        let (mut done, mut failures, mut outcome) = (0, 0, Ok(()));
        let mut verified = Verified::default();
        let work = |n: usize, &(begin, end): &(u64, u64), _: &mut dyn FnMut(Vec<u8>) -> bool| {
            let take = || pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut chain) = take() else {
                return Err(io::Error::other("no decoder is left"));
            };
            let actual = match n {
                0 => first.lock().unwrap_or_else(PoisonError::into_inner).take(),
                _ => None,
            };
            let link = match actual {
                Some(_) => Ok(None),
                None => links.lock().unwrap_or_else(PoisonError::into_inner).before(n),
            };
            let chunk = link.and_then(|link| self.chunk(&mut chain, begin, end, link, actual));
            pool.lock().unwrap_or_else(PoisonError::into_inner).push(chain);
            chunk
        };
        // A chunk that waits holds its transfers.
        ordered::each_near(jobs, jobs, self.chunks, work, |n, part| {
            let Part::Done(chunk) = part else { return true };
            let next = || {
                let mut chunk: Chunk = chunk?;
                let same = n == 0 || chunk.transfers_follow(chain);
                let mut segments = Vec::new();
                let fits = |n: usize| {
                    verified.sources.get(n) == Some(&true) || chunk.idle.get(n) == Some(&true)
                };
                if n == 0 || verified.link && same && (0..chunk.idle.len()).all(fits) {
                    failures = 0;
                    for source in 0..if n == 0 { 0 } else { chunk.idle.len() } {
                        if verified.sources.get(source) != Some(&true) {
                            chunk.end.adopt(source, chain.session.state());
                        }
                    }
                    chain.resume(chunk.end);
                    if let (Some([_, end]), Some(view)) = (chunk.transfers, &mut chain.view) {
                        view.resume(end);
                    }
                    segments.extend(chunk.segments.into_iter().map(|own| pass(own, sink)));
                } else {
                    failures += 1;
                    let (begin, end) = self.chunks.get(n).copied().unwrap_or_default();
                    chain.begin_chunk();
                    let mut each = |decoded| segments.push(pass(decoded, sink));
                    decode(chain, &mut *from(self.buffer, begin), end, &mut each)?;
                    chunk.next = self.verified(chain, end);
                }
                verified = chunk.next;
                done = n + 1;
                sink.segments(segments, false)
            };
            let result = next();
            let go_on = *result.as_ref().unwrap_or(&false) && failures < MOST_FAILURES;
            outcome = result.map(drop);
            go_on
        });
        outcome.map(|()| done)
    }

    /// Decodes a chunk from the initial state, or from the actual one.
    fn chunk(
        &self,
        chain: &mut Chain,
        begin: u64,
        end: u64,
        link: Option<Route>,
        actual: Option<Checkpoint>,
    ) -> io::Result<Chunk> {
        let lead = begin.saturating_sub(self.shape.lead);
        let (activity, mut reader);
        if let Some(actual) = actual {
            activity = None;
            chain.resume(actual);
            if let Some(view) = &mut chain.view {
                view.reset();
            }
            reader = from(self.buffer, begin);
        } else {
            place(&mut chain.session, self.blank, lead, link);
            let state = chain.session.state();
            activity = Some((0..state.sources()).map(|n| state.activity(n)).collect::<Vec<_>>());
            reader = from(self.buffer, lead);
            let mut space = vec![0; self.shape.step];
            if let Some(view) = &mut chain.view {
                view.reset();
            }
            while chain.at() < begin {
                let bytes = fill(&mut *reader, &mut space)?;
                if bytes.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                chain.session.feed(bytes, &mut chain.view);
            }
            chain.begin_chunk();
        }
        let before = chain.view.as_ref().map(Pieces::state);
        let mut segments = Vec::new();
        decode(chain, &mut *reader, end, &mut |decoded| segments.push(decoded))?;
        let state = chain.session.state();
        let idle = (0..state.sources())
            .map(|n| activity.as_ref().is_some_and(|a| a.get(n) == Some(&state.activity(n))))
            .collect();
        let after = chain.view.as_ref().map(Pieces::state);
        let transfers = before.zip(after).map(|(before, after)| [before, after]);
        let (end, next) = (state.clone(), self.verified(chain, end));
        Ok(Chunk { segments, end, transfers, idle, next })
    }

    /// What `chain`, which is at the end of a chunk, has verified about the next one.
    fn verified(&self, chain: &Chain, end: u64) -> Verified {
        let sources = 0..chain.session.state().sources();
        let lead = end.checked_sub(self.shape.lead);
        if lead.is_none() || chain.handover.last() != lead {
            return Verified { link: false, sources: vec![false; sources.len()] };
        }
        let verified = sources.map(|n| chain.handover.is_verified(n)).collect();
        Verified { link: chain.handover.is_linked(), sources: verified }
    }
}
