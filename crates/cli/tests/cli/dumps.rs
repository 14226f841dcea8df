//! The example's trace buffer in the forms in which people have dumps: the command decodes each of
//! them as the bytes themselves.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Folder, Output, args, command, report_of, tracewright};

/// The address of the buffer.
const ADDRESS: usize = 0x2000_1000;

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo").join(file)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A word of a little-endian target as a number.
fn value(bytes: &[u8]) -> String {
    hex(&bytes.iter().rev().copied().collect::<Vec<_>>())
}

fn swapped(bytes: &[u8], size: usize) -> Vec<u8> {
    bytes.chunks(size).flat_map(|word| word.iter().rev().copied()).collect()
}

/// Rows of `row` bytes, each with `head` of its offset and `word` of each `size` bytes.
fn rows(
    bytes: &[u8],
    (row, size): (usize, usize),
    head: impl Fn(usize) -> String,
    word: impl Fn(&[u8]) -> String,
) -> String {
    let rows = bytes.chunks(row).enumerate().map(|(n, line)| {
        let words = line.chunks(size).map(&word).collect::<String>();
        format!("{}{words}\n", head(n * row))
    });
    rows.collect()
}

/// An Intel HEX or S-record with its checksum.
fn record(head: &str, bytes: &[u8], complement: bool) -> String {
    let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    let sum = if complement { !sum } else { sum.wrapping_neg() };
    format!("{head}{}{sum:02X}\n", hex(bytes).to_uppercase())
}

fn intel_hex(bytes: &[u8]) -> String {
    let data = bytes.chunks(16).enumerate().map(|(n, line)| {
        let at = (ADDRESS + 16 * n) as u16;
        let head = [line.len() as u8, (at >> 8) as u8, at as u8, 0];
        record(":", &[&head[..], line].concat(), false)
    });
    let base = record(":", &[2, 0, 0, 4, (ADDRESS >> 24) as u8, (ADDRESS >> 16) as u8], false);
    base + &data.collect::<String>() + ":00000001FF\n"
}

fn s_records(bytes: &[u8]) -> String {
    let data = bytes.chunks(16).enumerate().map(|(n, line)| {
        let at = (ADDRESS + 16 * n) as u32;
        let head = [line.len() as u8 + 5];
        record("S3", &[&head[..], &at.to_be_bytes(), line].concat(), true)
    });
    data.collect::<String>() + "S70500000000FA\n"
}

fn uf2(bytes: &[u8]) -> Vec<u8> {
    let count = bytes.len().div_ceil(256) as u32;
    let blocks = bytes.chunks(256).zip(0u32..).flat_map(|(data, n)| {
        let at = ADDRESS as u32 + 256 * n;
        let head = [0x0a32_4655, 0x9e5d_5157, 0, at, data.len() as u32, n, count, 0];
        let mut block: Vec<u8> = head.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        block.extend(data);
        block.resize(508, 0);
        block.extend(0x0ab1_6f30u32.to_le_bytes());
        block
    });
    blocks.collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks(3).map(|group| {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        let digit = |n: usize| match n <= group.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * n) & 0x3f) as usize]),
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    });
    let text = groups.collect::<String>();
    text.as_bytes().chunks(76).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect()
}

