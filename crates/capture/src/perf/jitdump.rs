//! Code that a program generates while it runs: a jitdump of version 1.
//! (tools/perf/util/jitdump.h of Linux; tools/perf/Documentation/jitdump-specification.txt)
//!
//! A header, and records with their sizes and times: code was written to memory (LOAD), or was
//! moved (MOVE). The source lines of code are in a record before it (DEBUG_INFO). The other records
//! have unwinding information, which is not read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::fields::{Fields, Reader};
use super::limits::MAX_CHANGES;
use crate::Bytes;

/// The first bytes, in either byte order.
const MAGIC: [[u8; 4]; 2] = [*b"DTiJ", *b"JiTD"];
/// The version of the header.
const VERSION: u32 = 1;
/// The flag of the header: times are those of the architecture's counter.
const COUNTER: u64 = 1;
/// The size in bytes of the beginning of each record: kind, size and time.
const PREFIX: u64 = 16;
/// The records that are read.
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;
/// A name of a file that is that of the entry before.
const SAME_FILE: &[u8] = b"\xff";
/// V8 adds the size of the header of an ELF file to the addresses of lines, as the code of the
/// files that perf makes of a jitdump is behind one. (V8, src/diagnostics/perf-jit.h,
/// `kElfHeaderSize`; Linux, tools/perf/util/genelf.h, GEN_ELF_TEXT_OFFSET)
const ELF_HEADER: u64 = 0x40;

/// What a jitdump has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JitDump {
    /// The process that wrote it.
    pub(super) process: u32,
    /// `e_machine` of the code.
    pub(super) machine: u32,
    /// Times are those of the architecture's counter; otherwise of CLOCK_MONOTONIC, in nanoseconds.
    pub(super) counter: bool,
    /// The code in the order of the file.
    pub(super) loaded: Vec<JitCode>,
    /// What is wrong with it.
    pub(super) problems: Vec<String>,
}

/// Code that is in memory from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JitCode {
    /// The time.
    pub(super) time: u64,
    /// The process.
    pub(super) process: u32,
    /// The address of its first byte.
    pub(super) address: u64,
    /// The offset in the file, and the number of bytes.
    pub(super) offset: u64,
    pub(super) len: u64,
    /// The name of the function.
    pub(super) name: String,
    /// Its source lines, in order of their offsets.
    pub(super) lines: Arc<[JitLine]>,
}

/// Code of a source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JitLine {
    /// The offset of its first byte from the begin of the function.
    pub(super) offset: u64,
    /// The line, from 1.
    pub(super) line: u32,
    /// The file.
    pub(super) file: Arc<str>,
}

/// The fields of a LOAD or a MOVE.
#[derive(Default)]
struct Fixed {
    process: u32,
    /// The address in memory. Of a MOVE, the new one.
    address: u64,
    /// Of a MOVE, the address before.
    old: u64,
    size: u64,
    index: u64,
}

impl Fixed {
    /// The order of these lines is the order in the file.
    fn read(moved: bool, f: &mut impl Fields) -> Option<Fixed> {
        let (mut fixed, mut thread, mut virtual_address) = (Fixed::default(), 0, 0);
        f.u32(&mut fixed.process)?;
        f.u32(&mut thread)?;
        f.u64(&mut virtual_address)?;
        if moved {
            f.u64(&mut fixed.old)?;
        }
        f.u64(&mut fixed.address)?;
        f.u64(&mut fixed.size)?;
        f.u64(&mut fixed.index)?;
        Some(fixed)
    }
}

/// The fields before the name of a LOAD.
const LOAD_FIELDS: u64 = PREFIX + 40;

