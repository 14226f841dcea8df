//! Decodes trace as a connected target sends it, with the program in the memory of the target:
//! `cargo run --example live_target -- CAPTURE [LENGTH [dumps]]`. The target is a capture that
//! sends pieces of LENGTH bytes, and the first answer about each page of memory comes later. With
//! `dumps`, the program is that of the capture.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tracewright::Element;
use tracewright::base::Space;
use tracewright::decode::{Consumer, Memory, Push, Reports, Response, Severity};
use tracewright::image::{Image, ReadAnswer, ReadMemory, ReadRequest};

/// The memory of the target. A page is there when it was asked for before.
#[derive(Debug)]
struct Target {
    image: Arc<Image>,
    asked: Mutex<HashSet<u64>>,
}

impl ReadMemory for Target {
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
        let fresh = self.asked.lock().is_ok_and(|mut asked| asked.insert(request.address >> 10));
        let known = self.image.read(self.image.view(Space::ANY), request.address, u64::MAX, into);
        match known {
            _ if fresh => ReadAnswer::Later,
            0 => ReadAnswer::Absent,
            known => ReadAnswer::Bytes(known),
        }
    }
}

/// Counts instructions, and takes no more than a thousand elements at a time.
#[derive(Default)]
struct Counts {
    elements: u64,
    instructions: u64,
}

impl Consumer for Counts {
    fn element(&mut self, _: usize, _: u64, element: Element, _: &[u8]) -> Response {
        self.elements += 1;
        if let Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
        }
        if self.elements.is_multiple_of(1000) { Response::Wait } else { Response::Continue }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("etmv4"))?;
    let length = std::env::args().nth(2).map_or(Ok(16), |text| text.parse::<usize>())?.max(1);
    let (capture, plan) = (trace.capture(), &trace.plans()[0]);
    let image = trace.memory().of(capture, &capture.sources[0]);
    let bytes: Vec<u8> = plan.parts(capture).flatten().copied().collect();

    // What is decoded has no program but that of the target.
    let mut without = capture.clone();
    without.memory.clear();
    let target = Target { image, asked: Mutex::default() };
    let memory = match std::env::args().nth(3) {
        Some(_) => trace.memory().clone(),
        None => Memory::new(&without).with_reader(&without, Arc::new(target)),
    };
    let session = tracewright::decode::Session::new(&without, plan, &memory, trace.options())?;
    let mut push = Push::new(session, memory.live().cloned());

    let (mut counts, mut waits, begin) = (Counts::default(), 0, Instant::now());
    let mut reports = Reports::new(Severity::Error, |report| println!("{report}"));
    let mut at = 0;
    while at < bytes.len() {
        let piece = &bytes[at..bytes.len().min(at + length)];
        let (taken, mut response) = push.data(at as u64, piece, &mut counts, &mut reports)?;
        at += taken;
        while response == Response::Wait {
            waits += 1;
            response = push.flush(&mut counts, &mut reports);
        }
    }
    let mut response = push.end(&mut counts, &mut reports)?;
    while response == Response::Wait {
        response = push.flush(&mut counts, &mut reports);
    }
    let Counts { elements, instructions } = counts;
    println!("{elements} elements, {instructions} instructions, waited {waits} times");
    eprintln!("{:.3} MB/s", bytes.len() as f64 / 1e6 / begin.elapsed().as_secs_f64());
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