/// Each form and what a note names.
fn forms(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let dots = |line: &[u8]| ".".repeat(line.len());
    let beside = |text: String, blanks: &str, end: &str| -> String {
        let lines = text.lines().zip(bytes.chunks(16));
        lines.map(|(line, bytes)| format!("{line}{blanks}{}{end}\n", dots(bytes))).collect()
    };
    let at = |n: usize| ADDRESS + n;
    let text = |text: String| text.into_bytes();
    let c_array = bytes
        .chunks(12)
        .map(|line| line.iter().map(|byte| format!(" {byte:#04x},")).collect::<String>() + "\n");
    vec![
        (
            "xw",
            text(rows(
                bytes,
                (16, 4),
                |n| format!("{:#x}:", at(n)),
                |w| format!("\t0x{}", value(w)),
            )),
            "GDB",
        ),
        (
            "xb",
            text(rows(
                bytes,
                (8, 1),
                |n| format!("{:#x}:", at(n)),
                |w| format!("\t0x{}", value(w)),
            )),
            "GDB",
        ),
        (
            "xg",
            text(rows(
                bytes,
                (16, 8),
                |n| format!("{:#x}:", at(n)),
                |w| format!("\t0x{}", value(w)),
            )),
            "GDB",
        ),
        (
            "mdw",
            text(rows(
                bytes,
                (32, 4),
                |n| format!("{:#010x}: ", at(n)),
                |w| format!("{} ", value(w)),
            )),
            "OpenOCD",
        ),
        (
            "md.l",
            text(beside(
                rows(bytes, (16, 4), |n| format!("{:08x}:", at(n)), |w| format!(" {}", value(w))),
                "    ",
                "",
            )),
            "U-Boot",
        ),
        (
            "xxd",
            text(beside(
                rows(bytes, (16, 2), |n| format!("{n:08x}:"), |w| format!(" {}", hex(w))),
                "  ",
                "",
            )),
            "`xxd`",
        ),
        (
            "xxd-e",
            text(beside(
                rows(bytes, (16, 4), |n| format!("{n:08x}:"), |w| format!(" {}", value(w))),
                "  ",
                "",
            )),
            "`xxd -e`",
        ),
        (
            "hexdump-C",
            text(beside(
                rows(bytes, (16, 1), |n| format!("{n:08x} "), |w| format!(" {}", hex(w))),
                "  |",
                "|",
            )),
            "`hexdump -C`",
        ),
        (
            "hexdump",
            text(rows(bytes, (16, 2), |n| format!("{n:07x}"), |w| format!(" {}", value(w)))),
            "`hexdump`",
        ),
        (
            "od",
            text(rows(
                bytes,
                (16, 2),
                |n| format!("{n:07o}"),
                |w| format!(" {:06o}", u16::from_le_bytes([w[0], w[1]])),
            )),
            "octal",
        ),
        ("plain", text(rows(bytes, (30, 30), |_| String::new(), hex)), "hexadecimal digits"),
        ("words", text(rows(bytes, (4, 4), |_| String::new(), value)), "a hexadecimal word a line"),
        (
            "array",
            text(format!("const unsigned char etb[] = {{\n{}}};\n", c_array.collect::<String>())),
            "an array of bytes",
        ),
        (
            "verilog",
            text(format!(
                "@{ADDRESS:08X}\n{}",
                rows(bytes, (16, 1), |_| String::new(), |w| format!("{} ", hex(w)))
            )),
            "Verilog",
        ),
        ("ihex", text(intel_hex(bytes)), "Intel HEX"),
        ("srec", text(s_records(bytes)), "S-records"),
        ("uf2", uf2(bytes), "UF2"),
        ("base64", text(base64(bytes)), "base64"),
        (
            "mem32",
            text(rows(
                bytes,
                (16, 4),
                |n| format!("{:08X} =", at(n)),
                |w| format!(" {}", value(w)),
            )),
            "J-Link",
        ),
        (
            "objdump",
            text(beside(
                rows(bytes, (16, 4), |n| format!(" {:08x}", at(n)), |w| format!(" {}", hex(w))),
                "  ",
                "",
            )),
            "rows",
        ),
        ("swap2", swapped(bytes, 2), "words of 16 bits"),
        ("swap4", swapped(bytes, 4), "words of 32 bits"),
        ("swap8", swapped(bytes, 8), "words of 64 bits"),
        (
            "words of a big-endian host",
            text(rows(bytes, (4, 4), |_| String::new(), hex)),
            "words of 32 bits",
        ),
    ]
}

