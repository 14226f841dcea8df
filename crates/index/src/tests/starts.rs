//! The states that an index leads to.

use std::sync::Arc;

use tracewright_decode::Plan;

use super::{Case, captures, making, shared};
use crate::chain::Chain;
use crate::chain::Shape;
use crate::checksum::Checksum;
use crate::format::{BATCH_HEAD, Head};
use crate::index::Index;
use crate::probe::Nothing;
use crate::segment::{Segment, Stream};
use crate::view::View;
use crate::writer::Making;

/// Compares the state at each segment with that of a session that decoded the whole trace, and
/// returns the bytes that were decoded to find the states.
fn check_states(case: &Case, plan: &Plan, index: &Index) {
    let subject = case.subject();
    let buffer = &case.capture.buffers[plan.buffer];
    let indexed = index.buffer(plan.buffer).expect("the buffer");
    let (bytes, name) = (buffer.bytes(), &case.name);
    assert!(indexed.is_complete(), "{name}");
    assert_eq!(indexed.covered(), buffer.len(), "{name}");
    let mut actual = subject.session(plan).expect("a session");
    let mut found = subject.session(plan).expect("a session");
    let blank = found.state().clone();
    for n in 0..indexed.len() - 1 {
        found.resume(blank.clone());
        let start = indexed.seek(&mut found, buffer, n, &mut Nothing).expect("bytes");
        let begin = indexed.begin(start.segment).expect("a segment");
        if start.segment == n {
            assert_eq!(start.state.at(), begin);
            assert!(start.state.same_link(actual.state()), "{name}: link at {begin}");
            for source in 0..plan.sources.len() {
                let same = start.state.same_source(source, actual.state());
                assert!(same, "{name}: source {source} at {begin}");
            }
        }
        assert_eq!(start.position, indexed.position(start.segment), "{name}");
        let end = indexed.begin(n + 1).expect("a segment");
        actual.feed(&bytes[indexed.begin(n).unwrap() as usize..end as usize], &mut Nothing);
    }
}

fn check(case: &Case, making: &Making) {
    let bytes = case.index_bytes(making);
    for jobs in [2, 3] {
        let threads = case.index_bytes(&Making { jobs, ..*making });
        if bytes != threads {
            // The first difference is easier to read than all bytes.
            let [one, other] =
                [&bytes, &threads].map(|b| Index::read(b.clone().into()).expect("an index"));
            for (one, other) in one.buffers().iter().zip(other.buffers()) {
                for (n, (one, other)) in one.summaries().zip(other.summaries()).enumerate() {
                    assert_eq!(*one, *other, "{}: segment {n} with {jobs} threads", case.name);
                }
            }
            panic!("{}: {jobs} threads make another index", case.name);
        }
    }
    let index = case.index(making);
    for plan in &case.plans {
        check_states(case, plan, &index);
    }
}

/// Decodes `bytes`, of which `next` returns the number to decode at once.
fn segments(
    case: &Case,
    plan: &Plan,
    bytes: &[u8],
    next: impl Fn(&Chain, u64) -> usize,
) -> (Vec<Segment>, usize) {
    let shape = Shape::new(bytes.len() as u64 / 9, 4);
    let session = case.subject().session(plan);
    let functions = vec![Arc::default(); plan.sources.len()];
    let mut chain = Chain::new(session.expect("a session"), functions, false, shape);
    let (mut segments, mut pieces) = (Vec::new(), 0);
    let chunk = shape.segment * shape.chunk;
    for (n, mut rest) in (0..).zip(bytes.chunks(chunk as usize)) {
        let end = (n * chunk + chunk).min(bytes.len() as u64);
        chain.begin_chunk();
        while !rest.is_empty() {
            let piece;
            (piece, rest) = rest.split_at(next(&chain, end).min(rest.len()));
            segments.extend(chain.feed(piece, end).map(|decoded| decoded.segment));
            pieces += 1;
        }
        segments.extend(chain.close().map(|decoded| decoded.segment));
    }
    segments.push(chain.finish().segment);
    (segments, pieces)
}

