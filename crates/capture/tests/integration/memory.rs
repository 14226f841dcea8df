//! Trace buffers in memory as text, in records and in core dumps. `tests/memory` has what tools
//! printed; the forms of tools for a target are laid out here as their sources print them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, slice};

use tracewright_capture::{BufferAt, Capture, Problem, Raw, Selection, Swap};

use crate::common::Folder;

const ADDRESS: usize = 0x2000_1000;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory")
}

fn dump() -> Vec<u8> {
    fs::read(data().join("dump.bin")).unwrap()
}

/// The trace in the file at `path`, and what was converted, or the error.
fn read_as(path: &Path, selection: Selection) -> Result<(Vec<u8>, String), String> {
    let raw = Raw { selection, ..Raw::default() };
    let capture = Capture::raw(slice::from_ref(&path.to_owned()), &raw);
    let capture = capture.map_err(|error| error.to_string())?;
    let notes: Vec<_> = capture.notes.iter().map(|note| note.problem.to_string()).collect();
    Ok((capture.buffers[0].bytes().into_owned(), notes.join("\n")))
}

fn read(path: &Path) -> Result<(Vec<u8>, String), String> {
    read_as(path, Selection::default())
}

/// A file, the number of bytes of the dump that it has, and what the note names.
#[test]
fn text_of_tools() {
    let dump = dump();
    for (file, len, want) in [
        ("xxd.txt", 227, "rows of `xxd`: 227 bytes are read"),
        ("xxd-e.txt", 227, "`xxd -e`"),
        ("xxd-g1.txt", 227, "`xxd -g1`"),
        ("xxd-g4.txt", 227, "rows of `xxd`"),
        ("xxd-p.txt", 227, "hexadecimal digits"),
        ("xxd-i.txt", 227, "an array of bytes"),
        ("hexdump-C.txt", 227, "`hexdump -C`"),
        ("hexdump.txt", 227, "`hexdump` or `od`"),
        ("od.txt", 227, "octal rows of `od`"),
        ("od-x.txt", 227, "`hexdump` or `od`"),
        ("od-t-x1.txt", 227, "`hexdump` or `od`"),
        ("od-t-x4.txt", 227, "`hexdump` or `od`"),
        ("od-words.txt", 208, "a hexadecimal word a line"),
        ("base64.txt", 227, "base64"),
        ("objcopy.ihex", 227, "Intel HEX records: 227 bytes from 0x20001000 on"),
        ("objcopy.srec", 227, "S-records: 227 bytes from 0x20001000 on"),
        ("objcopy.verilog", 227, "Verilog: 227 bytes from 0x20001000 on"),
        ("objdump-s.txt", 227, "`objdump -s` or `readelf -x`: 227 bytes from 0x20001000 on"),
        ("readelf-x.txt", 227, "`objdump -s` or `readelf -x`"),
        ("gdb-xb.txt", 227, "GDB's `x`: 227 bytes from 0x20001000 on"),
        ("gdb-xh.txt", 226, "GDB's `x`"),
        ("gdb-xw.txt", 224, "GDB's `x`"),
        ("gdb-xg.txt", 224, "GDB's `x`"),
        ("gdb-print.txt", 227, "an array of bytes"),
    ] {
        let (bytes, note) = read(&data().join(file)).unwrap_or_else(|why| panic!("{file}: {why}"));
        assert!(bytes == dump[..len], "{file}: {note}: {bytes:02x?}");
        assert!(note.contains(want), "{file}: {note}");
    }
}

/// BFD leaves out blocks of zeros of a Tektronix hex file: the pieces are listed, and selected.
#[test]
fn pieces_of_records() {
    let path = data().join("objcopy.tekhex");
    let pieces = read(&path).unwrap_err();
    assert!(
        pieces.contains("96 bytes at 0x20001000, 64 bytes at 0x200010c0; <buffer>"),
        "{pieces}"
    );
    let buffer = Some(BufferAt { address: 0x2000_1000, size: None });
    let (bytes, _) = read_as(&path, Selection { buffer, ..Selection::default() }).unwrap();
    assert_eq!(bytes, dump()[..96]);
}