impl JitDump {
    /// Whether a file with these first bytes is a jitdump.
    pub(super) fn is_at(head: &[u8]) -> bool {
        MAGIC.iter().any(|magic| head.starts_with(magic))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read(bytes: &Bytes) -> Result<JitDump, String> {
        JitDump::read_at_most(bytes, MAX_CHANGES)
    }

    /// As [`read`](Self::read), with at most `most` pieces of code.
    fn read_at_most(bytes: &Bytes, most: usize) -> Result<JitDump, String> {
        let all: &[u8] = bytes;
        let big = all.starts_with(&MAGIC[1]);
        let short = "the jitdump ends within its header";
        let (mut version, mut size, mut flags) = (0, 0, 0);
        let mut dump = JitDump::default();
        let mut head = Reader::new(all.get(4..).unwrap_or_default(), big);
        let mut fields = || {
            head.u32(&mut version)?;
            head.u32(&mut size)?;
            head.u32(&mut dump.machine)?;
            head.u32(&mut 0)?;
            head.u32(&mut dump.process)?;
            head.u64(&mut 0)?;
            head.u64(&mut flags)
        };
        fields().ok_or(short)?;
        if version != VERSION {
            return Err(format!("the jitdump has version {version}, and {VERSION} is known"));
        }
        if flags & !COUNTER != 0 {
            return Err(format!("the jitdump has the unknown flags {:#x}", flags & !COUNTER));
        }
        dump.counter = flags & COUNTER != 0;
        dump.records(all, u64::from(size), big, most);
        Ok(dump)
    }

    /// Reads the records from offset `at` on, and at most `most` pieces of code.
    fn records(&mut self, all: &[u8], mut at: u64, big: bool, most: usize) {
        let mut known = Known::default();
        // The lines of the next code, and its address.
        let mut lines: Option<(u64, Arc<[JitLine]>)> = None;
        let len = all.len() as u64;
        while at < len {
            let record = usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default();
            let (mut kind, mut size, mut time) = (0, 0, 0);
            let mut prefix = Reader::new(record, big);
            let read = prefix.u32(&mut kind).and(prefix.u32(&mut size)).and(prefix.u64(&mut time));
            let whole = record.get(..size as usize).filter(|_| u64::from(size) >= PREFIX);
            let (Some(()), Some(record)) = (read, whole) else {
                self.problems.push(format!(
                    "the jitdump ends within the record at offset {at:#x}: its program did not \
                     close it, or it was cut"
                ));
                return;
            };
            if self.loaded.len() >= most {
                self.problems.push(format!(
                    "the jitdump has more than {most} pieces of code: the others are not used"
                ));
                return;
            }
            let fields = record.get(PREFIX as usize..).unwrap_or_default();
            let fixed = match kind {
                LOAD | MOVE => Fixed::read(kind == MOVE, &mut Reader::new(fields, big)),
                _ => None,
            };
            if kind == DEBUG_INFO {
                lines = read_lines(fields, big);
            }
            match (kind, fixed) {
                (LOAD, Some(fixed))
                    if fixed.size <= u64::from(size).saturating_sub(LOAD_FIELDS) =>
                {
                    let start = u64::from(size) - fixed.size;
                    let name = record.get(LOAD_FIELDS as usize..start as usize).unwrap_or_default();
                    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                    let name = String::from_utf8_lossy(name).into_owned();
                    known.insert(&fixed, self.loaded.len());
                    self.loaded.push(JitCode {
                        time,
                        process: fixed.process,
                        address: fixed.address,
                        offset: at + start,
                        len: fixed.size,
                        name,
                        lines: lines
                            .take()
                            .filter(|(address, _)| *address == fixed.address)
                            .map(|(_, lines)| lines)
                            .unwrap_or_default(),
                    });
                }
                (MOVE, Some(fixed)) => match known.at(&fixed, &self.loaded) {
                    Some(code) => {
                        let (address, len) = (fixed.address, code.len.min(fixed.size));
                        known.insert(&fixed, self.loaded.len());
                        self.loaded.push(JitCode { time, address, len, ..code });
                    }
                    None => self.problems.push(format!(
                        "the record at offset {at:#x} moves code from {:#x}, where none was \
                         recorded",
                        fixed.old
                    )),
                },
                (LOAD | MOVE, _) => self.problems.push(format!(
                    "the record at offset {at:#x} is shorter than its fields, and is not used"
                )),
                _ => {}
            }
            at += u64::from(size);
        }
    }
}

/// The address of code, and its source lines: the fields of a DEBUG_INFO after the prefix.
fn read_lines(fields: &[u8], big: bool) -> Option<(u64, Arc<[JitLine]>)> {
    let (mut address, mut count) = (0, 0);
    let mut f = Reader::new(fields, big);
    f.u64(&mut address)?;
    f.u64(&mut count)?;
    let mut rest = fields.get(16..)?;
    let (mut rows, mut file): (Vec<(u64, JitLine)>, Arc<str>) = (Vec::new(), "".into());
    for _ in 0..count {
        let (mut at, mut line) = (0, 0);
        let mut f = Reader::new(rest, big);
        f.u64(&mut at)?;
        f.u32(&mut line)?;
        f.u32(&mut 0)?;
        let name = rest.get(16..)?;
        let end = name.iter().position(|byte| *byte == 0)?;
        let (name, after) = name.split_at_checked(end)?;
        if name != SAME_FILE {
            file = String::from_utf8_lossy(name).into();
        }
        rows.push((at, JitLine { offset: 0, line, file: Arc::clone(&file) }));
        rest = after.get(1..)?;
    }
    let first = rows.iter().map(|(at, _)| *at).min()?;
    let base = if first == address.checked_add(ELF_HEADER)? { first } else { address };
    rows.retain(|(at, _)| *at >= base);
    rows.sort_by_key(|(at, _)| *at);
    let rows = rows.into_iter().map(|(at, line)| JitLine { offset: at - base, ..line });
    Some((address, rows.collect()))
}

/// The last piece of code by its number, and by its address.
#[derive(Default)]
struct Known {
    by_index: HashMap<u64, usize>,
    by_address: HashMap<(u32, u64), usize>,
}

impl Known {
    fn insert(&mut self, fixed: &Fixed, n: usize) {
        self.by_index.insert(fixed.index, n);
        self.by_address.insert((fixed.process, fixed.address), n);
    }

