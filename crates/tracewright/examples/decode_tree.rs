//! A tool that puts a decode tree together: a splitter of its own before the formatter frames, an
//! instruction that it knows itself, monitors at packets and frames, errors up to a number, and a
//! consumer that waits: `cargo run --example decode_tree -- CAPTURE`.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright::base::{Element, Fault, Instruction, Isa, Kind, Role};
use tracewright::capture::{Buffer, Format};
use tracewright::decode::{
    Consumer, ErrorLimit, Event, Listener, Push, Reports, Response, Severity, Wants,
};
use tracewright::frames::{self, ExternalLink, Framing, Link, Split, SplitLink, Splitter};
use tracewright::image::Classify;
use tracewright::protocols::Registry;
use tracewright::{Capture, Trace};

/// The first byte of a chunk. The second one is the number of its bytes of formatter frames.
const CHUNK: u8 = 0xc7;

/// A probe sends formatter frames in chunks, which begin and end anywhere in a frame.
#[derive(Clone, Debug, PartialEq)]
struct Chunks {
    frames: Splitter,
    /// `CHUNK` was received, and the length was not.
    begun: bool,
    /// Bytes of the chunk that follow.
    left: u8,
}

impl Default for Chunks {
    fn default() -> Self {
        let frames = Splitter::new(Link::new(Framing::Coresight));
        Chunks { frames, begun: false, left: 0 }
    }
}

impl SplitLink for Chunks {
    fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        let (mut at, mut bytes) = (at, bytes);
        while let [first, rest @ ..] = bytes {
            let len = match *self {
                Chunks { left: 1.., .. } => {
                    let len = bytes.len().min(self.left.into());
                    self.left -= len as u8;
                    self.frames.split(at, &bytes[..len], out);
                    bytes = &bytes[len..];
                    at += len as u64;
                    continue;
                }
                Chunks { begun: true, .. } => {
                    (self.begun, self.left) = (false, *first);
                    // Both bytes belong to the link.
                    out.event(at - 1, frames::Event::Null { len: 2 });
                    1
                }
                _ if *first == CHUNK => {
                    self.begun = true;
                    1
                }
                _ => {
                    let fault = Fault::Unsynchronised;
                    out.event(at, frames::Event::Bad { len: 1, fault });
                    1
                }
            };
            bytes = rest;
            at += len;
        }
    }

    fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        if self.begun {
            out.event(at - 1, frames::Event::Bad { len: 1, fault: Fault::Truncated });
        }
        self.frames.finish(out);
        *self = Chunks::default();
    }
}

/// The processor has one instruction that the architecture has not: `0xcafe` jumps 8 bytes on.
#[derive(Debug)]
struct OwnOpcode;

impl Classify for OwnOpcode {
    fn classify(&self, isa: Isa, address: u64, bytes: &[u8]) -> Option<Instruction> {
        let own = isa == Isa::T32 && bytes.starts_with(&[0xfe, 0xca]);
        let target = Some(address.wrapping_add(8));
        let (kind, role, size) = (Kind::Branch, Role::Jump, 2);
        own.then_some(Instruction {
            kind,
            role,
            size,
            isa,
            target_isa: isa,
            target,
            ..Instruction::default()
        })
    }
}

/// Takes three elements at a time.
#[derive(Default)]
struct Three {
    elements: u64,
    instructions: u64,
}

impl Consumer for Three {
    fn element(&mut self, _: usize, _: u64, element: Element, _: &[u8]) -> Response {
        self.elements += 1;
        if let Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
        }
        if self.elements.is_multiple_of(3) { Response::Wait } else { Response::Continue }
    }
}

/// Counts packets by kind, and frames.
#[derive(Default)]
struct Monitor {
    packets: BTreeMap<String, u64>,
    frames: u64,
}

impl Listener for Monitor {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { packet, .. } => {
                *self.packets.entry(packet.kind().to_string()).or_default() += 1;
            }
            Event::Frame(_) => self.frames += 1,
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET.with_frames(true)
    }
}

/// The frames of the first buffer of `capture` as the probe sends them.
fn sent(capture: &Capture) -> Vec<u8> {
    let frames = capture.buffers[0].bytes();
    let chunks = frames.chunks(37);
    chunks.flat_map(|bytes| [&[CHUNK, bytes.len() as u8], bytes].concat()).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let default = || format!("{}/../../tests/captures/etmv4/capture", env!("CARGO_MANIFEST_DIR"));
    let path = std::env::args().nth(1).unwrap_or_else(default);
    let mut capture = tracewright::read_capture(path.as_ref())?;
    // What the probe sends is not in the capture: it arrives later.
    let arriving = sent(&capture);
    capture.buffers[0] = Buffer::empty("probe".into(), Format::Other("chunks".into()));
    capture.protocols =
        Registry::default().with_link(ExternalLink::new("chunks", Chunks::default()));
    let mut trace = Trace::new(capture);
    let memory = trace.memory().clone();
    trace.set_memory(memory.with_classifier(trace.capture(), 0, Arc::new(OwnOpcode)));

    let session = trace.session(&trace.plans()[0])?;
    let mut push = Push::new(session, trace.memory().live().cloned());
    let reports = Reports::new(Severity::Error, |report| println!("{report}"));
    let mut monitors = ErrorLimit::new(Some(10), (Monitor::default(), reports));
    let mut consumer = Three::default();
    let (mut at, mut response) = (0, Response::Continue);
    while at < arriving.len() && response != Response::Failed {
        let piece = &arriving[at..arriving.len().min(at + 50)];
        let taken;
        (taken, response) = push.data(at as u64, piece, &mut consumer, &mut monitors)?;
        at += taken;
        while response == Response::Wait {
            response = push.flush(&mut consumer, &mut monitors);
        }
    }
    if response == Response::Continue {
        response = push.end(&mut consumer, &mut monitors)?;
    }
    while response == Response::Wait {
        response = push.flush(&mut consumer, &mut monitors);
    }
    let (Monitor { packets, frames }, _) = monitors.listener;
    let Three { elements, instructions } = consumer;
    println!("{elements} elements, {instructions} instructions, {frames} frames");
    packets.iter().for_each(|(kind, count)| println!("{count} {kind}"));
    Ok(())
}
