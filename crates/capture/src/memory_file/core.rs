//! Core dumps: memory of a processor that stopped.
//!
//! | format | specification |
//! |---|---|
//! | ELF core file, of GDB, pyOCD, Linux | System V gABI, "Program Header" |
//! | Zephyr | `include/zephyr/debug/coredump.h`, `subsys/debug/coredump/` of Zephyr |
//! | ESP-IDF, with ELF inside | `components/espcoredump/src/core_dump_elf.c`, `core_dump_uart.c` of ESP-IDF |

use flate2::Crc;
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
pub(super) fn binary(file: &Bytes) -> Option<(String, Result<Pieces, String>)> {
    let head = file.head(64);
    if let Some(at) = esp_elf(&head) {
        let rest = file.part(at as u64, u64::MAX);
        let form = if esp_is_damaged(file) { ", whose checksum is wrong" } else { "" };
        return Some((format!("a core dump of ESP-IDF{form}"), elf(&rest)));
    }
    if !is_zephyr(&head) {
        return None;
    }
    let (form, pieces) = match zephyr(file) {
        Ok((pieces, checksum)) => (checksum.name(), Ok(pieces)),
        Err(why) => ("", Err(why)),
    };
    Some((format!("a core dump of Zephyr{form}"), pieces))
}

/// CRC-32 of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Whether the CRC-32 at the end of a core dump of ESP-IDF is that of other bytes. Its length is in
/// its first word. Other versions have a SHA-256, which is not compared.
fn esp_is_damaged(file: &[u8]) -> bool {
    /// The low bytes of the versions with a CRC-32. (`esp_core_dump_types.h`)
    const WITH_CRC: [u8; 2] = [0, 2];
    let word = |at: usize| file.get(at..)?.first_chunk().copied().map(u32::from_le_bytes);
    let end = word(0).and_then(|len| usize::try_from(len).ok()?.checked_sub(4));
    let version = file.get(4).copied().unwrap_or_default();
    let checked = end.and_then(|end| Some((crc32(file.get(..end)?), word(end)?)));
    WITH_CRC.contains(&version) && checked.is_none_or(|(own, recorded)| own != recorded)
}

/// The fields of Zephyr's header: `ZE`, version, target, the binary logarithm of the bits of an
/// address, flags, reason.
const ZEPHYR_HEADER: usize = 12;
const ZEPHYR_BITS: usize = 6;
const ZEPHYR_FLAGS: usize = 7;
/// The flag of a dump that ends with a checksum.
const ZEPHYR_HAS_CRC: u8 = 1;

fn is_zephyr(head: &[u8]) -> bool {
    let version = head.get(2..4);
    let bits = head.get(ZEPHYR_BITS);
    let section = head.get(ZEPHYR_HEADER);
    head.starts_with(b"ZE")
        && matches!(version, Some([1..=15, 0]))
        && matches!(bits, Some(5 | 6))
        && matches!(section, Some(b'A' | b'M' | b'T' | b'F'))
}

/// The checksum at the end of a core dump of Zephyr.
enum Checksum {
    /// It is right, or the dump has none.
    Right,
    Wrong,
    Missing,
}

impl Checksum {
    const fn name(&self) -> &'static str {
        match self {
            Checksum::Right => "",
            Checksum::Wrong => ", whose checksum is wrong",
            Checksum::Missing => ", whose end with the checksum is missing",
        }
    }
}

/// Reads the memory sections: `M`, version, the addresses of the first byte and behind the last,
/// the bytes. `A` (registers) and `T` (threads) have their size behind their version; `F`
/// (registers of another processor) has a processor and an address behind that; `C` is the CRC-32
/// of what precedes it.
fn zephyr(file: &[u8]) -> Result<(Pieces, Checksum), String> {
    let wide = file.get(ZEPHYR_BITS) == Some(&6);
    let has_crc = file.get(ZEPHYR_FLAGS).is_some_and(|flags| flags & ZEPHYR_HAS_CRC != 0);
    let mut checksum = if has_crc { Checksum::Missing } else { Checksum::Right };
    let width = if wide { 8 } else { 4 };
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
                let range = number(at + 3, width).zip(number(at + 3 + width, width));
                let (start, end) = range.ok_or_else(|| cut(at))?;
                let size = end.checked_sub(start).and_then(|size| usize::try_from(size).ok());
                let (from, size) = (at + 3 + 2 * width, size.ok_or_else(|| cut(at))?);
                let bytes = from.checked_add(size).and_then(|to| file.get(from..to));
                pieces.push((start, Bytes::from(bytes.ok_or_else(|| cut(at))?.to_vec())));
                (3 + 2 * width, size)
            }
            b'A' | b'T' => (5, number(at + 3, 2).ok_or_else(|| cut(at))? as usize),
            b'F' => (9 + width, number(at + 3, 2).ok_or_else(|| cut(at))? as usize),
            b'C' => {
                let recorded = number(at + 3, 4).ok_or_else(|| cut(at))?;
                let own = crc32(file.get(..at).unwrap_or_default());
                checksum = match recorded == u64::from(own) {
                    true => Checksum::Right,
                    false => Checksum::Wrong,
                };
                (7, 0)
            }
            other => {
                return Err(format!(
                    "offset {at:#x}: expected a section A, M, T, F or C, found {other:#04x}"
                ));
            }
        };
        at += skip + size;
    }
    Ok((pieces, checksum))
}

/// The mark of a line of Zephyr's core dump in a log, and of the first of them.
const ZEPHYR_LINE: &[u8] = b"#CD:";
const ZEPHYR_START: &[u8] = b"#CD:BEGIN#";
/// The marks of ESP-IDF's core dump in a log, around base64.
const ESP_START: &[u8] = b"CORE DUMP START";
const ESP_END: &[u8] = b"CORE DUMP END";

/// The core dump in the text of a log, the last one of several. `None`: it has none.
pub(super) fn logged(text: &[u8]) -> Option<Bytes> {
    if position_of(text, ZEPHYR_LINE).is_some() {
        let mut bytes = Vec::new();
        for (_, line) in lines(text) {
            let Some(at) = position_of(line, ZEPHYR_LINE) else { continue };
            if position_of(line, ZEPHYR_START).is_some() {
                bytes.clear();
            }
            let digits = line.get(at + ZEPHYR_LINE.len()..).unwrap_or_default();
            let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            // A terminal may have put its own codes behind the digits.
            let is_end = digits.get(count).is_none_or(|byte| b"\x1b \r".contains(byte));
            if is_end {
                pairs(digits.get(..count)?, &mut bytes)?;
            }
        }
        return Some(Bytes::from(bytes));
    }
    let start = text.windows(ESP_START.len()).rposition(|window| window == ESP_START)?;
    // A monitor may put the time before each line.
    let inside = lines(text.get(start..)?).map(|(_, line)| line).skip(1);
    let inside = inside.take_while(|line| position_of(line, ESP_END).is_none());
    let last = |line: &[u8]| -> Vec<u8> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.next_back().unwrap_or_default().to_vec()
    };
    let inside: Vec<Vec<u8>> = inside.map(last).collect();
    lists::base64(&inside.join(&b'\n')).map(|list| Bytes::from(list.bytes))
}

fn position_of(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
