//! What a tool receives where it attaches to a decode tree, and what the tree asks of the tool: all
//! bytes at each stage, one element for each call, memory by address space and by source.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tracewright::base::Space;
use tracewright::capture::{Buffer, BufferRef, Format};
use tracewright::decode::{
    Consumer, Event, Listener, Memory, Push, Queue, Response, Session, Wants,
};
use tracewright::image::{Image, ReadAnswer, ReadMemory, ReadRequest};
use tracewright::{Capture, Element, Trace};

fn open(name: &str) -> Capture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    tracewright::read_capture(&path.join("capture")).unwrap()
}

fn bytes(capture: &Capture) -> Vec<u8> {
    capture.buffers[0].bytes().into_owned()
}

/// The bytes at each stage.
#[derive(Default)]
struct Stages {
    packed: Vec<u8>,
    fragments: Vec<u8>,
    packets: Vec<u8>,
    undecodable: usize,
}

impl Listener for Stages {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packed { at, bytes } => {
                assert_eq!(*at, self.packed.len() as u64);
                self.packed.extend(*bytes);
            }
            Event::Fragment { id: Some(0x10), bytes, .. } => self.fragments.extend(*bytes),
            Event::Packet { source: 0, bytes, .. } => self.packets.extend(bytes.get()),
            Event::Undecodable { source: 0, bytes, .. } => {
                self.undecodable += bytes.count();
                self.packets.extend(bytes.get());
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET.with_frames(true)
    }
}

#[test]
fn a_tool_has_all_bytes_at_each_stage() {
    let mut capture = open("etmv4");
    let mut all = bytes(&capture);
    let middle = all.len() / 32 * 16;
    all[middle + 3..middle + 11].fill(0x55);
    capture.buffers[0] = Buffer::new("damaged", Format::CoreSight, all.clone());
    let mut stages = Stages::default();
    let _ = Trace::new(capture).decode(&mut stages).unwrap();
    assert_eq!(stages.packed, all);
    assert_eq!(stages.packets, stages.fragments);
    assert!(stages.undecodable > 0 && stages.packets.len() > 50);
}

/// Waits after each element.
#[derive(Default)]
struct One(Vec<(u64, Element)>);

impl Consumer for One {
    fn element(&mut self, _: usize, at: u64, element: Element, _: &[u8]) -> Response {
        self.0.push((at, element));
        Response::Wait
    }
}

#[test]
fn a_consumer_that_waits_receives_one_element_for_each_call() {
    let trace = Trace::new(open("etmv4"));
    let all = bytes(trace.capture());
    let mut push = Push::new(trace.session(&trace.plans()[0]).unwrap(), None);
    let (mut to, mut calls, mut at) = (One::default(), 0, 0);
    let (mut response, mut ended) = (Response::Continue, false);
    while !ended || response == Response::Wait {
        let before = to.0.len();
        match response {
            Response::Wait => response = push.flush(&mut to, &mut ()),
            _ if at < all.len() => {
                let taken;
                (taken, response) = push.data(at as u64, &all[at..], &mut to, &mut ()).unwrap();
                at += taken;
            }
            _ => {
                response = push.end(&mut to, &mut ()).unwrap();
                ended = true;
            }
        }
        calls += 1;
        assert!(to.0.len() - before <= 1);
    }
    let want = trace.elements().unwrap().map(Result::unwrap);
    let want: Vec<_> = want.map(|item| (item.offset, item.element)).collect();
    assert_eq!(to.0, want);
    assert!(calls > want.len());
}

/// Memory of one source, which records what is asked.
#[derive(Debug)]
struct OfSource {
    image: Arc<Image>,
    source: usize,
    asked: Mutex<Vec<ReadRequest>>,
}

impl ReadMemory for OfSource {
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
        self.asked.lock().unwrap().push(request);
        let known = self.image.read(self.image.view(Space::ANY), request.address, u64::MAX, into);
        match known {
            _ if request.source != Some(self.source) => ReadAnswer::Absent,
            0 => ReadAnswer::Absent,
            known => ReadAnswer::Bytes(known),
        }
    }

    fn by_space(&self) -> bool {
        true
    }

    fn by_source(&self) -> bool {
        true
    }
}

/// Two sources with the same trace, of which one has memory.
#[test]
fn memory_is_read_by_source_and_by_address_space() {
    let one = Trace::new(open("etmv4"));
    let image = one.memory().of(one.capture(), &one.capture().sources[0]);
    let want = one.elements().unwrap().map(|item| item.unwrap().element).collect::<Vec<_>>();
    let mut capture = one.capture().clone();
    capture.memory.clear();
    let mut other = capture.sources[0].clone();
    other.name = "other".into();
    other.buffers = vec![BufferRef { buffer: 1, stream: None }];
    capture.sources.push(other);
    let mut buffer = capture.buffers[0].clone();
    buffer.name = "other".into();
    capture.buffers.push(buffer);
    for source in 0..2 {
        let asked = Mutex::default();
        let target = Arc::new(OfSource { image: image.clone(), source, asked });
        let memory = Memory::new(&capture).with_reader(&capture, target.clone());
        let mut trace = Trace::new(capture.clone());
        trace.set_memory(memory);
        let mut queue = Queue::default();
        let _ = trace.decode(&mut queue).unwrap();
        let got: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        let of = |n| -> Vec<Element> {
            got.iter().filter(|(own, ..)| *own == n).map(|(.., element)| *element).collect()
        };
        assert_eq!(of(source), want);
        let without = of(1 - source);
        assert!(without.iter().any(|element| matches!(element, Element::NoCode { .. })));
        assert!(!without.iter().any(|element| matches!(element, Element::Range(_))));
        let asked = target.asked.lock().unwrap();
        assert!(asked.iter().all(|request| request.space.bits().count_ones() == 1));
        assert!((0..2).all(|n| asked.iter().any(|request| request.source == Some(n))));
    }
}

/// A session of the plan of a tool.
#[test]
fn a_plan_has_a_link_of_its_own() {
    use tracewright::frames::{ExternalLink, Framing, Link, Splitter};

    let trace = Trace::new(open("etmv4"));
    let (capture, plan) = (trace.capture(), &trace.plans()[0]);
    let sources = plan.sources.clone();
    let link = ExternalLink::new("own", Splitter::new(Link::new(Framing::Coresight)));
    let own = tracewright::decode::Plan::with_sources(0, Framing::Raw, sources).with_link(link);
    let mut session = Session::new(capture, &own, trace.memory(), trace.options()).unwrap();
    let mut queue = Queue::default();
    session.run([&bytes(capture)[..]], &mut queue);
    let got: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
    let want = trace.elements().unwrap().map(Result::unwrap);
    let want: Vec<_> = want.map(|item| (item.source, item.offset, item.element)).collect();
    assert_eq!(got, want);
}
