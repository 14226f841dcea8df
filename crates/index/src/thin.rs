//! Joins the lines and functions of consecutive segments, where those of each take too many bytes.

use std::collections::BTreeMap;

use crate::key::{Key, Kind};
use crate::lines::ExecutedLines;
use crate::segment::{Segment, Stored, Stream};

/// Lines and keys take at most the length of the segments divided by this, if segments are joined.
const SHARE: u64 = 40;

/// The most groups that are joined at once, a power of two.
const MOST: u64 = 16;

/// Joins groups of `segments` until their lines and keys are small, at most all of them.
pub(crate) fn thin(segments: &mut [Segment]) {
    let bytes: u64 = segments.iter().map(|segment| segment.len).sum();
    let most = bytes / SHARE;
    let mut group = 1;
    loop {
        // Joined lines are those of one segment where all execute the same code. A group is a power
        // of two, so all sizes above half of the greatest one are the same.
        let enough = (MOST / 2 + 1) * most.max(1);
        let size = Some(least(segments)).filter(|least| *least >= enough);
        let size = size.unwrap_or_else(|| size_of(segments));
        if size <= most || group >= segments.len() || bytes == 0 {
            return;
        }
        let needed = (size / most.max(1)).clamp(2, MOST) as usize;
        group = (group * needed).min(segments.len()).next_power_of_two();
        segments.chunks_mut(group).for_each(join);
    }
}

/// The lines and keys have at least this number of bytes.
fn least(segments: &[Segment]) -> u64 {
    segments.iter().flat_map(|segment| &segment.streams).map(|stream| stream.lines.least()).sum()
}

/// The bytes of the lines and keys.
fn size_of(segments: &[Segment]) -> u64 {
    let mut stored = Stored::default();
    segments.iter().flat_map(|segment| &segment.streams).for_each(|s| s.put_details(&mut stored));
    (stored.keys.len() + stored.lines.len()) as u64
}

/// What one source executed.
#[derive(Default)]
struct Joined {
    lines: ExecutedLines,
    functions: BTreeMap<u64, u64>,
}

/// Moves the lines and functions of all segments to the first.
fn join(segments: &mut [Segment]) {
    let mut sources: BTreeMap<u16, Joined> = BTreeMap::new();
    for segment in segments.iter_mut() {
        segment.following = 0;
        for stream in &mut segment.streams {
            let joined = sources.entry(stream.source).or_default();
            joined.lines.add_all(&std::mem::take(&mut stream.lines));
            stream.keys.retain(|(key, count)| {
                if key.kind == Kind::Function {
                    *joined.functions.entry(key.value).or_default() += count;
                }
                key.kind != Kind::Function
            });
        }
    }
    let following = (segments.len() as u64).saturating_sub(1);
    let Some(first) = segments.first_mut() else { return };
    first.following = following;
    for (source, mut joined) in sources {
        let n = first.streams.partition_point(|stream| stream.source < source);
        if first.streams.get(n).is_none_or(|stream| stream.source != source) {
            first.streams.insert(n, Stream { source, ..Stream::default() });
        }
        let Some(stream) = first.streams.get_mut(n) else { continue };
        stream.lines = joined.lines.take();
        let functions = joined.functions.into_iter();
        let functions = functions.map(|(value, count)| (Key::new(Kind::Function, value), count));
        stream.keys.splice(0..0, functions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(n: u64) -> Segment {
        let stream = |source: u16, n: u64| Stream {
            source,
            activity: 1,
            lines: (0..20).map(|k| (k * 4 + n, 1)).collect(),
            keys: vec![
                (Key::new(Kind::Function, 0x100), 2),
                (Key::new(Kind::Function, 0x200 + n), 1),
                (Key::new(Kind::Gap, 0), 1),
            ],
            ..Stream::default()
        };
        let streams = if n == 0 { vec![stream(1, 0)] } else { vec![stream(0, n), stream(1, n)] };
        Segment { len: 1000, streams, ..Segment::default() }
    }

    /// Segments with many lines are joined in the same groups whether their lines are bits or runs.
    #[test]
    fn groups_do_not_depend_on_the_form_of_the_lines() {
        let mut joined = Vec::new();
        // One line in 32, of more and more: they take a half to 15 times what they may.
        for lines in [20u64, 60, 200, 340, 380, 420, 600] {
            let form = |dense: bool| {
                let segments = (0..40).map(|n| {
                    let runs = (0..lines).map(|k| (32 * k + 64 * n, 1));
                    let lines = if dense {
                        let mut near = ExecutedLines::default();
                        near.add_all(&runs.collect());
                        near.take()
                    } else {
                        runs.collect()
                    };
                    let streams = vec![Stream { lines, ..Stream::default() }];
                    Segment { len: 1600, streams, ..Segment::default() }
                });
                let mut segments: Vec<Segment> = segments.collect();
                let dense_form = segments.iter().all(|s| s.streams[0].lines.groups().is_some());
                assert_eq!(dense_form, dense && lines > 60, "{lines}");
                thin(&mut segments);
                segments
            };
            let (runs, dense) = (form(false), form(true));
            assert_eq!(runs, dense, "{lines}");
            joined.push(runs[0].following + 1);
        }
        assert_eq!(joined, [1, 4, 8, 16, 32, 32, 40]);
    }

    #[test]
    fn lines_and_functions_of_groups_are_joined() {
        let mut segments: Vec<Segment> = (0..4).map(segment).collect();
        thin(&mut segments);
        let [first, rest @ ..] = &segments[..] else { panic!("four segments") };
        assert_eq!(first.following, 3);
        let sources: Vec<u16> = first.streams.iter().map(|stream| stream.source).collect();
        assert_eq!(sources, [0, 1]);
        assert_eq!(first.streams[0].activity, 0);
        let keys = |stream: &Stream| -> Vec<_> {
            stream.keys.iter().map(|(key, n)| (key.kind, key.value, *n)).collect()
        };
        let (function, gap) = (Kind::Function, Kind::Gap);
        let all = [(0x100, 6), (0x201, 1), (0x202, 1), (0x203, 1)].map(|(v, n)| (function, v, n));
        assert_eq!(keys(&first.streams[0]), all);
        assert_eq!(first.streams[0].lines.to_runs()[..2], [(1, 3), (5, 3)]);
        let all = [(0x100, 8), (0x200, 1), (0x201, 1), (0x202, 1), (0x203, 1)];
        let all = all.map(|(v, n)| (function, v, n)).into_iter().chain([(gap, 0, 1)]);
        assert!(all.eq(keys(&first.streams[1])));
        assert_eq!(first.streams[1].lines.to_runs()[..], [(0, 80)]);
        for segment in rest {
            assert_eq!(segment.following, 0);
            for stream in &segment.streams {
                assert_eq!(keys(stream), [(gap, 0, 1)]);
                assert!(stream.lines.is_empty());
            }
        }
        // Few lines stay.
        let mut long = vec![Segment { len: 1 << 20, ..segment(1) }, segment(2)];
        let before = long.clone();
        thin(&mut long);
        assert_eq!(long, before);
    }
}