/// Words of `size` bytes in rows of `row` bytes: `head` of the address, a blank before each word or
/// behind it, and with `text` the characters behind four blanks.
fn rows(
    bytes: &[u8],
    size: usize,
    row: usize,
    head: impl Fn(usize) -> String,
    text: bool,
) -> String {
    let mut out = String::new();
    for (n, line) in bytes.chunks(row).enumerate() {
        out += &head(ADDRESS + n * row);
        for word in line.chunks(size) {
            let digits = word.iter().rev().map(|byte| format!("{byte:02x}"));
            write!(out, " {}", digits.collect::<String>()).unwrap();
        }
        let shown = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' };
        let blanks = (row - line.len()) / size * (2 * size + 1) + 4;
        if text {
            write!(out, "{:blanks$}{}", "", line.iter().map(shown).collect::<String>()).unwrap();
        }
        out += "\n";
    }
    out
}

/// The forms of OpenOCD (`target.c`), U-Boot (`display_options.c`), pyOCD, J-Link Commander, and
/// rows in a log.
#[test]
fn text_of_target_tools() {
    let folder = Folder::new();
    let dump = &dump()[..224];
    let colon = |at: usize| format!("{at:08x}:");
    let openocd = |at: usize| format!("0x{at:08x}:");
    let words = dump
        .chunks(4)
        .map(|word| format!("0x{:08x}\r\n", u32::from_le_bytes(*word.first_chunk().unwrap())));
    let array = dump
        .chunks(4)
        .map(|word| format!("{:#x}u, ", u32::from_le_bytes(*word.first_chunk().unwrap())));
    let list = dump.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let gap =
        rows(&dump[..32], 4, 16, colon, false) + &rows(dump, 4, 16, |at| colon(at + 0x100), false);
    let repl = |text: String| format!("(gdb) x/56xw 0x20001000\n{text}(gdb) quit\n");
    let logged = |text: String| {
        let lines = text.lines().enumerate();
        lines.map(|(n, line)| format!("[00:00:{n:02}.123,456] <inf> dump: {line}\n")).collect()
    };
    let wide = |text: String| String::from_utf16(&text.encode_utf16().collect::<Vec<_>>()).unwrap();
    for (name, text, want) in [
        ("mdw", rows(dump, 4, 32, openocd, false), Ok("OpenOCD")),
        ("mdh", rows(dump, 2, 32, openocd, false), Ok("OpenOCD")),
        ("mdb", rows(dump, 1, 32, openocd, false), Ok("OpenOCD")),
        ("mdd", rows(dump, 8, 32, openocd, false), Ok("OpenOCD")),
        ("md.l", rows(dump, 4, 16, colon, true), Ok("U-Boot")),
        ("md.w", rows(dump, 2, 16, colon, true), Ok("U-Boot")),
        ("md.b", rows(dump, 1, 16, colon, true), Ok("U-Boot")),
        ("one", rows(dump, 4, 4, colon, false), Ok("U-Boot")),
        ("mem32", rows(dump, 4, 16, |at| format!("{at:08X} ="), false), Ok("J-Link")),
        ("mem8", rows(dump, 1, 16, |at| format!("{at:08X} ="), false), Ok("J-Link")),
        ("devmem", rows(dump, 4, 4, |at| format!("0x{at:x}"), false), Ok("rows")),
        (
            "symbol",
            rows(dump, 4, 16, |at| format!("0x{at:x} <buffer+{}>:\t", at - ADDRESS), false),
            Ok("rows"),
        ),
        ("prompt", repl(rows(dump, 4, 16, openocd, false)), Ok("rows")),
        ("logged", logged(rows(dump, 4, 16, colon, true)), Ok("rows")),
        ("wide", wide(format!("\u{feff}{}", rows(dump, 4, 16, colon, true))), Ok("rows")),
        ("words", words.collect(), Ok("a hexadecimal word a line")),
        (
            "array",
            format!("static const uint32_t etb[] = {{ /* 56 */ {} }};", array.collect::<String>()),
            Ok("an array of 32-bit words"),
        ),
        ("list", format!("{{\"etb\": [{list}]}}"), Ok("an array of bytes")),
        ("gap", gap, Err("32 bytes at 0x20001000, 224 bytes at 0x20001100; <buffer>")),
    ] {
        let path = folder.0.join(name);
        fs::write(&path, &text).unwrap();
        match (read(&path), want) {
            (Ok((bytes, note)), Ok(want)) => {
                assert!(bytes == dump, "{name}: {note}: {bytes:02x?}\n{text}");
                assert!(note.contains(want), "{name}: {note}");
            }
            (Err(why), Err(want)) => assert!(why.contains(want), "{name}: {why}"),
            (got, want) => panic!("{name}: {got:?}, not {want:?}\n{text}"),
        }
    }
}

