//! Execution logs of the reference flow.

use tracewright::base::{Isa, Step};
use tracewright::logs::{Assembler, Format, Lookup, Reader};

/// The steps of a log in the reference flow's columns.
pub fn steps(log: &[u8], rv64: bool) -> Vec<Step> {
    let isa = if rv64 { Isa::Rv64 } else { Isa::Rv32 };
    let mut reader = Reader::new(Format::SpikeCsv, isa);
    let mut assembler = Assembler::new(Lookup::default());
    assembler.isa = isa;
    let mut steps = Vec::new();
    let mut push = |_: u16, step: &Step| steps.push(*step);
    reader.feed(log, &mut |entry| assembler.entry(&entry, &mut push)).expect("a log");
    reader.finish(&mut |entry| assembler.entry(&entry, &mut push)).expect("a log");
    assembler.finish(&mut push);
    steps
}
