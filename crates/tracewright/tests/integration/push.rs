//! Data that are pushed: consumers that wait receive what one receives that never waits, and memory
//! that is late or changes never makes a wrong instruction.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracewright::base::Space;
use tracewright::decode::{
    Consumer, ErrorLimit, Event, Listener, Memory, Packets, Push, PushError, Reports, Response,
    Session, Severity, Tally, Wants,
};
use tracewright::image::{Image, ReadAnswer, ReadMemory, ReadRequest, Region};
use tracewright::views::sinks::Checksum;
use tracewright::{Element, Trace};
use tracewright_testing::Random;
use tracewright_testing::short_or_long;

const CAPTURES: [&str; 13] = [
    "ete",
    "etmv1",
    "etmv2",
    "etmv3",
    "etmv4",
    "etrace-1.0",
    "etrace-2.0",
    "etrace-draft",
    "itm",
    "ntrace-btm",
    "ntrace-htm",
    "ptm",
    "stm",
];

fn open(name: &str) -> Option<Trace> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    path.join("capture").exists().then(|| tracewright::open(path.join("capture")).unwrap())
}

/// Waits before this many elements of 256 are received, and always before the next.
struct Waits {
    chance: u8,
    random: Random,
    got: Vec<(usize, u64, Element)>,
}

impl Waits {
    fn new(chance: u8, seed: u64) -> Waits {
        Waits { chance, random: Random::new(seed), got: Vec::new() }
    }
}

impl Consumer for Waits {
    fn element(&mut self, source: usize, at: u64, element: Element, _: &[u8]) -> Response {
        self.got.push((source, at, element));
        if self.random.chance(self.chance) { Response::Wait } else { Response::Continue }
    }
}

fn session(trace: &Trace) -> Session {
    trace.session(&trace.plans()[0]).unwrap()
}

/// Pushes `bytes` in pieces of random length.
fn push(push: &mut Push, bytes: &[u8], to: &mut Waits, longest: usize) {
    let mut random = Random::new(bytes.len() as u64);
    let mut at = 0;
    while at < bytes.len() {
        let len = random.between(1, longest).min(bytes.len() - at);
        let piece = &bytes[at..at + len];
        let (taken, mut response) = push.data(at as u64, piece, to, &mut ()).unwrap();
        assert!(response == Response::Wait || taken == len);
        at += taken;
        while response == Response::Wait {
            assert_eq!(push.data(at as u64, b"", to, &mut ()), Err(PushError::Waiting));
            response = push.flush(to, &mut ());
        }
    }
    let mut response = push.end(to, &mut ()).unwrap();
    while response == Response::Wait {
        response = push.flush(to, &mut ());
    }
    assert_eq!(push.data(at as u64, b"", to, &mut ()), Err(PushError::Ended));
}

fn pushed(trace: &Trace, bytes: &[u8], chance: u8, longest: usize) -> Vec<(usize, u64, Element)> {
    let mut to = Waits::new(chance, 7);
    push(&mut Push::new(session(trace), None), bytes, &mut to, longest);
    to.got
}

#[test]
fn consumers_that_wait_lose_nothing() {
    for name in CAPTURES {
        let Some(trace) = open(name) else { continue };
        let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
        let mut want = Waits::new(0, 0);
        let mut all = session(&trace);
        let mut queue = tracewright::decode::Queue::default();
        all.feed(&bytes, &mut queue);
        all.finish(&mut queue);
        while let Some(item) = queue.take() {
            want.got.push(item);
        }
        assert!(want.got.len() > 3, "{name}");
        for (chance, longest) in [(0, 1 << 20), (255, 64), (128, 5000), (30, 16)] {
            let got = pushed(&trace, &bytes, chance, longest);
            assert_eq!(got, want.got, "{name}: {chance}, {longest}");
        }
        // Damaged inputs: as one that never waits.
        let mut random = Random::new(bytes.len() as u64);
        for _ in 0..short_or_long(77, 1000) {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.index(damaged.len());
                damaged[at] = random.next() as u8;
            }
            let never = pushed(&trace, &damaged, 0, 1 << 20);
            assert_eq!(pushed(&trace, &damaged, 128, 100), never, "{name}");
        }
    }
}