/// pyOCD (`pyocd/utility/hex.py`) prints the bytes of each word beside it in the order of its
/// digits.
fn pyocd(bytes: &[u8], size: usize) -> String {
    let lines = rows(bytes, size, 16, |at| format!("{at:08x}: "), false);
    let lines = lines.lines().zip(bytes.chunks(16));
    let shown = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' };
    let beside = |row: &[u8]| -> String {
        row.chunks(size).flat_map(|word| word.iter().rev()).map(shown).collect()
    };
    lines.map(|(line, row)| format!("{line}    |{}|\n", beside(row))).collect()
}

/// Elements of an array as GDB prints them, of which those that repeat are counted.
fn elements(bytes: &[u8], value: impl Fn(u8) -> String, index: bool) -> String {
    let mut at = 0;
    let groups = bytes.chunk_by(|a, b| a == b).map(|group| {
        let (first, shown) = (at, value(group[0]));
        at += group.len();
        let element = |at: usize, text: &str| match index {
            true => format!("[{at:#x}] = {text}"),
            false => text.to_owned(),
        };
        match group.len() {
            10.. => element(first, &format!("{shown} <repeats {} times>", group.len())),
            len => {
                (first..first + len).map(|at| element(at, &shown)).collect::<Vec<_>>().join(", ")
            }
        }
    });
    format!("$1 = {{{}}}\n", groups.collect::<Vec<_>>().join(", "))
}

