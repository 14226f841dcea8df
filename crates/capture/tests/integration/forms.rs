//! Texts in which programs, debuggers and assemblers have bytes: each is converted to the bytes, in
//! whichever order the bytes of their words are.

use std::fs;
use std::path::Path;

use tracewright_capture::Selection;

/// The address of the first byte.
const ADDRESS: usize = 0x2000_1000;

/// The trace of the example.
fn example() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/demo/trace.bin")).unwrap()
}

/// The little-endian words of `size` bytes.
fn words(bytes: &[u8], size: usize) -> Vec<u64> {
    let value =
        |word: &[u8]| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    bytes.chunks(size).map(value).collect()
}

/// The words of `size` bytes as `write` writes them, with `between` them.
fn list(bytes: &[u8], size: usize, between: &str, write: impl Fn(u64) -> String) -> String {
    words(bytes, size).into_iter().map(write).collect::<Vec<_>>().join(between)
}

/// Rows of `row` words of `size` bytes, each with `head` of its offset, and `end`.
fn rows(
    bytes: &[u8],
    (row, size): (usize, usize),
    head: impl Fn(usize) -> String,
    between: &str,
    write: impl Fn(u64) -> String,
    end: &str,
) -> String {
    let rows = bytes.chunks(row * size).enumerate();
    rows.map(|(n, row_bytes)| {
        format!("{}{}{end}\n", head(n * row * size), list(row_bytes, size, between, &write))
    })
    .collect()
}

/// A line for each word of `size` bytes, with its number.
fn numbered(bytes: &[u8], size: usize, write: impl Fn(usize, u64) -> String) -> String {
    words(bytes, size).into_iter().enumerate().map(|(n, word)| write(n, word) + "\n").collect()
}

/// An array as GDB prints it: words that repeat ten times or more once.
fn gdb(bytes: &[u8], size: usize, write: impl Fn(u64) -> String) -> String {
    let words = words(bytes, size);
    let runs = words.chunk_by(|a, b| a == b).flat_map(|run| match run.len() {
        10.. => vec![format!("{} <repeats {} times>", write(run[0]), run.len())],
        _ => run.iter().map(|word| write(*word)).collect(),
    });
    format!("{{{}}}", runs.collect::<Vec<_>>().join(", "))
}

/// Directives of an assembler, with one for four zeros or more.
fn with_space(bytes: &[u8], space: &str) -> String {
    let runs = bytes.chunk_by(|a, b| *a == 0 && *b == 0);
    let runs = runs.flat_map(|run| match (run[0], run.len()) {
        (0, 4..) => vec![format!("\t{space}\t{}\n", run.len())],
        _ => run.iter().map(|byte| format!("\t.byte\t{byte}\n")).collect(),
    });
    format!("etb:\n{}\t.size\tetb, .-etb\n", runs.collect::<String>())
}

