//! Instructions as text, for people. Nothing is ever decided by it.

mod riscv;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tracewright_base::Isa;
use tracewright_isa::rv::{self, Extensions};
use tracewright_isa::{ItState, classify};
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::{armv7, armv8};

use crate::Source;
use crate::digits::{hex, hex_padded};
use crate::fold::Mixer;

/// Texts that are kept, at most.
const KEPT: usize = 1 << 16;

/// Disassembles, and keeps what it made: programs run the same instructions over and over.
#[derive(Debug, Default)]
pub struct Disassembler {
    riscv: Extensions,
    render_cache: HashMap<(u64, u32, Isa), Box<str>, BuildHasherDefault<Mixer>>,
}

impl Disassembler {
    /// Of a processor to which RISC-V opcodes mean what `riscv` says.
    pub fn new(riscv: Extensions) -> Self {
        Disassembler { riscv, ..Disassembler::default() }
    }

    /// One for each of `sources`.
    pub(crate) fn all(sources: &[Source]) -> Vec<Disassembler> {
        sources.iter().map(|source| Disassembler::new(source.config.riscv())).collect()
    }

    /// The text of `opcode` at `address`: targets of branches are addresses. `.inst 0x...` for what is not
    /// known. A narrow T32 opcode is in bits \[15:0]; a wide one has its first halfword in bits \[31:16].
    pub fn text(&mut self, isa: Isa, opcode: u32, address: u64) -> &str {
        if self.render_cache.len() >= KEPT {
            self.render_cache.clear();
        }
        self.render_cache
            .entry((address, opcode, isa))
            .or_insert_with(|| disassemble_with(isa, opcode, address, &self.riscv).into())
    }
}

/// The text of one instruction: see [`Disassembler::text`]. RISC-V opcodes are the standard ones.
pub fn disassemble(isa: Isa, opcode: u32, address: u64) -> String {
    disassemble_with(isa, opcode, address, &Extensions::NONE)
}

/// The same where RISC-V opcodes mean what `riscv` says.
pub fn disassemble_with(isa: Isa, opcode: u32, address: u64, riscv: &Extensions) -> String {
    if let Isa::Rv32 | Isa::Rv64 = isa {
        return riscv::extended(isa, opcode, address, riscv)
            .unwrap_or_else(|| unknown(opcode, !narrow(isa, opcode)));
    }
    let wide = isa == Isa::ThumbEe || !narrow(isa, opcode);
    let word = if isa == Isa::T32 && wide { opcode.rotate_left(16) } else { opcode };
    let bytes = word.to_le_bytes();
    let bytes = if wide { &bytes[..] } else { &bytes[..2] };
    match text(isa, opcode, bytes) {
        Some(text) => absolute(&text, isa, bytes, address),
        None => unknown(opcode, wide),
    }
}

/// An opcode that takes two bytes.
pub(crate) fn narrow(isa: Isa, opcode: u32) -> bool {
    match isa {
        Isa::T32 | Isa::ThumbEe => opcode <= 0xffff,
        Isa::Rv32 | Isa::Rv64 => rv::size(opcode as u16) == 2,
        Isa::A64 | Isa::A32 | Isa::Jazelle => false,
    }
}

fn unknown(opcode: u32, wide: bool) -> String {
    let mut text = String::from(".inst 0x");
    hex_padded(opcode.into(), if wide { 8 } else { 4 }, &mut text);
    text
}

fn text(isa: Isa, opcode: u32, bytes: &[u8]) -> Option<String> {
    let bytes = &mut U8Reader::new(bytes);
    match isa {
        Isa::A64 => armv8::a64::InstDecoder::default().decode(bytes).ok().map(|i| i.to_string()),
        // LDRD and STRD of R15 and a register after it, of which the disassembler knows nothing.
        Isa::A32 if opcode & 0x0e10_f0d0 == 0x0000_f0d0 => None,
        Isa::A32 => armv7::InstDecoder::default().decode(bytes).ok().map(|i| i.to_string()),
        Isa::T32 => armv7::InstDecoder::default_thumb().decode(bytes).ok().map(|i| i.to_string()),
        _ => None,
    }
}

/// `text` with its offset from the instruction, `$+0x10`, as an address.
fn absolute(text: &str, isa: Isa, bytes: &[u8], address: u64) -> String {
    let Some((before, after)) = text.split_once('$') else { return text.to_owned() };
    let (back, after) = (after.starts_with('-'), after.get(3..).unwrap_or_default());
    let len = after.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (number, after) = after.split_at(len);
    let offset = u64::from_str_radix(number, 16).unwrap_or(0);
    // The disassembler is not of one mind on what T32 offsets count from.
    let branch = classify(isa, bytes, address, &mut ItState::default()).and_then(|i| i.target);
    let to = branch.unwrap_or_else(|| {
        // ADRP counts from the page.
        let base = if text.starts_with("adrp") { address & !0xfff } else { address };
        if back { base.wrapping_sub(offset) } else { base.wrapping_add(offset) }
    });
    let mut out = String::with_capacity(text.len() + 8);
    out.push_str(before);
    out.push_str("0x");
    hex(to & isa.address_mask(), &mut out);
    out.push_str(after);
    out
}
