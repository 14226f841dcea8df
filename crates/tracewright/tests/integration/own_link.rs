//! A trace link outside of the library, that of `examples/protocol`: two captures in its blocks are
//! decoded as each of them alone, on threads, with an index, pushed in pieces, and damaged.

use std::path::Path;

use tracewright::capture::{Access, Buffer, Format};
use tracewright::decode::raw::{RawFraming, RawTrace, Unit};
use tracewright::decode::{
    Consumer, Jobs, Push, Queue, Reports, Response, Severity, input, parallel,
};
use tracewright::frames::{ExternalLink, FRAME, Framing};
use tracewright::index::Index;
use tracewright::protocols::Registry;
use tracewright::{Capture, Element, Files, Trace};
use tracewright_testing::{Random, short_or_long};

use crate::external::branch_messages::blocks::{Blocks, START};

fn registry() -> Registry {
    Registry::default().with_link(ExternalLink::new("blocks", Blocks::default()))
}

fn open(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    tracewright::open(path.join("capture")).unwrap()
}

fn bytes(trace: &Trace) -> Vec<u8> {
    trace.capture().buffers[0].parts().flatten().copied().collect()
}

/// The blocks of two buffers, whose frames alternate at random, and for each buffer the offset of
/// each of its bytes.
fn blocks(buffers: [&[u8]; 2]) -> (Vec<u8>, [Vec<u64>; 2]) {
    let mut random = Random::new(buffers[0].len() as u64);
    let mut left = buffers.map(|bytes| bytes.as_chunks::<FRAME>().0);
    let (mut out, mut offsets) = (Vec::new(), [Vec::new(), Vec::new()]);
    while left.iter().any(|frames| !frames.is_empty()) {
        let n = usize::from(left[0].is_empty() || !left[1].is_empty() && random.one_in(3));
        let count = random.between(1, 15).min(left[n].len());
        let begin = out.len();
        out.extend([START, n as u8, count as u8]);
        let (frames, rest) = left[n].split_at(count);
        offsets[n].extend((out.len() as u64..).take(count * FRAME));
        out.extend(frames.iter().flatten());
        out.push(out[begin..].iter().fold(0, |sum, byte| sum ^ byte));
        left[n] = rest;
    }
    (out, offsets)
}

/// The capture of an ETMv4 and that of an ITM, each `repeats` times, as one, in blocks; and the
/// offsets of the bytes of each.
fn capture(repeats: usize) -> (Capture, [Vec<u64>; 2]) {
    let (mut etm, itm) = (open("etmv4").capture().clone(), open("itm").capture().clone());
    let own = [&etm, &itm].map(|capture| {
        let bytes: Vec<u8> = capture.buffers[0].parts().flatten().copied().collect();
        bytes.repeat(repeats)
    });
    let (blocks, offsets) = blocks([&own[0], &own[1]]);
    let mut source = itm.sources[0].clone();
    let id = source.registers.0.iter_mut().find(|register| register.name == "ITMTCR").unwrap();
    assert_eq!(id.value >> 16 & 0x7f, 0x10);
    id.value = id.value & !0x7f_0000 | u128::from(0x10 + 0x40_u64) << 16;
    etm.sources.push(source);
    etm.buffers = vec![Buffer::new("probe", Format::from_word("BLOCKS"), blocks)];
    etm.protocols = registry();
    (etm, offsets)
}

type Items = Vec<(usize, u64, Element)>;

fn elements(trace: &Trace) -> Items {
    let mut queue = Queue::default();
    let _ = trace.decode(&mut queue).unwrap();
    std::iter::from_fn(|| queue.take()).collect()
}

fn of(items: &Items, source: usize) -> Vec<(u64, Element)> {
    items.iter().filter(|(own, ..)| *own == source).map(|&(_, at, what)| (at, what)).collect()
}

