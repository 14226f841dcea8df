//! Tables from Arm DDI 0486, "Trace packet format".

use std::vec;
use std::vec::Vec;

use tracewright_base::{
    Cause, Element, Instruction, Isa, Kind, NoMemory, Parse, Retired, Step, SyncSearch, Taken, Wire,
};

use super::{Config, Mtb, Packet};
use crate::encoders::Unit;
use crate::protocol::Protocol;
use crate::stream::Stream;
use crate::ways;

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The A bit is bit 0 of the first word, the S bit is bit 0 of the second.
#[test]
fn packets() {
    let branch = |start| Packet::Branch { source: 0x106, destination: 0x200, start };
    let exception = |start| Packet::Exception { return_address: 0x106, destination: 0x200, start };
    for (words, packet) in [
        ([0x106, 0x200], branch(false)),
        ([0x106, 0x201], branch(true)),
        ([0x107, 0x200], exception(false)),
        ([0x107, 0x201], exception(true)),
    ] {
        let bytes = bytes(&words);
        assert_eq!(Packet::parse(&bytes, &Config), Parse::Packet(packet, 8));
        let mut out = Vec::new();
        packet.emit(&Config, &mut out);
        assert_eq!(out, bytes);
        for short in 0..8 {
            assert_eq!(Packet::parse(&bytes[..short], &Config), Parse::Partial);
        }
    }
}

/// A return from an exception is a branch to EXC_RETURN and a packet from there.
#[test]
fn exception_returns() {
    let first = Packet::Branch { source: 0x206, destination: 0xffff_fff8, start: false };
    assert!(first.is_exception_return() && !first.ends_exception_return());
    let second =
        Packet::Exception { return_address: 0xffff_fff8, destination: 0x104, start: false };
    assert!(second.ends_exception_return() && !second.is_exception_return());
    let lower = Packet::Branch { source: 0x206, destination: 0xffff_fefe, start: false };
    assert!(!lower.is_exception_return());
}

#[test]
fn search() {
    let all = bytes(&[0x100, 0x200, 0x202, 0x301, 0x306, 0x401]);
    assert_eq!(Mtb::sync(&Config, &all), SyncSearch::At(8));
    assert_eq!(Mtb::sync(&Config, &all[..15]), SyncSearch::NotIn(8));
    assert_eq!(Mtb::sync(&Config, &[]), SyncSearch::NotIn(0));
    assert!(Stream::<Mtb>::new(Config).synced());
}

/// The trace unit in software: exceptions, gaps of the execution and a disabled unit make starts.
#[test]
fn starts() {
    let jump = |address: u64, next: u64, taken: bool| {
        let instruction = Instruction {
            kind: Kind::Branch,
            size: 2,
            isa: Isa::T32,
            conditional: !taken,
            ..Instruction::default()
        };
        Step::Retired(Retired { address, next, next_isa: Isa::T32, taken, instruction })
    };
    let exception = Step::Exception(Taken {
        cause: Cause::Irq,
        return_address: 0x200,
        return_isa: Isa::T32,
        target: 0x400,
        target_isa: Isa::T32,
        value: None,
        cancels: false,
    });
    let steps = [
        jump(0x100, 0x200, true),
        exception,
        jump(0x400, 0x402, false),
        jump(0x402, 0x400, true),
        // A gap of the execution.
        jump(0x600, 0x700, true),
        Step::Off,
        jump(0x700, 0x800, true),
        Step::On,
        jump(0x800, 0x900, true),
    ];
    let mut unit = Unit::<Mtb>::new(Config, &());
    let mut out = Vec::new();
    steps.iter().for_each(|step| unit.step(step, &mut out));
    unit.finish(&mut out);
    let want = [0x100, 0x201, 0x201, 0x400, 0x402, 0x400, 0x600, 0x701, 0x800, 0x901];
    assert_eq!(out, bytes(&want));
}

/// Without memory, each packet reports where it is missing; an incomplete packet ends the trace.
#[test]
fn without_memory() {
    let mut all = bytes(&[0x106, 0x201, 0x206, 0x100]);
    all.extend([1, 2, 3]);
    let elements = ways::check::<Mtb, _>(&Config, &mut NoMemory, &all).elements;
    let missing: Vec<_> = elements
        .iter()
        .filter_map(|(at, element)| match element {
            Element::NoCode { address, .. } => Some((*at, *address)),
            _ => None,
        })
        .collect();
    assert_eq!(missing, vec![(0, 0x106), (8, 0x200)]);
    let bad = elements.iter().filter(|(_, e)| matches!(e, Element::Undecodable { len: 3, .. }));
    assert_eq!(bad.count(), 1);
}

/// Cleared memory behind the last packet is no packet of code at address 0.
#[test]
fn memory_that_was_not_written() {
    let all = bytes(&[0x106, 0x201, 0x206, 0x100, 0, 0, 0, 0]);
    let elements = ways::check::<Mtb, _>(&Config, &mut NoMemory, &all).elements;
    let missing = elements.iter().filter(|(_, e)| matches!(e, Element::NoCode { .. }));
    assert_eq!(missing.map(|(at, _)| *at).collect::<Vec<_>>(), vec![0, 8]);
    // The start bit: tracing started, and a packet was written.
    assert!(!Packet::Branch { source: 0, destination: 0, start: true }.is_unwritten());
}