    /// The code that is moved from the old address.
    fn at(&self, fixed: &Fixed, loaded: &[JitCode]) -> Option<JitCode> {
        let of_index = self.by_index.get(&fixed.index).and_then(|n| loaded.get(*n));
        let of_index = of_index.filter(|code| code.address == fixed.old);
        let at = || loaded.get(*self.by_address.get(&(fixed.process, fixed.old))?);
        of_index.or_else(at).cloned()
    }
}

/// The generation of each piece of code: the pieces of one do not overlap, so that an address in it
/// has one name.
pub(super) fn generations(loaded: &[JitCode]) -> Vec<usize> {
    /// What is in further generations may have several names.
    const MOST: usize = 64;
    let mut all: Vec<BTreeMap<u64, u64>> = Vec::new();
    let mut of = Vec::with_capacity(loaded.len());
    for code in loaded {
        let end = code.address.saturating_add(code.len);
        let free = |taken: &BTreeMap<u64, u64>| {
            taken.range(..end).next_back().is_none_or(|(_, last)| *last <= code.address)
        };
        let n = all.iter().position(free).unwrap_or(all.len()).min(MOST - 1);
        if n == all.len() {
            all.push(BTreeMap::new());
        }
        if let Some(taken) = all.get_mut(n) {
            taken.insert(code.address, end);
        }
        of.push(n);
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as `struct jitheader` lays it out. (tools/perf/util/jitdump.h)
    fn header(flags: u64) -> Vec<u8> {
        let mut out = b"DTiJ".to_vec();
        for word in [1u32, 40, 183, 0, 7] {
            out.extend(word.to_le_bytes());
        }
        out.extend(5u64.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out
    }

    /// `struct jr_prefix` and 64-bit fields, and what follows them.
    fn record(kind: u32, time: u64, words: &[u64], rest: &[u8]) -> Vec<u8> {
        let mut out = kind.to_le_bytes().to_vec();
        out.extend((16 + 8 * words.len() as u32 + rest.len() as u32).to_le_bytes());
        out.extend(time.to_le_bytes());
        words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(rest);
        out
    }

    /// `struct jr_code_load`: process and thread, vma, code_addr, code_size, code_index.
    fn load(time: u64, address: u64, index: u64, name: &str, code: &[u8]) -> Vec<u8> {
        let rest = [name.as_bytes(), &[0], code].concat();
        record(0, time, &[7 | 7 << 32, address, address, code.len() as u64, index], &rest)
    }

    /// `struct jr_code_move`: process and thread, vma, old_code_addr, new_code_addr, code_size,
    /// code_index.
    fn moved(time: u64, old: u64, new: u64, size: u64, index: u64) -> Vec<u8> {
        record(1, time, &[7 | 7 << 32, new, old, new, size, index], &[])
    }

    fn read(records: &[Vec<u8>]) -> JitDump {
        let all = [header(0), records.concat()].concat();
        JitDump::read(&Bytes::from(all)).unwrap()
    }

    #[test]
    fn code_is_loaded_and_moved() {
        let dump = read(&[
            load(10, 0x1000, 1, "a", &[1; 8]),
            // An unknown record.
            record(9, 11, &[], &[0; 3]),
            moved(20, 0x1000, 0x2000, 4, 1),
            load(30, 0x1000, 2, "b", &[2; 4]),
            // By the address, as the number is of other code.
            moved(40, 0x2000, 0x3000, 4, 2),
            moved(50, 0x9000, 0x3000, 4, 9),
        ]);
        assert_eq!((dump.process, dump.machine, dump.counter), (7, 183, false));
        let found: Vec<_> =
            dump.loaded.iter().map(|c| (c.time, c.address, c.len, c.name.as_str())).collect();
        let want = [
            (10, 0x1000, 8, "a"),
            (20, 0x2000, 4, "a"),
            (30, 0x1000, 4, "b"),
            (40, 0x3000, 4, "a"),
        ];
        assert_eq!(found, want);
        // Header, fields before the name, name.
        assert_eq!(dump.loaded[0].offset, 40 + 56 + 2);
        assert_eq!(dump.loaded[1].offset, dump.loaded[0].offset);
        assert!(dump.problems[0].contains("moves code from 0x9000"), "{:?}", dump.problems);
        assert_eq!(generations(&dump.loaded), [0, 0, 1, 0]);
    }

    /// `struct jr_code_debug_info`: code_addr, nr_entry, and for each `struct debug_entry`: addr,
    /// lineno, discrim, name.
    fn lines(code: u64, entries: &[(u64, u32, &[u8])]) -> Vec<u8> {
        let count = entries.len() as u64;
        let entries = entries.iter().flat_map(|(address, line, name)| {
            let number = u64::from(*line);
            [&address.to_le_bytes()[..], &number.to_le_bytes(), name, &[0]].concat()
        });
        let rest: Vec<u8> = entries.collect();
        record(2, 5, &[code, count], &rest)
    }

    #[test]
    fn code_has_the_lines_of_the_record_before_it() {
        let of =
            |name: &'static str| move |offset, line| JitLine { offset, line, file: name.into() };
        let (a, b) = (of("a."), of("b."));
        let same = SAME_FILE;
        let dump = read(&[
            lines(0x1000, &[(0x1004, 8, b"a."), (0x1000, 7, same), (0x1006, 9, b"b.")]),
            load(10, 0x1000, 1, "a", &[1; 8]),
            moved(20, 0x1000, 0x2000, 8, 1),
            // As V8 writes them: behind the header of an ELF file.
            lines(0x3000, &[(0x3040, 7, b"a."), (0x3048, 8, same)]),
            load(30, 0x3000, 2, "b", &[1; 16]),
            // Lines of other code, none, and a record that is too short.
            lines(0x5000, &[(0x5000, 7, b"a.")]),
            load(40, 0x4000, 3, "c", &[1; 8]),
            lines(0x6000, &[]),
            load(50, 0x6000, 4, "d", &[1; 8]),
            record(2, 60, &[0x7000, 9], &[1, 2, 3]),
            load(60, 0x7000, 5, "e", &[1; 8]),
        ]);
        let first = vec![a(0, 7), a(4, 8), b(6, 9)];
        let found: Vec<_> = dump.loaded.iter().map(|code| code.lines.to_vec()).collect();
        assert_eq!(found[..2], [first.clone(), first]);
        assert_eq!(found[2..], [vec![a(0, 7), a(8, 8)], vec![], vec![], vec![]]);
    }

    #[test]
    fn pieces_of_code_are_limited() {
        let pieces: Vec<_> = (0..3).map(|n| load(n, n << 4, n, "a", &[1; 8])).collect();
        let all = Bytes::from([header(0), pieces.concat()].concat());
        for (most, loaded, problems) in [(2, 2, 1), (3, 3, 0)] {
            let dump = JitDump::read_at_most(&all, most).unwrap();
            assert_eq!((dump.loaded.len(), dump.problems.len()), (loaded, problems), "{most}");
        }
    }

    #[test]
    fn damage_ends_the_records() {
        let whole = [header(1), load(1, 0x10, 1, "a", &[1; 8])].concat();
        for len in 0..whole.len() {
            match JitDump::read(&Bytes::from(whole[..len].to_vec())) {
                Err(why) => assert!(len < 40, "{len}: {why}"),
                Ok(dump) => {
                    assert_eq!(dump.loaded.len(), 0, "{len}");
                    assert_eq!(dump.problems.len(), usize::from(len > 40), "{len}");
                }
            }
        }
        let dump = JitDump::read(&Bytes::from(whole)).unwrap();
        assert!(dump.counter && dump.loaded.len() == 1);
        // More code than the record has bytes.
        let words = [7, 0, 0, 1 << 40, 1];
        let dump = read(&[record(0, 1, &words, b"a\0"), load(2, 0, 2, "b", &[0; 4])]);
        assert_eq!((dump.loaded.len(), dump.problems.len()), (1, 1));
        assert!(JitDump::read(&Bytes::from(header(2))).unwrap_err().contains("flags 0x2"));
    }
}