/// What is around a dump in a session, and the forms of numbers of GDB, Java and Rust.
#[test]
fn sessions_and_numbers_of_tools() {
    let folder = Folder::new();
    let dump = &dump()[..224];
    let short = &dump[..64];
    let colon = |at: usize| format!("{at:08x}:");
    let openocd = |at: usize| format!("0x{at:08x}:");
    let mdw = |bytes: &[u8]| rows(bytes, 4, 32, openocd, false);
    let xw = rows(dump, 4, 16, |at| format!("{at:#x}:\t"), false).replace(": ", ":\t0x");
    let lldb = rows(dump, 1, 16, openocd, true);
    let registers: String = (0..32).map(|n| format!("r{n}  {:#x}  {}\n", n * 77, n * 77)).collect();
    let gdb = |bytes: &[u8], size: usize, row: usize, word: &dyn Fn(u64) -> String| -> String {
        let lines = bytes.chunks(row).enumerate().map(|(n, line)| {
            let words = line.chunks(size).map(|bytes| {
                bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
            });
            let words: String = words.map(|value| format!("\t{}", word(value))).collect();
            format!("{:#x}:{words}\n", ADDRESS + n * row)
        });
        lines.collect()
    };
    let each = |value: &dyn Fn(u8) -> String| {
        dump.iter().map(|byte| value(*byte)).collect::<Vec<_>>().join(", ")
    };
    let octal = |bytes: &[u8]| -> String {
        let shown = |byte: &u8| match byte {
            b' '..=b'~' if !b"\"\\".contains(byte) => char::from(*byte).to_string(),
            byte => format!("\\{byte:03o}"),
        };
        bytes.iter().map(shown).collect()
    };
    let zeros = |bytes: &[u8]| [bytes, &[0; 20], bytes].concat();
    let with_zeros = zeros(dump);
    let string =
        format!("(gdb) p etb\n$3 = \"{0}\", '\\000' <repeats 20 times>, \"{0}\"\n", octal(dump));
    let coloured: String = rows(dump, 1, 16, |_| "I (312) etb:".to_owned(), false)
        .lines()
        .map(|line| format!("\x1b[0;32m{line}\x1b[0m\n"))
        .collect();
    let uncoloured = coloured.replace("\x1b[0;32m", "");
    let digits: String = dump.iter().map(|byte| format!("{byte:02x}")).collect();
    let base32 = |n: u8| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(n & 31)]);
    let typing = format!("{}fzz6{}", &digits[..200], &digits[204..]);
    for (name, text, want) in [
        ("pyocd-8", pyocd(dump, 1), Ok(dump)),
        ("pyocd-16", pyocd(dump, 2), Ok(dump)),
        ("pyocd-32", pyocd(dump, 4), Ok(dump)),
        ("mdw-16", format!("> mdw 0x20001000 16\n{}", mdw(short)), Ok(short)),
        ("mdw-bare", format!("mdw 0x20001000 16\n{}", mdw(short)), Ok(short)),
        ("mdw-32-bit", format!("read_memory 0x20001000 32 16\n{}", mdw(short)), Ok(short)),
        ("md-10", format!("=> md 20001000 10\n{}", rows(short, 4, 16, colon, true)), Ok(short)),
        ("pyocd-session", format!("0 pyocd> rw 0x20001000 64\n{}", pyocd(short, 4)), Ok(short)),
        (
            "two",
            format!(
                "> mdw 0x20000000 16\n{}> mdw 0x20001000 56\n{}",
                mdw(short).replace("0x20001", "0x20000"),
                mdw(dump)
            ),
            Err("64 bytes at 0x20000000, 224 bytes at 0x20001000; <buffer>"),
        ),
        ("lldb", format!("(lldb) memory read 0x20001000 0x200010e0\n{lldb}"), Ok(dump)),
        ("coloured", coloured, Ok(dump)),
        ("reset", uncoloured, Ok(dump)),
        (
            "registers",
            format!("(gdb) info registers\n{registers}(gdb) x/56xw 0x20001000\n{xw}"),
            Ok(dump),
        ),
        ("x-tw", gdb(dump, 4, 16, &|value| format!("{value:032b}")), Ok(dump)),
        ("x-4tw", gdb(&dump[16..32], 4, 16, &|value| format!("{value:032b}")), Ok(&dump[16..32])),
        ("x-tg", gdb(dump, 8, 16, &|value| format!("{value:064b}")), Ok(dump)),
        ("x-ab", gdb(dump, 1, 8, &|value| format!("{:#x}", value as u8 as i8 as i64)), Ok(dump)),
        (
            "x-aw",
            gdb(dump, 4, 16, &|value| format!("{value:#x} <main+{}>", value & 0xff)),
            Ok(dump),
        ),
        ("x-cw", gdb(dump, 4, 16, &|value| format!("{} 'x'", value as i8)), Err("")),
        ("p", string.clone(), Ok(with_zeros.as_slice())),
        ("p-cut", string.replace("\"\n", "\"...\n"), Err("")),
        (
            "p-o",
            elements(&with_zeros, |byte| format!("{byte:#o}").replace("0o", "0"), false)
                .replace("00 <", "0 <")
                .replace(" 00,", " 0,"),
            Ok(with_zeros.as_slice()),
        ),
        (
            "p-t",
            elements(&with_zeros, |byte| format!("{byte:b}"), false),
            Ok(with_zeros.as_slice()),
        ),
        (
            "p-x-index",
            elements(&with_zeros, |byte| format!("{byte:#x}"), true),
            Ok(with_zeros.as_slice()),
        ),
        (
            "java",
            format!("byte[] etb = {{ {} }};\n", each(&|byte| format!("(byte) {byte:#04x}"))),
            Ok(dump),
        ),
        ("java-joined", format!("{{{}}}\n", each(&|byte| format!("(byte)0x{byte:X}"))), Ok(dump)),
        ("rust-u8", format!("[{}]\n", each(&|byte| format!("{byte:#x}u8"))), Ok(dump)),
        ("rust-u8-apart", format!("[{}]\n", each(&|byte| format!("{byte:#04x}_u8"))), Ok(dump)),
        (
            "c-octal",
            format!("char etb[] = \"{}\"\n  \"{}\";\n", octal(short), octal(&dump[64..])),
            Ok(dump),
        ),
        ("typing", typing, Err("hexadecimal digits, and damaged: line 1 has `z` in column 202")),
        (
            "base32",
            dump.iter().map(|byte| base32(byte >> 2)).chain("GXYZ".repeat(40).chars()).collect(),
            Err("base32"),
        ),
    ] {
        let path = folder.0.join(name);
        fs::write(&path, &text).unwrap();
        match (read(&path), want) {
            (Ok((bytes, note)), Ok(want)) => {
                assert!(bytes == want, "{name}: {note}: {bytes:02x?}\n{text}");
            }
            // Text of another kind is left as it is.
            (Ok((bytes, note)), Err("")) => {
                assert_eq!((bytes, note), (text.into_bytes(), String::new()), "{name}");
            }
            (Err(why), Err(want)) => assert!(why.contains(want), "{name}: {why}"),
            (got, want) => panic!("{name}: {got:?}, not {want:?}\n{text}"),
        }
    }
}

