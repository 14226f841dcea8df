//! Test support: a program in memory, and elements as short text.

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use tracewright_base::{
    Access, Block, BlockCache, Code, Direction, Element, Instruction, Isa, Miss, Pc, Range, Start,
};
use tracewright_isa::{ItState, classify, t32};

/// Memory, byte by byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(BTreeMap<u32, u8>);

impl Memory {
    /// Adds A32 instructions from `address` on.
    pub(crate) fn arm(mut self, address: u32, opcodes: &[u32]) -> Self {
        for (at, opcode) in (address..).step_by(4).zip(opcodes) {
            self.write(at, &opcode.to_le_bytes());
        }
        self
    }

    /// Adds T32 halfwords from `address` on.
    pub(crate) fn thumb(mut self, address: u32, halfwords: &[u16]) -> Self {
        for (at, half) in (address..).step_by(2).zip(halfwords) {
            self.write(at, &half.to_le_bytes());
        }
        self
    }

    pub(crate) fn write(&mut self, address: u32, bytes: &[u8]) {
        self.0.extend((address..).zip(bytes.iter().copied()));
    }

    fn at(&self, address: u64) -> Vec<u8> {
        (address..).map_while(|at| self.0.get(&(at as u32)).copied()).take(4).collect()
    }
}

impl BlockCache for Memory {}

impl Code for Memory {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        Err(Miss { address: pc.address })
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        classify(pc.isa, &self.at(pc.address), pc.address, &mut ItState::default())
            .ok_or(Miss { address: pc.address })
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        let bytes = self.at(pc.address);
        let word = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if pc.isa == Isa::A32 {
            return word;
        }
        let first = u16::from_le_bytes(*bytes.first_chunk()?);
        if t32::is_wide(first) { word.map(|w| w.rotate_left(16)) } else { Some(first.into()) }
    }
}

/// Elements as short text.
pub(crate) fn describe(elements: &[(u64, Element)]) -> Vec<String> {
    elements.iter().map(|(_, element)| describe_one(element)).collect()
}

fn describe_one(element: &Element) -> String {
    match element {
        Element::Range(range) => executed(range),
        Element::Context(c) => match c.context_id {
            Some(id) => format!("in {} id {id:x}", c.isa),
            None => format!("in {}", c.isa),
        },
        Element::TraceOn(Start::Normal) => "on".into(),
        Element::TraceOn(start) => format!("on after {start:?}").to_lowercase(),
        Element::Exception(e) => match e.return_address {
            Some(to) => format!("exception {} from {to:x}", e.number),
            None => format!("exception {}", e.number),
        },
        Element::Cycles(Some(cycles)) => format!("{cycles} cycles"),
        Element::DataAccess(a) => access(a),
        Element::Gap(gap) => format!("gap: {gap}"),
        Element::Undecodable { len, .. } => format!("{len} undecodable"),
        Element::Inconsistency(inconsistency) => format!("inconsistency: {inconsistency:?}"),
        Element::NoCode { address, .. } => format!("no code at {address:x}"),
        Element::Unknown { start, next, .. } => format!("unknown {start:x} to {next:x}"),
        Element::Trigger => "trigger".into(),
        Element::End => "end".into(),
        other => format!("{other:?}"),
    }
}

fn executed(range: &Range) -> String {
    let letter = if range.taken() { 'E' } else { 'N' };
    let isa = if range.last.isa == Isa::T32 { "t" } else { "" };
    match range.cycles.get() {
        Some(cycles) => format!("{isa}{:x}{letter}/{cycles}", range.start),
        None => format!("{isa}{:x}{letter}", range.start),
    }
}

/// `8000 r4 20001234=11`: the instruction at 0x8000 read four bytes with value 0x11.
pub(crate) fn access(a: &Access) -> String {
    let hex = |value: Option<u64>| value.map_or("?".into(), |value| format!("{value:x}"));
    let way = match a.direction {
        Direction::Read => 'r',
        Direction::Write => 'w',
        Direction::Unknown => 'x',
    };
    let mut words =
        format!("{} {way}{} {}={}", hex(a.by()), a.size, hex(a.address()), hex(a.value()));
    for (flag, word) in [
        (Access::COPROCESSOR, " cp"),
        (Access::CONTINUED, " +"),
        (Access::LATE, " late"),
        (Access::STORE_FAILED, " failed"),
        (Access::VALUE_NOT_TRACED, " untraced"),
        (Access::SUPPRESSED, " suppressed"),
        (Access::BIG_ENDIAN, " be"),
        (Access::EXCEPTION, " exc"),
    ] {
        words += if a.has(flag) { word } else { "" };
    }
    words
}
