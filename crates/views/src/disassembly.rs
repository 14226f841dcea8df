//! Instructions as text, for people. Nothing is ever decided by it.

use std::collections::HashMap;
use std::fmt::Write;

use tracewright_base::Isa;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::{armv7, armv8};

use crate::opencsd::text::{hex, hex_padded};

/// Texts that are kept, at most.
const KEPT: usize = 1 << 16;

/// Disassembles, and keeps what it made: programs run the same instructions over and over.
#[derive(Debug, Default)]
pub struct Disassembler {
    kept: HashMap<(u64, u32, Isa), Box<str>>,
}

impl Disassembler {
    /// The text of `opcode` at `address`: targets of branches are addresses. `.inst 0x...` for what is not
    /// known. A narrow T32 opcode is in bits \[15:0]; a wide one has its first halfword in bits \[31:16].
    pub fn text(&mut self, isa: Isa, opcode: u32, address: u64) -> &str {
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        self.kept
            .entry((address, opcode, isa))
            .or_insert_with(|| disassemble(isa, opcode, address).into())
    }
}

/// The text of one instruction: see [`Disassembler::text`].
pub fn disassemble(isa: Isa, opcode: u32, address: u64) -> String {
    let text = match isa {
        Isa::A64 => {
            let decoder = armv8::a64::InstDecoder::default();
            let bytes = opcode.to_le_bytes();
            decoder.decode(&mut U8Reader::new(&bytes)).ok().map(|i| i.to_string())
        }
        Isa::A32 => {
            let decoder = armv7::InstDecoder::default();
            let bytes = opcode.to_le_bytes();
            decoder.decode(&mut U8Reader::new(&bytes)).ok().map(|i| i.to_string())
        }
        Isa::T32 => {
            let decoder = armv7::InstDecoder::default_thumb();
            let wide = opcode.rotate_left(16).to_le_bytes();
            let narrow = (opcode as u16).to_le_bytes();
            let bytes: &[u8] = if opcode > 0xffff { &wide } else { &narrow };
            decoder.decode(&mut U8Reader::new(bytes)).ok().map(|i| i.to_string())
        }
        _ => None,
    };
    match text {
        Some(text) => absolute(&text, address, isa),
        None => {
            let mut text = String::from(".inst 0x");
            hex_padded(
                opcode.into(),
                if opcode > 0xffff || isa != Isa::T32 { 8 } else { 4 },
                &mut text,
            );
            text
        }
    }
}

/// `text` with its offsets from the instruction, `$+0x10`, as addresses.
fn absolute(text: &str, address: u64, isa: Isa) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (back, digits) = match after.as_bytes() {
            [b'+', b'0', b'x', ..] => (false, &after[3..]),
            [b'-', b'0', b'x', ..] => (true, &after[3..]),
            _ => {
                out.push('$');
                rest = after;
                continue;
            }
        };
        let len = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (number, after) = digits.split_at(len);
        let offset = u64::from_str_radix(number, 16).unwrap_or(0);
        // The disassembler counts from the instruction's own address, in every instruction set.
        let to = if back { address.wrapping_sub(offset) } else { address.wrapping_add(offset) };
        out.push_str("0x");
        hex(to & isa.address_mask(), &mut out);
        rest = after;
    }
    let _ = write!(out, "{rest}");
    out
}
