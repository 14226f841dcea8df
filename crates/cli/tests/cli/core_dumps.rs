//! Trace buffers inside core dumps of Zephyr and ESP-IDF, as these systems write them: with all
//! kinds of sections, checksums, and in their logs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Folder, tracewright};

/// The address of the buffer.
const ADDRESS: u32 = 0x2000_1000;

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo").join(file)
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// Zephyr's header for a 32-bit processor, registers, threads, registers of another processor,
/// other memory, `memory`, and the checksum. (`include/zephyr/debug/coredump.h`)
fn zephyr(memory: &[u8]) -> Vec<u8> {
    let mut dump = b"ZE\x02\0\x03\0\x05\x01\0\0\0\0".to_vec();
    let section =
        |kind: u8, size: usize| [&[kind, 1, 0][..], &(size as u16).to_le_bytes()].concat();
    dump.extend(section(b'A', 68));
    dump.extend([0x5a; 68]);
    dump.extend(section(b'T', 20));
    dump.extend([b'M'; 20]);
    dump.extend(section(b'F', 68));
    dump.extend([1, 0, 0, 0, 0x40, 0, 0, 0x20]);
    dump.extend([0xa5; 68]);
    for (address, bytes) in [(0x2000_0000, &[0x11; 64][..]), (ADDRESS, memory)] {
        dump.extend([b'M', 1, 0]);
        dump.extend(address.to_le_bytes());
        dump.extend((address + bytes.len() as u32).to_le_bytes());
        dump.extend(bytes);
    }
    let crc = crc32(&dump);
    dump.extend([b'C', 1, 0]);
    dump.extend(crc.to_le_bytes());
    dump
}

/// The parts that ESP-IDF writes one after another: its header, an ELF header, a program header of
/// notes and one of `memory`, the notes, the memory, the checksum. `chip_revision`: the header has
/// the field.
fn esp(memory: &[u8], chip_revision: bool) -> Vec<Vec<u8>> {
    let word = |value: u32| value.to_le_bytes();
    let notes = [b"\x08\0\0\0\xcc\0\0\0\x01\0\0\0CORE\0\0\0\0".to_vec(), vec![0; 204]].concat();
    let (first, second) = (52 + 2 * 32, 52 + 2 * 32 + notes.len() as u32);
    let mut elf = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\xf3\0\x01\0\0\0".to_vec();
    elf.extend([word(0), word(52), word(0), word(0)].concat());
    elf.extend(b"\x34\0\x20\0\x02\0\x28\0\0\0\0\0");
    let header = |kind, at, address, len: usize| {
        let len = word(len as u32);
        [word(kind), word(at), word(address), word(address), len, len, word(6), word(0)].concat()
    };
    let mut parts = vec![
        elf,
        header(4, first, 0, notes.len()),
        header(1, second, ADDRESS, memory.len()),
        notes,
        memory.to_vec(),
    ];
    let size = if chip_revision { 24 } else { 20 };
    let len = size + 4 + parts.iter().map(Vec::len).sum::<usize>() as u32;
    let mut head = [word(len), word(0x0005_0102), word(1), word(336), word(1)].concat();
    head.resize(size as usize, 0);
    parts.insert(0, head);
    let crc = crc32(&parts.concat());
    parts.push(word(crc).to_vec());
    parts
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        let digit = |n: usize| match n <= group.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * n) & 0x3f) as usize]),
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// The log of a core dump of ESP-IDF: a line for each 48 bytes of a part, with `prefix` before it.
fn esp_log(parts: &[Vec<u8>], prefix: &str) -> String {
    let mut log =
        String::from("I (312) boot: ESP-IDF\r\nGuru Meditation Error: Core 0 panic'ed\r\n");
    log += &format!("{prefix}================= CORE DUMP START =================\r\n");
    for line in parts.iter().flat_map(|part| part.chunks(48)) {
        log += &format!("{prefix}{}\r\n", base64(line));
    }
    log + &format!("{prefix}================= CORE DUMP END =================\r\nRebooting...\r\n")
}

/// The log of a core dump of Zephyr, after one that was cut.
fn zephyr_log(dump: &[u8]) -> String {
    let line =
        |text: &str| format!("[00:00:03.101,000] \x1b[1;31m<err> coredump: #CD:{text}\x1b[0m\r\n");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut log = line("BEGIN#") + &line(&hex(&dump[..32]));
    log += "*** Booting Zephyr OS ***\r\n";
    log += &line("BEGIN#");
    dump.chunks(32).for_each(|bytes| log += &line(&hex(bytes)));
    log + &line("END#")
}

