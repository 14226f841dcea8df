//! The peer: riscv-etrace.

use std::hint::black_box;
use std::num::NonZeroU8;

use riscv_etrace::binary::{self, Adaptable};
use riscv_etrace::config::Parameters;
use riscv_etrace::tracer::{self, Tracer, item};
use riscv_etrace::{instruction, packet};

use crate::inputs::Input;

/// The whole way from bytes to items: how many instructions.
pub fn decode(input: &Input) -> Result<u64, String> {
    let bits = |n: u8| NonZeroU8::new(n).unwrap_or(NonZeroU8::MIN);
    let w = &input.params.widths;
    let params = Parameters {
        context_width_p: bits(w.context),
        ecause_width_p: bits(w.ecause),
        iaddress_width_p: bits(w.iaddress),
        iaddress_lsb_p: w.iaddress_lsb,
        nocontext_p: false,
        ..Parameters::default()
    };
    let file = elf::ElfBytes::<elf::endian::LittleEndian>::minimal_parse(&input.elf);
    let file = file.map_err(|e| format!("{}: {e}", input.name))?;
    let program: binary::elf::Elf<_, _, instruction::base::Set> =
        binary::elf::Elf::new(file).map_err(|e| format!("{}: {e:?}", input.name))?;
    let boot = binary::from_sorted_map([
        (0x1000, instruction::Kind::new_auipc(5, 0).into()),
        (0x1004, instruction::UNCOMPRESSED),
        (0x1008, instruction::UNCOMPRESSED),
        (0x100c, instruction::UNCOMPRESSED),
        (0x1010, instruction::Kind::new_jalr(0, 5, 0).into()),
    ])
    .ok_or("the boot ROM is not sorted")?;
    let program = binary::Multi::from(vec![program.boxed(), boot.boxed()]);
    let mut decoder = packet::builder().with_params(&params).decoder(&input.bytes);
    let mut tracer: Tracer<_> = tracer::builder()
        .with_binary(program)
        .with_params(&params)
        .build()
        .map_err(|e| format!("{}: {e:?}", input.name))?;
    let (mut count, mut fold) = (0, 0);
    while decoder.bytes_left() > 0 {
        let packet = decoder.decode_smi_packet().map_err(|e| format!("{}: {e:?}", input.name))?;
        let payload = packet.decode_payload().map_err(|e| format!("{}: {e:?}", input.name))?;
        tracer.process_payload(&payload).map_err(|e| format!("{}: {e:?}", input.name))?;
        for item in tracer.by_ref() {
            let item = item.map_err(|e| format!("{}: {e:?}", input.name))?;
            if let item::Kind::Regular(_) = item.kind() {
                count += 1;
                fold ^= item.pc();
            }
        }
    }
    black_box(fold);
    Ok(count)
}
