//! A protocol outside of the library, that of `examples/protocol`: the program flow of captures,
//! sent again as its messages, is the same in snapshots, on threads, in indexes and in listings.

use std::path::{Path, PathBuf};

use tracewright::base::{Isa, Kind, Wire};
use tracewright::capture::{Access, Buffer, Format};
use tracewright::decode::{CommittedListener, Jobs, Listener, SourceBytes, Wants, input};
use tracewright::index::{Index, Window};
use tracewright::protocols::Registry;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::run::{self, Selection};
use tracewright::{Capture, Element, Files, Trace};

#[path = "../../../../examples/protocol/src/lib.rs"]
pub mod branch_messages;

use branch_messages::{BranchMessages, Config, Message};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name).join("capture")
}

fn registry() -> Registry {
    Registry::default().with(AnyProtocol::external::<BranchMessages>())
}

/// The ranges of a capture up to the next branch, joined with those before it, and whether the
/// program continues at the next one.
struct Flow {
    start: u64,
    end: u64,
    isa: Isa,
    taken: bool,
    kind: Kind,
}

fn flows(trace: &Trace) -> Vec<Vec<Flow>> {
    let (mut all, mut flow) = (Vec::new(), Vec::new());
    for item in trace.elements().unwrap() {
        match item.unwrap().element {
            Element::Range(range) => {
                let (Kind::Branch | Kind::Indirect | Kind::Isb) = range.last.kind else {
                    all.push(std::mem::take(&mut flow));
                    continue;
                };
                let (start, end, isa) = (range.start, range.end(), range.last.isa);
                flow.push(Flow { start, end, isa, taken: range.taken(), kind: range.last.kind });
            }
            Element::Timestamp { .. } | Element::Cycles(_) | Element::Context(_) => {}
            _ => all.push(std::mem::take(&mut flow)),
        }
    }
    all.push(flow);
    all.retain(|flow| !flow.is_empty());
    all
}

