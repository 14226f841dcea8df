//! A session may be fed in any pieces, cloned, resumed and reset.

use std::io;

use tracewright_base::{Batch, Element, Fault, Gap};
use tracewright_capture::{Buffer, BufferRef, Capture, Dump, Format, Registers, Source, When};
use tracewright_decode::input::{Input, More, Parts};
use tracewright_decode::listener::each_element;
use tracewright_decode::{
    Event, Jobs, Listener, Memory, Merge, Merging, Options, Plan, Session, Wants, parallel,
};
use tracewright_frames::{self as frames, Framing, Joiner, sync};

#[derive(Clone, Debug, Default, PartialEq)]
struct Recorder(Vec<(usize, u64, Element)>);

impl Listener for Recorder {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.push((source, at, element));
    }
}

impl Merge for Recorder {
    fn merge(&mut self, later: Recorder) {
        self.0.extend(later.0);
    }
}

/// Two ETMv4s that share a buffer: A-Sync, Trace Info, events, timestamps, atoms without code.
fn capture() -> Capture {
    let mut frames = Vec::new();
    let mut joiner = Joiner::new(Framing::Coresight);
    for round in 0..40u8 {
        for id in [0x10, 0x11] {
            let mut bytes = vec![0; 11];
            bytes.extend([0x80, 0x01, 0x00, 0x71, 0x02, 0x80 | round, id, 0x04]);
            bytes.extend([0x82, round, 0x08, 0x00, 0x00, 0x11, 0xf7, 0x95, round, 0xf7, 0xff]);
            joiner.push(id, &bytes[..usize::from(30 - round % 3)], &mut frames).unwrap();
        }
    }
    joiner.finish(&mut frames);
    of(frames)
}

/// A buffer of both ETMv4s.
fn of(frames: Vec<u8>) -> Capture {
    let source = |id: u64| Source {
        name: format!("ETM_{id:x}"),
        device_type: "ETM4.2".into(),
        registers: Registers::from_iter([
            ("TRCIDR0", 0x2800_0ea1),
            ("TRCIDR1", 0x4100_f420),
            ("TRCIDR2", 0x488),
            ("TRCCONFIGR", 0x801),
            ("TRCTRACEIDR", id),
        ]),
        buffers: vec![BufferRef { buffer: 0, stream: None }],
        ..Source::default()
    };
    Capture {
        buffers: vec![Buffer::new("ETB", Format::CoreSight, frames)],
        sources: vec![source(0x10), source(0x11)],
        ..Capture::default()
    }
}

fn session(capture: &Capture) -> Session {
    let options = Options::default();
    let plan = Plan::new(capture, 0, &options).unwrap();
    assert_eq!(plan.sources.len(), 2, "{:?}", plan.skipped);
    Session::new(capture, &plan, &Memory::new(capture), &options).unwrap()
}

fn whole(capture: &Capture) -> Vec<(usize, u64, Element)> {
    let mut recorder = Recorder::default();
    session(capture).run(capture.buffers[0].parts(), &mut recorder);
    by_source(recorder)
}

/// Sources take turns where the pieces end; each one's own story is what must not change.
fn by_source(mut recorder: Recorder) -> Vec<(usize, u64, Element)> {
    recorder.0.sort_by_key(|(source, ..)| *source);
    recorder.0
}

#[test]
fn any_pieces_give_the_same_elements() {
    let capture = capture();
    let bytes = capture.buffers[0].bytes().to_vec();
    let want = whole(&capture);
    assert!(want.iter().filter(|(.., e)| matches!(e, Element::Timestamp { .. })).count() > 50);
    for piece in [1, 3, 16, 17, 100] {
        let (mut session, mut recorder) = (session(&capture), Recorder::default());
        for part in bytes.chunks(piece) {
            session.feed(part, &mut recorder);
        }
        session.finish(&mut recorder);
        assert_eq!(by_source(recorder), want, "pieces of {piece}");
    }
}

/// [`Recorder`] for which the order of the elements of different sources does not matter.
#[derive(Default)]
struct BySource {
    recorder: Recorder,
    /// The sources in turn.
    turns: Vec<usize>,
}

