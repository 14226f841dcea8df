//! Whether a file is an execution log.

use tracewright_base::Isa;

use crate::format::Format;
use crate::instruction_set::{self, InstructionSet};
use crate::reader::Reader;

/// The format of a file that begins with `head`, where it is an execution log: its lines have the
/// format, and some are instructions or events. A last line that is cut is not looked at.
pub fn recognised(head: &[u8]) -> Option<Format> {
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    let lines = head.get(..end)?;
    let format = Format::detect(lines)?;
    let isa = match instruction_set::of(format, None, lines) {
        InstructionSet::Known(isa) | InstructionSet::Assumed(isa) => isa,
        InstructionSet::Unknown => Isa::A64,
    };
    let mut entries = 0u64;
    let mut reader = Reader::new(format, isa);
    let fed = reader.feed(lines, &mut |_| entries += 1);
    // The last entry may be retained until the end.
    let fed = fed.and_then(|()| reader.finish(&mut |_| entries += 1));
    fed.ok().filter(|()| entries > 0).map(|()| format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_recognised() {
        let spike = "core   0: 0x0000000080000000 (0x00000297) auipc   t0, 0x0\n";
        let qemu = "Trace 0: 0x7f2a [00000000/0000000080000000/b/ff] main\n";
        let csv = "address,isa,opcode\n80000,A64,d2800060\n80004,A64,94000007\n80020,A6";
        for (text, want) in [
            (spike, Some("spike")),
            (qemu, Some("qemu")),
            (csv, Some("csv")),
            ("core dumped\n", None),
            ("Trace of the day\nnothing else\n", None),
            ("time,value\n1,2\n", None),
            ("", None),
        ] {
            let found = recognised(text.as_bytes()).map(Format::name);
            assert_eq!(found, want, "{text}");
        }
    }
}