/// The PC and the bytes of one packet in a text do not make it a dump.
#[test]
fn other_text_is_none() {
    let folder = Folder::new();
    for (n, text) in [
        "core   0: 0x0000000080000000 (0x00000297) auipc t0, 0x0\ncore   0: 0x0000000080000004 (0x02028593) addi a1, t0, 32\n",
        "{\"timestamp\": [1, 2], \"text\": \"abc\"}\n",
        "int main(void) { return 0x20001000; }\n/* 0x10: 0x20 */\n",
        "address,opcode\n8000,e1a00000\n8004,e1a00000\n",
        "the quick brown fox jumps over the lazy dog, and goes on\n",
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.0.join(n.to_string());
        fs::write(&path, text).unwrap();
        assert_eq!(read(&path), Ok((text.as_bytes().to_vec(), String::new())), "{text}");
    }
}

/// Decimal numbers a line are neither bytes in hexadecimal digits nor base64; zeros may be memory.
#[test]
fn decimal_numbers_are_none() {
    let folder = Folder::new();
    let path = folder.0.join("numbers.txt");
    let lines = |numbers: &mut dyn Iterator<Item = u32>| {
        numbers.map(|number| format!("{number}\n")).collect::<String>()
    };
    for text in [lines(&mut (10..100)), lines(&mut (1..501)), lines(&mut (1000..1100))] {
        fs::write(&path, &text).unwrap();
        assert_eq!(read(&path), Ok((text.as_bytes().to_vec(), String::new())), "{text}");
    }
    fs::write(&path, "00 00 00 00 00 80 01 41\n".repeat(20)).unwrap();
    assert_eq!(read(&path).unwrap().0.len(), 160);
}

#[test]
fn damaged_records_name_their_line() {
    let folder = Folder::new();
    for (file, from, to, want) in [
        ("objcopy.tekhex", "2051159A", "2051159B", "line 1: the checksum"),
        ("objcopy.ihex", "2051159A", "2051159B", "line 3: the checksum"),
        ("objcopy.srec", "2051159A", "2051159B", "line 3: the checksum"),
    ] {
        let path = folder.0.join(file);
        let text = fs::read_to_string(data().join(file)).unwrap().replace(from, to);
        fs::write(&path, text).unwrap();
        assert!(read(&path).unwrap_err().contains(want), "{file}: {:?}", read(&path));
    }
}

/// An ELF core file for a 32-bit Arm with one segment.
fn elf_core(address: u32, bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([4, 0, 40, 0]);
    for word in [1, 0, 52, 0, 0] {
        file.extend(u32::to_le_bytes(word));
    }
    for half in [52, 32, 1, 0, 0, 0] {
        file.extend(u16::to_le_bytes(half));
    }
    let len = bytes.len() as u32;
    for word in [1, 84, address, address, len, len, 6, 4] {
        file.extend(u32::to_le_bytes(word));
    }
    file.extend(bytes);
    file
}