/// Restarts are verified after the same steps where the bytes between probes are decoded at once.
/// The buffer ends within a step.
#[test]
fn bytes_between_probes_are_decoded_at_once() {
    let (mut steps, mut pieces, mut restarts) = (0, 0, 0);
    for case in captures() {
        for plan in &case.plans {
            let bytes = case.capture.buffers[plan.buffer].bytes().repeat(4);
            for bytes in [&bytes[..], &bytes[..bytes.len() - 3]] {
                let (want, each) = segments(&case, plan, bytes, |chain, _| chain.shape().step);
                let (found, fewer) = segments(&case, plan, bytes, Chain::next_len);
                assert_eq!(found, want, "{}", case.name);
                (steps, pieces) = (steps + each, pieces + fewer);
                restarts += found.iter().map(|segment| segment.restarts.len()).sum::<usize>();
            }
        }
    }
    assert!(pieces < steps * 3 / 4 && restarts > 100, "{pieces} of {steps}, {restarts}");
}

#[test]
fn states_are_those_of_the_whole_trace() {
    for case in captures() {
        check(&case, &making(&case, false));
    }
}

#[test]
fn states_of_several_cores_are_those_of_the_whole_trace() {
    for case in shared(&["juno_r1_1", "TC2", "stm-issue-27"]) {
        check(&case, &making(&case, true));
    }
}

/// What an index has of a segment without the segments before its batch equals the sums over all
/// summaries.
fn check_positions(buffer: &crate::index::IndexedBuffer, name: &str) {
    let summaries: Vec<Segment> = buffer.summaries().map(|own| own.clone()).collect();
    let sources = buffer.sources().len();
    let mut position = buffer.position(0);
    assert_eq!((position.elements, position.instructions), (0, 0), "{name}");
    let (mut begin, mut restarts, mut active) = (0, vec![None; sources], vec![None; sources]);
    for n in 0..=summaries.len() {
        assert_eq!(buffer.position(n), position, "{name}: segment {n}");
        assert_eq!(buffer.elements_before(n), position.elements, "{name}: segment {n}");
        assert_eq!(buffer.begin(n), Some(begin), "{name}: segment {n}");
        for source in 0..sources {
            assert_eq!(buffer.restart(n, source), restarts[source], "{name}: segment {n}");
            assert_eq!(buffer.active_before(n, source), active[source], "{name}: segment {n}");
        }
        let Some(segment) = summaries.get(n) else { break };
        assert_eq!(buffer.segment(n).as_deref(), Some(segment), "{name}");
        if segment.len > 0 {
            assert_eq!(buffer.with_byte(begin), Some(n), "{name}");
            assert_eq!(buffer.with_byte(begin + segment.len - 1), Some(n), "{name}");
        }
        position.pass(segment);
        begin += segment.len;
        for restart in &segment.restarts {
            restarts[usize::from(restart.source)] = Some(*restart);
        }
        for stream in segment.streams.iter().filter(|stream| stream.activity > 0) {
            active[usize::from(stream.source)] = Some(n);
        }
    }
    assert_eq!((buffer.begin(summaries.len() + 1), buffer.with_byte(begin)), (None, None));
    let times = summaries.iter().flat_map(|s| &s.streams).filter_map(|stream| stream.times);
    let (least, most) = (times.clone().map(|t| t.min).min(), times.map(|t| t.max).max());
    assert_eq!(buffer.times(), least.zip(most), "{name}");
}

#[test]
fn positions_are_those_of_all_summaries() {
    for case in captures() {
        let index = case.index(&making(&case, false));
        index.buffers().iter().for_each(|buffer| check_positions(buffer, &case.name));
    }
}

/// A trace that synchronises again has restarts, for each protocol.
#[test]
fn restarts_are_found() {
    for case in captures() {
        let index = case.index(&making(&case, false));
        for plan in &case.plans {
            let buffer = index.buffer(plan.buffer).expect("the buffer");
            for source in 0..plan.sources.len() {
                let restarts = buffer
                    .summaries()
                    .flat_map(|segment| segment.restarts.clone())
                    .filter(|restart| usize::from(restart.source) == source);
                assert!(restarts.count() > 0, "{} source {source}", case.name);
            }
        }
    }
}

