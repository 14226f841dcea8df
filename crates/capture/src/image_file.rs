//! Program memory in files that have its addresses and are not ELF: Intel HEX records, Motorola
//! S-records, and blocks of UF2.
//!
//! | format | specification |
//! |---|---|
//! | Intel HEX | Intel, "Hexadecimal Object File Format Specification", revision A |
//! | S-records | srec_motorola(5) of SRecord |
//! | UF2 | Microsoft, "USB Flashing Format (UF2)" |

use crate::Bytes;
use crate::container::{Container, hex};
use crate::limits::MAX_DUMPS;

/// The greatest size in bytes of a file with records.
pub(crate) const MAX_RECORDS_FILE: usize = 1 << 28;
/// The most records that do not continue the one before them.
const MAX_JUMPS: usize = 1 << 20;

/// Pieces of memory, and their addresses.
pub(crate) type Pieces = Vec<(u64, Bytes)>;

/// The memory in `file`, in order of the addresses. `None`: the file has no records.
///
/// # Errors
/// What is wrong with the records.
pub(crate) fn read(file: &Bytes) -> Option<Result<Pieces, String>> {
    let format = recognise(&file.head(1 << 10))?;
    if file.len() > MAX_RECORDS_FILE {
        let limit = MAX_RECORDS_FILE;
        return Some(Err(format!("it is {format} with more than {limit} bytes")));
    }
    let mut memory = Memory::default();
    let read = match format {
        Container::IntelHex => intel_hex(file, &mut memory),
        Container::SRecords => s_records(file, &mut memory),
        _ => uf2(file, &mut memory),
    };
    let pieces = read.and_then(|()| memory.pieces());
    Some(pieces.map_err(|why| format!("it is {format}, and damaged: {why}")))
}

/// The format of the records in a file with the first bytes `head`. They may be damaged.
pub(crate) fn recognise(head: &[u8]) -> Option<Container> {
    if Container::probe(head) == Some(Container::Uf2) {
        return Some(Container::Uf2);
    }
    let (_, line) = lines(head).next()?;
    let (format, digits) = match line {
        [b':', digits @ ..] => (Container::IntelHex, digits),
        [b'S', b'0'..=b'9', digits @ ..] => (Container::SRecords, digits),
        _ => return None,
    };
    /// The digits of the shortest record: a length, an address of two bytes, a checksum.
    const SHORTEST: usize = 8;
    (digits.len() >= SHORTEST && digits.iter().all(u8::is_ascii_hexdigit)).then_some(format)
}

/// What a file with the first bytes `head` is, where it is no bytes of memory: empty, text, or
/// compressed.
pub(crate) fn unusable(head: &[u8]) -> Option<String> {
    if head.is_empty() {
        return Some("it is empty".into());
    }
    if let Some(
        packed @ (Container::Zip
        | Container::Sigrok
        | Container::Vcd
        | Container::Gzip
        | Container::Xz
        | Container::Zstandard),
    ) = Container::probe(head)
    {
        return Some(format!("it is {packed}; {}", packed.help()));
    }
    let narrow = without_mark(head);
    let text = wide(head).or_else(|| is_text(narrow).then(|| narrow.to_vec()))?;
    let first = lines(&text).next().map_or(&[][..], |(_, line)| line);
    let shown = String::from_utf8_lossy(first.get(..40).unwrap_or(first));
    let what = match first {
        [b'@', ..] => "a memory image as text, such as Verilog or TI-TXT",
        _ => "text",
    };
    Some(format!(
        "it is {what}, which begins with `{shown}`, and its characters are no instructions; convert \
         it to bytes, to ELF, or to Intel HEX"
    ))
}

/// Whether a file with the first bytes `head` is text: all characters of lines, however few, or
/// nearly all of many, as in encodings other than ASCII.
fn is_text(head: &[u8]) -> bool {
    /// The least bytes of a text without an end of a line.
    const LEAST: usize = 16;
    let text = |byte: &&u8| byte.is_ascii_graphic() || b" \t\r\n".contains(byte);
    let count = head.iter().filter(text).count();
    count == head.len() && head.contains(&b'\n')
        || head.len() > LEAST && count * 100 >= head.len() * 95
}

