//! Trace in trace buffers of limited size: what survives is decoded, and what is lost is reported.

mod encode;
mod mtb;
mod scheduler;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tracewright::capture::Dump;
use tracewright::decode::Options;
use tracewright::views::info::Info;
use tracewright::{Element, Trace};
use tracewright_model::Program;
use tracewright_model::generate::{self, Recipe};

/// An empty temporary folder, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tracewright-sinks-{}-{n}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A random A64 program without waits.
fn program(seed: u64) -> Program {
    generate::program(&Recipe { seed, waits: false, ..Recipe::default() })
}

/// The memory of a program.
fn memory(program: &Program) -> Vec<Dump> {
    let regions = program.image.regions().iter();
    let dumps = regions.map(|r| Dump::new(r.name(), r.start(), r.run(r.start()).to_vec()));
    dumps.filter(|dump| dump.bytes.as_ref().is_some_and(|bytes| !bytes.is_empty())).collect()
}

/// The decoded A64 instructions of each source: address and context ID.
fn instructions(trace: &Trace) -> Vec<Vec<(u64, Option<u32>)>> {
    let mut all = vec![Vec::new(); trace.sources().len()];
    let mut context = vec![None; all.len()];
    for item in trace.elements().unwrap() {
        let item = item.unwrap();
        match item.element {
            Element::Context(new) => context[item.source] = new.context_id,
            Element::Range(range) => {
                let addresses = (0..u64::from(range.instructions)).map(|n| range.start + 4 * n);
                all[item.source].extend(addresses.map(|address| (address, context[item.source])));
            }
            Element::NoCode { .. } | Element::Inconsistency(_) => panic!("{:?}", item.element),
            _ => {}
        }
    }
    all
}

/// What `info` reports of the only buffer: its state and what was lost.
fn state(trace: &Trace) -> (Vec<String>, Vec<String>) {
    let info = Info::of(trace.capture(), &Options::default());
    let sink = info.buffers[0].sink.clone().expect("the capture has registers of the buffer");
    (sink.state, sink.lost)
}
