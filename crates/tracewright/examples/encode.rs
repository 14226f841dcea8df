//! Encodes what a program did as ETMv4 trace, and decodes it again: `cargo run --example encode`.

use tracewright::base::{Context, Isa, Retired, Security, Step};
use tracewright::capture::{Buffer, BufferRef, Dump, Format, Registers, Source};
use tracewright::isa::assemble::a64;
use tracewright::isa::{ItState, classify};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::{Capture, Trace};

/// Address of the program.
const START: u64 = 0x8_0000;

/// The registers of the trace unit; all others are those of a usual unit.
const REGISTERS: [(&str, u64); 1] = [("TRCTRACEIDR", 0x10)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Three iterations of a loop.
    let opcodes = [a64::NOP, a64::b_cond(1, -4).ok_or("out of range")?];
    let memory: Vec<u8> = opcodes.iter().flat_map(|opcode| opcode.to_le_bytes()).collect();
    let executed = [0, 1, 0, 1, 0, 1];

    let mut steps = vec![Step::Context(Context {
        isa: Isa::A64,
        bits64: true,
        el: Some(0),
        security: Some(Security::NonSecure),
        ..Context::default()
    })];
    for (n, &index) in executed.iter().enumerate() {
        let address = START + 4 * index as u64;
        let opcode = opcodes[index].to_le_bytes();
        let instruction = classify(Isa::A64, &opcode, address, &mut ItState::default())
            .ok_or("not an instruction")?;
        let next = START + 4 * executed.get(n + 1).map_or(2, |&next| next as u64);
        let taken = next != address + 4;
        steps.push(Step::Retired(Retired {
            address,
            next,
            next_isa: Isa::A64,
            taken,
            instruction,
        }));
    }

    let register = |name: &str| {
        let mut all = REGISTERS.iter().chain(AnyUnit::usual(AnyProtocol::Etmv4));
        all.find(|(known, _)| *known == name).map(|&(_, value)| value)
    };
    let mut unit = AnyUnit::new(AnyProtocol::Etmv4, None, &register)?.ok_or("no encoder")?;
    let mut bytes = Vec::new();
    unit.steps(&steps, &mut bytes);
    unit.finish(&mut bytes);
    println!("{} instructions in {} bytes: {bytes:02x?}", executed.len(), bytes.len());

    let registers = AnyUnit::usual(AnyProtocol::Etmv4).iter().copied().chain(REGISTERS);
    let source = Source {
        name: "ETM_0".into(),
        device_type: "ETM4.0".into(),
        registers: Registers::from_iter(registers),
        buffers: vec![BufferRef { buffer: 0, stream: None }],
        ..Source::default()
    };
    let trace = Trace::new(Capture {
        buffers: vec![Buffer::new("ETB", Format::SourceData, bytes)],
        sources: vec![source],
        memory: vec![Dump::new("program", START, memory)],
        ..Capture::default()
    });
    for item in trace.elements()? {
        let item = item?;
        println!("{:>3}  {}", item.offset, item.element);
    }
    Ok(())
}
