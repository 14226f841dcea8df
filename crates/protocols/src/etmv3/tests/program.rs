//! Programs for tests, and elements as short text.

use std::format;
use std::string::String;
use std::vec::Vec;

use tracewright_base::{Context, Element, Isa, Security, Start};

use crate::etmv3::{Config, Etmv3};
use crate::memory::{Memory, access};
use crate::ways;

/// Memory from 0x8000 on.
pub(super) type Program = Memory;

const BASE: u32 = 0x8000;

/// A32 instructions from 0x8000 on.
pub(super) fn arm(opcodes: &[u32]) -> Program {
    Memory::default().arm(BASE, opcodes)
}

/// T32 halfwords from 0x8000 on.
pub(super) fn thumb(halfwords: &[u16]) -> Program {
    Memory::default().thumb(BASE, halfwords)
}

/// The elements of an A-sync, an I-sync at 0x8000 and `bytes`, as short text. The bytes are decoded
/// in every way.
pub(super) fn described(
    config: &Config,
    code: &Program,
    isync: &[u8],
    bytes: &[u8],
) -> Vec<String> {
    let bytes = [&[0, 0, 0, 0, 0, 0x80], isync, bytes].concat();
    let mut elements = ways::check::<Etmv3, _>(config, &mut code.clone(), &bytes).elements;
    assert!(matches!(elements.pop(), Some((_, Element::End))));
    let mut offsets = elements.iter().map(|(at, element)| match element {
        // The accesses of a load multiple that reads the PC first come after its last one.
        // Undecodable bytes come when their number is known.
        Element::DataAccess(_) | Element::Undecodable { .. } => None,
        _ => Some(*at),
    });
    let mut last = 0;
    assert!(offsets.by_ref().flatten().all(|at| core::mem::replace(&mut last, at) <= at));
    elements.iter().map(|(_, element)| describe(element)).collect()
}

fn describe(element: &Element) -> String {
    match element {
        Element::Range(r) => {
            let letter = if r.taken() { 'E' } else { 'N' };
            let isa = match r.last.isa {
                Isa::A32 => "",
                Isa::T32 => "t",
                _ => "x",
            };
            match r.cycles.get() {
                Some(cycles) => format!("{isa}{:x}{letter}/{cycles}", r.start),
                None => format!("{isa}{:x}{letter}", r.start),
            }
        }
        Element::Context(c) => context(c),
        Element::TraceOn(Start::Normal) => "on".into(),
        Element::TraceOn(start) => format!("on after {start:?}").to_lowercase(),
        Element::Exception(e) if e.tail_chain => format!("tail exception {:x}", e.number),
        Element::Exception(e) => format!("exception {:x}", e.number),
        Element::ExceptionReturn => "return".into(),
        Element::Cycles(Some(cycles)) => format!("{cycles} cycles"),
        Element::Cycles(None) => "? cycles".into(),
        Element::DataAccess(a) => access(a),
        Element::Timestamp { value, .. } => format!("time {value:x}"),
        Element::Gap(gap) => format!("gap: {gap}"),
        Element::Undecodable { len, .. } => format!("{len} undecodable"),
        Element::Inconsistency(inconsistency) => format!("inconsistency: {inconsistency:?}"),
        Element::NoCode { address, .. } => format!("no code at {address:x}"),
        Element::Trigger => "trigger".into(),
        other => format!("{other:?}"),
    }
}

fn context(c: &Context) -> String {
    let isa = match c.isa {
        Isa::A32 => "A32",
        Isa::T32 => "T32",
        Isa::ThumbEe => "ThumbEE",
        Isa::Jazelle => "Jazelle",
        _ => "A64",
    };
    let mut words = format!("in {isa}");
    words += if c.security == Some(Security::NonSecure) { " ns" } else { "" };
    words += if c.el == Some(2) { " hyp" } else { "" };
    if let Some(id) = c.context_id {
        words += &format!(" id {id:x}");
    }
    if let Some(id) = c.vmid {
        words += &format!(" vmid {id:x}");
    }
    words
}
