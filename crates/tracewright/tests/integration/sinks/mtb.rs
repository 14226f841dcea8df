//! The Micro Trace Buffer: T32 programs through the encoder and a buffer that wraps, and back.

use tracewright::Capture;
use tracewright::base::Step;
use tracewright::capture::{Buffer, BufferRef, Format, Registers, Source, open, write};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright_model::expand::Ran;
use tracewright_model::generate::{self, Recipe, Sets};
use tracewright_model::{Machine, Stimulus, round_trip};
use tracewright_units::buffers::mtb::Mtb;

use super::Folder;

/// The addresses of executed instructions, and the packets of the trace unit in software.
fn execute(program: &tracewright_model::Program, seed: u64) -> (Vec<u64>, Vec<u8>, AnyUnit) {
    let mut machine = Machine::new(program, Stimulus { seed, ..Stimulus::default() });
    let mut unit = AnyUnit::new(AnyProtocol::Mtb, None, &|_| None).unwrap().unwrap();
    let (mut log, mut bytes) = (Vec::new(), Vec::new());
    machine.run(5000, |step| {
        if let Step::Retired(retired) = step {
            log.push(retired.address);
        }
        unit.step(step, &mut bytes);
    });
    unit.finish(&mut bytes);
    (log, bytes, unit)
}

/// What wraps out of the buffer is lost; the rest is the end of the execution up to its last
/// branch.
#[test]
fn t32_through_a_buffer() {
    for seed in 0..20 {
        let recipe = Recipe { seed, isa: Sets::T32, exceptions: false, ..Recipe::default() };
        let program = generate::program(&recipe);
        let (log, packets, unit) = execute(&program, seed);
        for size in [1 << 10, 1 << 20] {
            let mut mtb = Mtb::new(0x2000_0000, size);
            mtb.start();
            for packet in packets.chunks(8) {
                let word = |at: usize| u32::from_le_bytes(packet[at..at + 4].try_into().unwrap());
                mtb.packet(word(0), word(4));
            }
            let source = Source {
                name: "mtb".into(),
                device_type: "MTB".into(),
                registers: Registers::from_iter(mtb.registers()),
                buffers: vec![BufferRef { buffer: 0, stream: None }],
                ..Source::default()
            };
            let buffer = Buffer::new("sram", Format::SourceData, mtb.memory().to_vec());
            let capture =
                Capture { buffers: vec![buffer], sources: vec![source], ..Capture::default() };
            let folder = Folder::new();
            write(&capture, &folder.0).unwrap();
            let back = open(&folder.0).unwrap();
            let trace = back.buffers[0].bytes();
            assert!(packets.ends_with(&trace[..]), "seed {seed}");
            assert_eq!(trace.len(), packets.len().min(size));

            let ran = round_trip::decode(&unit.config(), &program.image, &trace);
            let decoded: Vec<u64> = ran
                .iter()
                .filter_map(|(_, ran)| match ran {
                    Ran::Instruction { address, .. } => Some(*address),
                    Ran::Unreadable { address } => panic!("{address:#x}"),
                    Ran::Element(_) => None,
                })
                .collect();
            let bad = |ran: &Ran| {
                use tracewright::Element::{Inconsistency, NoCode, Undecodable};
                matches!(ran, Ran::Element(Inconsistency(_) | NoCode { .. } | Undecodable { .. }))
            };
            let found = ran.iter().find(|(_, ran)| bad(ran));
            assert_eq!(found, None, "seed {seed}");
            let mut places = (0..=log.len() - decoded.len()).rev();
            let place = places.find(|at| log[*at..][..decoded.len()] == decoded[..]);
            let behind = log.len() - place.expect("a part of the log") - decoded.len();
            assert!(decoded.len() >= trace.len() / 8 && behind < 200, "seed {seed}: {behind}");
        }
    }
}
