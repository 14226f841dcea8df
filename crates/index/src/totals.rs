//! The sums of the segments of one batch.

use crate::bytes::{Reader, put, put_option};
use crate::segment::{Restart, Segment, Stream};

/// The sums of the segments of a batch: what finds the batch with an offset, a time, an instruction
/// or an element without the summaries of its segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The number of bytes; the least [`Segment::first`]; the last restart of each source, in order
    /// of the sources; the sum of the streams, of which each has its last context and all times.
    pub(crate) joined: Segment,
    /// For each stream of `joined`, the last segment with bytes of the source, counted from 0 in
    /// the batch.
    active: Vec<Option<u64>>,
}

impl Totals {
    /// The totals of `segments`.
    pub(crate) fn of<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Totals {
        let mut totals = Totals::default();
        for (n, segment) in (0..).zip(segments) {
            totals.add(n, segment);
        }
        totals
    }

    /// Adds segment `n` of the batch.
    fn add(&mut self, n: u64, segment: &Segment) {
        let Totals { joined, active } = self;
        joined.len = joined.len.saturating_add(segment.len);
        joined.first = joined.first.into_iter().chain(segment.first).min();
        for restart in &segment.restarts {
            let found = joined.restarts.binary_search_by_key(&restart.source, |r| r.source);
            match found.map(|k| joined.restarts.get_mut(k)) {
                Ok(Some(last)) => *last = *restart,
                Ok(None) => {}
                Err(k) => joined.restarts.insert(k, *restart),
            }
        }
        for stream in &segment.streams {
            let found = joined.streams.binary_search_by_key(&stream.source, |s| s.source);
            let k = found.unwrap_or_else(|k| {
                let blank = Stream { source: stream.source, ..Stream::default() };
                joined.streams.insert(k, blank);
                active.insert(k, None);
                k
            });
            if let (Some(sum), Some(active)) = (joined.streams.get_mut(k), active.get_mut(k)) {
                sum.join(stream);
                if stream.activity > 0 {
                    *active = Some(n);
                }
            }
        }
    }

    /// The last restart of `source`.
    pub(crate) fn restart(&self, source: usize) -> Option<Restart> {
        let restarts = &self.joined.restarts;
        restarts.iter().find(|restart| usize::from(restart.source) == source).copied()
    }

    /// The last segment with bytes of `source`, counted from 0 in the batch.
    pub(crate) fn active(&self, source: usize) -> Option<u64> {
        let streams = self.joined.streams.iter().zip(&self.active);
        let mut own = streams.filter(|(stream, _)| usize::from(stream.source) == source);
        own.next().and_then(|(_, active)| *active)
    }

    /// Whether a source has bytes.
    pub(crate) fn is_active(&self) -> bool {
        self.active.iter().any(Option::is_some)
    }

    /// Appends the totals of a batch that begins at offset `begin`.
    pub(crate) fn put(&self, begin: u64, out: &mut Vec<u8>) {
        let Segment { len, first, restarts, streams, .. } = &self.joined;
        let end = begin.wrapping_add(*len);
        put(out, *len);
        put_option(out, first.map(|first| end.wrapping_sub(first)));
        put(out, restarts.len() as u64);
        restarts.iter().for_each(|restart| restart.put(end, out));
        put(out, streams.len() as u64);
        for (stream, active) in streams.iter().zip(&self.active) {
            put_option(out, *active);
            stream.put_summary(out);
        }
    }

    /// The totals of a batch of `count` segments from offset `begin` on, of a buffer with `sources`
    /// sources. `None` where the bytes are not such totals.
    pub(crate) fn read(begin: u64, sources: usize, count: usize, bytes: &[u8]) -> Option<Totals> {
        let mut from = Reader(bytes);
        let mut totals = Totals::default();
        let Totals { joined, active } = &mut totals;
        joined.len = from.number()?;
        let end = begin.checked_add(joined.len)?;
        joined.first = match from.option()? {
            None => None,
            Some(before) => Some(end.checked_sub(before)?),
        };
        for _ in 0..from.count()? {
            joined.restarts.push(Restart::read(end, &mut from)?);
        }
        for _ in 0..from.count()? {
            let own = from.option()?;
            let stream = Stream::read_summary(&mut from)?;
            let known = usize::from(stream.source) < sources;
            let inside = own.is_none_or(|n| n < count as u64);
            if !known || !inside || joined.streams.last().is_some_and(|s| s.source >= stream.source)
            {
                return None;
            }
            active.push(own);
            joined.streams.push(stream);
        }
        from.0.is_empty().then_some(totals)
    }
}