impl Listener for BySource {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        assert_eq!(self.turns.last(), Some(&source));
        self.recorder.element(source, at, element);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        if self.turns.last() != Some(&batch.source) {
            self.turns.push(batch.source);
        }
        each_element(self, batch);
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

#[test]
fn sources_that_alternate_may_be_decoded_one_after_another() {
    let clean = capture();
    let bytes = clean.buffers[0].bytes().to_vec();
    let mut damaged = bytes.clone();
    // A full synchronisation packet inside a frame ends it: trace of both sources is lost.
    damaged[500..504].copy_from_slice(&sync::FULL);
    for bytes in [bytes, damaged] {
        let capture = of(bytes.clone());
        let want = whole(&capture);
        for piece in [1, 16, 100, bytes.len()] {
            let (mut session, mut listener) = (session(&capture), BySource::default());
            for part in bytes.chunks(piece) {
                session.feed(part, &mut listener);
            }
            let turns = listener.turns.len();
            assert!(piece < bytes.len() || turns <= 4, "{turns} turns");
            session.finish(&mut listener);
            assert_eq!(by_source(listener.recorder), want, "pieces of {piece}");
        }
    }
}

#[test]
fn a_clone_goes_on_from_where_the_original_was() {
    let capture = capture();
    let bytes = capture.buffers[0].bytes().to_vec();
    let want = whole(&capture);
    for cut in (0..bytes.len()).step_by(37) {
        let (mut first, mut recorder) = (session(&capture), Recorder::default());
        first.feed(&bytes[..cut], &mut recorder);
        let mut resumed = first.clone();
        // What the original does from here on is nothing to the clone.
        first.feed(&[0xa5; 64], &mut Recorder::default());
        resumed.feed(&bytes[cut..], &mut recorder);
        resumed.finish(&mut recorder);
        assert_eq!(by_source(recorder), want, "cut at {cut}");
    }
}

#[test]
fn a_reset_session_is_a_fresh_one() {
    let capture = capture();
    let bytes = capture.buffers[0].bytes().to_vec();
    let mut session = session(&capture);
    session.feed(&bytes[..bytes.len() / 2 + 5], &mut Recorder::default());
    session.reset(0);
    let mut recorder = Recorder::default();
    session.run([&bytes[..]], &mut recorder);
    assert_eq!(by_source(recorder), whole(&capture));
}

/// Bytes, and then a read that fails.
struct Failing<'a>(&'a [u8]);

impl Input for Failing<'_> {
    fn more(&mut self, most: usize, _: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let (some, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        into.extend_from_slice(some);
        match some {
            [] => Err(io::Error::other("bad sector")),
            _ => Ok(More::Some),
        }
    }
}

/// Where a read fails the trace ends, on any number of threads.
#[test]
fn bytes_before_a_failed_read_are_decoded() {
    let capture = capture();
    let bytes = capture.buffers[0].bytes();
    for len in [0, 5, 32, 500, 1000, 1500, bytes.len()] {
        let mut want = Recorder::default();
        session(&capture).run([&bytes[..len]], &mut want);
        let want = by_source(want);
        for count in [1, 2, 3] {
            let mut recorder = Recorder::default();
            let jobs = Jobs { step: 32, chunk: 128..=128, ..Jobs::new(count) };
            let error = parallel::run(
                &mut session(&capture),
                &mut Failing(&bytes[..len]),
                &mut Merging(Recorder::default()),
                &jobs,
                |output, _| {
                    recorder.merge(output);
                    true
                },
            )
            .unwrap_err();
            assert_eq!(error.to_string(), "bad sector");
            assert_eq!(by_source(recorder), want, "{len} bytes, {count} threads");
        }
    }
}

#[test]
fn a_plan_of_another_capture_is_an_error() {
    let (capture, other) = (capture(), Capture::default());
    let options = Options::default();
    let plan = Plan::new(&capture, 0, &options).unwrap();
    let error = Session::new(&other, &plan, &Memory::new(&other), &options).unwrap_err();
    assert_eq!(error.source, plan.sources[0].source);
    assert!(error.to_string().starts_with("the plan was made for another capture"), "{error}");
    assert_eq!(plan.parts(&other).count(), 0);
}

/// Frames of `pieces`: trace IDs and bytes.
fn frames(pieces: &[(u8, &[u8])]) -> Vec<u8> {
    let (mut frames, mut joiner) = (Vec::new(), Joiner::new(Framing::Coresight));
    for (id, bytes) in pieces {
        joiner.push(*id, bytes, &mut frames).unwrap();
    }
    joiner.finish(&mut frames);
    frames
}