#[test]
fn calls_that_do_not_fit_take_nothing() {
    let trace = open("etmv4").unwrap();
    let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let (mut own, mut to) = (Push::new(session(&trace), None), Waits::new(0, 0));
    assert_eq!(own.data(1, &bytes, &mut to, &mut ()), Err(PushError::Offset(0)));
    assert!(to.got.is_empty());
    push(&mut own, &bytes, &mut to, 100);
    let once = std::mem::take(&mut to.got);
    assert_eq!(own.end(&mut to, &mut ()), Err(PushError::Ended));
    // From the start again, at the same offsets.
    own.reset(0);
    push(&mut own, &bytes, &mut to, 100);
    assert_eq!(to.got, once);

    struct Fails;
    impl Consumer for Fails {
        fn element(&mut self, _: usize, _: u64, _: Element, _: &[u8]) -> Response {
            Response::Failed
        }
    }
    own.reset(0);
    let (_, response) = own.data(0, &bytes, &mut Fails, &mut ()).unwrap();
    assert_eq!(response, Response::Failed);
    assert_eq!(own.data(own.at(), &bytes, &mut Fails, &mut ()), Err(PushError::Ended));
}

/// The memory of an image, late and absent at random.
#[derive(Debug)]
struct Target {
    image: Arc<Image>,
    /// One of this many answers is late; 0 for none.
    late: u64,
    random: AtomicU64,
    off: AtomicBool,
}

impl ReadMemory for Target {
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
        let seed = self.random.fetch_add(1, Ordering::Relaxed);
        if self.off.load(Ordering::Relaxed) || Random::new(seed).one_in(self.late) {
            return ReadAnswer::Later;
        }
        let view = self.image.view(Space::ANY);
        match self.image.read(view, request.address, u64::MAX, into) {
            0 => ReadAnswer::Absent,
            count => ReadAnswer::Bytes(count),
        }
    }
}

fn live(trace: &Trace, late: u64) -> (Arc<Target>, Trace) {
    let image = trace.memory().of(trace.capture(), &trace.capture().sources[0]);
    let (random, off) = (AtomicU64::new(late), AtomicBool::new(false));
    let target = Arc::new(Target { image, late, random, off });
    let mut capture = trace.capture().clone();
    capture.memory.clear();
    let mut without = Trace::new(capture);
    let memory = Memory::new(without.capture()).with_reader(without.capture(), target.clone());
    without.set_memory(memory);
    (target, without)
}

#[test]
fn late_memory_makes_the_caller_wait() {
    for name in ["etmv4", "ete", "ptm", "etmv3", "etrace-2.0", "ntrace-htm"] {
        let Some(trace) = open(name) else { continue };
        let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
        let want = pushed(&trace, &bytes, 0, 1 << 20);
        for late in [0, 2, 5] {
            let (_, own) = live(&trace, late);
            let memory = own.memory().live().cloned();
            let mut to = Waits::new(20, late);
            push(&mut Push::new(session(&own), memory.clone()), &bytes, &mut to, 700);
            assert_eq!(to.got, want, "{name}: {late}");
            assert_eq!(memory.unwrap().late() > 0, late > 0, "{name}: {late}");
        }
        // Without the push interface, code is missing, and that is reported.
        let (target, own) = live(&trace, 0);
        target.off.store(true, Ordering::Relaxed);
        let mut queue = tracewright::decode::Queue::default();
        let summary = own.decode(&mut queue).unwrap();
        assert!(summary.late_memory > 0 && !summary.is_complete(), "{name}");
        assert!(summary.to_string().contains("not known yet"), "{summary}");
        while let Some((.., element)) = queue.take() {
            assert!(!matches!(element, Element::Range(_)), "{name}: {element}");
        }
    }
}

#[test]
fn code_that_changes_is_read_again() {
    let trace = open("etmv4").unwrap();
    let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let want = pushed(&trace, &bytes, 0, 1 << 20);
    let (_, mut own) = live(&trace, 0);
    let capture = own.capture().clone();
    let mut session = session(&own);
    let mut decode = |own: &Trace, memory: &Memory| {
        let _ = own;
        session.reset(0);
        session.set_memory(&capture, memory);
        let mut queue = tracewright::decode::Queue::default();
        session.feed(&bytes, &mut queue);
        session.finish(&mut queue);
        std::iter::from_fn(|| queue.take()).collect::<Vec<_>>()
    };
    let mut memory = own.memory().clone();
    assert_eq!(decode(&own, &memory), want);
    // A region above the memory hides it, until it is removed.
    let zeros = Region::zeros("hidden", 0x8_0000, 0x4);
    memory.set_regions(&capture, vec![zeros]);
    assert_ne!(decode(&own, &memory), want);
    memory.set_regions(&capture, Vec::new());
    assert_eq!(decode(&own, &memory), want);
    // Another program at the same addresses.
    let (other, changed) = live(&trace, 0);
    other.off.store(true, Ordering::Relaxed);
    let late = decode(&own, changed.memory());
    assert!(late.iter().all(|(.., element)| !matches!(element, Element::Range(_))));
    other.off.store(false, Ordering::Relaxed);
    let mut changed = changed.memory().clone();
    changed.forget_read(&capture);
    assert_eq!(decode(&own, &changed), want);
    own.set_memory(memory);
}