/// The characters of ASCII in a text in UTF-16 with a byte order mark. `None`: it is no such text.
fn wide(head: &[u8]) -> Option<Vec<u8>> {
    let order: fn([u8; 2]) -> u16 = match head {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let halves = head.chunks_exact(2).filter_map(|half| Some(order(*half.first_chunk()?)));
    let halves = halves.filter(|half| *half != 0xfeff);
    let text: Vec<u8> = halves.map(|half| u8::try_from(half).unwrap_or(0)).collect();
    is_text(&text).then_some(text)
}

/// `file` without a byte order mark of UTF-8.
fn without_mark(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)
}

/// Memory that is read in records.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    /// The address and the length of each piece, in the order of `bytes`.
    pieces: Vec<(u64, usize)>,
}

impl Memory {
    fn add(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.bytes.extend_from_slice(bytes);
        let full = self.pieces.len() >= MAX_JUMPS;
        match self.pieces.last_mut() {
            Some((start, len)) if *start + *len as u64 == address => *len += bytes.len(),
            _ if bytes.is_empty() => {}
            _ if full => {
                return Err(format!(
                    "more than {MAX_JUMPS} records do not continue the one before"
                ));
            }
            _ => self.pieces.push((address, bytes.len())),
        }
        Ok(())
    }

    /// The pieces in order of their addresses, those that are adjacent as one.
    fn pieces(self) -> Result<Pieces, String> {
        let mut from = 0;
        let parts = self.pieces.into_iter().map(|(address, len)| {
            from += len;
            (address, self.bytes.get(from - len..from).unwrap_or_default())
        });
        let mut parts: Vec<(u64, &[u8])> = parts.collect();
        parts.sort_by_key(|(address, _)| *address);
        let mut joined: Vec<(u64, Vec<u8>)> = Vec::new();
        for (address, bytes) in parts {
            let end = joined.last().map_or(0, |(start, bytes)| start + bytes.len() as u64);
            match joined.last_mut() {
                Some(_) if address < end => {
                    return Err(format!("it has the byte at {address:#x} more than once"));
                }
                Some((_, last)) if address == end => last.extend_from_slice(bytes),
                _ => joined.push((address, bytes.to_vec())),
            }
            if joined.len() > MAX_DUMPS {
                return Err(format!("it has more than {MAX_DUMPS} pieces"));
            }
        }
        if joined.is_empty() {
            return Err("it has no bytes of memory".into());
        }
        Ok(joined.into_iter().map(|(address, bytes)| (address, Bytes::from(bytes))).collect())
    }
}

/// The lines of a file that are not empty, and their numbers. They end with LF, CR and LF, or, in a
/// file without LF, CR.
fn lines(file: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let end = if file.contains(&b'\n') { b'\n' } else { b'\r' };
    let lines = without_mark(file).split(move |byte| *byte == end).map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

/// Checks that nothing is behind the last record, except the character that ends a text in CP/M.
fn at_end<'a>(mut rest: impl Iterator<Item = (usize, &'a [u8])>) -> Result<(), String> {
    match rest.find(|(_, line)| *line != b"\x1a") {
        Some((n, _)) => Err(format!("line {n}: it is behind the record that ends the file")),
        None => Ok(()),
    }
}

/// A number of up to four bytes, the most significant first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads Intel HEX records up to the end-of-file record.
fn intel_hex(file: &[u8], memory: &mut Memory) -> Result<(), String> {
    // What is added to the 16 bits of address in a record, and whether it is that of a segment.
    let (mut base, mut segment) = (0, false);
    let mut lines = lines(file);
    while let Some((n, line)) = lines.next() {
        let fail = |why: &str| Err(format!("line {n}: {why}"));
        let Some(record) = line.strip_prefix(b":").and_then(hex) else {
            return fail("expected `:` and pairs of hexadecimal digits");
        };
        let sum = record.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        let [len, high, low, kind, data @ .., _] = record.as_slice() else {
            return fail("the record is too short");
        };
        if usize::from(*len) != data.len() {
            return fail("the length is not that of the record");
        }
        if sum != 0 {
            return fail("the checksum is wrong");
        }
        let offset = number(&[*high, *low]);
        match (kind, data) {
            (0, data) => {
                if segment && offset + data.len() as u64 > 1 << 16 {
                    return fail("the data cross the end of their segment");
                }
                memory.add(base + offset, data)?;
            }
            (1, _) => return at_end(lines),
            (2, [_, _]) => (base, segment) = (number(data) << 4, true),
            (4, [_, _]) => (base, segment) = (number(data) << 16, false),
            // The address at which execution starts.
            (3 | 5, [_, _, _, _]) => {}
            _ => return fail("the record is of no known type"),
        }
    }
    Err("it has no end-of-file record: a part is missing".into())
}