/// A-Sync, Trace Info, Trace On, an address with context, an atom without code, and the header of
/// a timestamp.
const BEGINS: &[u8] =
    &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0, 0x04, 0x82, 0, 8, 0, 0, 0x11, 0xf7, 0x02];

/// A barrier ends the trace of each source as the end of the buffer does, and what follows is
/// decoded as if it were the beginning.
#[test]
fn a_barrier_separates_two_traces() {
    // The rest of a timestamp, an event, and another trace.
    let rest = [&[0x85, 0x03, 0x71], BEGINS].concat();
    // A worker's state is the actual one after each synchronisation.
    let long = BEGINS[..BEGINS.len() - 1].repeat(20);
    let mut cuts = 0;
    for (before, after) in [
        (frames(&[(0x10, BEGINS), (0x11, &long)]), frames(&[(0x10, &rest), (0x11, &rest)])),
        (frames(&[(0x10, BEGINS), (0x11, &long)]), frames(&[(0x11, &long), (0x11, &rest)])),
        (frames(&[(0x10, BEGINS)]), frames(&[(0x11, &long), (0x10, &rest), (0x11, &long)])),
        (Vec::new(), frames(&[(0x10, BEGINS)])),
        (frames(&[(0x10, &long)]), Vec::new()),
    ] {
        let (at, next) = (before.len() as u64, before.len() as u64 + 16);
        let mut want = Vec::new();
        for n in 0..2 {
            let of = |frames: &[u8]| {
                let all = whole(&of(frames.to_vec())).into_iter();
                let mut own: Vec<_> = all.filter(|(source, ..)| *source == n).collect();
                assert!(matches!(own.pop(), Some((_, _, Element::End))));
                own
            };
            let (first, second) = (of(&before), of(&after));
            let reset = (n, at, Element::Gap(Gap::Reset));
            want.extend(first.iter().copied());
            want.extend((!first.is_empty()).then_some(reset));
            want.extend(second.iter().map(|(_, at, element)| (n, next + at, *element)));
        }
        let ends = |element: &Element| *element != Element::End;
        let cut = Element::Undecodable { len: 1, fault: Fault::Truncated };
        cuts += want.iter().filter(|(.., element)| *element == cut).count();
        let bytes = [&before[..], &sync::BARRIER, &after].concat();
        let capture = of(bytes.clone());
        for piece in [1, 16, 17, bytes.len()] {
            let (mut session, mut recorder) = (session(&capture), Recorder::default());
            bytes.chunks(piece).for_each(|part| session.feed(part, &mut recorder));
            session.finish(&mut recorder);
            recorder.0.retain(|(.., element)| ends(element));
            assert_eq!(by_source(recorder), want, "pieces of {piece}");
        }
        // Several barriers are one; and the bytes are decoded on two threads.
        let again = [&before[..], &sync::BARRIER, &sync::BARRIER, &sync::BARRIER, &after].concat();
        for (bytes, more) in [(bytes, 0), (again, 32)] {
            for step in [16, 32, 48] {
                let capture = of(bytes.clone());
                let mut recorder = Recorder::default();
                let jobs = Jobs { step, chunk: 8 * step..=8 * step, ..Jobs::new(2) };
                parallel::run(
                    &mut session(&capture),
                    &mut Parts::new([&bytes[..]]),
                    &mut Merging(Recorder::default()),
                    &jobs,
                    |output, _| {
                        recorder.merge(output);
                        true
                    },
                )
                .unwrap();
                recorder.0.retain(|(.., element)| ends(element));
                let moved = want.iter().map(|(n, at_, element)| match *at_ > at {
                    true => (*n, at_ + more, *element),
                    false => (*n, *at_, *element),
                });
                let moved: Vec<_> = moved.collect();
                assert_eq!(by_source(recorder), moved, "{step} bytes at a time");
            }
        }
    }
    assert!(cuts > 5, "{cuts}");
}

/// A-Sync and Trace Info.
const SYNC: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0];
/// Timestamps 50 and 200.
const EARLY: &[u8] = &[0x02, 0x32];
const LATE: &[u8] = &[0x02, 0xc8, 0x01];
/// Trace On, the address 0x1000 with a context, and an atom.
const CODE: &[u8] = &[0x04, 0x82, 0, 8, 0, 0, 0x11, 0xf7];

