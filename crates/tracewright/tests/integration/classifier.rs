//! Instructions that are not those of the architecture: the direct branches of a program have other
//! opcodes, which a classifier of the tool knows.

use std::path::Path;
use std::sync::Arc;

use tracewright::base::{Instruction, Isa, Kind, Role};
use tracewright::decode::Memory;
use tracewright::image::{Bytes, Classify};
use tracewright::{Capture, Element, Trace};

fn open(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    tracewright::open(path.join("capture")).unwrap()
}

/// B and BL (A64) as opcodes that no architecture has: bits 28:25 are 0001, and the offset has 25
/// bits.
fn hidden(opcode: u32) -> u32 {
    match opcode >> 26 {
        0b000101 => 0x0200_0000 | opcode & 0x1ff_ffff,
        0b100101 => 0xe200_0000 | opcode & 0x1ff_ffff,
        _ => opcode,
    }
}

/// The program of `capture` with hidden branches.
fn changed(mut capture: Capture) -> (Capture, usize) {
    let mut count = 0;
    for dump in &mut capture.memory {
        let Some(bytes) = dump.bytes.take() else { continue };
        let mut bytes = bytes.to_vec();
        // Of an ELF file also what is no code, which has no effect here.
        for opcode in bytes.as_chunks_mut::<4>().0 {
            let (own, new) = (u32::from_le_bytes(*opcode), hidden(u32::from_le_bytes(*opcode)));
            count += usize::from(own != new);
            *opcode = new.to_le_bytes();
        }
        dump.bytes = Some(Bytes::from(bytes));
    }
    (capture, count)
}

#[derive(Debug)]
struct HiddenBranches;

impl Classify for HiddenBranches {
    fn classify(&self, isa: Isa, address: u64, bytes: &[u8]) -> Option<Instruction> {
        let opcode = u32::from_le_bytes(*bytes.first_chunk()?);
        if isa != Isa::A64 || opcode & 0x1e00_0000 != 0x0200_0000 {
            return None;
        }
        let offset = (opcode << 7).cast_signed() >> 7;
        Some(Instruction {
            kind: Kind::Branch,
            role: if opcode >> 29 == 0b111 { Role::Call } else { Role::Jump },
            size: 4,
            conditional: false,
            isa,
            target_isa: isa,
            target: Some(address.wrapping_add_signed(i64::from(offset) * 4)),
        })
    }
}

fn elements(trace: &Trace) -> Vec<(usize, u64, Element)> {
    let elements = trace.elements().unwrap().map(Result::unwrap);
    elements.map(|item| (item.source, item.offset, item.element)).collect()
}

#[test]
fn own_instructions_of_a_source_are_followed() {
    for name in ["etmv4", "ete"] {
        let original = open(name);
        let want = elements(&original);
        let (capture, count) = changed(original.capture().clone());
        assert!(count > 3, "{name}: {count}");
        let mut trace = Trace::new(capture);
        assert_ne!(elements(&trace), want, "{name}: without the classifier");
        let memory = trace.memory().clone();
        let own = memory.clone().with_classifier(trace.capture(), 0, Arc::new(HiddenBranches));
        trace.set_memory(own);
        assert_eq!(elements(&trace), want, "{name}");
        // The instructions of ranges are those of the same memory.
        let ranges = want.iter().filter(|(.., element)| matches!(element, Element::Range(_)));
        assert!(ranges.count() > 5, "{name}");
        trace.set_memory(memory);
        assert_ne!(elements(&trace), want, "{name}: without the classifier again");
    }
}

/// Two sources with the same program, of which one has the instructions: they do not mix blocks.
#[test]
fn sources_with_a_classifier_have_blocks_of_their_own() {
    let original = open("etmv4");
    let (mut capture, _) = changed(original.capture().clone());
    let mut second = capture.sources[0].clone();
    second.name += "_second";
    let mut buffer = capture.buffers[0].clone();
    buffer.name += "_second";
    capture.buffers.push(buffer);
    second.buffers[0].buffer = 1;
    capture.sources.push(second);
    let mut trace = Trace::new(capture);
    let of = |trace: &Trace, buffer: usize| {
        let plan = &trace.plans()[buffer];
        let mut queue = tracewright::decode::Queue::default();
        let mut session = trace.session(plan).unwrap();
        session.run(plan.parts(trace.capture()), &mut queue);
        std::iter::from_fn(|| queue.take()).collect::<Vec<_>>()
    };
    let without = of(&trace, 0);
    assert_eq!(of(&trace, 1), without);
    let own = |capture: &Capture, source| {
        Memory::new(capture).with_classifier(capture, source, Arc::new(HiddenBranches))
    };
    for source in 0..2 {
        let memory = own(trace.capture(), source);
        let (with, other) = (
            memory.of(trace.capture(), &trace.capture().sources[source]),
            memory.of(trace.capture(), &trace.capture().sources[1 - source]),
        );
        assert!(with.classifier().is_some() && other.classifier().is_none());
        trace.set_memory(memory);
        assert_ne!(of(&trace, source), without, "{source}");
        assert_eq!(of(&trace, 1 - source), without, "{source}");
    }
}
