//! What detection does not claim: a buffer that the trace did not fill, files that are no trace,
//! processors without the protocol, and parameters that nothing confirms.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright_testing::{Random, shared};

use crate::common::{Folder, Output, args, tracewright};

/// A loop with a call, in T32 code at 0x1000: `bl 0x1010; bne 0x1000; nop`, and `nop; bx lr`.
pub fn log(turns: usize) -> String {
    let mut log = "step,address,isa,opcode,passed,size,value\n".to_owned();
    for turn in 0..turns {
        let passed = u8::from(turn % 5 != 4);
        for (address, opcode, passed) in [
            (0x1000, 0xf000_f806_u32, 1),
            (0x1010, 0xbf00, 1),
            (0x1012, 0x4770, 1),
            (0x1004, 0xd1fc, passed),
        ] {
            let _ = writeln!(log, "instruction,{address:x},T32,{opcode:x},{passed},,");
        }
        if passed == 0 {
            log += "instruction,1006,T32,e7fb,1,,\n";
        }
    }
    log
}

/// The trace of a Cortex-M33 in frames with trace ID `id`.
pub fn trace_of_m33(folder: &Folder, turns: usize, id: u8) -> Vec<u8> {
    let (file, to) = (folder.path("log.csv"), folder.path(&format!("encoded-{turns}-{id}")));
    fs::write(&file, log(turns)).unwrap();
    let words = format!(
        "encode --protocol ETM4 --core Cortex-M33 --config TRCCONFIGR=0x8 --config TRCTRACEIDR={id} \
         --config TRCIDR0=0x80006e1 --config TRCIDR1=0x4100f423 --config TRCIDR2=0x4 --log"
    );
    let mut words = args(&words, &[&file]);
    words.extend(args("-o", &[&to]));
    let output = tracewright(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    fs::read(to.join("ETB_0.bin")).unwrap()
}

fn info(path: &Path, options: &str) -> Output {
    tracewright(&args(&format!("info {options}"), &[path]))
}

/// The end of a buffer that the trace did not fill explains nothing: the frames before it are found
/// for each length, trace ID and filling.
#[test]
fn a_filling_explains_nothing() {
    let folder = Folder::new("certainty-filling");
    let path = folder.path("dump.bin");
    for (turns, id) in [(8, 1), (30, 1), (30, 0x2f), (200, 2)] {
        let trace = trace_of_m33(&folder, turns, id);
        for (word, shown) in
            [([0u8; 4], "0x00"), ([0xff; 4], "0xff"), ([0xef, 0xbe, 0xad, 0xde], "0xdeadbeef")]
        {
            for size in [trace.len() + 48, trace.len() + 80, 4096, 32768] {
                let filling = word.iter().copied().cycle().take(size - trace.len());
                fs::write(&path, trace.iter().copied().chain(filling).collect::<Vec<_>>()).unwrap();
                let case = format!("{turns} turns, ID {id}, {shown} up to {size}");
                let output = info(&path, "--core Cortex-M33");
                assert_eq!(output.code, Some(0), "{case}: {}", output.err);
                let want = format!("CoreSight formatter frames: ID {id:#04x} ETM4");
                assert!(output.out.contains(&want), "{case}: {}", output.out);
                // The registers are those of a microcontroller.
                for lacks in ["ETE", "TRCIDR8=0xff", "TRCCONFIGR=0x1001", "TRCIDR2=0x488"] {
                    assert!(!output.out.contains(lacks), "{case}: {lacks}: {}", output.out);
                }
                let filled = format!("bytes repeat {shown}\n");
                let is_named = output.out.contains(&filled);
                assert_eq!(is_named, size >= trace.len() + 80, "{case}: {}", output.out);
                // Without the core, ETMv4 and ETE are alike.
                let output = info(&path, "");
                let want = format!("CoreSight formatter frames: ID {id:#04x} ETM4");
                assert!(output.out.contains(&want), "{case}: {}", output.out);
            }
        }
    }
}

/// Unframed trace before zeros is not taken for frames.
#[test]
fn zeros_are_not_frames() {
    let folder = Folder::new("certainty-raw");
    let path = folder.path("dump.bin");
    let bytes = trace_of_m33(&folder, 100, 1);
    let mut trace = super::inputs::stream(&bytes, 1);
    trace.resize(16384, 0);
    fs::write(&path, trace).unwrap();
    let words = "decode --format none --framing raw --protocol ETM4 --core Cortex-M33 --config \
                 TRCCONFIGR=0x8";
    let output = tracewright(&args(words, &[&path]));
    assert!(!output.err.contains("formatter frames"), "{}", output.err);
    let output = info(&path, "--core Cortex-M33");
    assert!(output.out.contains("unframed data: ETM4"), "{}", output.out);
}

/// A core or a program excludes the protocols that its processor does not have, and states so.
#[test]
fn processors_exclude_protocols() {
    let folder = Folder::new("certainty-processor");
    let path = folder.path("dump.bin");
    fs::write(&path, trace_of_m33(&folder, 100, 1)).unwrap();
    let output = info(&path, "--core Cortex-M3");
    let other = "has no such trace unit: check --core and --image";
    assert!(output.out.contains("ETM4, possibly"), "{}", output.out);
    assert!(output.out.contains(other), "{}", output.out);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let elf = root.join("etrace-draft/capture/log.elf");
    let output = info(&path, &format!("--image {}", elf.display()));
    assert!(output.out.contains(other), "{}", output.out);
    assert!(!output.out.contains("ETRACE"), "{}", output.out);
}

/// Without a sign of the profile, the names of exceptions are an assumption; the core decides them.
#[test]
fn the_profile_is_not_known() {
    let folder = Folder::new("certainty-profile");
    let path = folder.path("dump.bin");
    fs::write(&path, trace_of_m33(&folder, 100, 1)).unwrap();
    let what = "the profile of the core is not known";
    let output = info(&path, "");
    assert!(output.out.contains(what) && output.out.contains("--core"), "{}", output.out);
    let output = tracewright(&args("decode", &[&path]));
    assert!(output.err.contains(what), "{}", output.err);
    let output = info(&path, "--core Cortex-M33");
    assert!(!output.out.contains(what), "{}", output.out);
}

/// Where memory is missing, the profile of RISC-V is an assumption, and the memory is named first.
#[test]
fn a_profile_without_memory_is_an_assumption() {
    let riscv = "captures/riscv/etrace-tecodec-optmodes/qsort.bij.te_inst_raw";
    let Some(path) = shared(riscv) else { return };
    let Some(elf) = shared("captures/riscv/etrace-ref/elf/qsort.riscv") else { return };
    let image = format!("--image {}", elf.display());
    let output = info(&path, &image);
    assert!(output.out.contains("the profile is an assumption"), "{}", output.out);
    assert!(!output.out.contains(", likely"), "{}", output.out);
    let first = "problems:\n  1. ETRACE: program memory is missing once, first at 0x1000";
    assert!(output.out.contains(first), "{}", output.out);
    // What the user gives is not contradicted.
    let words = format!("decode --format none --protocol etrace --config profile=siemens {image}");
    let output = tracewright(&args(&words, &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let first = output.err.lines().find(|line| line.starts_with("note:")).unwrap_or_default();
    assert!(first.contains("program memory is missing"), "{}", output.err);
}

/// Files that are no trace, by name.
fn other_files() -> Vec<(String, Vec<u8>)> {
    let mut random = Random::new(11);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| files.push((name.to_owned(), bytes));
    for len in [100, 1000, 16384, 70000] {
        add(&format!("noise of {len} bytes"), random.bytes(len));
    }
    for byte in [0x00, 0x01, 0x08, 0x55, 0x80, 0xaa, 0xf7, 0xff] {
        add(&format!("bytes {byte:#04x}"), vec![byte; 5000]);
    }
    let words = |word: &dyn Fn(u32) -> u32| -> Vec<u8> {
        (0..2000).flat_map(|n| word(n).to_le_bytes()).collect()
    };
    let wave = |n: u32| (f64::from(n) / 9.0).sin();
    add("a constant word", words(&|_| 0xdead_beef));
    add("a counter of words", words(&|n| n * 4));
    add("sparse words", words(&|n| if n % 4 == 0 { n / 4 % 256 } else { 0 }));
    add("pointers", words(&|n| if n % 2 == 0 { 0x1000 + n * 24 } else { 0x7ffd }));
    add("addresses of code", words(&|n| 0x0800_0001 + n.wrapping_mul(2_654_435_761) % 0x8000));
    add("numbers", words(&|n| (f64::from(n) * 0.37) as u32));
    add("floating-point numbers", words(&|n| (n as f32 * 0.37).to_bits()));
    add(
        "samples of 16 bits",
        words(&|n| {
            let sample = |n| u32::from((wave(n) * 8000.0) as i16 as u16);
            sample(2 * n) | sample(2 * n + 1) << 16
        }),
    );
    let wav = [b"RIFF\x24\x80\0\0WAVEfmt ".as_slice(), &words(&|n| (wave(n) * 1e8) as i32 as u32)];
    add("a WAV file", wav.concat());
    add("samples of 8 bits", (0..8000).map(|n| (128.0 + wave(n) * 100.0) as u8).collect());
    add("a counter of bytes", (0..8000u32).map(|n| n as u8).collect());
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &random.bytes(9000)];
    add("a PNG file", png.concat());
    add("a ZIP file", [b"PK\x03\x04\x14\0".as_slice(), &random.bytes(900)].concat());
    add("a bitmap", (0..12000u32).map(|n| (n % 120 * (n / 120) / 50) as u8).collect());
    let base64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = random.bytes(6000).into_iter().map(|byte| base64[usize::from(byte % 64)]);
    add("base64", letters.collect());
    let hex = random.bytes(2000).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    add("hexadecimal digits", hex.into_bytes());
    let lines = |line: &dyn Fn(usize) -> String| (0..300).map(line).collect::<String>();
    add("JSON", lines(&|n| format!("{{\"time\":{n},\"values\":[{n},{n}]}}\n")).into_bytes());
    add("CSV", lines(&|n| format!("{n},{},{}\r\n", n * n, n % 7)).into_bytes());
    add("a log", lines(&|n| format!("[{n:08}] INFO value={}\n", n * 17 % 101)).into_bytes());
    let words = lines(&|n| format!("{:#010x}: {:#010x} {:#010x}\n", n * 8, n * 97, n * 89));
    add("a dump of words", words.into_bytes());
    add("Latin-1", b"Gr\xf6\xdfe \xfcber alles, na\xefve \xe9lan\n".repeat(60));
    add("UTF-8", "Ελληνικά κείμενο για δοκιμή\n".repeat(80).into_bytes());
    let wide = "UTF-16, two bytes each\n".repeat(50);
    let wide = wide.encode_utf16().flat_map(u16::to_le_bytes);
    add("UTF-16", [0xff, 0xfe].into_iter().chain(wide).collect());
    add(
        "Shift JIS",
        b"\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x83t\x83@\x83C\x83\x8b\x81B"
            .repeat(200),
    );
    add("modem commands", [&[0; 20][..], &b"AT+CSQ\r\nOK\r\n".repeat(100)].concat());
    let field = |n: u8| [&[8, n, 0x12, 5][..], b"hello"].concat();
    add("protocol buffers", (0..500u32).flat_map(|n| field(n as u8 % 128)).collect());
    add("a ramp of 16 bits", (0..8192u16).flat_map(u16::to_le_bytes).collect());
    let ring = [0x0800_1234u32, 0x2000_0100, 0x400, 0x12c, 0, 0].map(u32::to_le_bytes).concat();
    add("rings of RTT", [&b"SEGGER RTT\0\0\0\0\0\0"[..], &ring.repeat(46)].concat());
    for filling in [0x99, 0xa5] {
        add(&format!("a stack of {filling:#x}"), [vec![filling; 3800], random.bytes(40)].concat());
    }
    for len in [3, 4, 6, 7, 8, 12] {
        let record = |random: &mut Random| {
            let data = random.bytes(usize::from(len)).into_iter();
            std::iter::once(len).chain(data.map(|byte| byte.max(1))).collect::<Vec<u8>>()
        };
        let records: Vec<Vec<u8>> = (0..600).map(|_| record(&mut random)).collect();
        add(&format!("a length and {len} bytes"), records.concat());
        let stuffed = |record: &Vec<u8>| [record.as_slice(), &[0]].concat();
        add(&format!("{len} bytes before a zero"), records.iter().flat_map(stuffed).collect());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in [
        "README.md",
        "Cargo.lock",
        "docs/json.md",
        "crates/cli/src/main.rs",
        "crates/cli/src/demo/program.c",
        "crates/cli/src/demo/program.elf",
        "tests/captures/etmv4/log.csv",
        "tests/captures/etrace-draft/capture/log.elf",
    ] {
        add(name, fs::read(root.join(name)).unwrap());
    }
    files
}

/// Files that are no trace are named, not known, or possible, and `itm` does not decode them as if
/// they were trace.
#[test]
fn other_files_are_not_likely() {
    let folder = Folder::new("certainty-others");
    let path: PathBuf = folder.path("file");
    let files = other_files();
    assert!(files.len() >= 40, "{}", files.len());
    for (name, bytes) in files {
        fs::write(&path, bytes).unwrap();
        let output = info(&path, "--format json");
        for certainty in ["likely", "certain"] {
            let sure = format!(r#""certainty":"{certainty}""#);
            assert!(!output.out.contains(&sure), "{name}: {}", output.out);
        }
        assert!(
            !output.err.contains("inverted") && !output.err.contains("reverse order"),
            "{name}"
        );
        assert!(!output.err.contains("Manchester"), "{name}: {}", output.err);
        let output = tracewright(&args("itm", &[&path]));
        let silent = output.out.is_empty() && output.code == Some(0);
        assert!(output.code != Some(0) || silent || is_itm(&name), "{name}: {}", output.err);
    }
}

/// Bytes all of which an ITM may send.
fn is_itm(name: &str) -> bool {
    matches!(
        name,
        "bytes 0x01"
            | "bytes 0x08"
            | "bytes 0x55"
            | "bytes 0x80"
            | "bytes 0xaa"
            | "bytes 0xf7"
            | "Shift JIS"
            | "3 bytes before a zero"
    )
}

/// Text is named, and the messages of N-Trace are detected.
#[test]
fn text_is_named_and_nexus_detected() {
    let folder = Folder::new("certainty-named");
    let path = folder.path("file");
    let mut nexus = Vec::new();
    for n in 0u8..40 {
        // A direct branch, and a synchronisation with an address.
        nexus.extend([3 << 2, 0x0b | n << 4, 9 << 2, 1, 0x05, n << 2, 0x40, 0x13]);
    }
    let filled: Vec<u8> = nexus.iter().copied().chain([0; 4096]).collect();
    for (bytes, what) in [
        (b"{\"timestamp\": [1, 2, 3], \"packet\": \"sync\"}\n".to_vec(), "JSON text"),
        (b"00000000: 0000 0000 0000 0080 0168 0169\n".to_vec(), "hexadecimal digits as text"),
        (b"sample pc 0x08000218\n".repeat(9), "text, not trace data"),
        (
            b"core   0: 0x0000000000001000 (0x00000297) auipc   t0, 0x0\n".repeat(9),
            "it is an execution log (spike); `tracewright log info` describes it",
        ),
    ] {
        fs::write(&path, bytes).unwrap();
        for verb in ["info", "decode", "itm"] {
            let output = tracewright(&args(verb, &[&path]));
            assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{what}");
            assert!(output.err.contains(what), "{verb} {what}: {}", output.err);
        }
    }
    for bytes in [nexus, filled] {
        fs::write(&path, bytes).unwrap();
        let output = tracewright(&args("info", &[&path]));
        assert!(output.out.contains("N-Trace"), "{}{}", output.out, output.err);
        let output = tracewright(&args("itm", &[&path]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
        assert!(output.err.contains("it has no ITM"), "{}", output.err);
    }
}

/// `itm` refuses the trace of other units, unless its framing or trace ID is given; few packets are
/// no success, and at most 8 trace IDs are listed.
#[test]
fn itm_detects_as_info_does() {
    let folder = Folder::new("certainty-itm");
    let path = folder.path("swo.bin");
    fs::write(&path, trace_of_m33(&folder, 100, 2)).unwrap();
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    let what = "it has no ITM; detected: CoreSight formatter frames: ID 0x02 ETM4";
    assert!(output.err.contains(what), "{}", output.err);
    let output = tracewright(&args("itm --framing coresight --id 2", &[&path]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("few of the bytes are packets of an ITM"), "{}", output.err);
    // Text before zeros, which are no packets and no frames.
    let mut text: Vec<u8> = b"a line of text\n".repeat(20).iter().flat_map(|c| [1, *c]).collect();
    text.resize(8192, 0);
    fs::write(&path, text).unwrap();
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(output.out.matches("a line of text").count(), 20, "{}", output.out);
    // Frames of many sources.
    let mut frames = Vec::new();
    for id in 1..=20u8 {
        frames.extend([id << 1 | 1, 0x01, 0x40, 0x01, 0x42, 0x01, 0x44, 0x01]);
        frames.extend([0x46, 0x01, 0x48, 0x01, 0x4a, 0x01, 0x4c, 0]);
    }
    fs::write(&path, frames).unwrap();
    let output = tracewright(&args("itm --framing coresight --id 1", &[&path]));
    let list = output.err.lines().find(|line| line.contains("other trace sources")).unwrap();
    assert_eq!(list.matches("0x").count(), 8, "{list}");
    assert!(list.contains("11 other IDs"), "{list}");
}

/// A complete description is decoded, whatever detection finds; registers that are missing are
/// named, all of them.
#[test]
fn what_the_user_gives_is_decoded() {
    let Some(path) = shared(super::inputs::SWO) else { return };
    let decode = |words: &str| tracewright(&args(&format!("decode {words}"), &[&path]));
    let output =
        decode("--framing raw --protocol ETM3 --config ETMCR=0 --config ETMIDR=0x4114f250");
    assert_ne!(output.code, Some(2), "{}", output.err);
    let output = decode("--framing raw --protocol ETM4");
    assert!(output.err.contains("explains few of the bytes; detected without it: CoreSight"));
    for register in ["TRCCONFIGR", "TRCIDR0", "TRCIDR2"] {
        assert!(output.err.contains(register), "{register}: {}", output.err);
    }
}

/// Frames whose IDs are all cut off, and a repeated frame, prove no unframed protocol.
#[test]
fn frames_without_ids_prove_no_protocol() {
    let folder = Folder::new("certainty-no-ids");
    let path = folder.path("dump.bin");
    let frame = [3, 0x17, 0x18, 2, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for filling in [0, 32768, 65536] {
        let mut bytes = frame.repeat(15);
        bytes.resize(bytes.len() + filling, 0);
        fs::write(&path, bytes).unwrap();
        let output = info(&path, "");
        assert!(!output.out.contains(", likely"), "{filling}: {}", output.out);
        let detected = output.out.lines().find(|line| line.starts_with("detected"));
        assert!(detected.is_none_or(|line| line.ends_with(", possibly")), "{detected:?}");
    }
    let bytes = trace_of_m33(&folder, 1500, 1);
    for cut in [3, 16, 21, 40] {
        fs::write(&path, &bytes[cut..]).unwrap();
        let output = info(&path, "");
        let detected = output.out.lines().find(|line| line.starts_with("detected")).unwrap_or("");
        let is_sure = detected.contains("unframed") && !detected.ends_with(", possibly");
        assert!(!is_sure, "{cut}: {}", output.out);
    }
}

/// A program that explains nothing does not decide where frames begin.
#[test]
fn another_program_decides_nothing() {
    let branches = "captures/ricsec-decoder/branches";
    let Some(elf) = shared(&format!("{branches}/branches")) else { return };
    for n in 1..=2 {
        let Some(path) = shared(&format!("{branches}/trace{n}/cstrace.bin")) else { return };
        for core in ["Cortex-A53", "Cortex-A57", "Cortex-A72"] {
            let output = info(&path, &format!("--core {core} --image {}", elf.display()));
            let want = "CoreSight formatter frames: ID 0x10 ETM4, possibly\n";
            assert!(output.out.contains(want), "{core}: {}", output.out);
            let want = "1. ETM4 (ID 0x10): the image is not the program that was traced";
            assert!(output.out.contains(want), "{core}: {}", output.out);
        }
    }
}

/// `itm` refuses the trace of other units that is possibly detected, and states that little of a
/// file with many trace IDs is an ITM.
#[test]
fn little_of_a_file_is_an_itm() {
    let folder = Folder::new("certainty-little");
    let path = folder.path("dump.bin");
    // Records of an MTB: each branch of a loop of four blocks.
    let records = (0..1000u32).flat_map(|n| {
        let block = 0x1000_0000 + n % 4 * 0x40 + n / 4 % 16 * 0x400;
        let to = 0x1000_0000 + (n + 1) % 4 * 0x40 + (n + 1) / 4 % 16 * 0x400;
        [block + 0x20, to].into_iter().flat_map(u32::to_le_bytes)
    });
    fs::write(&path, records.collect::<Vec<_>>()).unwrap();
    let detected = info(&path, "");
    assert!(detected.out.contains("MTB, possibly"), "{}", detected.out);
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    assert!(output.err.contains("it has no ITM; detected: unframed data: MTB"), "{}", output.err);
    let output = tracewright(&args("itm --framing raw", &[&path]));
    assert_ne!(output.code, Some(2), "{}", output.err);
    // Source code in an archive: a header, text and zeros.
    let mut archive = b"main.rs".to_vec();
    archive.resize(100, 0);
    archive.extend(b"0000644 0001750 0001750 00000015476 14512345670 007654");
    archive.resize(257, 0);
    archive.extend(b"ustar  root");
    archive.resize(512, 0);
    archive.extend(include_bytes!("damage.rs"));
    archive.resize(10240, 0);
    fs::write(&path, archive).unwrap();
    assert_eq!(info(&path, "").code, Some(2));
    let output = tracewright(&args("itm", &[&path]));
    assert_ne!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains("few of the bytes are packets of an ITM"), "{}", output.err);
}