/// A capture of the frames of one ETMv4. The code at 0x1000 has 2 instructions before the timestamp
/// 100, and 3 from there on.
fn timed(frames: Vec<u8>) -> Capture {
    const NOP: [u8; 4] = [0x1f, 0x20, 0x03, 0xd5];
    const RET: [u8; 4] = [0xc0, 0x03, 0x5f, 0xd6];
    let before = When { until: Some(100), ..When::default() };
    let after = When { from: Some(100), ..When::default() };
    let dump = |name: &str, code: Vec<u8>, when| Dump { when, ..Dump::new(name, 0x1000, code) };
    let memory = vec![
        dump("before", [NOP, RET].concat(), before),
        dump("after", [NOP, NOP, RET].concat(), after),
    ];
    Capture { memory, ..of(frames) }
}

/// The numbers of instructions of the ranges.
fn instructions(recorder: &Recorder) -> Vec<u32> {
    let ranges = recorder.0.iter().filter_map(|(.., element)| match element {
        Element::Range(range) => Some(range.instructions),
        _ => None,
    });
    ranges.collect()
}

/// After a reset, the bytes of an incomplete packet before it are dropped.
#[test]
fn a_reset_drops_an_incomplete_packet() {
    let bytes = [0, 0, 0, 0, 0, 0x80, 0x01, b'a', 0x03, 1, 2];
    let source = Source {
        device_type: "ITM".into(),
        buffers: vec![BufferRef { buffer: 0, stream: None }],
        ..Source::default()
    };
    let capture = Capture {
        buffers: vec![Buffer::new("swo", Format::SourceData, bytes.to_vec())],
        sources: vec![source],
        ..Capture::default()
    };
    let (options, memory) = (Options::default(), Memory::new(&capture));
    let plan = Plan::new(&capture, 0, &options).unwrap();
    let after_reset = |before: &[u8]| {
        let mut session = Session::new(&capture, &plan, &memory, &options).unwrap();
        session.feed(before, &mut Recorder::default());
        session.reset(100);
        let mut recorder = Recorder::default();
        session.feed(&bytes, &mut recorder);
        session.finish(&mut recorder);
        recorder.0
    };
    let want = after_reset(&[]);
    assert_eq!(want.len(), 4, "{want:?}");
    for end in 0..=bytes.len() {
        assert_eq!(after_reset(&bytes[..end]), want, "{end}");
    }
}

/// Receives events of the link.
struct LinkEvents(Wants, Vec<(u64, frames::Event)>);

impl Listener for LinkEvents {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Link { at, event } = event {
            self.1.push((*at, *event));
        }
    }

    fn wants(&self) -> Wants {
        self.0
    }
}

/// Events of the link are received with packets, each of them or their numbers, and with frames.
#[test]
fn events_of_the_link_come_with_packets() {
    let (before, after) = (frames(&[(0x10, BEGINS)]), frames(&[(0x11, BEGINS)]));
    let barrier = (before.len() as u64, frames::Event::Barrier);
    let capture = of([&before[..], &sync::BARRIER, &after].concat());
    let each = Wants::EACH_PACKET;
    for (wants, received) in [
        (Wants::ELEMENTS, false),
        (Wants::ANY_ORDER, false),
        (Wants::COUNTS, true),
        (each, true),
        (each.with_frames(true), true),
    ] {
        let mut events = LinkEvents(wants, Vec::new());
        session(&capture).run(capture.buffers[0].parts(), &mut events);
        assert_eq!(events.1.contains(&barrier), received, "{wants:?}: {:?}", events.1);
    }
}

/// What the trace before a barrier has selected stays in memory after it, and is in the checkpoint
/// there.
#[test]
fn a_barrier_does_not_change_the_program_memory() {
    for (before, want) in [
        // The timestamp is emitted at the barrier.
        ([SYNC, LATE].concat(), vec![3]),
        ([SYNC, LATE, CODE].concat(), vec![3, 3]),
        ([SYNC, CODE, LATE].concat(), vec![2, 3]),
        ([SYNC, EARLY, CODE].concat(), vec![2, 2]),
    ] {
        let before = frames(&[(0x10, &before)]);
        let after = frames(&[(0x10, &[SYNC, CODE].concat())]);
        let capture = timed([&before[..], &sync::BARRIER, &after].concat());
        let (mut first, mut recorder) = (session(&capture), Recorder::default());
        first.feed(&before, &mut recorder);
        // A session that has followed another trace.
        let mut resumed = session(&capture);
        let other = frames(&[(0x10, &[SYNC, EARLY, CODE].concat())]);
        resumed.feed(&other, &mut Recorder::default());
        resumed.resume(first.state().clone());
        let (mut at_barrier, mut again) = (first.clone(), recorder.clone());
        for session in [&mut first, &mut resumed] {
            let mut recorder = recorder.clone();
            session.feed(&sync::BARRIER, &mut recorder);
            session.feed(&after, &mut recorder);
            session.finish(&mut recorder);
            assert_eq!(instructions(&recorder), want);
        }
        at_barrier.feed(&sync::BARRIER, &mut again);
        let mut clone = at_barrier.clone();
        clone.feed(&after, &mut again);
        clone.finish(&mut again);
        assert_eq!(instructions(&again), want);
    }
}

