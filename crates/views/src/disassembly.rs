//! Instructions as text. No decision depends on the text.

#[cfg(feature = "disassembly")]
mod aarch32;
#[cfg(feature = "disassembly")]
mod branches;
#[cfg(feature = "disassembly")]
mod maintenance;
#[cfg(feature = "disassembly")]
mod riscv;
#[cfg(feature = "disassembly")]
mod simd;
#[cfg(feature = "disassembly")]
mod system;
#[cfg(feature = "disassembly")]
mod unallocated;
#[cfg(feature = "disassembly")]
mod widening;

use tracewright_base::Isa;
use tracewright_isa::rv::{self, Extensions};
#[cfg(feature = "disassembly")]
use tracewright_isa::{ItState, classify};
#[cfg(feature = "disassembly")]
use yaxpeax_arch::{Decoder, U8Reader};
#[cfg(feature = "disassembly")]
use yaxpeax_arm::{armv7, armv8};

#[cfg(feature = "disassembly")]
use crate::digits::hex;
use crate::digits::hex_padded;
use crate::render_cache::RenderCache;
use crate::sources::Source;

/// Disassembles instructions, and caches their text: programs execute the same instructions many
/// times.
#[derive(Debug, Default)]
pub struct Disassembler {
    riscv: Extensions,
    /// Texts before [`resolve`], by opcode, and by address where they depend on it.
    cache: RenderCache,
    /// The last text.
    text: String,
    /// The last text depends on the address.
    by_address: bool,
}

impl Disassembler {
    /// The disassembler for a processor with the RISC-V extensions `riscv`.
    pub fn new(riscv: Extensions) -> Self {
        Disassembler { riscv, ..Disassembler::default() }
    }

    /// A disassembler for each of `sources`.
    pub(crate) fn all(sources: &[Source]) -> Vec<Disassembler> {
        sources.iter().map(|source| Disassembler::new(source.config.riscv())).collect()
    }

    /// The text of `opcode` at `address`, with addresses for the targets of branches. `.inst 0x...`
    /// for an unknown opcode. A narrow T32 opcode is in bits \[15:0]; a wide one has its first
    /// halfword in bits \[31:16].
    pub fn text(&mut self, isa: Isa, opcode: u32, address: u64) -> &str {
        let by_address = match isa {
            Isa::Rv32 | Isa::Rv64 => {
                self.riscv.has_custom() || rv::standard(isa, opcode, 0, false).target.is_some()
            }
            _ => false,
        };
        let key = [u64::from(opcode) | (isa as u64) << 32, if by_address { address } else { 0 }];
        self.text.clear();
        self.cache.put(key, &mut self.text, |out| {
            out.push_str(&unresolved(isa, opcode, address, &self.riscv));
        });
        self.by_address = resolve(&mut self.text, isa, opcode, address) || by_address;
        &self.text
    }

    /// The last text.
    pub(crate) fn last(&self) -> &str {
        &self.text
    }

    /// Whether the last text depends on the address.
    pub(crate) fn is_by_address(&self) -> bool {
        self.by_address
    }
}

/// The text of one instruction: see [`Disassembler::text`]. RISC-V opcodes are those of the
/// standard.
pub fn disassemble(isa: Isa, opcode: u32, address: u64) -> String {
    disassemble_with(isa, opcode, address, &Extensions::NONE)
}

/// The text of one instruction of a processor with the RISC-V extensions `riscv`.
pub fn disassemble_with(isa: Isa, opcode: u32, address: u64, riscv: &Extensions) -> String {
    let mut text = unresolved(isa, opcode, address, riscv);
    resolve(&mut text, isa, opcode, address);
    text
}

/// The text of one instruction. Arm's has offsets from the instruction, such as `$+0x10`, and does
/// not depend on the address.
fn unresolved(isa: Isa, opcode: u32, address: u64, riscv: &Extensions) -> String {
    let wide = isa == Isa::ThumbEe || !narrow(isa, opcode);
    instruction(isa, opcode, address, riscv).unwrap_or_else(|| unknown(opcode, wide))
}

/// Replaces an offset in Arm's text by the address. Returns whether it has one.
fn resolve(text: &mut String, isa: Isa, opcode: u32, address: u64) -> bool {
    let offset = match isa {
        Isa::Rv32 | Isa::Rv64 => None,
        _ => text.find('$'),
    };
    let Some(offset) = offset else { return false };
    absolute(text, offset, isa, opcode, address);
    true
}

/// Without the feature `disassembly`, no instruction has a text.
#[cfg(not(feature = "disassembly"))]
fn instruction(_: Isa, _: u32, _: u64, _: &Extensions) -> Option<String> {
    None
}

/// Without the feature `disassembly`, no text has an offset.
#[cfg(not(feature = "disassembly"))]
fn absolute(_: &mut String, _: usize, _: Isa, _: u32, _: u64) {}

/// The text of an instruction, if the opcode is known.
#[cfg(feature = "disassembly")]
fn instruction(isa: Isa, opcode: u32, address: u64, riscv: &Extensions) -> Option<String> {
    if let Isa::Rv32 | Isa::Rv64 = isa {
        return riscv::extended(isa, opcode, address, riscv);
    }
    let (bytes, size) = bytes(isa, opcode);
    text(isa, opcode, bytes.get(..size)?)
}