/// A target whose program is erased at first.
#[derive(Debug)]
struct Erased(Arc<Image>, AtomicBool);

impl ReadMemory for Erased {
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
        let count = self.0.read(self.0.view(Space::ANY), request.address, u64::MAX, into);
        if self.1.load(Ordering::Relaxed) {
            into.fill(0);
        }
        if count == 0 { ReadAnswer::Absent } else { ReadAnswer::Bytes(count) }
    }
}

/// What was read stays until it is forgotten; then the program of the target is read again.
#[test]
fn what_was_read_stays_until_it_is_forgotten() {
    let trace = open("etmv4").unwrap();
    let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let want = pushed(&trace, &bytes, 0, 1 << 20);
    let mut capture = trace.capture().clone();
    let image = trace.memory().of(&capture, &capture.sources[0]);
    capture.memory.clear();
    let target = Arc::new(Erased(image, AtomicBool::new(true)));
    let mut own = Trace::new(capture.clone());
    let mut memory = Memory::new(&capture).with_reader(&capture, target.clone());
    own.set_memory(memory.clone());
    let mut push = Push::new(session(&own), memory.live().cloned());
    let run = |push: &mut Push| {
        let mut to = Waits::new(0, 0);
        push.reset(0);
        self::push(push, &bytes, &mut to, 300);
        to.got
    };
    let erased = run(&mut push);
    assert_ne!(erased, want);
    target.1.store(false, Ordering::Relaxed);
    assert_eq!(run(&mut push), erased);
    memory.forget_read(&capture);
    push.session().set_memory(&capture, &memory);
    assert_eq!(run(&mut push), want);
}

/// The memory of an image, of which reads are late, absent, shortened or, with `zeros`, of erased
/// memory at random.
#[derive(Debug)]
struct Unreliable {
    image: Arc<Image>,
    random: AtomicU64,
    zeros: bool,
}

impl ReadMemory for Unreliable {
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
        let mut random = Random::new(self.random.fetch_add(1, Ordering::Relaxed));
        let known = self.image.read(self.image.view(Space::ANY), request.address, u64::MAX, into);
        match random.below(8) {
            0 => ReadAnswer::Later,
            1 => ReadAnswer::Absent,
            // An instruction is erased as a whole: parts of a page are shorter.
            2 if self.zeros && into.len() >= 8 => {
                into.fill(0);
                ReadAnswer::Bytes(into.len())
            }
            3 => ReadAnswer::Bytes(random.index(known + 1)),
            _ => ReadAnswer::Bytes(known),
        }
    }
}

/// Whatever the target answers, also if its program changes while it is decoded: each instruction
/// is one that the trace has there.
#[test]
fn unreliable_memory_makes_no_wrong_instruction() {
    // Zeros are no instruction in A64.
    for (name, zeros) in
        [("etmv4", true), ("ete", true), ("ptm", false), ("etmv3", false), ("etrace-2.0", false)]
    {
        let Some(trace) = open(name) else { continue };
        let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
        let want = pushed(&trace, &bytes, 0, 1 << 20);
        // The address of a packet whose path has missing code is executed with the next packet.
        let before = |at: u64| {
            let earlier = want.iter().map(|(_, own, _)| *own).filter(|own| *own < at);
            earlier.max().unwrap_or(at)
        };
        let is_known = |at: u64, (start, end): (u64, u64)| {
            want.iter().any(|(_, own, element)| match element {
                Element::Range(range) => {
                    (before(at)..=at).contains(own) && range.start <= start && end <= range.end()
                }
                _ => false,
            })
        };
        let of = |at: u64| want.iter().filter(|(_, own, _)| *own == at).collect::<Vec<_>>();
        let image = trace.memory().of(trace.capture(), &trace.capture().sources[0]);
        let mut capture = trace.capture().clone();
        capture.memory.clear();
        let (mut ranges, mut missing) = (0, 0);
        for seed in 0..short_or_long(40, 400) {
            let (image, random) = (Arc::clone(&image), AtomicU64::new(seed << 32));
            let target = Arc::new(Unreliable { image, random, zeros });
            let mut own = Trace::new(capture.clone());
            let mut memory = Memory::new(&capture).with_reader(&capture, target);
            own.set_memory(memory.clone());
            let mut push = Push::new(session(&own), memory.live().cloned());
            let (mut to, mut random) = (Waits::new(40, seed), Random::new(seed));
            let mut at = 0;
            while at < bytes.len() {
                if random.one_in(4) {
                    memory.forget_read(&capture);
                    push.session().set_memory(&capture, &memory);
                }
                let len = random.between(1, 200).min(bytes.len() - at);
                let piece = &bytes[at..at + len];
                let (taken, mut response) = push.data(at as u64, piece, &mut to, &mut ()).unwrap();
                at += taken;
                while response == Response::Wait {
                    response = push.flush(&mut to, &mut ());
                }
            }
            let mut response = push.end(&mut to, &mut ()).unwrap();
            while response == Response::Wait {
                response = push.flush(&mut to, &mut ());
            }
            for (_, at, element) in to.got {
                match element {
                    Element::Range(range) => {
                        ranges += 1;
                        let (start, end) = (range.start, range.end());
                        let text = || format!("{name} {seed}: {at} {start:#x}..{end:#x}");
                        assert!(is_known(at, (start, end)), "{}: {:#x?}", text(), of(at));
                    }
                    Element::NoCode { .. } => missing += 1,
                    _ => {}
                }
            }
        }
        assert!(ranges > 100 && missing > 20, "{name}: {ranges}, {missing}");
    }
}