/// Reads S-records up to the termination record.
fn s_records(file: &[u8], memory: &mut Memory) -> Result<(), String> {
    let mut count = 0;
    let mut lines = lines(file);
    while let Some((n, line)) = lines.next() {
        let fail = |why: &str| Err(format!("line {n}: {why}"));
        let &[b'S', kind, ref digits @ ..] = line else { return fail("expected `S` and a digit") };
        let Some(record) = hex(digits) else {
            return fail("expected pairs of hexadecimal digits");
        };
        let sum = record.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        let [len, content @ .., _] = record.as_slice() else {
            return fail("the record is too short");
        };
        if usize::from(*len) != content.len() + 1 {
            return fail("the length is not that of the record");
        }
        if sum != 0xff {
            return fail("the checksum is wrong");
        }
        match kind {
            b'0' => {}
            b'1'..=b'3' => {
                let size = usize::from(kind - b'0') + 1;
                let Some((address, data)) = content.split_at_checked(size) else {
                    return fail("the record is too short");
                };
                count += 1;
                memory.add(number(address), data)?;
            }
            b'5' | b'6' if number(content) == count => {}
            b'5' | b'6' => return fail("the number of records is another"),
            b'7'..=b'9' => return at_end(lines),
            _ => return fail("the record is of no known type"),
        }
    }
    Err("it has no termination record: a part is missing".into())
}