/// Rows of numbers that are not hexadecimal, forms of debuggers, logs and programs, and gzip.
fn further_forms(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let at = |n: usize| ADDRESS + n;
    let text = |text: String| text.into_bytes();
    let shown = |line: &[u8]| -> String {
        let shown = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
        line.iter().map(shown).collect()
    };
    let beside = |text: String, row: usize, before: &str, after: &str| -> String {
        let lines = text.lines().zip(bytes.chunks(row));
        lines.map(|(line, bytes)| format!("{line}{before}{}{after}\n", shown(bytes))).collect()
    };
    let pairs =
        |head: &dyn Fn(usize) -> String| rows(bytes, (16, 1), head, |w| format!(" {}", hex(w)));
    let end = format!("{:07o}\n", bytes.len());
    let od = |word: &dyn Fn(&[u8]) -> String, size| {
        rows(bytes, (16, size), |n| format!("{n:07o}"), word) + &end
    };
    let short = |w: &[u8]| u16::from_le_bytes([w[0], w[1]]);
    let escapes =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let list = |numbers: Vec<String>, between: &str| format!("[{}]\n", numbers.join(between));
    let signed = || bytes.iter().map(|byte| (*byte as i8).to_string()).collect::<Vec<_>>();
    vec![
        ("od-d1", text(od(&|w| format!(" {:>4}", w[0] as i8), 1)), "decimal rows"),
        ("od-u2", text(od(&|w| format!(" {:>5}", short(w)), 2)), "decimal rows"),
        ("od-b", text(od(&|w| format!(" {:03o}", w[0]), 1)), "octal rows"),
        (
            "xxd-b",
            text(beside(
                rows(bytes, (6, 1), |n| format!("{n:08x}:"), |w| format!(" {:08b}", w[0])),
                6,
                "  ",
                "",
            )),
            "binary rows",
        ),
        (
            "x-tb",
            text(rows(bytes, (8, 1), |n| format!("{:#x}:", at(n)), |w| format!("\t{:08b}", w[0]))),
            "GDB",
        ),
        (
            "x-ub",
            text(rows(
                bytes,
                (8, 1),
                |n| format!("{:#x} <etb+{n}>:", at(n)),
                |w| format!("\t{}", w[0]),
            )),
            "GDB",
        ),
        (
            "trace32",
            text(beside(
                rows(
                    bytes,
                    (16, 4),
                    |n| format!(" SD:{:08X}|>", at(n)),
                    |w| format!("{} ", value(w)),
                ),
                16,
                "",
                "",
            )),
            "TRACE32",
        ),
        (
            "windbg",
            text(beside(
                pairs(&|n| format!("00000000`{:08x} ", at(n))).replace("ff ff", "ff-ff"),
                16,
                "  ",
                "",
            )),
            "rows of",
        ),
        ("runs", text(rows(bytes, (16, 16), |n| format!("{:#010x}: ", at(n)), hex)), "rows of"),
        (
            "zephyr-log",
            text(
                "[00:00:03.101,000] <inf> app: etb\n".to_owned()
                    + &beside(pairs(&|_| " ".repeat(30)), 16, " |", ""),
            ),
            "bytes in a log",
        ),
        ("esp-log", text(pairs(&|_| "I (312) etb:".to_owned())), "bytes in a log"),
        ("python", text(format!("b'{}'\n", escapes(bytes))), "a string with escapes"),
        (
            "c-string",
            text(format!("char etb[] = \"{}\";\n", escapes(bytes))),
            "a string with escapes",
        ),
        ("json", text(format!("{{\"data\": \"{}\"}}\n", hex(bytes))), "a string of hexadecimal"),
        ("java", text(list(signed(), ", ")), "an array of bytes"),
        ("go", text(list(bytes.iter().map(u8::to_string).collect(), " ")), "an array of bytes"),
        (
            "rust",
            text(list(bytes.iter().map(|byte| format!("{byte:x}")).collect(), ", ")),
            "an array of bytes",
        ),
        (
            "read_memory",
            text(
                bytes
                    .chunks(4)
                    .map(|w| format!("{:#x} ", u32::from_le_bytes([w[0], w[1], w[2], w[3]])))
                    .collect(),
            ),
            "hexadecimal numbers",
        ),
        (
            "pem",
            text(format!("-----BEGIN DATA-----\n{}-----END DATA-----\n", base64(bytes))),
            "base64",
        ),
        (
            "marked",
            bytes.chunks(32).fold(Vec::new(), |mut log, row| {
                log.extend(format!("[00:00:01.200] <err> dump: #CD:{}\n", hex(row)).into_bytes());
                log
            }),
            "bytes in lines of a log (#CD:)",
        ),
        ("gz", gzip(bytes), "compressed by gzip: 2000 bytes"),
        ("gz-text", gzip(intel_hex(bytes).as_bytes()), "compressed by gzip; inside, it is"),
    ]
}

