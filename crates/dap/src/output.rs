//! Text that the program has written to an ITM or STM, and its place.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tracewright::base::{Element, Software};
use tracewright::index::FindError;
use tracewright::index::query::{Condition, Which};

use crate::session::Session;

/// The most writes that a run prints.
const MOST: usize = 10_000;

/// The most bytes of a line.
const MOST_BYTES: usize = 1 << 12;

/// Flags of packets that the program has not written.
const NO_DATA: u16 = Software::TRIGGER
    | Software::FREQUENCY
    | Software::MASTER_ERROR
    | Software::CHANNEL_ERROR
    | Software::GLOBAL_ERROR
    | Software::USER;

/// A line that is not complete.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    /// The element of its first byte.
    element: u64,
}

impl Session<'_> {
    /// Prints the text that was written from element `from` up to the position. Writes before the
    /// first instruction of the trace, and behind its last one, are at these.
    pub(crate) fn print_writes(&mut self, from: u64) -> Result<(), FindError> {
        let to = self.machine.here().position.element;
        let first = self.machine.after(0)?.map(|own| own.position.element);
        let last = self.machine.before(u64::MAX)?.map(|own| own.position.element);
        let mut domain = if first == Some(from) { 0 } else { from.saturating_add(1) }..to;
        if last == Some(to) {
            domain.end = u64::MAX;
        }
        let mut open: BTreeMap<(usize, String), Text> = BTreeMap::new();
        let any = [Condition::Write { port: None, value: None, text: None }];
        for n in 0.. {
            let finder = self.machine.finder();
            let found = finder.between(Which::First, &any, domain.clone())?;
            let Some(found) = found else { break };
            if n == MOST {
                self.out.console(&format!("[the first {MOST} writes are printed]"));
                break;
            }
            domain.start = found.number.saturating_add(1);
            let Element::SoftwareWrite(write) = found.element else { continue };
            if write.bits == 0 || write.bits % 8 != 0 || write.has(NO_DATA) {
                continue;
            }
            let key = (found.source, write.channel.to_string());
            let text = open.entry(key.clone()).or_default();
            if text.bytes.is_empty() {
                text.element = found.number;
            }
            let bytes = write.value().to_le_bytes();
            let count = usize::from(write.bits / 8).min(bytes.len());
            text.bytes.extend_from_slice(bytes.get(..count).unwrap_or_default());
            if text.bytes.contains(&b'\n') || text.bytes.len() >= MOST_BYTES {
                let text = open.remove(&key).unwrap_or_default();
                self.print_text(&key.1, &text)?;
            }
        }
        for ((_, name), text) in open {
            self.print_text(&name, &text)?;
        }
        Ok(())
    }

    /// Prints lines, with the source line of the last instruction before them.
    fn print_text(&mut self, channel: &str, text: &Text) -> Result<(), FindError> {
        // What is not text is a number or a structure.
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
        let printed = match std::str::from_utf8(&text.bytes) {
            Ok(printed) if text.bytes.iter().all(is_text) => printed.trim_end(),
            _ => return Ok(()),
        };
        if printed.is_empty() {
            return Ok(());
        }
        let mut body = json!({
            "category": "stdout",
            "output": format!("{printed}\n"),
            "data": { "element": text.element, "channel": channel },
        });
        let before = self.machine.before(text.element)?;
        if let (Some(own), Some(body)) = (before, body.as_object_mut())
            && let Some(row) = self.program.at(own.address).row
        {
            body.insert("source".into(), self.sources.describe(&self.program, row.line.file));
            body.insert("line".into(), self.client.line_out(row.line.line).into());
            body.insert("column".into(), self.client.column_out(row.column.max(1)).into());
        }
        self.out.event("output", Some(body));
        Ok(())
    }

    /// Prints a line of a log point.
    pub(crate) fn print_log(&mut self, text: &str, address: u64) {
        let mut body = json!({ "category": "console", "output": format!("{text}\n") });
        if let (Some(row), Some(body)) = (self.program.at(address).row, body.as_object_mut()) {
            let source: Value = self.sources.describe(&self.program, row.line.file);
            body.insert("source".into(), source);
            body.insert("line".into(), self.client.line_out(row.line.line).into());
        }
        self.out.event("output", Some(body));
    }
}