/// Zephyr's header, a section of registers, and one of memory. (`log_parser.py`)
fn zephyr(address: u32, bytes: &[u8]) -> Vec<u8> {
    let mut file = b"ZE\x02\0\x03\0\x05\0\0\0\0\0A\x02\0\x04\0abcdM\x01\0".to_vec();
    file.extend(address.to_le_bytes());
    file.extend((address + bytes.len() as u32).to_le_bytes());
    file.extend(bytes);
    file
}

#[test]
fn buffers_in_core_dumps() {
    let folder = Folder::new();
    let dump = dump();
    let core = elf_core(0x2000_0000, &[&[0xa5; 0x40], &dump[..]].concat());
    let [mut esp, body] = [24u32, 0].map(|_| Vec::new());
    esp.extend(u32::to_le_bytes(core.len() as u32 + 28));
    // With a SHA-256, which is not compared.
    for word in [0x0005_0103u32, 1, 340, 3, 100] {
        esp.extend(word.to_le_bytes());
    }
    let esp: Vec<u8> = [esp, core.clone(), vec![1, 2, 3, 4], body].concat();
    let memory = zephyr(0x2000_0000, &[&[0xa5; 0x40], &dump[..]].concat());
    let hex: Vec<String> =
        memory.chunks(32).map(|line| line.iter().map(|b| format!("{b:02x}")).collect()).collect();
    let logged = format!(
        "*** Booting ***\n#CD:BEGIN#\n[00:00:01.000,000] <err> coredump: #CD:{}\n#CD:END#\n",
        hex.join("\n[00:00:01.000,000] <err> coredump: #CD:")
    );
    for (name, file, what) in [
        ("elf", core, "an ELF core file"),
        ("zephyr", memory, "a core dump of Zephyr"),
        ("zephyr.log", logged.into_bytes(), "a core dump of Zephyr in a log"),
        ("esp", esp, "a core dump of ESP-IDF"),
    ] {
        let path = folder.0.join(name);
        fs::write(&path, file).unwrap();
        let buffer = |address, size| Selection {
            buffer: Some(BufferAt { address, size }),
            ..Selection::default()
        };
        let (bytes, note) = read_as(&path, buffer(0x2000_0040, None)).unwrap();
        assert_eq!(bytes, dump, "{name}");
        assert!(note.contains(&format!("it is {what}: 227 bytes from 0x20000040 on")), "{note}");
        let (bytes, _) = read_as(&path, buffer(0x2000_0044, Some(16))).unwrap();
        assert_eq!(bytes, dump[4..20], "{name}");
        for (selection, want) in [
            (buffer(0x1000_0000, None), "no memory at 0x10000000: it has 291 bytes at 0x20000000"),
            (buffer(0x2000_0040, Some(228)), "227 of the 228 bytes"),
        ] {
            assert!(read_as(&path, selection).unwrap_err().contains(want), "{name}");
        }
    }
}

#[test]
fn words_are_swapped() {
    let dump = dump();
    let path = data().join("dump.bin");
    for swap in Swap::WORDS {
        let (bytes, _) =
            read_as(&path, Selection { swap: Some(swap), ..Selection::default() }).unwrap();
        assert_ne!(bytes, dump);
        assert_eq!(swap.apply(&bytes), dump, "{swap:?}");
        assert_eq!(bytes[226], dump[226], "the bytes behind the last whole word stay");
    }
    assert_eq!(Swap::Bits32.apply(&[1, 2, 3, 4, 5]), [4, 3, 2, 1, 5]);
}

#[test]
fn symbols_are_those_of_programs() {
    let none = BufferAt::parse("ram_trace", &[]).unwrap_err();
    assert!(matches!(*none.problem, Problem::Parameter(_)), "{none}");
    for (text, want) in [
        ("0x20000000", BufferAt { address: 0x2000_0000, size: None }),
        ("0x20000000,0x400", BufferAt { address: 0x2000_0000, size: Some(0x400) }),
    ] {
        assert_eq!(BufferAt::parse(text, &[]), Ok(want));
    }
    assert!(BufferAt::parse("0x20000000,none", &[]).is_err());
}