/// `bytes` as gzip writes them where it does not compress. (RFC 1952; RFC 1951, 3.2.4)
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let step = |crc: u32, _| if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let crc = !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step));
    let len = bytes.len() as u16;
    let mut out = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    out.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
    out.extend(bytes);
    out.extend([crc.to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat());
    out
}

#[test]
fn dumps_of_all_forms_are_decoded() {
    let folder = Folder::new("dumps-of-all-forms");
    let bytes = fs::read(example("trace.bin")).unwrap();
    let decode = |path: &Path| {
        let paths = [path.to_str().unwrap(), example("program.elf").to_str().unwrap()]
            .map(ToOwned::to_owned);
        tracewright(&["decode", &paths[0], "--image", &paths[1]])
    };
    let want = decode(&example("trace.bin"));
    assert_eq!(want.code, Some(0), "{}", want.err);
    for (name, contents, note) in forms(&bytes).into_iter().chain(further_forms(&bytes)) {
        let path = folder.path(name);
        fs::write(&path, &contents).unwrap();
        let got = decode(&path);
        assert!(got.out == want.out, "{name}: {}", got.err);
        assert!(got.err.contains(note), "{name}: {}", got.err);
    }
}

/// The order of the bytes is found without a program.
#[test]
fn orders_are_found_without_an_image() {
    let folder = Folder::new("dump-swapped-alone");
    let path = folder.path("swapped.bin");
    let bytes = fs::read(example("trace.bin")).unwrap();
    for size in [2, 4, 8] {
        fs::write(&path, swapped(&bytes, size)).unwrap();
        let found = tracewright(&["info", path.to_str().unwrap()]);
        let want = format!("(--swap {size})");
        assert!(found.out.contains(&want), "{size}: {}{}", found.out, found.err);
        assert!(found.out.contains("ID 0x20 ITM"), "{size}: {}", found.out);
    }
}

/// `--swap` is not overruled, and the order that it states is decoded.
#[test]
fn the_given_order_is_taken() {
    let folder = Folder::new("the-given-order");
    let bytes = fs::read(example("trace.bin")).unwrap();
    let path = folder.path("swapped.bin");
    fs::write(&path, swapped(&bytes, 4)).unwrap();
    let info =
        |options: &[&str]| tracewright(&[&["info", path.to_str().unwrap()], options].concat());
    let right = info(&["--swap", "4"]);
    assert!(right.out.contains("ID 0x10 ETM4"), "{}{}", right.out, right.err);
    assert!(!right.out.contains("(--swap 4)"), "it is given, not detected: {}", right.out);
    for wrong in ["1", "2", "8"] {
        let wrong = info(&["--swap", wrong]);
        assert!(!wrong.out.contains("ID 0x10 ETM4"), "{}", wrong.out);
    }
    assert!(info(&["--swap", "3"]).err.contains("write 1, 2, 4 or 8"));
}

/// A symbol of the program gives the address and the size of the buffer in a core dump.
#[test]
fn buffers_of_symbols() {
    let folder = Folder::new("buffers-of-symbols");
    let program = example("program.elf");
    let path = folder.path("memory.hex");
    fs::write(&path, intel_hex(&fs::read(example("trace.bin")).unwrap())).unwrap();
    let info = |buffer: &str| {
        tracewright(&[
            "info",
            path.to_str().unwrap(),
            "--image",
            program.to_str().unwrap(),
            "--buffer",
            buffer,
        ])
    };
    let all = info("0x20001000");
    assert!(all.out.contains("2000 bytes in 1 buffer"), "{}{}", all.out, all.err);
    let part = info("0x20001000,1024");
    assert!(part.out.contains("1024 bytes from 0x20001000 on"), "{}{}", part.out, part.err);
    assert!(info("none_such").err.contains("no program of --image has a symbol"));
    // A function of the program: the dump does not have its memory.
    assert!(info("main").err.contains("has no memory at"), "{}", info("main").err);
}

