//! Kanata, the log of pipelines that Konata displays. (Konata, docs/kanata-log-format.md, version
//! 4)
//!
//! ```text
//! Kanata  0004
//! C=      216
//! I       0    0    0
//! L       0    0    12000d918: add r1, r16, 1
//! C       1
//! R       0    0    0
//! ```
//!
//! Cells are separated by tabs. An instruction begins with `I`, its label, `L` with type 0, begins
//! with its address, and it retires with `R` and type 0; type 1 is a flush. The label has the
//! opcode after the address, where a simulator writes it.

use std::collections::HashMap;

use tracewright_base::Isa;

use crate::entry::{Entry, Event, Executed, Opcode};
use crate::spike::riscv;
use crate::text::{Expected, Words, hex, number};

/// Whether `line` is the first line of a log.
pub fn is_header(line: &[u8]) -> bool {
    let mut words = Words(line);
    words.word() == b"Kanata" && number(words.word()).is_some()
}

/// The most instructions between fetch and retirement, which bounds the memory of a reader.
const MAX_IN_FLIGHT: usize = 1 << 16;
/// The most bytes of a label that are read.
const MAX_LABEL: usize = 1 << 8;

/// Reads lines.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    cycle: u64,
    in_flight: HashMap<u64, Pending>,
}

/// An instruction that has not retired.
#[derive(Clone, Debug, Default)]
struct Pending {
    thread: u16,
    label: Vec<u8>,
}

impl Parser {
    /// Reads one line.
    pub fn line(
        &mut self,
        line: &[u8],
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let mut cells = line.split(|byte| *byte == b'\t');
        let mut cell = || cells.next().unwrap_or_default();
        let command = cell().trim_ascii();
        let numbered =
            |cell: &[u8]| number(Words(cell).word()).ok_or(Expected("a number in each cell"));
        match command {
            b"C=" => self.cycle = numbered(cell())?,
            b"C" => self.cycle = self.cycle.saturating_add(numbered(cell())?),
            b"I" => {
                let id = numbered(cell())?;
                numbered(cell())?;
                let thread = u16::try_from(numbered(cell())?);
                let thread = thread.map_err(|_| Expected("a thread below 65536"))?;
                if self.in_flight.len() >= MAX_IN_FLIGHT {
                    return Err(Expected("at most 65536 instructions that have not retired"));
                }
                self.in_flight.insert(id, Pending { thread, label: Vec::new() });
            }
            b"L" => {
                let (id, kind) = (numbered(cell())?, numbered(cell())?);
                if let (0, Some(pending)) = (kind, self.in_flight.get_mut(&id)) {
                    let room = MAX_LABEL - pending.label.len();
                    pending.label.extend(cell().iter().take(room));
                }
            }
            b"R" => {
                let id = numbered(cell())?;
                numbered(cell())?;
                let flushed = numbered(cell())? != 0;
                let Some(pending) = self.in_flight.remove(&id).filter(|_| !flushed) else {
                    return Ok(());
                };
                let (address, opcode) = labelled(&pending.label, isa).ok_or(Expected(
                    "the retirement of an instruction whose label begins with its address",
                ))?;
                let event = Event::Instruction(Executed {
                    address,
                    opcode,
                    isa: Some(isa),
                    ..Executed::default()
                });
                out(Entry { cpu: pending.thread, time: Some(self.cycle), event });
            }
            // Stages, dependencies, the header, and comments.
            b"S" | b"E" | b"W" | b"" | b"Kanata" | [b'/', b'/', ..] => {}
            _ if is_header(line) => {}
            _ => return Err(Expected("a command of Kanata: C=, C, I, L, S, E, R or W")),
        }
        Ok(())
    }
}

/// The least number of digits of an address without 0x or a colon.
const DIGITS: usize = 5;

/// The address and the opcode in the label of an instruction.
fn labelled(label: &[u8], isa: Isa) -> Option<(u64, Option<Opcode>)> {
    let mut words = Words(label);
    let mut is_first = true;
    let address = loop {
        let word = words.word();
        if word.is_empty() {
            return None;
        }
        let (digits, marked) = match word.strip_suffix(b":") {
            Some(digits) => (digits, true),
            None => (word, word.starts_with(b"0x") || is_first && word.len() >= DIGITS),
        };
        is_first = false;
        let has_digit = digits.iter().any(u8::is_ascii_digit);
        if let Some(address) = hex(digits).filter(|_| marked && has_digit) {
            break address;
        }
    };
    let word = words.word();
    let word = word.strip_prefix(b"(").and_then(|word| word.strip_suffix(b")")).unwrap_or(word);
    let digits = word.strip_prefix(b"0x").unwrap_or(word);
    let bits = hex(digits).filter(|_| matches!(digits.len(), 4 | 8)).map(|bits| bits as u32);
    let opcode = bits.map(|bits| match isa {
        Isa::Rv32 | Isa::Rv64 => riscv(bits),
        _ => Opcode { bits, size: (digits.len() / 2) as u8 },
    });
    Some((address, opcode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::reader::Reader;

    /// The lines of the format's page, with another label.
    const LOG: &str = "Kanata\t0004\nC=\t216\nI\t0\t0\t0\nL\t0\t0\t12000d918: add r1, r16, 1\nS\t0\t0\tF\n\
                       I\t1\t1\t0\nL\t1\t0\t0x12000d91c (0x00000013) nop\nS\t1\t0\tF\nC\t1\nE\t0\t0\tF\n\
                       I\t2\t2\t1\nL\t2\t0\t12000d920 iBC(r17)\nL\t2\t1\tallocate ROB entry #11\n\
                       W\t1\t0\t0\nR\t0\t0\t0\nR\t2\t0\t1\nC\t2\nR\t1\t1\t0\n";

    #[test]
    fn retired_instructions() {
        assert_eq!(Format::detect(LOG.as_bytes()), Some(Format::Kanata));
        let (mut all, mut reader) = (Vec::new(), Reader::new(Format::Kanata, Isa::Rv64));
        reader.feed(LOG.as_bytes(), &mut |entry| all.push(entry)).unwrap();
        let found = all.iter().filter_map(|entry| match entry.event {
            Event::Instruction(executed) => {
                Some((entry.cpu, entry.time, executed.address, executed.opcode.map(|o| o.bits)))
            }
            _ => None,
        });
        let want = [(0, Some(217), 0x1_2000_d918, None), (0, Some(219), 0x1_2000_d91c, Some(0x13))];
        assert_eq!(found.collect::<Vec<_>>(), want);
        let error = reader.feed(b"I\t5\t5\t0\nL\t5\t0\tfadd f1, f2\nR\t5\t2\t0\n", &mut |_| ());
        assert!(error.unwrap_err().expected.contains("label"), "a mnemonic of hexadecimal digits");
    }
}