/// An index that was made of the first part of a growing trace, and continued, is that of the whole
/// trace, at each length.
#[test]
fn a_growing_trace_has_the_index_of_the_whole_trace() {
    for case in captures() {
        let all = making(&case, true);
        let whole = case.index(&all);
        for plan in &case.plans {
            let bytes = case.capture.buffers[plan.buffer].bytes().into_owned();
            let mut file: Vec<u8> = Vec::new();
            for part in 1..=5 {
                let mut capture = case.capture.clone();
                let buffer = &mut capture.buffers[plan.buffer];
                let head = bytes[..bytes.len() * part / 5].to_vec();
                *buffer = tracewright_capture::Buffer::new(
                    buffer.name.clone(),
                    buffer.format.clone(),
                    head,
                );
                let case = Case::of(case.name.clone(), capture);
                let plans: Vec<Plan> =
                    case.plans.iter().filter(|p| p.buffer == plan.buffer).cloned().collect();
                let making = Making { growing: part < 5, ..all };
                let mut write = |part: &[u8], _: u64| {
                    file.extend_from_slice(part);
                    Ok(true)
                };
                if part == 1 {
                    case.subject().make(&plans, &making, &mut write).expect("an index");
                } else {
                    let so_far = Index::read(file.clone().into()).expect("an index");
                    let used = so_far.used() as usize;
                    assert_eq!(used, file.len());
                    let mut write = |part: &[u8], _: u64| {
                        file.extend_from_slice(part);
                        Ok(true)
                    };
                    case.subject().extend(&so_far, &plans, &making, &mut write).expect("more");
                }
                let index = Index::read(file.clone().into()).expect("an index");
                assert_eq!(index.damage(), None);
                let indexed = index.buffer(plan.buffer).expect("the buffer");
                assert_eq!(indexed.is_complete(), part == 5);
                let whole = whole.buffer(plan.buffer).expect("the buffer");
                for (n, segment) in indexed.summaries().enumerate() {
                    let mut want = whole.segment(n).expect("a segment").clone();
                    // Restarts are sought again after each part, and other segments are joined.
                    want.restarts.clone_from(&segment.restarts);
                    want.following = segment.following;
                    let mut segment = segment.clone();
                    for segment in [&mut segment, &mut want] {
                        let own = |s: &Stream| s.activity > 0 || s.elements > 0;
                        segment.streams.retain(own);
                    }
                    assert_eq!(segment, want, "{} {n}", case.name);
                }
                if part == 5 {
                    check_states(&case, plan, &index);
                }
            }
        }
    }
}

/// An index as the version before wrote it, which has no sections of a view.
fn of_the_version_before(bytes: &[u8]) -> Vec<u8> {
    let len = Head::length(&bytes[..16]).expect("a head") as usize;
    let head = Head::read(&bytes[..len]).expect("a head");
    let mut old = Head { old: true, view: None, tasks: None, ..head }.write();
    let mut rest = &bytes[len..];
    while let Some((head, after)) = rest.split_at_checked(BATCH_HEAD) {
        let mut own = head[..12].to_vec();
        own.extend_from_slice(&head[12..32]);
        own.extend_from_slice(&head[56..72]);
        own.extend_from_slice(&head[72..112]);
        own.extend(Checksum::of(&own).to_le_bytes());
        assert_eq!(own.len(), 96);
        let lengths = head[12..56].chunks(4).map(|own| u32::from_le_bytes(own.try_into().unwrap()));
        let lengths: Vec<usize> = lengths.map(|len| len as usize).collect();
        let retained: usize = lengths[..5].iter().sum();
        old.extend(own);
        old.extend_from_slice(&after[..retained]);
        rest = &after[lengths.iter().sum::<usize>()..];
    }
    old
}

/// An index of the version before is read as before, and has no view.
#[test]
fn the_version_before_is_read() {
    for case in captures() {
        let making = Making { view: true, ..making(&case, true) };
        let bytes = case.index_bytes(&making);
        let old = Index::read(of_the_version_before(&bytes).into()).expect("an index");
        let index = Index::read(bytes.into()).expect("an index");
        assert_eq!(old.damage(), None, "{}", case.name);
        assert_eq!(case.subject().check(&old, &case.plans), Ok(()), "{}", case.name);
        assert!(!old.has_view() && index.has_view());
        assert!(!case.subject().is_of(&old, &case.plans));
        for (old_buffer, buffer) in old.buffers().iter().zip(index.buffers()) {
            assert!(old_buffer.is_complete());
            let all = 0..buffer.len();
            let segments = index.segments(buffer, all.clone()).expect("segments");
            assert_eq!(old.segments(old_buffer, all).expect("segments"), segments, "{}", case.name);
            assert!(View::new(&old, old_buffer).expect("a view").is_none());
        }
        for plan in &case.plans {
            check_states(&case, plan, &old);
        }
    }
}