/// The messages of these flows, and after each flow a timestamp and a note.
fn encode(flows: &[Vec<Flow>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |message: Message| message.emit(&Config::default(), &mut out);
    for (n, flow) in flows.iter().enumerate() {
        put(Message::Sync(flow[0].isa, flow[0].start));
        for (k, part) in flow.iter().enumerate() {
            put(match (part.taken && part.kind != Kind::Isb, part.kind, flow.get(k + 1)) {
                (false, ..) => Message::NotTaken,
                (true, Kind::Branch, _) => Message::Taken,
                (true, _, next) => Message::TakenTo(next.map_or(part.end, |next| next.start)),
            });
        }
        put(Message::Timestamp(n as u64));
        put(Message::Note(3, [n as u8; 16]));
    }
    out
}

/// The program of `capture`, with `bytes` as the trace of one such unit.
fn capture(mut capture: Capture, bytes: Vec<u8>) -> Capture {
    capture.protocols = registry();
    capture.buffers = vec![Buffer::new("messages", Format::SourceData, bytes)];
    capture.sources.truncate(1);
    capture.sources[0].device_type = "BranchMessages1.0".into();
    capture
}

/// The starts and ends of ranges, joined where the program went on.
fn ranges(trace: &Trace) -> Vec<(u64, u64)> {
    let elements = trace.elements().unwrap().map(|item| item.unwrap().element);
    let ranges = elements.filter_map(|element| match element {
        Element::Range(range) => Some((range.start, range.end())),
        _ => None,
    });
    ranges.collect()
}

#[test]
fn program_flow_of_captures_is_that_of_the_messages() {
    // Blocks end at the same instructions as those of these units.
    for name in ["etmv4", "ete"] {
        let original = tracewright::open(folder(name)).unwrap();
        let flows = flows(&original);
        let want: Vec<_> = flows.iter().flatten().map(|flow| (flow.start, flow.end)).collect();
        assert!(want.len() > 20, "{name}: {}", want.len());
        let again = Trace::new(capture(original.capture().clone(), encode(&flows)));
        assert_eq!(ranges(&again), want, "{name}");
        let mut elements = again.elements().unwrap();
        let (mut notes, mut inconsistencies) = (0, 0);
        while let Some(item) = elements.next() {
            match item.unwrap().element {
                Element::Custom(custom) => {
                    assert_eq!((custom.kind, elements.content()), ("note", &[notes as u8; 3][..]));
                    notes += 1;
                }
                Element::Inconsistency(_) | Element::Undecodable { .. } => inconsistencies += 1,
                _ => {}
            }
        }
        assert_eq!((notes, inconsistencies), (flows.len(), 0), "{name}");
    }
}

#[test]
fn a_snapshot_names_it() {
    let folder = folder("etmv4");
    let original = tracewright::open(&folder).unwrap();
    let trace = encode(&flows(&original));
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let files = names.map(|name| {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let bytes = match name.to_str().unwrap() {
            "ETB_0.bin" => trace.clone(),
            "trace.ini" => {
                String::from_utf8(bytes).unwrap().replace("coresight", "source_data").into_bytes()
            }
            "ETM4_0.ini" => {
                b"[device]\nname=ETM4_0\nclass=trace_source\ntype=BranchMessages1.0\n[regs]\n"
                    .into()
            }
            _ => bytes,
        };
        (name, bytes)
    });
    let files = Files::named(files);
    let path = Path::new("snapshot.ini");
    let known = tracewright::read_capture_by(path, Access::of(files.clone()), &registry());
    let known = Trace::new(known.unwrap());
    assert_eq!(known.sources()[0].config.protocol().about().names, ["BranchMessages"]);
    assert!(ranges(&known).len() > 20);
    // Without the registry it is as unknown as any other.
    let unknown = tracewright::open_files(&files, path).unwrap();
    assert!(unknown.left_out()[0].message.contains("BranchMessages1.0"));
}

/// Enough trace for several threads.
fn long() -> Trace {
    let original = tracewright::open(folder("etmv4")).unwrap();
    let bytes = encode(&flows(&original)).repeat(700);
    assert!(bytes.len() > 1 << 17, "{}", bytes.len());
    Trace::new(capture(original.capture().clone(), bytes))
}

#[test]
fn threads_and_indexes_have_it() {
    let one = long().with_jobs(Jobs::new(1));
    let three = long().with_jobs(Jobs { chunk: 1 << 12..=1 << 14, ..Jobs::new(3) });
    assert_eq!(one.index().unwrap(), three.index().unwrap());
    let bytes = three.index().unwrap();
    let index = tracewright::index::Index::read(bytes.clone().into()).unwrap();
    for query in ["count custom", "all custom", "count time 0..5", "count any"] {
        let (without, with) =
            (one.find(query, None).unwrap(), three.find(query, Some(&index)).unwrap());
        assert_eq!(format!("{without:?}"), format!("{with:?}"), "{query}");
    }
    let listing = |trace: &Trace| {
        use tracewright::views::json::{Listing, Shown};
        let plan = &trace.plans()[0];
        let shown = Shown { packets: true, elements: true, ..Shown::default() };
        let sources = trace.sources().to_vec();
        let mut listing = Listing::new(Vec::new(), plan, sources, "messages", None, shown);
        let _ = trace.decode(&mut listing).unwrap();
        use tracewright::decode::Fork;
        String::from_utf8(listing.take()).unwrap()
    };
    let text = listing(&one);
    let note = r#""kind":"custom","name":"note","length":3,"bytes":"000000""#;
    assert!(text.contains(note), "{}", text.lines().find(|l| l.contains("custom")).unwrap());
    assert!(text.contains(r#""kind":"taken-to""#));
}

/// The lines of `window`, where elements are delayed if they are to be `committed`, on one thread.
fn window(trace: &Trace, window: Window, committed: bool, index: Option<&Index>) -> String {
    use tracewright::views::json::{Listing, Shown};
    let (plan, buffer) = (&trace.plans()[0], &trace.capture().buffers[0]);
    let shown = Shown { elements: true, ..Shown::default() };
    let sources = trace.sources().to_vec();
    let view = Listing::new(Vec::new(), plan, sources, "messages", None, shown);
    let view = CommittedListener::when(committed, view);
    let (parts, jobs, stop_after) = (None, Jobs::new(1), None);
    let selection = Selection { window, running: None, index, parts, jobs, stop_after };
    let mut text = Vec::new();
    let write = |part: Vec<u8>, _, _: &_| {
        text.extend(part);
        true
    };
    let bytes = &mut *input::of(buffer);
    run::run(trace.session(plan).unwrap(), buffer, bytes, &selection, view, write).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn content_has_its_bytes_in_windows_and_where_it_is_delayed() {
    let trace = long();
    let bytes = trace.index().unwrap();
    let index = Index::read(bytes.into()).unwrap();
    let custom = |text: &str| {
        let lines = text.lines().filter(|line| line.contains("custom"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let all = custom(&window(&trace, Window::default(), false, None));
    assert!(all.len() > 100 && all.iter().all(|line| line.contains(r#""bytes":""#)), "{}", all[0]);
    assert_eq!(custom(&window(&trace, Window::default(), true, None)), all);
    let part = Window { offset: Some(60_000..90_000), ..Window::default() };
    let own = custom(&window(&trace, part.clone(), false, None));
    let first = all.iter().position(|line| *line == own[0]).unwrap();
    assert!(own.len() > 20 && all[first..].starts_with(&own));
    for (committed, index) in [(true, None), (false, Some(&index)), (true, Some(&index))] {
        assert_eq!(custom(&window(&trace, part.clone(), committed, index)), own);
    }
}

/// Packets as what they are.
#[derive(Default)]
struct Notes(Vec<u8>);

impl Listener for Notes {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn event(&mut self, event: &tracewright::decode::Event<'_>) {
        use tracewright::protocols::registry::Listed;
        if let tracewright::decode::Event::Packet { bytes, packet, .. } = event {
            let bytes: &SourceBytes<'_> = bytes;
            if let Some(message) = BranchMessages::packet(*packet) {
                message.emit(&Config::default(), &mut self.0);
                assert!(self.0.ends_with(bytes.get()));
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

#[test]
fn packets_are_typed_and_tile_the_bytes() {
    let original = tracewright::open(folder("ete")).unwrap();
    let bytes = encode(&flows(&original));
    let trace = Trace::new(capture(original.capture().clone(), bytes.clone()));
    let mut notes = Notes::default();
    let _ = trace.decode(&mut notes).unwrap();
    assert_eq!(notes.0, bytes);
}

#[test]
fn random_bytes_do_not_panic() {
    let original = tracewright::open(folder("etmv4")).unwrap();
    let good = encode(&flows(&original));
    let mut random = tracewright_testing::Random::new(50);
    for _ in 0..200 {
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(20) {
            let at = random.index(bytes.len());
            bytes[at] = random.next() as u8;
        }
        let trace = Trace::new(capture(original.capture().clone(), bytes));
        assert!(trace.elements().unwrap().all(|item| item.is_ok()));
    }
}