/// Reads blocks of UF2, which are those of one series of processors.
fn uf2(file: &[u8], memory: &mut Memory) -> Result<(), String> {
    const BLOCK: usize = 512;
    const MAGIC: [u32; 3] = [0x0a32_4655, 0x9e5d_5157, 0x0ab1_6f30];
    /// The number of bytes of a block that may be data.
    const DATA: usize = 476;
    /// Flags: the block is not for the main memory; it is a part of a file; it has a series.
    const ELSEWHERE: u32 = 1;
    const FILE: u32 = 1 << 12;
    const SERIES: u32 = 1 << 13;
    /// The series of blocks at absolute addresses, which other series may have beside them.
    const ABSOLUTE: u32 = 0xe48b_ff57;

    let word = |block: &[u8], at: usize| {
        let bytes = block.get(at..).and_then(|rest| rest.first_chunk()).copied();
        u32::from_le_bytes(bytes.unwrap_or_default())
    };
    let series = |block: &[u8]| (word(block, 8) & SERIES != 0).then(|| word(block, 28));
    if !file.len().is_multiple_of(BLOCK) {
        return Err(format!("its size is not a multiple of {BLOCK} bytes"));
    }
    let blocks = || file.chunks(BLOCK).filter(|block| word(block, 8) & ELSEWHERE == 0);
    let main = blocks().map(series).find(|series| *series != Some(ABSOLUTE));
    let main = main.unwrap_or(Some(ABSOLUTE));
    let (mut count, mut total) = (0, 0);
    for (n, block) in (0..).zip(file.chunks(BLOCK)) {
        if [word(block, 0), word(block, 4), word(block, 508)] != MAGIC {
            return Err(format!("block {n} does not begin and end as a block"));
        }
        let (flags, address, len) = (word(block, 8), word(block, 12), word(block, 16) as usize);
        if flags & ELSEWHERE != 0 || series(block) != main && series(block) == Some(ABSOLUTE) {
            continue;
        }
        if flags & FILE != 0 || series(block) != main {
            return Err(format!(
                "block {n} is a part of a file, or of the program of another series of processors"
            ));
        }
        let data = block.get(32..).and_then(|rest| rest.get(..len)).filter(|_| len <= DATA);
        let data = data.ok_or_else(|| format!("block {n} has {len} bytes of {DATA}"))?;
        if word(block, 20) != count {
            return Err(format!("block {n} has the number {}, not {count}", word(block, 20)));
        }
        (count, total) = (count + 1, word(block, 24));
        memory.add(address.into(), data)?;
    }
    if count != total {
        return Err(format!("{count} of {total} blocks are in the file"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a file, or why it cannot be read.
    fn pieces(file: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, String> {
        let pieces = read(&Bytes::from(file.to_vec())).expect("records")?;
        Ok(pieces.into_iter().map(|(address, bytes)| (address, bytes.to_vec())).collect())
    }

    /// An Intel HEX record.
    fn record(kind: u8, offset: u16, data: &[u8]) -> String {
        let mut bytes = vec![data.len() as u8, (offset >> 8) as u8, offset as u8, kind];
        bytes.extend(data);
        let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_sub(*byte));
        bytes.push(sum);
        let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
        format!(":{}\r\n", digits.collect::<String>())
    }

    /// An S-record whose content is the address and the data.
    fn s_record(kind: u8, content: &[u8]) -> String {
        let mut bytes = vec![content.len() as u8 + 1];
        bytes.extend(content);
        let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        bytes.push(!sum);
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        format!("S{kind}{}\n", digits.collect::<String>())
    }

    /// Block `n` of `total`, with a series.
    fn block(n: u32, total: u32, series: u32, address: u32, data: &[u8]) -> Vec<u8> {
        let head = [0x0a32_4655, 0x9e5d_5157, 0x2000, address, data.len() as u32, n, total, series];
        let mut block: Vec<u8> = head.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        block.extend(data);
        block.resize(508, 0);
        block.extend(0x0ab1_6f30u32.to_le_bytes());
        block
    }

    #[test]
    fn intel_hex_has_addresses() {
        let end = record(1, 0, &[]);
        for (records, want) in [
            // An example of the specification's form.
            (
                ":10010000214601360121470136007EFE09D2190140\n".to_owned(),
                vec![(
                    0x100,
                    vec![
                        0x21, 0x46, 1, 0x36, 1, 0x21, 0x47, 1, 0x36, 0, 0x7e, 0xfe, 9, 0xd2, 0x19,
                        1,
                    ],
                )],
            ),
            (
                record(0, 4, &[5, 6]) + &record(0, 0, &[1, 2, 3, 4]),
                vec![(0, vec![1, 2, 3, 4, 5, 6])],
            ),
            (
                record(4, 0, &[0x08, 0]) + &record(0, 0, &[1]) + &record(5, 0, &[8, 0, 0, 1]),
                vec![(0x0800_0000, vec![1])],
            ),
            (record(2, 0, &[0x12, 0x34]) + &record(0, 2, &[1]), vec![(0x12342, vec![1])]),
            // A gap of 4 GiB takes no memory.
            (
                record(0, 0, &[1]) + &record(4, 0, &[0xff, 0xff]) + &record(0, 0xffff, &[2]),
                vec![(0, vec![1]), (0xffff_ffff, vec![2])],
            ),
        ] {
            assert_eq!(pieces((records + &end).as_bytes()), Ok(want));
        }
    }

    #[test]
    fn damaged_records_are_refused() {
        let (data, end) = (record(0, 0, &[1, 2, 3]), record(1, 0, &[]));
        for (file, want) in [
            (data.clone(), "no end-of-file record"),
            (data.replace("F7", "F8") + &end, "line 1: the checksum"),
            (data.replacen('3', "4", 1) + &end, "line 1: the length"),
            (data.clone() + &data.replace("0102", "0103") + &end, "line 2: the checksum"),
            (data.clone() + &data + &end, "the byte at 0x0 more than once"),
            (data.clone() + "text\n" + &end, "line 2: expected"),
            (record(9, 0, &[1]) + &end, "no known type"),
            (record(2, 0, &[0, 0]) + &record(0, 0xffff, &[1, 2]) + &end, "end of their segment"),
            (end.clone(), "no bytes"),
            (data.clone() + &end + &data, "line 3: it is behind"),
            (data.clone() + &end + "\0", "line 3: it is behind"),
            (s_record(1, &[0, 0, 1]), "no termination record"),
            (s_record(1, &[0, 0, 1]) + &s_record(5, &[0, 2]) + &s_record(9, &[0, 0]), "line 2"),
            (s_record(1, &[0, 0, 1]) + &s_record(9, &[0, 0]) + "text", "line 3: it is behind"),
            (s_record(3, &[0, 0, 1]), "too short"),
            (s_record(4, &[0, 0, 1]), "no known type"),
            (s_record(1, &[0, 0, 1]).replace("S104", "S105"), "line 1: the length"),
        ] {
            let why = pieces(file.as_bytes()).unwrap_err();
            assert!(why.contains(want), "{file}: {why}");
        }
    }

    #[test]
    fn records_are_recognised_in_any_text_of_ascii() {
        let records = record(0, 0, &[1, 2]) + &record(1, 0, &[]);
        let forms = [
            format!("\u{feff}{records}"),
            records.replace("\r\n", "\r"),
            records.replace("\r\n", "\n"),
            format!("{records}\r\n\n\x1a"),
        ];
        for file in forms {
            assert_eq!(pieces(file.as_bytes()), Ok(vec![(0, vec![1, 2])]), "{file:?}");
        }
    }

    #[test]
    fn s_records_have_addresses() {
        let file = s_record(0, b"\0\0program")
            + &s_record(1, &[0x10, 0, 1, 2])
            + &s_record(2, &[0x10, 0, 2, 3])
            + &s_record(3, &[0x80, 0, 0, 0, 4])
            + &s_record(5, &[0, 3])
            + &s_record(7, &[0, 0, 0, 0]);
        let want = vec![(0x1000, vec![1, 2]), (0x10_0002, vec![3]), (0x8000_0000, vec![4])];
        assert_eq!(pieces(file.as_bytes()), Ok(want));
    }

    #[test]
    fn blocks_of_uf2_have_addresses() {
        let two =
            [block(0, 2, 7, 0x1000_0000, &[1, 2]), block(1, 2, 7, 0x1000_0100, &[3])].concat();
        let want = vec![(0x1000_0000, vec![1, 2]), (0x1000_0100, vec![3])];
        assert_eq!(pieces(&two), Ok(want.clone()));
        // A block at an absolute address beside the program, as of an RP2350.
        let absolute = block(0, 2, 0xe48b_ff57, 0x10ff_ff00, &[9]);
        assert_eq!(pieces(&[absolute, two.clone()].concat()), Ok(want));
        for (file, want) in [
            (two[..512].to_vec(), "1 of 2 blocks"),
            (two[..700].to_vec(), "multiple of 512"),
            (two[512..].to_vec(), "number 1, not 0"),
            ([two.clone(), block(2, 3, 8, 0, &[1])].concat(), "another series"),
            ([two[..508].to_vec(), vec![0; 4]].concat(), "begin and end"),
            (block(0, 1, 7, 0, &[1; 477]), "477 bytes"),
        ] {
            let why = pieces(&file).unwrap_err();
            assert!(why.contains(want), "{why}");
        }
    }

    /// 65,536 bytes, each 4 KiB after the one before.
    #[test]
    fn the_number_of_pieces_is_bounded() {
        let data = |n: u32| {
            record(4, 0, &[(n >> 12) as u8, (n >> 4) as u8]) + &record(0, (n << 12) as u16, &[1])
        };
        let file: String = (0..1 << 16).map(data).collect();
        assert!(pieces((file + &record(1, 0, &[])).as_bytes()).unwrap_err().contains("16384"));
    }

    #[test]
    fn text_and_archives_are_no_memory() {
        for (head, want) in [
            (&b"@00000000\n0000A0E1\n"[..], Some("Verilog")),
            (b"00000000: e1a00000 nop\n", Some("begins with `00000000: e1a00000 nop`")),
            (b"\x1f\x8b\x08\0\0", Some("gzip")),
            // Four instructions of A32: mov r0, r0.
            (&[0, 0, 0xa0, 0xe1, 0, 0, 0xa0, 0xe1], None),
            (b"text without an end of a line", Some("begins with `text without")),
            (b"\xef\xbb\xbftext behind a byte order mark", Some("begins with `text behind")),
            (b"caf\xe9, which is in an encoding of one byte", Some("text")),
            (&[b':'; 1000], Some("begins with `:::")),
            (b"\xff\xfeU\0T\0F\0\n\0", Some("begins with `UTF`")),
            (b"\xfe\xff\0U\0T\0F\0\n", Some("begins with `UTF`")),
            (b"", Some("empty")),
            // cmp x23, #63; mov x0, #0; ret; nop: its first bytes are a byte order mark.
            (
                &[0xff, 0xfe, 0, 0xf1, 0, 0, 0x80, 0xd2, 0xc0, 3, 0x5f, 0xd6, 0x1f, 0x20, 3, 0xd5],
                None,
            ),
            (b"16 bytes of text", None),
        ] {
            let found = unusable(head);
            assert_eq!(found.is_some(), want.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(want.unwrap_or_default()));
        }
    }
}
