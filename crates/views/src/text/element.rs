//! Elements as text: [`Element`]'s `Display`, with the names of symbols and of exceptions.

use std::fmt::Write;

use tracewright_base::{Element, Exception, Range};

use tracewright_capture::plain::line;

use crate::digits::{decimal, hex};
use crate::range_tails::RangeTails;
use crate::sources::Source;

/// Appends the text of `element` of `source`.
pub fn element(source: &Source, element: &Element, out: &mut String) {
    match element {
        Element::Range(r) => range(source, r, out),
        Element::Exception(e) => exception(source, e, out),
        Element::NoCode { address, space } => {
            out.push_str("no-code    ");
            code_address(source, *address, out);
            let level = space.el();
            match level.and_then(|level| source.config.protocol().privilege_name(level)) {
                Some(name) => _ = write!(out, " in {name} memory"),
                None => _ = write!(out, " in {space} memory"),
            }
        }
        Element::Unknown { start, next, .. } => {
            let _ = write!(out, "{element}");
            arrow(source, &[*start, *next], out);
        }
        Element::DwtEvent(event) => {
            let _ = write!(out, "{element}");
            if let Some(pc) = event.meaning().pc() {
                source.symbol(pc.into(), out);
            }
        }
        Element::DataAccess(access) => {
            let _ = write!(out, "{element}");
            if let Some(by) = access.by() {
                source.symbol(by, out);
            }
        }
        Element::Context(context) => {
            let _ = write!(out, "{element}");
            if let Some(thread) = source.program.thread(context) {
                let _ = write!(out, ", process {} thread {}", thread.process, thread.id);
                if let Some(name) = &thread.name {
                    let _ = write!(out, " ({})", line(name));
                }
            }
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn range(source: &Source, r: &Range, out: &mut String) {
    range_addresses(r, out);
    source.symbol(r.start, out);
    range_tail(r, out);
    range_cycles(r, out);
}

/// Appends the text of a range without the name of a function.
#[inline]
pub(super) fn plain_range(r: &Range, tails: &mut RangeTails, out: &mut String) {
    range_addresses(r, out);
    tails.put(r, out, range_tail);
    range_cycles(r, out);
}

#[inline]
fn range_addresses(r: &Range, out: &mut String) {
    out.push_str("range      0x");
    hex(r.start, out);
    out.push_str("..0x");
    hex(r.end(), out);
}

/// The part that depends on the number of instructions and on the last one.
fn range_tail(r: &Range, out: &mut String) {
    out.push(' ');
    decimal(r.instructions.into(), out);
    out.push(' ');
    out.push_str(r.last.isa.name());
    out.push(' ');
    let (what, became) = r.last.words();
    out.push_str(what);
    out.push_str(became);
}

#[inline]
fn range_cycles(r: &Range, out: &mut String) {
    if let Some(cycles) = r.cycles.get() {
        out.push_str(", ");
        decimal(cycles.into(), out);
        out.push_str(" cycles");
    }
}

fn exception(source: &Source, e: &Exception, out: &mut String) {
    out.push_str("exception  ");
    decimal(e.number.into(), out);
    if let Some(name) = source.exception_name(e.number) {
        out.push(' ');
        out.push_str(&name);
    }
    match e.return_address {
        Some(address) => {
            out.push_str(", returns to ");
            code_address(source, address, out);
        }
        None => out.push_str(", return address unknown"),
    }
    if e.also_target {
        out.push_str(", the target of the branch before");
    }
    if e.tail_chain {
        out.push_str(", tail-chained");
    }
}

fn code_address(source: &Source, address: u64, out: &mut String) {
    out.push_str("0x");
    hex(address, out);
    source.symbol(address, out);
}

fn arrow(source: &Source, addresses: &[u64], out: &mut String) {
    for &address in addresses {
        source.symbol(address, out);
    }
}