impl Stream {
    /// Adds what a later segment has of the source.
    fn join(&mut self, later: &Stream) {
        self.activity = self.activity.saturating_add(later.activity);
        self.elements = self.elements.saturating_add(later.elements);
        self.instructions = self.instructions.saturating_add(later.instructions);
        self.checksum = self.checksum.wrapping_add(later.checksum);
        self.syncs = self.syncs.saturating_add(later.syncs);
        self.times = match (self.times, &later.times) {
            (Some(mut times), Some(later)) => {
                times.join(later);
                Some(times)
            }
            (times, later) => times.or(*later),
        };
        self.context = later.context.or(self.context);
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::Context;

    use super::*;
    use crate::segment::Times;

    fn segments() -> Vec<Segment> {
        let stream = |source, activity, time, context| Stream {
            source,
            activity,
            elements: 10 * u64::from(source) + activity,
            instructions: 100 * activity,
            checksum: u64::MAX - activity,
            syncs: 1,
            times: Option::map(time, Times::of),
            context: Option::map(context, |id: u64| {
                (id * 8, Context { context_id: Some(id as u32), ..Context::default() })
            }),
            ..Stream::default()
        };
        let restart = |source, from, at| Restart { source, from, at };
        let segment = |first, restarts, streams| Segment {
            len: 100,
            first,
            restarts,
            streams,
            ..Segment::default()
        };
        vec![
            segment(None, vec![], vec![stream(2, 5, Some(70), None)]),
            segment(
                Some(1150),
                vec![restart(2, 1020, 1130), restart(0, 1020, 1140)],
                vec![stream(0, 7, None, Some(9)), stream(2, 1, Some(50), Some(3))],
            ),
            segment(Some(1090), vec![restart(0, 1210, 1260)], vec![stream(2, 0, Some(60), None)]),
        ]
    }

    #[test]
    fn totals_are_sums_and_last_values() {
        let totals = Totals::of(&segments());
        let Segment { len, first, restarts, streams, .. } = &totals.joined;
        assert_eq!((*len, *first), (300, Some(1090)));
        let last = [(0, 1210, 1260), (2, 1020, 1130)];
        let last = last.map(|(source, from, at)| Restart { source, from, at });
        assert_eq!(restarts[..], last);
        let [one, two] = &streams[..] else { panic!("two sources") };
        assert_eq!((one.source, one.activity, one.elements, one.instructions), (0, 7, 7, 700));
        assert_eq!((two.source, two.activity, two.elements, two.instructions), (2, 6, 66, 600));
        assert_eq!((two.checksum, two.syncs), (0u64.wrapping_sub(9), 3));
        assert_eq!(one.times, None);
        assert_eq!(two.times, Some(Times { count: 3, first: 70, last: 60, min: 50, max: 70 }));
        let contexts = [one, two].map(|s| s.context.and_then(|(_, context)| context.context_id));
        assert_eq!(contexts, [Some(9), Some(3)]);
        assert_eq!([0, 1, 2].map(|source| totals.active(source)), [Some(1), None, Some(1)]);
        assert_eq!([0, 1, 2].map(|n| totals.restart(n).is_some()), [true, false, true]);
        assert!(totals.is_active() && !Totals::default().is_active());
    }

    #[test]
    fn totals_are_read_as_they_were_written() {
        for totals in [Totals::of(&segments()), Totals::default()] {
            let mut out = Vec::new();
            totals.put(1000, &mut out);
            assert_eq!(Totals::read(1000, 3, 3, &out).as_ref(), Some(&totals));
            for len in 0..out.len() {
                assert_eq!(Totals::read(1000, 3, 3, &out[..len]), None, "{len}");
            }
            out.push(0);
            assert_eq!(Totals::read(1000, 3, 3, &out), None, "a byte more");
        }
        let mut out = Vec::new();
        Totals::of(&segments()).put(1000, &mut out);
        assert_eq!(Totals::read(1000, 2, 3, &out), None, "a source more");
        assert_eq!(Totals::read(1000, 3, 1, &out), None, "a segment more");
    }
}