/// What the end of a buffer has selected is not in memory after a reset.
#[test]
fn a_reset_session_has_the_first_program_memory() {
    let (late, code) = (frames(&[(0x10, &[SYNC, LATE].concat())]), [SYNC, CODE].concat());
    let code = frames(&[(0x10, &code)]);
    let capture = timed(code.clone());
    let mut session = session(&capture);
    session.run([&late[..]], &mut Recorder::default());
    session.reset(0);
    let mut recorder = Recorder::default();
    session.run([&code[..]], &mut recorder);
    assert_eq!(instructions(&recorder), [2]);
}

/// The bytes of each unframed source count once as activity: those of an STM, which are copied, and
/// those of an ITM, which are decoded in place.
#[test]
fn unframed_bytes_count_once() {
    for (device_type, register) in [("STM", ("STMTCSR", 0x0020_0001)), ("ITM", ("ITMTCR", 0x1))] {
        let capture = Capture {
            buffers: vec![Buffer::new("raw", Format::SourceData, Vec::new())],
            sources: vec![Source {
                name: device_type.into(),
                device_type: device_type.into(),
                registers: Registers::from_iter([register]),
                buffers: vec![BufferRef { buffer: 0, stream: None }],
                ..Source::default()
            }],
            ..Capture::default()
        };
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).unwrap();
        let mut session = Session::new(&capture, &plan, &memory, &options).unwrap();
        for (feed, len) in [(3, 3), (20, 23)] {
            session.feed(&vec![0xff; feed], &mut Recorder::default());
            assert_eq!(session.state().activity(0), len, "{device_type}");
        }
    }
}

/// A plan of a buffer whose bytes arrive later gives the elements of one that was made with them:
/// an ITM from inside a packet on, with a synchronisation packet.
#[test]
fn a_plan_of_an_empty_buffer_assumes_no_start() {
    let mut bytes = vec![0x65, 0x01, b'f', 0x01, b'g'];
    bytes.extend([0, 0, 0, 0, 0, 0x80, 0x01, b'h', 0x01, b'i']);
    let itm = |bytes: Vec<u8>| Capture {
        buffers: vec![Buffer::new("SWO", Format::SourceData, bytes)],
        sources: vec![Source {
            device_type: "ITM".into(),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        ..Capture::default()
    };
    let decode = |planned: &Capture, options: &Options, bytes: &[u8], size: usize| {
        let plan = Plan::new(planned, 0, options).unwrap();
        let mut recorder = Recorder::default();
        let memory = Memory::new(planned);
        let mut session = Session::new(planned, &plan, &memory, options).unwrap();
        bytes.chunks(size).for_each(|piece| session.feed(piece, &mut recorder));
        session.finish(&mut recorder);
        recorder.0
    };
    let options = Options::default();
    let whole = decode(&itm(bytes.clone()), &options, &bytes, bytes.len());
    let undecodable = Element::Undecodable { len: 5, fault: Fault::Unsynchronised };
    assert!(whole.contains(&(0, 0, undecodable)), "{whole:?}");
    for size in 1..=bytes.len() {
        assert_eq!(decode(&itm(Vec::new()), &options, &bytes, size), whole, "pieces of {size}");
    }
    // Without a synchronisation packet, the option states the start.
    let (assumed, bytes) = (Options { assume_synced: true, ..options }, &bytes[11..]);
    let whole = decode(&itm(bytes.to_vec()), &Options::default(), bytes, bytes.len());
    assert_eq!(decode(&itm(Vec::new()), &assumed, bytes, 1), whole);
    assert_eq!(whole.len(), 4, "{whole:?}");
}