/// A monitor that is full ends decoding.
#[test]
fn errors_of_a_number_end_decoding() {
    let trace = open("etmv4").unwrap();
    let mut bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0x55);
    // Each time an error.
    let bytes = bytes.repeat(3);
    let run = |most: u64| {
        let mut push = Push::new(session(&trace), None);
        let mut to = Waits::new(0, 0);
        let mut reports = Reports::new(Severity::Error, |_| {}).stop_after(most);
        let mut ended = Response::Continue;
        for (n, piece) in bytes.chunks(16).enumerate() {
            (_, ended) = push.data(16 * n as u64, piece, &mut to, &mut reports).unwrap();
            if ended != Response::Continue {
                assert_eq!(push.data(push.at(), b"", &mut to, &mut ()), Err(PushError::Ended));
                break;
            }
        }
        (ended, reports.count(Severity::Error), push.at())
    };
    let (all, count, end) = run(u64::MAX);
    assert_eq!((all, end), (Response::Continue, bytes.len() as u64));
    assert!(count > 1, "{count}");
    let (one, first, at) = run(1);
    assert!(one == Response::Failed && (1..count).contains(&first), "{first} of {count}");
    assert!(at > middle as u64 && at < end, "{at}");

    // A pair is full when both monitors are. A limit around it ends decoding at the error.
    let run = |most| {
        let mut push = Push::new(session(&trace), None);
        let reports = Reports::new(Severity::Error, |_| {}).stop_after(1);
        let mut monitors = ErrorLimit::new(most, (Tally::default(), reports));
        let (_, response) = push.data(0, &bytes, &mut Waits::new(0, 0), &mut monitors).unwrap();
        let (tally, reports) = &monitors.listener;
        (response, reports.count(Severity::Error), tally.of(0).elements)
    };
    let (response, errors, elements) = run(None);
    assert_eq!((response, errors), (Response::Continue, count));
    for most in [1, 2] {
        let (response, errors, before) = run(Some(most));
        assert_eq!((response, errors), (Response::Failed, most));
        assert!(before < elements);
    }
}

/// A part of the tool in front of the link: it takes what a probe sends for two buffers apart.
#[test]
fn a_part_of_the_tool_separates_links() {
    let trace = open("etmv4").unwrap();
    let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let want = pushed(&trace, &bytes, 0, 1 << 20);
    // Packets of a probe: the number of the link, a length, and bytes.
    let (mut sent, mut random) = (Vec::new(), Random::new(3));
    let mut at = [0; 2];
    while at.iter().any(|at| *at < bytes.len()) {
        let link = random.index(2);
        let piece = &bytes[at[link]..][..random.between(1, 60).min(bytes.len() - at[link])];
        sent.extend([link as u8, piece.len() as u8]);
        sent.extend_from_slice(piece);
        at[link] += piece.len();
    }
    let mut links = [0, 1].map(|_| (Push::new(session(&trace), None), Waits::new(0, 0)));
    let mut rest = &sent[..];
    while let [link, len, after @ ..] = rest {
        let (piece, next) = after.split_at(usize::from(*len));
        let (push, to) = &mut links[usize::from(*link)];
        push.data(push.at(), piece, to, &mut ()).unwrap();
        rest = next;
    }
    for (mut push, mut to) in links {
        push.end(&mut to, &mut ()).unwrap();
        assert_eq!(to.got, want);
    }
}