/// The text that an ITM sent, from SWO that was dumped as text.
#[test]
fn swo_as_text() {
    let folder = Folder::new("swo-as-text");
    let swo: Vec<u8> = [0, 0, 0, 0, 0, 0x80]
        .into_iter()
        .chain(b"hello, world, once more\n".iter().flat_map(|c| [1, *c]))
        .collect();
    let path = folder.path("swo.txt");
    fs::write(&path, rows(&swo, (16, 1), |n| format!("{n:08x} "), |w| format!(" {}", hex(w))))
        .unwrap();
    let itm = tracewright(&["itm", path.to_str().unwrap()]);
    assert!(itm.out.contains("hello, world, once more"), "{}{}", itm.out, itm.err);
    assert!(itm.err.contains("bytes are read"), "{}", itm.err);
}

/// The same on standard input, and a part of memory in the other order.
#[test]
fn swo_as_text_in_a_pipe() {
    let folder = Folder::new("swo-as-text-in-a-pipe");
    let swo: Vec<u8> = b"hello, world, once more\n".iter().flat_map(|c| [1, *c]).collect();
    let run = |contents: &[u8], options: &[&str]| -> Output {
        let path = folder.path("input");
        fs::write(&path, contents).unwrap();
        let mut run = command(&[&["itm", "-"][..], options].concat());
        run.stdin(fs::File::open(&path).unwrap()).output().unwrap().into()
    };
    let rows = rows(&swo, (16, 1), |n| format!("{n:08x} "), |w| format!(" {}", hex(w)));
    let reversed = swapped(&swo, 4);
    for (contents, options) in [
        (rows.as_bytes(), &[][..]),
        (&intel_hex(&swo).into_bytes(), &["--buffer", "0x20001000"]),
        (&reversed, &["--swap", "4"]),
        (&swo, &[]),
    ] {
        let itm = run(contents, options);
        assert!(itm.out.contains("hello, world, once more"), "{options:?} {}{}", itm.out, itm.err);
    }
    let text = run(b"This is a text, and no dump of anything at all.\n", &[]);
    assert_eq!((text.code, text.out.as_str()), (Some(2), ""), "{}", text.err);
    // Of a file, too.
    let path = folder.path("swapped.bin");
    fs::write(&path, &reversed).unwrap();
    let itm = tracewright(&["itm", path.to_str().unwrap(), "--swap", "4"]);
    assert!(itm.out.contains("hello, world, once more"), "{}{}", itm.out, itm.err);
}

/// Dumps on standard input are detected and decoded by each verb as in a file.
#[test]
fn dumps_in_a_pipe() {
    let folder = Folder::new("dumps-in-a-pipe");
    let bytes = fs::read(example("trace.bin")).unwrap();
    let program = example("program.elf");
    let rows = rows(&bytes, (16, 1), |n| format!("{n:08x} "), |w| format!(" {}", hex(w)));
    let path = folder.path("input");
    let run = |verb: &str, input: &Path, stdin: bool| -> Output {
        let words: Vec<&str> = verb.split(' ').collect();
        let input = if stdin { Path::new("-") } else { input };
        let options =
            [input, Path::new("--image"), program.as_path()].map(|path| path.to_str().unwrap());
        let mut run = command(&[&words[..], &options[..]].concat());
        run.stdin(fs::File::open(&path).unwrap()).output().unwrap().into()
    };
    let inputs = [rows.clone().into_bytes(), gzip(rows.as_bytes()), bytes.clone()];
    for (contents, verbs) in inputs.iter().zip([
        &["decode", "functions", "history", "coverage", "timeline --format chrome", "frames"][..],
        &["packets", "profile --format folded"],
        &["instructions", "calls", "branches"],
    ]) {
        fs::write(&path, contents).unwrap();
        for verb in verbs {
            let (want, got) = (run(verb, &path, false), run(verb, &path, true));
            assert_eq!(want.code, Some(0), "{verb}: {}", want.err);
            assert!((got.code, &got.out) == (want.code, &want.out), "{verb}: {}", got.err);
        }
    }
    for (contents, want) in [
        (&b""[..], "there are no bytes"),
        (b"This is a text, and no dump of anything at all.\n", "text, not trace data"),
        (b"$date today $end\n$scope module top $end\n", "levels of a trace port"),
    ] {
        fs::write(&path, contents).unwrap();
        let got = run("decode", &path, true);
        assert!(got.code == Some(2) && got.err.contains(want), "{}", got.err);
    }
}

