//! RVVI-TEXT, the text of the RISC-V Verification Interface. (RVVI-TEXT, version 0.1 draft)
//!
//! ```text
//! RET  1012 '_start+18' 07228293 X 5 00001080
//! TRAP 1016 '_start+22' 0012a303 C 341 00001016 C 342 00000004 C 343 00001081
//! ```
//!
//! A line has elements of a word and its numbers, comments are in single quotes, and `\` continues
//! a line. `HART` and `MODE` hold until the next one. The number of digits of an instruction is its
//! length. Data accesses are not a part of the format; Ibex's tracer adds words of the bus, which
//! have no direction. (lowRISC Ibex, pull request 2336)

use tracewright_base::{Cause, Isa};

use crate::entry::{Entry, Event, Executed, Mode, Raised};
use crate::spike::riscv;
use crate::text::{Expected, Words, decimal, hex};

/// The elements that begin a line of a log.
const FIRST: [&[u8]; 9] =
    [b"VENDOR", b"VERSION", b"PARAMS", b"HART", b"ISSUE", b"ORDER", b"RET", b"TRAP", b"META"];

/// CSRs that a trap writes: xepc, xcause and xtval of M and S mode.
const EPC: [u64; 2] = [0x341, 0x141];
const CAUSE: [u64; 2] = [0x342, 0x142];
const TVAL: [u64; 2] = [0x343, 0x143];

/// Whether `head`, the first bytes of a log, are RVVI-TEXT.
pub fn is_log(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| without_comments(line).ok());
    let line = lines.map(|line| line.trim_ascii().to_vec()).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    let mut words = Words(&line);
    let first = words.word();
    let numbered = first == b"VENDOR" || hex(words.peek()).is_some();
    // Ibex begins each line with the mode.
    let is_first = match first {
        b"MODE" => {
            words.word();
            matches!(words.word(), b"RET" | b"TRAP")
        }
        _ => FIRST.contains(&first),
    };
    is_first && numbered
}

/// Reads lines. An event is pending until its line ends.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    hart: u16,
    level: Option<u8>,
    /// XLEN, where PARAMS states it.
    wide: Option<bool>,
    event: Option<Valid>,
}

/// A retirement or a trap.
#[derive(Clone, Debug, Default)]
struct Valid {
    hart: u16,
    trap: bool,
    address: u64,
    bits: u32,
    level: Option<u8>,
    epc: Option<u64>,
    cause: Option<u64>,
    tval: Option<u64>,
}

impl Parser {
    /// Reads one line.
    pub fn line(
        &mut self,
        line: &[u8],
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let text = without_comments(line)?;
        let mut words = Words(&text);
        let mut continued = false;
        while !words.is_empty() {
            let word = words.word();
            continued = word == b"\\";
            match word {
                b"RET" | b"TRAP" => {
                    self.flush(isa, out);
                    let address = words.hex("the address of the instruction")?;
                    let bits = words.hex("the instruction")? as u32;
                    let (hart, level) = (self.hart, self.level);
                    let trap = word == b"TRAP";
                    self.event =
                        Some(Valid { hart, trap, address, bits, level, ..Valid::default() });
                }
                b"X" | b"F" | b"V" | b"NET" => {
                    words.word();
                    words.word();
                }
                b"C" => {
                    let csr = words.hex("the number of a CSR")?;
                    let value = hex(words.word());
                    if let Some(event) = &mut self.event {
                        event.csr(csr, value);
                    }
                }
                b"MODE" => {
                    let level = words.hex("a privilege mode")?;
                    self.level = u8::try_from(level).ok();
                    if let Some(event) = &mut self.event {
                        event.level = self.level;
                    }
                }
                b"HART" => {
                    let hart = decimal(words.word()).and_then(|hart| u16::try_from(hart).ok());
                    self.hart = hart.ok_or(Expected("the number of a hart below 65536"))?;
                }
                b"DM" | b"ISSUE" | b"ORDER" => {
                    words.word();
                }
                b"VENDOR" => skip(&mut words, 3),
                // Ibex: address and data of the bus, both for each access.
                b"VERSION" | b"LOAD" | b"STORE" => skip(&mut words, 2),
                b"PARAMS" => self.parameters(&mut words)?,
                b"META" => {
                    let count = words.hex("the number of words of META")?;
                    for _ in 0..count.min(text.len() as u64) {
                        words.word();
                    }
                }
                b"\\" => {}
                _ => return Err(Expected("an element of RVVI-TEXT, such as RET, TRAP, X or C")),
            }
        }
        if !continued {
            self.flush(isa, out);
        }
        Ok(())
    }

    /// Ends the log.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) {
        self.flush(Isa::Rv32, out);
    }

    fn parameters(&mut self, words: &mut Words<'_>) -> Result<(), Expected> {
        let count = decimal(words.word()).ok_or(Expected("the number of parameters"))?;
        for _ in 0..count {
            if words.is_empty() {
                return Err(Expected("as many parameters as PARAMS states"));
            }
            let name = words.word();
            let value = decimal(words.word());
            if name == b"XLEN" {
                self.wide = value.map(|bits| bits > 32);
            }
        }
        Ok(())
    }

    fn flush(&mut self, isa: Isa, out: &mut dyn FnMut(Entry)) {
        let Some(event) = self.event.take() else { return };
        let Valid { hart, trap, address, bits, level, .. } = event;
        let isa = match self.wide {
            Some(true) => Isa::Rv64,
            Some(false) => Isa::Rv32,
            None => isa,
        };
        let mode = Mode { el: level, non_secure: None };
        let entry = |event| Entry::new(hart, event);
        let interrupt = 1 << if isa == Isa::Rv64 { 63 } else { 31 };
        let code = event.cause.and_then(|cause| u16::try_from(cause & !interrupt).ok());
        let is_interrupt = event.cause.is_some_and(|cause| cause & interrupt != 0);
        let cause = code.map(|code| Cause::Riscv { code, interrupt: is_interrupt });
        if trap {
            return out(entry(Event::Raised(Raised {
                cause,
                return_address: event.epc.or(Some(address)),
                value: event.tval,
                synchronous: !is_interrupt,
                ..Raised::default()
            })));
        }
        // The first instruction of a handler has the CSRs that an interrupt writes; CSR
        // instructions write them themselves.
        let writes = bits & 0x7f == 0x73 && bits >> 12 & 0b11 != 0;
        if is_interrupt && !writes && event.epc.is_some() {
            let raised = Raised { cause, return_address: event.epc, ..Raised::default() };
            out(entry(Event::Raised(raised)));
        }
        let opcode = Some(riscv(bits));
        out(entry(Event::Instruction(Executed {
            address,
            opcode,
            isa: Some(isa),
            mode,
            ..Executed::default()
        })));
    }
}