#[test]
fn buffers_in_core_dumps_are_decoded() {
    let folder = Folder::new("buffers-in-core-dumps");
    let trace = fs::read(example("trace.bin")).unwrap();
    let image = example("program.elf").display().to_string();
    let decode = |path: &Path, options: &[&str]| {
        let path = path.display().to_string();
        tracewright(&[&["decode", &path, "--image", &image][..], options].concat())
    };
    let want = decode(&example("trace.bin"), &[]);
    let new = esp(&trace, true);
    for (name, contents, note) in [
        ("zephyr", zephyr(&trace), "a core dump of Zephyr: 2000 bytes"),
        ("zephyr.log", zephyr_log(&zephyr(&trace)).into(), "a core dump of Zephyr in a log: 2000"),
        ("esp", new.concat(), "a core dump of ESP-IDF: 2000 bytes"),
        ("esp20", esp(&trace, false).concat(), "a core dump of ESP-IDF: 2000 bytes"),
        ("esp.log", esp_log(&new, "").into(), "a core dump of ESP-IDF in a log: 2000 bytes"),
        (
            "esp-time.log",
            esp_log(&new, "[12:00:01.250] ").into(),
            "a core dump of ESP-IDF in a log",
        ),
        (
            "esp.b64",
            new.iter()
                .flat_map(|part| part.chunks(48))
                .map(|line| base64(line) + "\n")
                .collect::<String>()
                .into(),
            "a core dump of ESP-IDF in base64: 2000 bytes",
        ),
    ] {
        let path = folder.path(name);
        fs::write(&path, &contents).unwrap();
        let got = decode(&path, &["--buffer", "0x20001000"]);
        assert!(got.out == want.out, "{name}: {}", got.err);
        assert!(got.err.contains(note), "{name}: {}", got.err);
        assert!(!got.err.contains("checksum"), "{name}: {}", got.err);
    }
    // A bit of memory that is not the buffer.
    for (name, mut dump, at) in [("zephyr", zephyr(&trace), 20), ("esp", new.concat(), 200)] {
        dump[at] ^= 1;
        let path = folder.path(name);
        fs::write(&path, &dump).unwrap();
        let got = decode(&path, &["--buffer", "0x20001000"]);
        assert!(got.err.contains("whose checksum is wrong"), "{name}: {}", got.err);
    }
    let cut = zephyr(&trace);
    fs::write(folder.path("cut"), &cut[..cut.len() - 7]).unwrap();
    let got = decode(&folder.path("cut"), &["--buffer", "0x20001000"]);
    assert!(got.err.contains("the checksum is missing"), "{}", got.err);
}

/// The address and the size of a buffer are those of a symbol of the program.
#[test]
fn symbols_select_buffers() {
    let folder = Folder::new("symbols-select-buffers");
    let image = example("program.elf").display().to_string();
    let empty = folder.path("empty.bin").display().to_string();
    fs::write(&empty, zephyr(&[0; 16])).unwrap();
    // The address of `main`, of which this dump has no memory.
    let error = tracewright(&["info", &empty, "--image", &image, "--buffer", "main"]).err;
    let address = error.split("no memory at 0x").nth(1).and_then(|rest| rest.split(':').next());
    let address = u32::from_str_radix(address.unwrap_or_default(), 16).unwrap();
    let trace = fs::read(example("trace.bin")).unwrap();
    let mut dump = b"ZE\x02\0\x03\0\x05\0\0\0\0\0M\x01\0".to_vec();
    dump.extend((address - 16).to_le_bytes());
    dump.extend((address + trace.len() as u32).to_le_bytes());
    dump.extend([0xee; 16]);
    dump.extend(&trace);
    let path = folder.path("memory").display().to_string();
    fs::write(&path, &dump).unwrap();
    let decode = |path: &str, options: &[&str]| {
        tracewright(&[&["decode", path, "--image", &image][..], options].concat())
    };
    let want = decode(&example("trace.bin").display().to_string(), &[]);
    let got = decode(&path, &["--buffer", "main,2000"]);
    assert!(got.out == want.out, "{}", got.err);
    let own = decode(&path, &["--buffer", "main"]);
    let note = format!("bytes from {address:#x} on are read");
    assert!(own.err.contains(&note) && !own.err.contains("2000 bytes"), "{}", own.err);
}