/// Options that select nothing are named, with what there is.
#[test]
fn options_that_select_nothing() {
    let folder = Folder::new("options-that-select-nothing");
    let path = folder.path("swo.bin");
    fs::write(&path, b"hello, world\n".iter().flat_map(|c| [1, *c]).collect::<Vec<u8>>()).unwrap();
    for (options, want) in [
        (
            &["--port", "5"][..],
            Some("--port 5: nothing was written to it; ports that were written to: 0"),
        ),
        (&["--type", "7=f32"], Some("--type 7: nothing was written to the port")),
        (&["--type", "dwt1=u8"], Some("dwt1: the trace has no value of the comparator")),
        (&["--only", "sample"], Some("--only sample: the trace has no such events; it has: ")),
        (&["--port", "0", "--only", "text", "--type", "0=text"], None),
    ] {
        let itm = tracewright(&[&["itm", path.to_str().unwrap()][..], options].concat());
        match want {
            Some(want) => assert!(itm.err.contains(want), "{options:?}: {}", itm.err),
            None => assert!(!itm.err.contains("note: --"), "{options:?}: {}", itm.err),
        }
    }
}

/// What a debugger printed is program memory; without addresses, one is given.
#[test]
fn text_as_program_memory() {
    let folder = Folder::new("text-as-program-memory");
    // B . in T32, as GDB and as xxd print it.
    let gdb = "0x8000:\t0xe7fee7fe\t0xe7fee7fe\t0xe7fee7fe\t0xe7fee7fe\n0x8010:\t0xe7fee7fe\t0xe7fee7fe\n";
    let xxd = "00000000: fee7 fee7 fee7 fee7 fee7 fee7 fee7 fee7  ................\n\
               00000010: fee7 fee7 fee7 fee7                      ........\n";
    let (path, trace) = (folder.path("memory.txt"), example("trace.bin"));
    for (text, address, want) in [
        (gdb, "", Ok("0x8000..=0x8017")),
        (xxd, "@0x8000", Ok("0x8000..=0x8017")),
        (gdb, "@0x9000", Err("which has its own addresses")),
        (xxd, "", Err("without addresses; add @ADDRESS")),
    ] {
        fs::write(&path, text).unwrap();
        let image = format!("{}{address}", path.display());
        let info = tracewright(&["info", trace.to_str().unwrap(), "--image", &image]);
        match want {
            Ok(want) => assert!(info.out.contains(want), "{}{}", info.out, info.err),
            Err(want) => assert!(info.err.contains(want), "{}", info.err),
        }
    }
}