/// Strings of an assembler.
fn ascii(bytes: &[u8]) -> String {
    let character = |byte: &u8| match byte {
        b'"' | b'\\' => format!("\\{byte:03o}"),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    let line =
        |line: &[u8]| format!("\t.ascii\t\"{}\"\n", line.iter().map(character).collect::<String>());
    bytes.chunks(24).map(line).collect()
}

/// A byte as GDB's `print/c` shows it.
fn with_character(byte: u64) -> String {
    let signed = byte as u8 as i8;
    match byte as u8 {
        shown @ (b' '..=b'&' | b'('..=b'[' | b']'..=b'~') => {
            format!("{signed} '{}'", char::from(shown))
        }
        other => format!("{signed} '\\{other:03o}'"),
    }
}

/// The rows of `hexyl`.
fn hexyl(bytes: &[u8]) -> String {
    let half = |half: &[u8]| half.iter().map(|byte| format!("{byte:02x} ")).collect::<String>();
    let row = |(n, row): (usize, &[u8])| {
        let (a, b) = row.split_at(row.len().min(8));
        let dots = |part: &[u8]| "•".repeat(part.len());
        format!("│{:08x}│ {:24}┊ {:24}│{:8}┊{:8}│\n", 16 * n, half(a), half(b), dots(a), dots(b))
    };
    let edge = "─".repeat(8);
    let body: String = bytes.chunks(16).enumerate().map(row).collect();
    format!("┌{edge}┬{edge}┐\n{body}└{edge}┴{edge}┘\n")
}

type Form = (&'static str, fn(&[u8]) -> String);

/// Assemblers. (GNU as; armasm; IAR; NASM; TI)
const ASSEMBLERS: &[Form] = &[
    (".byte", |b| {
        format!(
            "etb:\n{}",
            rows(b, (8, 1), |_| "\t.byte\t".into(), ", ", |w| format!("{w:#04x}"), "")
        )
    }),
    (".byte decimal", |b| {
        format!("etb:\n{}", rows(b, (1, 1), |_| "\t.byte\t".into(), "", |w| w.to_string(), ""))
    }),
    (".byte octal", |b| {
        rows(
            b,
            (8, 1),
            |_| "\t.byte ".into(),
            ",",
            |w| if w == 0 { "0".into() } else { format!("0{w:o}") },
            "",
        )
    }),
    (".byte //", |b| {
        rows(b, (8, 1), |_| "\t.byte\t".into(), ", ", |w| format!("{w:#04x}"), "  // row")
    }),
    (".byte @", |b| {
        format!(
            "@ ETB\n{}",
            rows(b, (8, 1), |_| "\t.byte\t".into(), ", ", |w| format!("{w:#04x}"), "  @ row")
        )
    }),
    (".2byte", |b| rows(b, (8, 2), |_| "\t.2byte\t".into(), ", ", |w| format!("{w:#x}"), "")),
    (".hword", |b| rows(b, (8, 2), |_| "\t.hword\t".into(), ", ", |w| w.to_string(), "")),
    (".word", |b| {
        format!(
            "etb:\n{}",
            rows(b, (1, 4), |_| "\t.word\t".into(), "", |w| format!("{w:#010x}"), "")
        )
    }),
    (".4byte", |b| rows(b, (4, 4), |_| "\t.4byte\t".into(), ", ", |w| format!("{w:#x}"), "")),
    (".4byte signed", |b| {
        rows(b, (1, 4), |_| "\t.4byte\t".into(), "", |w| (w as u32 as i32).to_string(), "")
    }),
    (".long", |b| rows(b, (4, 4), |_| "  .long ".into(), ",", |w| format!("{w:#x}"), "")),
    (".quad", |b| rows(b, (1, 8), |_| "\t.quad\t".into(), "", |w| w.to_string(), "")),
    (".xword", |b| rows(b, (1, 8), |_| "\t.xword\t".into(), "", |w| format!("{w:#x}"), "")),
    (".zero", |b| with_space(b, ".zero")),
    (".space", |b| with_space(b, ".space")),
    (".skip", |b| with_space(b, ".skip")),
    (".ascii", ascii),
    ("DCB", |b| {
        format!(
            "        AREA |.data|, DATA\netb\n{}        END\n",
            rows(b, (8, 1), |_| "        DCB     ".into(), ", ", |w| format!("{w:#04x}"), "")
        )
    }),
    ("DCD", |b| {
        format!(
            "etb     {}",
            rows(b, (4, 4), |_| "        DCD     ".into(), ",", |w| format!("{w:#010x}"), "")
                .trim_start()
        )
    }),
    ("DCD &", |b| {
        rows(b, (4, 4), |_| "        DCD     ".into(), ",", |w| format!("&{w:08X}"), " ; row")
    }),
    ("DCW", |b| rows(b, (8, 2), |_| "        DCW     ".into(), ",", |w| format!("{w:#06x}"), "")),
    ("DCQ", |b| rows(b, (2, 8), |_| "        DCQ     ".into(), ",", |w| format!("{w:#018x}"), "")),
    ("DC8", |b| rows(b, (8, 1), |_| "        DC8 ".into(), ", ", |w| w.to_string(), "")),
    ("DC32", |b| rows(b, (4, 4), |_| "        DC32 ".into(), ", ", |w| w.to_string(), "")),
    ("db", |b| rows(b, (8, 1), |_| "    db ".into(), ", ", |w| format!("{w:#04x}"), "")),
    ("dd", |b| rows(b, (4, 4), |_| "    dd ".into(), ", ", |w| format!("{w:#010x}"), "")),
    ("db h", |b| rows(b, (8, 1), |_| "        .byte   ".into(), ",", |w| format!("0{w:02X}h"), "")),
];

/// Lists of YAML and JSON, lines with indexes, lines of logs.
const LISTS: &[Form] = &[
    ("yaml", |b| {
        format!("etb:\n{}", rows(b, (1, 1), |_| "  - ".into(), "", |w| format!("{w:#04x}"), ""))
    }),
    ("yaml decimal", |b| rows(b, (1, 1), |_| "- ".into(), "", |w| w.to_string(), "")),
    ("yaml words", |b| {
        format!(
            "size: 2000\ndata:\n{}",
            rows(b, (1, 4), |_| "    - ".into(), "", |w| format!("{w:#010x}"), "")
        )
    }),
    ("yaml strings", |b| {
        format!(
            "etb:\n{}",
            rows(b, (1, 4), |_| "  - \"".into(), "", |w| format!("{w:#010x}"), "\"")
        )
    }),
    ("yaml rows", |b| {
        format!(
            "etb: [\n{}]\n",
            rows(b, (16, 1), |_| "  ".into(), ", ", |w| format!("{w:#04x}"), ",")
        )
    }),
    ("json", |b| {
        format!(
            "{{\"name\": \"etb\", \"at\": 536875008, \"data\": [{}]}}",
            list(b, 1, ", ", |w| w.to_string())
        )
    }),
    ("json strings", |b| {
        format!("{{\"data\": [\"{}\"]}}", list(b, 1, "\",\"", |w| format!("{w:#04x}")))
    }),
    ("json word strings", |b| {
        format!("{{\"data\": [\"{}\"]}}", list(b, 4, "\", \"", |w| format!("{w:#010x}")))
    }),
    ("json of arrays", |b| {
        format!(
            "[{}]",
            b.chunks(16)
                .map(|row| format!("[{}]", list(row, 1, ",", |w| w.to_string())))
                .collect::<Vec<_>>()
                .join(",")
        )
    }),
    ("lldb", |b| {
        format!(
            "(uint8_t[2000]) $0 = {{\n{}}}\n",
            numbered(b, 1, |n, w| format!("  [{n}] = {w:#04x}"))
        )
    }),
    ("lldb words", |b| {
        format!(
            "(unsigned int [500]) etb = {{\n{}}}\n",
            numbered(b, 4, |n, w| format!("  [{n}] = {w}"))
        )
    }),
    ("lldb line", |b| {
        format!(
            "(uint8_t [2000]) $0 = ({})\n",
            words(b, 1)
                .iter()
                .enumerate()
                .map(|(n, w)| format!("[{n}] = {w:#04x}"))
                .collect::<Vec<_>>()
                .join(", ")
        )
    }),
    ("printf", |b| numbered(b, 4, |n, w| format!("etb[{n}] = {w:#010x}"))),
    ("printf words", |b| numbered(b, 4, |n, w| format!("RRD {n:4}: {w:08x}"))),
    ("mif", |b| {
        format!(
            "WIDTH=32;\nDEPTH=500;\nCONTENT BEGIN\n{}END;\n",
            numbered(b, 4, |n, w| format!("  {n:X} : {w:08X};"))
        )
    }),
    ("defmt", |b| {
        rows(
            b,
            (16, 1),
            |n| format!("0.{n:06} INFO  ["),
            ", ",
            |w| w.to_string(),
            "]\n└─ app::dump @ src/main.rs:42",
        )
    }),
    ("defmt hexadecimal", |b| {
        rows(b, (16, 1), |_| "INFO  [".into(), ", ", |w| format!("{w:02x}"), "]")
    }),
    ("commas", |b| list(b, 1, ",", |w| w.to_string()) + "\n"),
    ("h", |b| list(b, 1, " ", |w| format!("{w:02X}h"))),
    ("$", |b| list(b, 1, " ", |w| format!("${w:02X}"))),
    ("arrow", |b| {
        rows(b, (1, 4), |n| format!("{:#010x} -> ", ADDRESS + n), "", |w| format!("{w:#010x}"), "")
    }),
    ("brackets", |b| {
        rows(b, (1, 4), |n| format!("[{:#010x}] = ", ADDRESS + n), "", |w| format!("{w:#010x}"), "")
    }),
    ("hexyl", hexyl),
    ("xxd -d", |b| {
        rows(
            b,
            (8, 2),
            |n| format!("{n:08}: "),
            " ",
            |w| format!("{:04x}", (w as u16).swap_bytes()),
            "  ................",
        )
    }),
];

/// Arrays of programs and of debuggers.
const ARRAYS: &[Form] = &[
    ("c octal", |b| {
        format!(
            "uint8_t etb[] = {{{}}};",
            list(b, 1, ", ", |w| if w == 0 { "0u".into() } else { format!("0{w:o}u") })
        )
    }),
    ("c UL", |b| {
        format!(
            "uint32_t etb[] = {{{}}};",
            list(b, 4, ", ", |w| format!("{w:#X}UL").replace("0X", "0x"))
        )
    }),
    ("c rows", |b| {
        format!(
            "uint8_t etb[125][16] = {{\n{}}};\n",
            rows(b, (16, 1), |_| "  {".into(), ", ", |w| format!("{w:#04x}"), "},")
        )
    }),
    ("c binary", |b| {
        format!("uint8_t etb[] = {{{}}};", list(b, 1, ", ", |w| format!("{w:#010b}")))
    }),
    ("c characters", |b| {
        format!(
            "char etb[] = {{{}}};",
            list(b, 1, ", ", |w| match w as u8 {
                shown @ (b' '..=b'&' | b'('..=b'[' | b']'..=b'~') =>
                    format!("'{}'", char::from(shown)),
                other => format!("{other:#04x}"),
            })
        )
    }),
    ("c macro", |b| {
        format!(
            "#define ETB {{ \\\n{}}}\n",
            rows(b, (16, 1), |_| "  ".into(), ", ", |w| format!("{w:#04x}"), ", \\")
        )
    }),
    ("c comments", |b| {
        format!(
            "const uint8_t etb[] = {{\n{}}};\n",
            rows(
                b,
                (16, 1),
                |n| format!("  /* {n:04x} */ "),
                ", ",
                |w| format!("{w:#04x}"),
                ", // row"
            )
        )
    }),
    ("c++", |b| {
        format!(
            "std::vector<uint32_t> etb = {{{}}};",
            list(b, 4, ", ", |w| format!("0x{:04x}'{:04x}", w >> 16, w & 0xffff))
        )
    }),
    ("c++ bytes", |b| {
        format!("std::byte etb[] = {{{}}};", list(b, 1, ", ", |w| format!("std::byte{{{w:#04x}}}")))
    }),
    ("c++ array", |b| {
        format!(
            "std::array<std::uint8_t, 2000> etb{{{{{}}}}};",
            list(b, 1, ", ", |w| format!("{w:#04x}"))
        )
    }),
    ("rust words", |b| {
        format!(
            "let etb: [u32; 500] = [{}];",
            list(b, 4, ", ", |w| format!("0x{:04x}_{:04x}", w >> 16, w & 0xffff))
        )
    }),
    ("rust vec", |b| format!("let etb = vec![{}];", list(b, 1, ", ", |w| format!("{w:#04x}u8")))),
    ("kotlin", |b| {
        format!("val etb = byteArrayOf({})", list(b, 1, ", ", |w| format!("{w:#04x}.toByte()")))
    }),
    ("basic", |b| format!("{{{}}}", list(b, 1, ", ", |w| format!("&H{w:02X}")))),
    ("python tuple", |b| format!("({})", list(b, 1, ", ", |w| w.to_string()))),
    ("python hex", |b| format!("['{}']", list(b, 1, "', '", |w| format!("{w:#x}")))),
    ("python array", |b| format!("array('I', [{}])", list(b, 4, ", ", |w| w.to_string()))),
    ("numpy", |b| format!("array([{}], dtype=uint8)", list(b, 1, ", ", |w| format!("{w:3}")))),
    ("print/x", |b| format!("$1 = {}\n", gdb(b, 1, |w| format!("{w:#x}")))),
    ("print/x words", |b| format!("(gdb) p/x etb\n$1 = {}\n", gdb(b, 4, |w| format!("{w:#x}")))),
    ("print/a words", |b| {
        format!(
            "$1 = {}\n",
            gdb(b, 4, |w| if w % 7 == 0 {
                format!("{w:#x} <main+{}>", w % 9)
            } else {
                format!("{w:#x}")
            })
        )
    }),
    ("print/c", |b| format!("$1 = {}\n", gdb(b, 1, with_character))),
    ("print/d", |b| format!("$1 = {}\n", gdb(b, 1, |w| (w as u8 as i8).to_string()))),
    ("output", |b| gdb(b, 4, |w| format!("{w:#x}"))),
    ("mi", |b| {
        format!(
            "^done,addr=\"0x20001000\",memory=[{{addr=\"0x20001000\",data=[\"{}\"]}}]\n",
            list(b, 1, "\",\"", |w| format!("{w:#04x}"))
        )
    }),
];

#[test]
fn texts_with_bytes_are_converted() {
    let bytes = example();
    for (name, form) in ASSEMBLERS.iter().chain(LISTS).chain(ARRAYS) {
        for size in [1, 2, 4, 8] {
            let want: Vec<u8> =
                bytes.chunks(size).flat_map(|word| word.iter().rev().copied()).collect();
            let text = form(&want);
            let found = Selection::default().convert(text.as_bytes());
            let Ok(Some((found, _))) = found else {
                panic!("{name} {size}: {found:?}\n{text:.300}")
            };
            assert!(found.to_vec() == want, "{name} {size}: {} bytes\n{text:.300}", found.len());
        }
    }
}

/// Texts that have no bytes of a buffer, and those of which a part would be read.
#[test]
fn other_texts_are_not_converted() {
    for text in [
        "The first (1, 2, 3) and the second [4, 5, 6] are short.\n",
        "- 1\n- 2\n- 3\n",
        "etb:\n\t.byte 1, 2, 3, label\n\t.byte 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18\n",
        "[0] = 1\n[1] = 2\n[3] = 4\n[4] = 5\n",
        "\tldr r0, [r1, #4]\n\tadd r0, r0, #1\n\tstr r0, [r1, #4]\n\tbx lr\n",
        "uint8_t etb[] = {1, 2, x, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};\n",
    ] {
        assert_eq!(Selection::default().convert(text.as_bytes()), Ok(None), "{text}");
    }
    let several = "uint8_t a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};\n\
                   uint8_t b[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};\n";
    let (bytes, what) = Selection::default().convert(several.as_bytes()).unwrap().unwrap();
    assert_eq!(bytes.len(), 16);
    assert!(what.unwrap().contains("several arrays, of which the first is read"));
}

/// Brackets that are not closed, or that are deep, do not cost more than a few passes.
#[test]
fn many_brackets_end() {
    for text in [
        "(".repeat(1 << 20),
        "(".repeat(1 << 19) + &")".repeat(1 << 19),
        "[1, 2] (".repeat(1 << 17),
    ] {
        let _ = Selection::default().convert(text.as_bytes());
    }
}
