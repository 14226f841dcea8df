//! The encoder with the specification's parameters compared with the reference flow: they differ
//! only by the defects of the flow that are listed here.

use std::collections::BTreeMap;

use tracewright::base::{Encode, Step, Wire};
use tracewright::protocols::etrace::config::Params;
use tracewright::protocols::etrace::encode::{Encoder, Quirks, Settings, SyncPosition};

use crate::encode::log;
use crate::streams::{reference, shared, up_to};

/// A defect: its name, and the parameters and quirks that have it.
type Defect = (&'static str, fn(&mut Params, &mut Quirks));

/// The defects that affect the programs of the reference flow. `docs/riscv.md` lists two more,
/// which `a_trap_is_reported_once` and `last_instruction` test.
const DEFECTS: [Defect; 5] = [
    ("a start for what was not retired", |params, _| {
        params.choices.start_unretired = true;
    }),
    ("trap values and causes of 8 bits", |_, quirks| {
        (quirks.tval_mask, quirks.cause_mask) = (0xff, 0xff);
    }),
    ("ECALL and EBREAK are retired", |params, _| params.choices.ecall_retires = true),
    ("irdepth is ones", |params, _| params.choices.irdepth_ones = true),
    ("updiscon before what is retired and traps", |_, quirks| {
        quirks.updiscon_before_any_trap = true;
    }),
];

/// The unit of a suite by the specification, with the defects for which `has` is true.
fn unit(suite: &Params, has: impl Fn(usize) -> bool) -> (Params, Settings) {
    let mut params = Params::spec(suite.version, suite.rv64);
    // The configuration of the unit is not a defect.
    (params.link, params.widths, params.support) = (suite.link, suite.widths, suite.support);
    (params.options, params.port) = (suite.options, suite.port);
    params.choices.resync_max = suite.choices.resync_max;
    let mut quirks = Quirks::of(&params);
    for (_, (_, defect)) in DEFECTS.iter().enumerate().filter(|(n, _)| has(*n)) {
        defect(&mut params, &mut quirks);
    }
    let sync_position = Some(SyncPosition::Next);
    (params, Settings { quirks: Some(quirks), sync_position, ..Settings::default() })
}

fn encoded(steps: &[Step], (params, settings): &(Params, Settings)) -> Vec<u8> {
    let (mut encoder, mut packets) = (Encoder::new(params, settings), Vec::new());
    let mut bytes = Vec::new();
    for step in steps {
        encoder.step(step, params, &mut packets);
        packets.drain(..).for_each(|packet| packet.emit(params, &mut bytes));
    }
    encoder.finish(params, &mut packets);
    packets.iter().for_each(|packet| packet.emit(params, &mut bytes));
    bytes
}

#[test]
fn the_reference_flow_differs_by_its_defects() {
    let Some(root) = shared() else { return };
    let (mut logs, mut matters) = (BTreeMap::new(), [0; DEFECTS.len()]);
    let (mut streams, mut clean) = (0, 0);
    for stream in up_to(6_000, reference(&root)) {
        let steps =
            logs.entry(stream.program.clone()).or_insert_with(|| log(&root, &stream.program));
        let Some(steps) = steps else { continue };
        let name = stream.path.display();
        let with = |has: &dyn Fn(usize) -> bool| encoded(steps, &unit(&stream.params, has));
        assert!(with(&|_| true) == stream.bytes, "{name}: a difference that is not listed");
        // Without a defect of this stream, the bytes differ.
        let own = |n: &usize| with(&|m| m != *n) != stream.bytes;
        let own: Vec<usize> = (0..DEFECTS.len()).filter(own).collect();
        own.iter().for_each(|n| matters[*n] += 1);
        assert!(with(&|m| own.contains(&m)) == stream.bytes, "{name}: {own:?} are not all defects");
        clean += usize::from(own.is_empty());
        streams += 1;
    }
    for ((name, _), count) in DEFECTS.iter().zip(matters) {
        println!("{count} of {streams} streams: {name}");
        assert!(count > 0 || streams == 0, "no stream has the defect: {name}");
    }
    println!("{clean} without any");
}