#[test]
fn two_links_in_one_buffer_are_those_of_each() {
    let (capture, offsets) = capture(1);
    let trace = Trace::new(capture);
    let plan = &trace.plans()[0];
    assert_eq!((plan.framing, plan.framing_name(), plan.framed()), (Framing::Raw, "blocks", true));
    let got = elements(&trace);
    for (n, name) in ["etmv4", "itm"].into_iter().enumerate() {
        let want = elements(&open(name)).into_iter().map(|(_, at, element)| {
            // The end is after the last byte.
            (offsets[n].get(at as usize).copied().unwrap_or(at), element)
        });
        let want: Vec<_> = want.collect();
        assert!(want.len() > 10, "{name}");
        let own = of(&got, n);
        let ends = |items: &[(u64, Element)]| items.iter().map(|(_, e)| *e).collect::<Vec<_>>();
        assert_eq!(ends(&own), ends(&want), "{name}");
        let placed = want.iter().zip(&own).filter(|(want, own)| want.0 == own.0).count();
        assert!(placed + 1 >= want.len(), "{name}: {placed} of {}", want.len());
    }
}

#[test]
fn snapshots_name_the_link() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let original = open("etmv4");
    let (blocks, _) = blocks([&bytes(&original), &[]]);
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let files = names.map(|name| {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let bytes = match name.to_str().unwrap() {
            "ETB_0.bin" => blocks.clone(),
            "trace.ini" => {
                String::from_utf8(bytes).unwrap().replace("coresight", "Blocks").into_bytes()
            }
            _ => bytes,
        };
        (name, bytes)
    });
    let files = Files::named(files);
    let path = Path::new("snapshot.ini");
    let read = |registry: Registry| {
        tracewright::read_capture_by(path, Access::of(files.clone()), &registry).unwrap()
    };
    let known = Trace::new(read(registry()));
    assert_eq!(known.capture().notes, []);
    let only = |items: Items| items.into_iter().map(|(.., element)| element).collect::<Vec<_>>();
    assert_eq!(only(elements(&known)), only(elements(&original)));
    // Without the registry, the format is unknown, and taken as frames.
    let unknown = read(Registry::default());
    assert!(unknown.notes[0].to_string().contains("Blocks"), "{}", unknown.notes[0]);
    assert_ne!(only(elements(&Trace::new(unknown))), only(elements(&original)));
}

/// Raw trace data in the link, with the units that are in it; the ID of a single one is found.
#[test]
fn raw_trace_data_are_in_the_link() {
    let (capture, _) = capture(1);
    let want = elements(&Trace::new(capture.clone()));
    let read = |names: &[(&str, Option<u16>)], bytes: Vec<u8>| {
        let unit = |&(protocol, id): &(&str, _)| Unit { protocol: protocol.to_owned(), id };
        let registers = capture.sources[0].registers.0.iter();
        let raw = RawTrace {
            units: names.iter().map(unit).collect(),
            registers: registers.map(|r| format!("{}={:#x}", r.name, r.value)).collect(),
            framing: RawFraming::Link("blocks"),
            files: Files::named([("probe.bin", bytes)]),
            protocols: registry(),
            ..RawTrace::default()
        };
        let mut read = tracewright::read_raw(Path::new("probe.bin"), raw, &[], None).unwrap();
        read.capture.memory.clone_from(&capture.memory);
        (Trace::new(read.capture), read.notes)
    };
    let all = bytes(&Trace::new(capture.clone()));
    let (trace, _) = read(&[("ETM4", Some(0x10)), ("ITM", Some(0x50))], all);
    assert_eq!(trace.plans()[0].framing_name(), "blocks");
    assert_eq!(elements(&trace), want);

    let (blocks, _) = blocks([&[], &bytes(&open("itm"))]);
    let (trace, notes) = read(&[("ITM", None)], blocks);
    assert_eq!(trace.sources()[0].id, Some(0x50));
    assert!(notes.iter().any(|note| note.contains("0x50")), "{notes:?}");
    let own: Vec<_> = of(&want, 1).into_iter().map(|(_, element)| element).collect();
    let got: Vec<_> = elements(&trace).into_iter().map(|(.., element)| element).collect();
    assert_eq!(got, own);
}