/// Records and text whose bytes are no trace are named for what they are.
#[test]
fn records_without_trace_are_named() {
    let folder = Folder::new("records-without-trace");
    let path = folder.path("program.hex");
    let two = ":10010000214601360121470136007EFE09D2190140\n:0102000001FC\n:00000001FF\n";
    let one = ":10010000214601360121470136007EFE09D2190140\n:00000001FF\n";
    for (text, want) in [
        (
            one,
            "it is a memory image in Intel HEX records: 16 bytes from 0x100 on are read; no framing",
        ),
        (two, "16 bytes at 0x100, 1 bytes at 0x200; --buffer ADDRESS"),
    ] {
        fs::write(&path, text).unwrap();
        let output = tracewright(&["info", path.to_str().unwrap()]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
        assert!(output.err.contains(want), "{}", output.err);
    }
}

/// The share of the trace that contradicts the program stands over the tables on standard output.
#[test]
fn a_wrong_program_gives_no_confident_table() {
    let folder = Folder::new("a-wrong-program");
    let other = folder.path("other.bin");
    // T32 `b .` in 8 KiB.
    fs::write(&other, [0xfe, 0xe7].repeat(4096)).unwrap();
    let trace = example("trace.bin");
    let run = |verb: &str, image: String| {
        let options = "--framing coresight --protocol ETM4@0x10 --protocol ITM@0x20 --core Cortex-M7 \
                       --config TRCCONFIGR=0x1801 --config TRCIDR0=0x28000ea1 \
                       --config TRCIDR1=0x4100f402 --config TRCIDR2=0x4 --config TRCIDR8=0 --image";
        let mut all: Vec<String> = verb.split_whitespace().map(ToOwned::to_owned).collect();
        all.push(trace.display().to_string());
        all.extend(options.split_whitespace().map(ToOwned::to_owned));
        all.push(image);
        tracewright(&all)
    };
    let wrong = format!("{}@0x0", other.display());
    // The program with one T32 instruction replaced by `b .`, at an address and a file offset.
    let changed = |address: usize| {
        let mut program = fs::read(example("program.elf")).unwrap();
        let at = address - 0x40 + 0x114;
        program[at..at + 2].copy_from_slice(&[0xfe, 0xe7]);
        let path = folder.path("changed.elf");
        fs::write(&path, program).unwrap();
        path.display().to_string()
    };
    let lines = [
        (
            0x148,
            "less than 0.1 % of the trace contradicts the program: 1 inconsistency beside 3067 ranges; the \
             image may be another build, or exceptions interrupted instructions that go on later, such as LDM",
        ),
        (
            0x26e,
            "0.3 % of the trace contradicts the program: 8 inconsistencies beside 2960 ranges; the image may \
             be another build, or packets were lost",
        ),
    ];
    for (address, want) in lines {
        let found = run("functions", changed(address)).out;
        assert!(found.starts_with(&format!("{want}\n")), "{address:#x}: {found}");
    }
    let right = example("program.elf").display().to_string();
    let share = "% of the trace contradicts the program";
    for verb in ["functions", "calls", "profile", "branches"] {
        let found = run(verb, wrong.clone());
        let first = found.out.lines().next().unwrap_or_default();
        assert!(first.contains(share), "{verb}: {first}\n{}", found.err);
        let found = run(verb, right.clone());
        assert!(!found.out.contains("contradicts"), "{verb}: {}", found.out);
    }
    for verb in ["instructions", "history --before end"] {
        let found = run(verb, wrong.clone());
        let has = |line: &str| line.contains(share);
        assert_eq!(found.out.lines().filter(|line| has(line)).count(), 1, "{verb}: {}", found.out);
        assert!(!run(verb, right.clone()).out.contains("contradicts"), "{verb}");
    }
    // A page has it among its notes; a file for a program has it in its own form, or not at all.
    let found = run("report", wrong.clone());
    let notes = report_of(&found.out)["notes"].clone();
    let mut notes = notes.as_array().unwrap().iter().filter_map(|note| note.as_str());
    assert!(notes.any(|note| note.contains(&format!("{share}: "))), "{}", found.err);
    let found = run("timeline --format chrome", wrong);
    assert!(found.out.contains("\"warning\":\"") && found.out.contains(share), "{}", found.err);
    assert!(found.err.contains(share), "{}", found.err);
    let found = run("timeline --format chrome", right);
    assert!(!found.out.contains("warning"), "{}", found.out);
}

/// The zeros behind a trace are no trace: they do not count in the bits of an instruction.
#[test]
fn zeros_behind_a_trace_are_no_bits() {
    let folder = Folder::new("dumps-bits");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo");
    let input = folder.path("etb.bin");
    let image = demo.join("program.elf");
    let mut bytes = fs::read(demo.join("trace.bin")).unwrap();
    let bits = |bytes: &[u8]| {
        fs::write(&input, bytes).unwrap();
        let output = tracewright(&args(&format!("info --image {}", image.display()), &[&input]));
        let (_, rest) = output.out.split_once("instructions in the first ").unwrap();
        let line = rest.lines().next().unwrap();
        line.split_once(", ").unwrap().1.to_owned()
    };
    let before = bits(&bytes);
    bytes.extend([0; 30_000]);
    // The padding of the last frame is filling then.
    assert_eq!(bits(&bytes).get(..3), before.get(..3));
}