/// Counts what a monitor receives.
#[derive(Default)]
struct Monitor {
    packets: usize,
    bytes: usize,
    frames: usize,
}

impl Listener for Monitor {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { bytes, .. } | Event::Undecodable { bytes, .. } => {
                self.packets += 1;
                self.bytes += bytes.get().len();
            }
            Event::Frame(_) => self.frames += 1,
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET.with_frames(true)
    }
}

#[test]
fn a_monitor_receives_each_packet_and_frame_once() {
    let trace = open("etmv4").unwrap();
    let bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let mut want = Monitor::default();
    let _ = trace.decode(&mut want).unwrap();
    assert!(want.packets > 10 && want.frames > 2);
    for late in [0, 2] {
        let (_, own) = live(&trace, late);
        let mut push = Push::new(session(&own), own.memory().live().cloned());
        let (mut to, mut got) = (Waits::new(0, 0), Monitor::default());
        let mut at = 0;
        while at < bytes.len() {
            let (taken, mut response) =
                push.data(at as u64, &bytes[at..], &mut to, &mut got).unwrap();
            at += taken;
            while response == Response::Wait {
                response = push.flush(&mut to, &mut got);
            }
        }
        let mut response = push.end(&mut to, &mut got).unwrap();
        while response == Response::Wait {
            response = push.flush(&mut to, &mut got);
        }
        assert_eq!(
            (got.packets, got.bytes, got.frames),
            (want.packets, want.bytes, want.frames),
            "{late}"
        );
    }
}

/// A monitor that wants elements only, in any order, receives them once, also where memory is late.
#[test]
fn a_monitor_of_elements_receives_them_with_late_memory() {
    let original = open("etmv4").unwrap();
    let mut want = Checksum::default();
    let _ = original.decode(&mut want).unwrap();
    let bytes: Vec<u8> = original.capture().buffers[0].parts().flatten().copied().collect();
    for late in [0, 3] {
        let (_, trace) = live(&original, late);
        let mut push = Push::new(session(&trace), trace.memory().live().cloned());
        let (mut to, mut got) = (Waits::new(0, 0), Checksum::default());
        let (mut at, mut response) = (0, Response::Continue);
        while at < bytes.len() {
            let (taken, now) = push.data(at as u64, &bytes[at..], &mut to, &mut got).unwrap();
            at += taken;
            response = now;
            while response == Response::Wait {
                response = push.flush(&mut to, &mut got);
            }
        }
        assert_eq!(response, Response::Continue);
        let mut response = push.end(&mut to, &mut got).unwrap();
        while response == Response::Wait {
            response = push.flush(&mut to, &mut got);
        }
        assert!(got == want && got.elements() > 10, "{late}");
    }
}

#[test]
fn reports_are_those_of_a_level() {
    let trace = open("etmv4").unwrap();
    let mut bytes: Vec<u8> = trace.capture().buffers[0].parts().flatten().copied().collect();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0x55);
    let lines = |level, stop: Option<u64>| {
        let (mut text, mut last) = (Vec::new(), None);
        let mut reports = Reports::new(level, |report| text.push(report.clone()));
        if let Some(errors) = stop {
            reports = reports.stop_after(errors);
        }
        let mut session = session(&trace);
        session.run(bytes.chunks(16), &mut reports);
        last.clone_from(&reports.last(Some(0)).cloned());
        let counts = [Severity::Error, Severity::Warning, Severity::Info];
        let counts = counts.map(|severity| reports.count(severity));
        assert!(matches!(reports.wants().packets, Packets::Counted));
        (text, last, counts)
    };
    let (all, last, counts) = lines(Severity::Info, None);
    let (errors, same, _) = lines(Severity::Error, None);
    assert!(counts[0] > 0 && all.len() as u64 == counts.iter().sum::<u64>(), "{counts:?}");
    assert_eq!(errors.len() as u64, counts[0]);
    assert!(errors.iter().all(|report| report.severity == Severity::Error));
    assert!(all.len() > errors.len());
    assert_eq!(last, same);
    let own: Vec<_> = all.iter().filter(|report| report.source == Some(0)).collect();
    assert_eq!(last.as_ref(), own.last().copied());
    let (.., stopped) = lines(Severity::Error, Some(1));
    assert!(stopped[0] >= 1 && stopped[0] <= counts[0]);
    let text = errors[0].to_string();
    assert!(text.starts_with("error at offset ") && text.contains("source 0: "), "{text}");
}