/// A block that the end of the buffer cuts.
#[test]
fn the_end_of_a_link_is_reported() {
    let (mut capture, _) = capture(1);
    let mut all = bytes(&Trace::new(capture.clone()));
    all.extend([START, 0, 3, 1, 2]);
    let end = all.len() as u64;
    capture.buffers[0] = Buffer::new("probe", Format::from_word("blocks"), all);
    let mut reports = Reports::new(Severity::Error, |_| {});
    let _ = Trace::new(capture).decode(&mut reports).unwrap();
    let last = reports.last(None).expect("a report of the link");
    assert_eq!((last.offset, last.code.as_str()), (end - 5, "truncated"), "{last}");
}

#[test]
fn threads_and_indexes_have_the_link() {
    let (capture, _) = capture(300);
    assert!(capture.buffers[0].len() > 1 << 16);
    let one = Trace::new(capture.clone()).with_jobs(Jobs::new(1));
    let three = Trace::new(capture).with_jobs(Jobs { chunk: 1 << 12..=1 << 14, ..Jobs::new(3) });
    let listing = |trace: &Trace, jobs: Jobs| {
        use tracewright::views::json::{Listing, Shown};
        let plan = &trace.plans()[0];
        let shown = Shown { packets: true, elements: true, ..Shown::default() };
        let sources = trace.sources().to_vec();
        let mut view = Listing::new(Vec::new(), plan, sources, "probe", None, shown);
        let mut text = Vec::new();
        let mut session = trace.session(plan).unwrap();
        let mut input = input::of(&trace.capture().buffers[0]);
        let output = |part: Vec<u8>, _| {
            text.extend(part);
            true
        };
        let work = parallel::run(&mut session, &mut *input, &mut view, &jobs, output);
        (text, work.unwrap())
    };
    let (want, _) = listing(&one, Jobs::new(1));
    let (got, work) = listing(&three, Jobs { chunk: 1 << 12..=1 << 14, ..Jobs::new(3) });
    assert!(got == want && want.len() > 100_000);
    // A chunk begins inside of a block, and the next one is found.
    assert!(work.joined > 0, "{work:?}");

    assert_eq!(one.index().unwrap(), three.index().unwrap());
    let index = Index::read(one.index().unwrap().into()).unwrap();
    for query in ["count any", "count context", "last exception", "count write", "nth 777 any"] {
        let (without, with) =
            (one.find(query, None).unwrap(), one.find(query, Some(&index)).unwrap());
        assert_eq!(format!("{without:?}"), format!("{with:?}"), "{query}");
    }
}

/// Elements that a consumer receives, which waits at random.
struct Waits(Items, Random);

impl Consumer for Waits {
    fn element(&mut self, source: usize, at: u64, element: Element, _: &[u8]) -> Response {
        self.0.push((source, at, element));
        if self.1.chance(60) { Response::Wait } else { Response::Continue }
    }
}

#[test]
fn damaged_blocks_in_pieces_are_those_of_the_whole() {
    let (capture, _) = capture(1);
    let good = bytes(&Trace::new(capture.clone()));
    let mut random = Random::new(50);
    for n in 0..short_or_long(60, 1000) {
        let mut bytes = good.clone();
        for _ in 0..n.min(1) * (1 + random.below(12)) {
            let at = random.index(bytes.len());
            bytes[at] = random.next() as u8;
        }
        let mut own = capture.clone();
        own.buffers[0] = Buffer::new("probe", Format::from_word("blocks"), bytes.clone());
        let trace = Trace::new(own);
        let want = elements(&trace);
        let session = trace.session(&trace.plans()[0]).unwrap();
        let (mut push, mut to) = (Push::new(session, None), Waits(Vec::new(), Random::new(n)));
        // What comes before a reset, perhaps a part of a block, is forgotten.
        let first = &bytes[..random.index(bytes.len())];
        let (_, response) = push.data(0, first, &mut to, &mut ()).unwrap();
        assert!(response != Response::Failed);
        push.reset(0);
        to.0.clear();
        let mut at = 0;
        while at < bytes.len() {
            let len = random.between(1, 40).min(bytes.len() - at);
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
        // The sources alternate as the bytes arrive.
        for source in 0..2 {
            assert_eq!(of(&to.0, source), of(&want, source), "{n}");
        }
    }
}