impl Valid {
    fn csr(&mut self, csr: u64, value: Option<u64>) {
        for (numbers, to) in
            [(EPC, &mut self.epc), (CAUSE, &mut self.cause), (TVAL, &mut self.tval)]
        {
            if numbers.contains(&csr) {
                *to = value;
            }
        }
    }
}

/// Takes `count` words.
fn skip(words: &mut Words<'_>, count: usize) {
    for _ in 0..count {
        words.word();
    }
}

/// `line` without comments.
fn without_comments(line: &[u8]) -> Result<Vec<u8>, Expected> {
    let mut text = Vec::with_capacity(line.len());
    for (n, part) in line.split(|byte| *byte == b'\'').enumerate() {
        if n % 2 == 0 {
            text.extend_from_slice(part);
            text.push(b' ');
        }
    }
    let quotes = line.iter().filter(|byte| **byte == b'\'').count();
    if quotes % 2 == 1 {
        return Err(Expected("a comment that ends in its line"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Result<Vec<Entry>, Expected> {
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        for line in log.lines() {
            parser.line(line.as_bytes(), Isa::Rv32, &mut |entry| out.push(entry))?;
        }
        parser.finish(&mut |entry| out.push(entry));
        Ok(out)
    }

    /// The events of the examples of the specification: retirements, a trap, two harts in one line,
    /// a line that is continued, META.
    #[test]
    fn events_of_lines() {
        let log = "VENDOR sim 1 0\nVERSION 0 1\nPARAMS 2 ILEN 32 XLEN 64\n\
                   RET  1012 '_start+18' 07228293 'addi t0,t0,114' X 5 't0' 00001080 MODE 3\n\
                   TRAP 1016 '_start+22' 0012a303 C 300 00003800 C 341 00001016 C 342 00000004 C 343 00001081\n\
                   RET 1040 34029073 C 340 00001080\n\
                   HART 0 RET 80 4481 HART 1 RET 10080 7d008113\n\
                   HART 0 \\\n    ISSUE 1 ORDER 1 RET 84 00000093 \\\n    META 4 VMEM 1083 4 deafcafe\n\
                   RET 200 00000013 C 341 84 C 342 8000000000000007\n";
        let entries = read(log).unwrap();
        let words: Vec<String> = entries
            .iter()
            .map(|entry| match entry.event {
                Event::Instruction(executed) => {
                    let size = executed.opcode.unwrap().size;
                    format!(
                        "{} {:x} {size} {:?}",
                        entry.cpu,
                        executed.address,
                        executed.isa.unwrap()
                    )
                }
                Event::Raised(raised) => format!(
                    "{:?} at {:x?} value {:x?} {}",
                    raised.cause.unwrap(),
                    raised.return_address.unwrap(),
                    raised.value,
                    raised.synchronous
                ),
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(
            words,
            [
                "0 1012 4 Rv64",
                "Riscv { code: 4, interrupt: false } at 1016 value Some(1081) true",
                "0 1040 4 Rv64",
                "0 80 2 Rv64",
                "1 10080 4 Rv64",
                "0 84 4 Rv64",
                "Riscv { code: 7, interrupt: true } at 84 value None false",
                "0 200 4 Rv64",
            ]
        );
        let Event::Instruction(first) = entries[0].event else { unreachable!() };
        assert_eq!(first.mode.el, Some(3));
    }

    /// Lines in the form of Ibex's tracer: a comment and the mode first, and accesses of the bus.
    #[test]
    fn lines_of_ibex_are_read() {
        let log = "' 21' MODE 3 RET 80 4481 'c.li x9,0' \\\nX 9 00000000\n\
                   ' 23' MODE 3 RET 82 00052583 'lw x11,0(x10)' \\\nX 11 7 \\\nLOAD 100000 7\n\
                   ' 25' MODE 3 RET 86 c10c 'c.sw x11,0(x10)' \\\nSTORE 100000 7 \\\nLOAD 100000 0\n";
        assert!(is_log(log.as_bytes()));
        let addresses = read(log).unwrap().into_iter().map(|entry| match entry.event {
            Event::Instruction(executed) => (executed.address, executed.opcode.unwrap().size),
            _ => unreachable!(),
        });
        assert_eq!(addresses.collect::<Vec<_>>(), [(0x80, 2), (0x82, 4), (0x86, 2)]);
        assert!(!is_log(b"MODE 3 of the device\n"));
        assert!(!is_log(b"'quoted' text\n"));
    }

    #[test]
    fn wrong_lines_are_refused() {
        for line in ["RET x 13", "RET 80", "JUMP 80", "RET 80 13 'open", "PARAMS 9 XLEN 32"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
