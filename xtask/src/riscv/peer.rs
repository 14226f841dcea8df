//! The peer: riscv-etrace.

use std::fmt::Debug;
use std::hint::black_box;
use std::io::Write;
use std::num::NonZeroU8;

use riscv_etrace::binary::{self, Adaptable, Binary};
use riscv_etrace::config::Parameters;
use riscv_etrace::instruction::{self, Instruction};
use riscv_etrace::packet;
use riscv_etrace::tracer::{self, Tracer, item};

use crate::inputs::Input;

type Info = Option<instruction::Kind>;

/// The boot ROM.
fn boot() -> [(u64, Instruction<Info>); 5] {
    [
        (0x1000, instruction::Kind::new_auipc(5, 0).into()),
        (0x1004, instruction::UNCOMPRESSED),
        (0x1008, instruction::UNCOMPRESSED),
        (0x100c, instruction::UNCOMPRESSED),
        (0x1010, instruction::Kind::new_jalr(0, 5, 0).into()),
    ]
}

type File<'a> = elf::ElfBytes<'a, elf::endian::LittleEndian>;

fn file(input: &Input) -> Result<File<'_>, String> {
    File::minimal_parse(&input.elf).map_err(|e| format!("{}: {e}", input.name))
}

/// As the documentation has it, an `Elf` and the boot ROM in a boxed `Multi`: how many
/// instructions.
pub fn decode(input: &Input) -> Result<u64, String> {
    let program: binary::elf::Elf<_, _, instruction::base::Set> =
        binary::elf::Elf::new(file(input)?).map_err(|e| format!("{}: {e:?}", input.name))?;
    let boot = binary::from_sorted_map(boot()).ok_or("the boot ROM is not sorted")?;
    let program = binary::Multi::from(vec![program.boxed(), boot.boxed()]);
    let mut fold = 0;
    let count = trace(input, program, |address| fold ^= address)?;
    black_box(fold);
    Ok(count)
}

/// With all instructions decoded before, in tables by address: how many instructions.
pub fn decode_flat(input: &Input) -> Result<u64, String> {
    let mut fold = 0;
    let count = flat(input, |address| fold ^= address)?;
    black_box(fold);
    Ok(count)
}

/// The same, with the address of each instruction written to `to`, a line each in hexadecimal, in
/// parts of 64 KiB.
pub fn list_flat(input: &Input, to: &mut impl Write) -> Result<u64, String> {
    let mut text = Vec::with_capacity(1 << 16);
    let mut written = Ok(());
    let count = flat(input, |address| {
        if text.capacity() - text.len() < 17 {
            if written.is_ok() {
                written = to.write_all(&text);
            }
            text.clear();
        }
        let digits = (64 - (address | 1).leading_zeros()).div_ceil(4);
        let nibbles = (0..digits).rev().map(|n| (address >> (4 * n)) as usize & 15);
        text.extend(nibbles.map(|nibble| b"0123456789abcdef"[nibble]));
        text.push(b'\n');
    })?;
    written.and_then(|()| to.write_all(&text)).map_err(|e| format!("{}: {e}", input.name))?;
    Ok(count)
}

fn flat(input: &Input, each: impl FnMut(u64)) -> Result<u64, String> {
    let file = file(input)?;
    let mut program: binary::elf::Elf<_, _, instruction::base::Set> =
        binary::elf::Elf::new(&file).map_err(|e| format!("{}: {e:?}", input.name))?;
    let segments = file.segments().into_iter().flat_map(|all| all.iter());
    let code = segments.filter(|s| s.p_flags & elf::abi::PF_X != 0 && s.p_filesz > 0);
    let mut tables: Vec<(u64, Vec<Option<Instruction<Info>>>)> = code
        .map(|s| {
            let addresses = (s.p_vaddr..s.p_vaddr + s.p_filesz).step_by(2);
            (s.p_vaddr, addresses.map(|at| program.get_insn(at).ok()).collect())
        })
        .collect();
    let mut rom = vec![None; 10];
    for (address, instruction) in boot() {
        rom[(address - 0x1000) as usize / 2] = Some(instruction);
    }
    tables.push((0x1000, rom));
    let find = |address: u64| {
        let found = tables
            .iter()
            .find_map(|(start, table)| *table.get(address.checked_sub(*start)? as usize / 2)?);
        found.ok_or(binary::error::NoInstruction)
    };
    trace(input, binary::from_fn(find), each)
}

/// The whole way from bytes to items, `each` with the address of an instruction: how many
/// instructions.
fn trace<B: Binary<Info>>(
    input: &Input,
    program: B,
    mut each: impl FnMut(u64),
) -> Result<u64, String>
where
    B::Error: Debug,
{
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
    let mut decoder = packet::builder().with_params(&params).decoder(&input.bytes);
    let mut tracer: Tracer<B> = tracer::builder()
        .with_binary(program)
        .with_params(&params)
        .build()
        .map_err(|e| format!("{}: {e:?}", input.name))?;
    let mut count = 0;
    while decoder.bytes_left() > 0 {
        let packet = decoder.decode_smi_packet().map_err(|e| format!("{}: {e:?}", input.name))?;
        let payload = packet.decode_payload().map_err(|e| format!("{}: {e:?}", input.name))?;
        tracer.process_payload(&payload).map_err(|e| format!("{}: {e:?}", input.name))?;
        for item in tracer.by_ref() {
            let item = item.map_err(|e| format!("{}: {e:?}", input.name))?;
            if let item::Kind::Regular(_) = item.kind() {
                count += 1;
                each(item.pc());
            }
        }
    }
    Ok(count)
}
