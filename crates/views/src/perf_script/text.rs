//! Samples as lines of `perf script`.

use std::fmt::Write;

use tracewright_base::{Code, Isa, Pc, Space, Waypoints};
use tracewright_capture::plain;
use tracewright_image::{Cache, CacheOptions};

use super::sampler::{Branch, Event, Sample, State, Traced};
use super::{Receiver, Samples};
use crate::lines::Lines;

/// The width of the name of an event.
const EVENT: usize = 20;

/// What is printed of the branches before a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `brstack`: their addresses, the newest first.
    pub branches: bool,
    /// `brstackinsn`: the instructions between them, the oldest first.
    pub instructions: bool,
}

/// Prints samples.
#[derive(Debug)]
pub struct Text {
    lines: Lines<Vec<u8>>,
    fields: Fields,
    /// Colon and letters of the modes that are traced.
    modes: String,
    /// Samples have times, where those are known.
    timed: bool,
}

impl Text {
    /// Prints `fields` of `samples` in `modes`.
    pub fn new(samples: &Samples, fields: Fields, modes: &str) -> Text {
        let colon = if modes.is_empty() { "" } else { ":" };
        let modes = format!("{colon}{modes}");
        Text { lines: Lines::new(Vec::new()), fields, modes, timed: samples.clock.is_some() }
    }

    /// The beginning of a line: thread, CPU, time, period and event.
    fn start(&mut self, traced: &Traced, state: &State, sample: &Sample<'_>) {
        let context = state.context.unwrap_or_default();
        let thread = traced.source.program.thread(&context);
        let id = thread.map(|thread| thread.id).or(traced.thread);
        let name = thread.and_then(|thread| thread.name.clone());
        let name = name.unwrap_or_else(|| format!(":{}", id.map_or(-1, i64::from)));
        let name = plain::line(&name);
        let (id, cpu, period) = (id.map_or(-1, i64::from), traced.cpu, sample.period);
        let out = &mut self.lines.text;
        let _ = write!(out, "{name:>16} {id:>5} [{cpu:03}] ");
        if self.timed {
            let time = state.time.map_or("-".into(), |time| {
                format!("{}.{:06}", time / 1_000_000_000, time % 1_000_000_000 / 1000)
            });
            let _ = write!(out, "{time:>12}: ");
        }
        let event = match sample.event {
            Event::Branch(_) => "branches",
            Event::Instructions => "instructions",
        };
        let event = format!("{event}{}", self.modes);
        let _ = write!(out, "{period:>10} {event:>EVENT$}:  ");
    }

    /// An address with its symbol and file.
    fn address(&mut self, traced: &Traced, address: u64) {
        let source = &traced.source;
        let out = &mut self.lines.text;
        let _ = write!(out, "{address:>16x} ");
        match source.program.symbol(&source.image, address) {
            Some(symbol) => {
                let offset = address.wrapping_sub(symbol.start);
                let _ = write!(out, "{}+0x{offset:x}", plain::line(symbol.name));
            }
            None => out.push_str("[unknown]"),
        }
        let file = source.program.file(&source.image, address);
        let _ = write!(out, " ({})", plain::line(file.unwrap_or("[unknown]")));
    }

    /// The branches before a sample, each with the files of its addresses.
    fn branches(&mut self, traced: &Traced, sample: &Sample<'_>) {
        let source = &traced.source;
        let file = |address| {
            let file = source.program.file(&source.image, address);
            file.map(|file| plain::line(file).into_owned())
        };
        let out = &mut self.lines.text;
        for branch in sample.last.iter().rev() {
            let [from, to] = [branch.from, branch.to]
                .map(|address| file(address).map_or_else(String::new, |file| format!("({file})")));
            let _ = write!(out, " {:#x}{from}/{:#x}{to}/P/-/-/0/ ", branch.from, branch.to);
        }
    }

    /// The instructions between the branches before a sample, and up to the sampled one.
    fn instructions(&mut self, traced: &Traced, state: &State, sample: &Sample<'_>) {
        let source = &traced.source;
        let mut cache = source.program.cache(Waypoints::default(), CacheOptions::default());
        cache.enter_context(&state.context.unwrap_or_default());
        let out = &mut self.lines.text;
        out.push('\n');
        let mut branches = sample.last.iter().peekable();
        let Some(first) = branches.peek() else { return };
        let isa = first.isa;
        instruction(&mut cache, Pc { address: first.from, isa, space: Space::ANY }, true, out);
        while let Some(Branch { to, isa, .. }) = branches.next() {
            let next = branches.peek().map(|next| next.from);
            let last = next.unwrap_or(sample.address);
            let mut pc = Pc { address: *to, isa: *isa, space: Space::ANY };
            /// What is between two branches is not longer.
            const MOST: usize = 10_000;
            for _ in 0..MOST {
                let end = pc.address == last;
                let size = instruction(&mut cache, pc, end && next.is_some(), out);
                if end || size == 0 || pc.address > last {
                    break;
                }
                pc.address = pc.address.wrapping_add(size);
            }
        }
    }
}

/// A line with the bytes of the instruction at `pc`. Returns their number; 0 where there is none.
fn instruction(cache: &mut Cache, pc: Pc, branch: bool, out: &mut String) -> u64 {
    let size = match pc.isa {
        Isa::A64 | Isa::A32 => 4,
        _ => cache.instruction(pc).map_or(0, |instruction| usize::from(instruction.size)),
    };
    let mut bytes = [0; 8];
    let read = cache.read(pc, bytes.get_mut(..size).unwrap_or_default());
    let address = pc.address;
    if size == 0 || read < size {
        let _ = writeln!(out, "\t{address:016x}\t<bad>");
        return 0;
    }
    let mut text = String::from("insn: ");
    for byte in bytes.iter().take(size) {
        let _ = write!(text, "{byte:02x} ");
    }
    let _ = match branch {
        true => writeln!(out, "\t{address:016x}\t{text:<30}\t# PRED"),
        false => writeln!(out, "\t{address:016x}\t{text}"),
    };
    size as u64
}

impl Receiver for Text {
    fn sample(&mut self, traced: &Traced, state: &State, sample: &Sample<'_>) {
        self.start(traced, state, sample);
        self.address(traced, sample.address);
        if let Event::Branch(to) = sample.event {
            self.lines.text.push_str(" => ");
            self.address(traced, to);
        }
        if self.fields.branches {
            self.branches(traced, sample);
        }
        if self.fields.instructions {
            self.instructions(traced, state, sample);
        }
        self.lines.end();
    }

    fn fork(&self) -> Text {
        let lines = Lines::new(Vec::new());
        Text { lines, fields: self.fields, modes: self.modes.clone(), timed: self.timed }
    }

    fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }

    fn clear(&mut self) {
        self.lines.clear();
    }

    fn waiting(&self) -> usize {
        self.lines.waiting()
    }
}
