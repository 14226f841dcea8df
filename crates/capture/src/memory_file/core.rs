//! Core dumps: memory of a processor that stopped.
//!
//! | format | specification |
//! |---|---|
//! | ELF core file, of GDB, pyOCD, Linux | System V gABI, "Program Header" |
//! | Zephyr | `scripts/coredump/coredump_parser/log_parser.py` of Zephyr |
//! | ESP-IDF, with ELF inside | `esp_coredump/corefile/loader.py` of esp-coredump |

use tracewright_image::{Elf, Load};

use super::lists;
use super::text::{lines, pairs};
use crate::Bytes;
use crate::dump::ELF;

/// Memory by addresses.
pub(super) type Pieces = Vec<(u64, Bytes)>;

/// The memory in the segments of an ELF file.
///
/// # Errors
/// Why the file cannot be read.
pub(super) fn elf(file: &Bytes) -> Result<Pieces, String> {
    let elf = Elf::read(file, "core file", Load::default()).map_err(|error| error.to_string())?;
    let loaded = elf.segments.iter().filter(|segment| segment.file_size > 0);
    Ok(loaded.map(|s| (s.address, file.part(s.offset, s.file_size))).collect())
}

/// The type of an ELF core file, and the offset of `e_type`. (System V gABI, "ELF Header")
const ET_CORE: u8 = 4;
const TYPE_AT: usize = 16;

/// Whether `head`, the first bytes of a file, are those of an ELF core file in either byte order.
pub(super) fn is_elf_core(head: &[u8]) -> bool {
    let kind = head.get(TYPE_AT..TYPE_AT + 2);
    head.starts_with(ELF) && matches!(kind, Some([ET_CORE, 0] | [0, ET_CORE]))
}

/// The ELF file in a core dump of ESP-IDF with the first bytes `head`: its offset. The header is
/// its length, its version, the number of tasks, the size of a task, the number of segments, and in
/// later versions the revision of the chip.
fn esp_elf(head: &[u8]) -> Option<usize> {
    /// The high byte of the version of dumps in ELF.
    const IN_ELF: u8 = 1;
    let is_elf = |at: &usize| head.get(*at..).is_some_and(|rest| rest.starts_with(ELF));
    let at = [20, 24, 28].into_iter().find(is_elf)?;
    (head.get(5) == Some(&IN_ELF)).then_some(at)
}

/// What a core dump without ELF header is, and its memory. `None`: the bytes are none.
///
/// # Errors
/// What is wrong with it.
pub(super) fn binary(file: &Bytes) -> Option<(&'static str, Result<Pieces, String>)> {
    let head = file.head(64);
    if let Some(at) = esp_elf(&head) {
        let rest = file.part(at as u64, u64::MAX);
        return Some(("a core dump of ESP-IDF", elf(&rest)));
    }
    is_zephyr(&head).then(|| ("a core dump of Zephyr", zephyr(file)))
}

/// The fields of Zephyr's header: `ZE`, version, target, the binary logarithm of the bits of an
/// address, flags, reason.
const ZEPHYR_HEADER: usize = 12;
const ZEPHYR_BITS: usize = 6;

fn is_zephyr(head: &[u8]) -> bool {
    let version = head.get(2..4);
    let bits = head.get(ZEPHYR_BITS);
    let section = head.get(ZEPHYR_HEADER);
    head.starts_with(b"ZE")
        && matches!(version, Some([1..=15, 0]))
        && matches!(bits, Some(5 | 6))
        && matches!(section, Some(b'A' | b'M' | b'T'))
}

/// Reads the memory sections: `M`, version, the addresses of the first byte and behind the last,
/// the bytes. Others have their size behind their version.
fn zephyr(file: &[u8]) -> Result<Pieces, String> {
    let wide = file.get(ZEPHYR_BITS) == Some(&6);
    let mut pieces = Pieces::new();
    let mut at = ZEPHYR_HEADER;
    let number = |at: usize, size: usize| {
        let bytes = file.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let cut = |at| format!("the section at offset {at:#x} is cut");
    while let Some(section) = file.get(at) {
        let (skip, size) = match section {
            b'M' => {
                let width = if wide { 8 } else { 4 };
                let range = number(at + 3, width).zip(number(at + 3 + width, width));
                let (start, end) = range.ok_or_else(|| cut(at))?;
                let size = end.checked_sub(start).and_then(|size| usize::try_from(size).ok());
                let (from, size) = (at + 3 + 2 * width, size.ok_or_else(|| cut(at))?);
                let bytes = from.checked_add(size).and_then(|to| file.get(from..to));
                pieces.push((start, Bytes::from(bytes.ok_or_else(|| cut(at))?.to_vec())));
                (3 + 2 * width, size)
            }
            b'A' | b'T' => (5, number(at + 3, 2).ok_or_else(|| cut(at))? as usize),
            other => {
                return Err(format!(
                    "offset {at:#x}: expected a section A, M or T, found {other:#04x}"
                ));
            }
        };
        at += skip + size;
    }
    Ok(pieces)
}

/// The mark of a line of Zephyr's core dump in a log.
const ZEPHYR_LINE: &[u8] = b"#CD:";
/// The marks of ESP-IDF's core dump in a log, around base64.
const ESP_START: &[u8] = b"CORE DUMP START";
const ESP_END: &[u8] = b"CORE DUMP END";

/// The core dump in the text of a log. `None`: it has none.
pub(super) fn logged(text: &[u8]) -> Option<Bytes> {
    if position_of(text, ZEPHYR_LINE).is_some() {
        let mut bytes = Vec::new();
        for (_, line) in lines(text) {
            let Some(at) = position_of(line, ZEPHYR_LINE) else { continue };
            let digits = line.get(at + ZEPHYR_LINE.len()..).unwrap_or_default().trim_ascii();
            if digits.iter().all(u8::is_ascii_hexdigit) {
                pairs(digits, &mut bytes)?;
            }
        }
        return Some(Bytes::from(bytes));
    }
    position_of(text, ESP_START)?;
    let inside = lines(text).map(|(_, line)| line);
    let inside = inside.skip_while(|line| position_of(line, ESP_START).is_none()).skip(1);
    let inside: Vec<_> = inside.take_while(|line| position_of(line, ESP_END).is_none()).collect();
    lists::base64(&inside.join(&b'\n')).map(|list| Bytes::from(list.bytes))
}

fn position_of(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