/// The bytes of an Arm opcode in memory, and how many there are.
#[cfg(feature = "disassembly")]
fn bytes(isa: Isa, opcode: u32) -> ([u8; 4], usize) {
    let wide = isa == Isa::ThumbEe || !narrow(isa, opcode);
    let word = if isa == Isa::T32 && wide { opcode.rotate_left(16) } else { opcode };
    (word.to_le_bytes(), if wide { 4 } else { 2 })
}

/// Whether an opcode has two bytes.
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

#[cfg(feature = "disassembly")]
fn text(isa: Isa, opcode: u32, bytes: &[u8]) -> Option<String> {
    let wide = bytes.len() == 4;
    let own = match isa {
        Isa::A64 => branches::a64(opcode),
        Isa::T32 if wide => branches::t32(opcode),
        _ => None,
    };
    if own.is_some() {
        return own;
    }
    match isa {
        Isa::A64 if maintenance::is_here(opcode) => maintenance::text(opcode),
        Isa::A64 if widening::is_here(opcode) => widening::text(opcode),
        Isa::A64 if unallocated::a64(opcode) => None,
        Isa::A64 => Some(bytes).and_then(|bytes| {
            let bytes = &mut U8Reader::new(bytes);
            let text = armv8::a64::InstDecoder::default().decode(bytes).ok()?.to_string();
            // Loads and stores of reserved sizes.
            (!text.starts_with("invalid")).then_some(text)
        }),
        Isa::A32 if simd::is_a32(opcode) => simd::a32(opcode),
        Isa::A32 => aarch32::a32(opcode).or_else(|| general_a32(opcode)),
        Isa::T32 if wide && simd::is_t32(opcode) => simd::t32(opcode),
        Isa::T32 if wide && unallocated::t32(opcode) => None,
        // Coprocessor instructions are those of A32 without a condition.
        Isa::T32 if wide && matches!(opcode >> 24, 0xec..=0xee) => general_a32(opcode),
        Isa::T32 => wide.then(|| aarch32::t32(opcode)).flatten().or_else(|| {
            let bytes = &mut U8Reader::new(bytes);
            let text = armv7::InstDecoder::default_thumb().decode(bytes).ok()?.to_string();
            (!text.contains("invalid")).then(|| with_marks(&text))
        }),
        _ => None,
    }
}

#[cfg(feature = "disassembly")]
fn general_a32(opcode: u32) -> Option<String> {
    // The disassembler does not handle LDRD and STRD of R15.
    if opcode & 0x0e10_f0d0 == 0x0000_f0d0 {
        return None;
    }
    let bytes = opcode.to_le_bytes();
    let bytes = &mut U8Reader::new(&bytes);
    let text = armv7::InstDecoder::default().decode(bytes).ok()?.to_string();
    (!text.contains("invalid")).then(|| with_marks(&text))
}

/// `text` with `#` before immediates, as A64 has them. The numbers of coprocessor instructions are
/// fields of the opcode.
#[cfg(feature = "disassembly")]
fn with_marks(text: &str) -> String {
    let coprocessor = ["mcr", "mrc", "mrrc", "cdp", "ldc", "stc", "."];
    if coprocessor.iter().any(|name| text.starts_with(name)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    let (mut before, mut rest) = (None, text.chars());
    while let Some(c) = rest.next() {
        let digit = c.is_ascii_digit()
            || c == '-' && rest.clone().next().is_some_and(|next| next.is_ascii_digit());
        if digit && matches!(before, Some(' ' | '[')) {
            out.push('#');
        }
        out.push(c);
        before = Some(c);
    }
    out
}

/// Puts an address in place of the offset at index `at` of `text`, such as `$+0x10`.
#[cfg(feature = "disassembly")]
fn absolute(text: &mut String, at: usize, isa: Isa, opcode: u32, address: u64) {
    let (bytes, size) = bytes(isa, opcode);
    let bytes = bytes.get(..size).unwrap_or_default();
    let after = text.get(at + 1..).unwrap_or_default();
    let (back, after) = (after.starts_with('-'), after.get(3..).unwrap_or_default());
    let len = after.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (number, after) = after.split_at(len);
    let offset = u64::from_str_radix(number, 16).unwrap_or(0);
    // The base of T32 offsets varies in the disassembler, so the target comes from `classify`.
    let branch = classify(isa, bytes, address, &mut ItState::default()).and_then(|i| i.target);
    let to = branch.unwrap_or_else(|| {
        // ADRP counts from the page.
        let base = if text.starts_with("adrp") { address & !0xfff } else { address };
        if back { base.wrapping_sub(offset) } else { base.wrapping_add(offset) }
    });
    // Nearly all offsets end their text.
    let after = if after.is_empty() { None } else { Some(after.to_owned()) };
    text.truncate(at);
    text.push_str("0x");
    hex(to & isa.address_mask(), text);
    if let Some(after) = after {
        text.push_str(&after);
    }
}
