//! The data of a source that views need: name, configuration, program.

use std::borrow::Cow;
use std::sync::Arc;

use tracewright_base::{Element, Range};
use tracewright_capture::{Capture, plain};
use tracewright_decode::{Memory, Plan, Program};
use tracewright_image::{Image, Selection};
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::AnyConfig;
use tracewright_symbols::demangled;

use crate::digits::{hex, hex_padded};
use crate::line_table::LineTable;

/// A source of a [`Plan`] with its name, configuration and program memory: what listings need, and
/// what `tracewright::Trace::sources` returns.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in the capture.
    pub name: String,
    /// Its trace ID, or its number in messages; `None` for raw trace data.
    pub id: Option<u16>,
    /// Its configuration.
    pub config: AnyConfig,
    /// The program memory of its core in the current context.
    pub image: Arc<Image>,
    /// The program memory in each context.
    pub program: Program,
    /// What selects the memory.
    selection: Selection,
    /// The source lines that are shown after the names of functions.
    lines: Option<Arc<LineTable>>,
}

impl Source {
    /// The sources of `plan`, in its order.
    pub fn all(capture: &Capture, plan: &Plan, memory: &Memory) -> Vec<Source> {
        let framed = plan.framed();
        let sources = plan.sources.iter().map(|planned| {
            let program = memory.seen_by(capture, plan.buffer, planned.source);
            Source {
                name: planned.name.clone(),
                id: framed.then_some(planned.id),
                config: planned.config.clone(),
                image: program.start(),
                selection: program.begin(),
                program,
                lines: None,
            }
        });
        sources.collect()
    }

    /// Appends the bytes of a packet in hexadecimal, each followed by `between`. A nibble has
    /// one digit.
    pub fn packet_bytes(&self, bytes: &[u8], between: &str, out: &mut String) {
        let digits = if self.config.protocol().form() == TraceForm::HalfBytes { 1 } else { 2 };
        for &byte in bytes {
            hex_padded(byte.into(), digits, out);
            out.push_str(between);
        }
    }

    /// The name of its protocol.
    pub fn protocol(&self) -> &'static str {
        self.config.protocol().about().names.first().copied().unwrap_or_default()
    }

    /// The name of exception `number`, where it has one.
    pub fn exception_name(&self, number: u16) -> Option<Cow<'static, str>> {
        self.config.exception_name(number)
    }

    /// Whether there are symbols.
    pub fn has_symbols(&self) -> bool {
        matches!(self.program, Program::Spaces(_)) || !self.image.symbols().is_empty()
    }

    /// Whether texts of addresses may have names or source lines.
    pub fn describes_addresses(&self) -> bool {
        self.has_symbols() || self.lines.is_some()
    }

    /// Appends ` <main+0x14>`, where a symbol contains `address`; where lines are shown,
    /// ` <main+0x14 main.c:12>`, or ` <main.c:12>` where no symbol contains it.
    #[inline]
    pub fn symbol(&self, address: u64, out: &mut String) {
        if !self.describes_addresses() {
            return;
        }
        let symbol = self.program.symbol(&self.image, address);
        let line = self.line(address);
        if symbol.is_none() && line.is_none() {
            return;
        }
        out.push_str(" <");
        if let Some(symbol) = &symbol {
            name(symbol, address, out);
        }
        if let Some(line) = line {
            if symbol.is_some() {
                out.push(' ');
            }
            out.push_str(&line);
        }
        out.push('>');
    }

    /// Shows the source lines of `table` after the names of functions.
    pub fn show_lines(&mut self, table: &Arc<LineTable>) {
        self.lines = Some(Arc::clone(table));
    }

    /// `main.c:12`, where lines are shown and the line of `address` is known.
    pub fn line(&self, address: u64) -> Option<String> {
        let (file, line) = self.lines.as_ref()?.at(address)?;
        Some(format!("{}:{line}", plain::line(file)))
    }

    /// `main+0x14`, where a symbol contains `address`. Names of C++ and Rust are demangled.
    pub fn symbol_name(&self, address: u64) -> Option<String> {
        let symbol = self.program.symbol(&self.image, address)?;
        let mut text = String::new();
        name(&symbol, address, &mut text);
        Some(text)
    }

    /// The symbol that contains `address`, in parts.
    pub fn symbol_at(&self, address: u64) -> Option<SymbolAt<'_>> {
        let symbol = self.program.symbol(&self.image, address)?;
        Some(SymbolAt { name: readable(symbol.name), offset: address.wrapping_sub(symbol.start) })
    }

    /// Follows what `element` selects. Returns whether the program memory is another one.
    pub fn follow(&mut self, element: &Element) -> bool {
        if !self.program.follow(&mut self.selection, element) {
            return false;
        }
        let Some(image) = self.program.image_of(&self.selection) else { return false };
        let other = !Arc::ptr_eq(&image, &self.image);
        self.image = image;
        other
    }

    /// Whether the memory depends on executed addresses.
    pub fn watches_addresses(&self) -> bool {
        self.program.watches_addresses()
    }

    /// Follows what an executed range selects.
    #[inline]
    pub fn follow_range(&mut self, range: &Range) -> bool {
        self.program.watches_addresses() && self.follow(&Element::Range(*range))
    }

    /// The memory is that at the beginning of the buffer.
    pub fn restart(&mut self) {
        (self.selection, self.image) = (self.program.begin(), self.program.start());
    }

    /// The memory is that of `selection`.
    pub fn select(&mut self, selection: Selection) {
        self.selection = selection;
        if let Some(image) = self.program.image_of(&selection) {
            self.image = image;
        }
    }

    /// The selections of the memory of `sources`.
    pub fn selections(sources: &[Source]) -> Vec<Selection> {
        sources.iter().map(|source| source.selection).collect()
    }

    /// Continues with `selections`.
    pub fn resume(sources: &mut [Source], selections: &[Selection]) {
        for (source, selection) in sources.iter_mut().zip(selections) {
            source.select(*selection);
        }
    }
}

/// The symbol of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolAt<'a> {
    /// The name. Names of C++ and Rust are demangled.
    pub name: Cow<'a, str>,
    /// Bytes from the first address of the symbol to the address.
    pub offset: u64,
}

/// A name of a symbol as people write it.
fn readable(name: &str) -> Cow<'_, str> {
    // Only mangled names begin so: those of C++ and of Rust.
    match ["_Z", "_R", "__Z"].iter().any(|start| name.starts_with(start)) {
        // It may have characters that the symbol encodes.
        true => Cow::Owned(plain::line(&demangled(name)).into_owned()),
        false => Cow::Borrowed(name),
    }
}

fn name(symbol: &tracewright_image::Symbol<'_>, address: u64, out: &mut String) {
    out.push_str(&readable(symbol.name));
    let offset = address.wrapping_sub(symbol.start);
    if offset != 0 {
        out.push_str("+0x");
        hex(offset, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operator's name has the character that separates the offset in texts.
    #[test]
    fn names_of_operators() {
        assert_eq!(readable("_ZplRK1AS1_"), "operator+(A const&, A const&)");
        assert_eq!(readable("operator+"), "operator+");
    }
}
