//! Writes what a fuzzer begins with to `corpus/`, where `cargo fuzz` looks for it: for each target
//! seeds of the cases in `tests/cases` and of the captures in `tests/captures`, and the inputs of
//! earlier runs in `inputs/TARGET.hex`, one in a line.
//!
//! `dictionaries/TARGET.dict` has what a fuzzer inserts: packets of the cases, or words of texts.
//!
//! `seeds collect TARGET FOLDER` writes a file of `inputs/`: the shortest inputs of a folder.
//!
//! A corpus belongs to the cases that exist: a case that is added between others changes the
//! numbers of `cases`.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use tracewright::capture::perf::{self, Form};
use tracewright::frames::{Framing, Joiner};
use tracewright::protocols::registry::AnyProtocol;
use tracewright_fuzz::case::Case;
use tracewright_fuzz::levels;
use tracewright_fuzz::properties::FIRST_ID;
use tracewright_testing::Random;

/// The size in bytes of an `inputs/TARGET.hex`.
const COLLECTED: usize = 48 << 10;

/// The number of the inputs that choose a random program.
const NUMBERS: u64 = 32;

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [verb, target, folder] = args.as_slice()
        && verb == "collect"
    {
        return collect(target, Path::new(folder));
    }
    of_cases()?;
    of_captures()?;
    of_perf()?;
    of_levels()?;
    of_units()?;
    of_numbers()?;
    of_indexes()?;
    of_gdb()?;
    dictionaries()?;
    collected()
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Writes one input of a target.
fn put(target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let folder = here("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name.replace('/', "-")), parts.concat())
}

/// The bytes of each case, in the form of each target that takes a source's bytes or frames, and
/// its log.
fn of_cases() -> io::Result<()> {
    for (number, (name, case)) in (0u16..).zip(Case::all()) {
        let case = case.map_err(io::Error::other)?;
        let protocol = AnyProtocol::ALL.iter().position(|known| *known == case.config.protocol());
        let protocol = protocol.unwrap_or_default() as u8;
        let (mut frames, mut joiner) = (Vec::new(), Joiner::new(Framing::Coresight));
        let id = FIRST_ID + protocol;
        joiner
            .push(id, &case.bytes, &mut frames)
            .map_err(|why| io::Error::other(why.to_string()))?;
        joiner.finish(&mut frames);

        for (target, head, bytes) in [
            ("cases", &number.to_le_bytes()[..], &case.bytes),
            ("source", &[protocol, 0], &case.bytes),
            ("packets", &[protocol, 0], &case.bytes),
            // A framing, a cut or a program, a step, a chunk.
            ("link", &[0, 20], &frames),
            ("session", &[0, 0, 16], &frames),
            ("chunks", &[0, 0, 0, 1], &frames),
            ("joined", &[0], &case.bytes),
        ] {
            put(target, &name, &[head, bytes])?;
        }
        if case.config.protocol() == AnyProtocol::Etrace {
            // No parameters, and a program.
            put("etrace", &name, &[&[0, 0], &case.bytes])?;
            // A link, a width, no messages and a cut.
            put("harts", &name, &[&[0, 3, 0, 7], &case.bytes])?;
        }
    }
    Ok(())
}

/// The captures as folders of files, their logs, and their programs.
fn of_captures() -> io::Result<()> {
    for capture in sorted(&here("../tests/captures"))? {
        let name = capture.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = capture.join("log.csv");
        if let Ok(text) = fs::read_to_string(&log) {
            let most = text.len().min(1500);
            let end = text.get(..most).and_then(|start| start.rfind('\n')).map_or(0, |at| at + 1);
            for (unit, isa) in [(0, 0), (3, 1), (5, 4)] {
                // The format CSV is the last.
                let head = [4, unit, isa];
                put("logs", &format!("{name}-{unit}"), &[&head, &text.as_bytes()[..end]])?;
            }
        }
        let folder = capture.join("capture");
        if !folder.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        for path in sorted(&folder)? {
            let bytes = fs::read(&path)?;
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if bytes.starts_with(b"\x7fELF") || file.ends_with(".bin") {
                let start = bytes.get(..4096).unwrap_or(&bytes);
                put("memory", &format!("{name}-{file}"), &[start])?;
            }
            files.extend(format!("== {file}\n").into_bytes());
            files.extend_from_slice(bytes.get(..1024).unwrap_or(&bytes));
            files.push(b'\n');
        }
        put("captures", &name, &[&files])?;
    }
    const PORT: &str = "== port\netmp 1\narch 1.3\nwidth 8\nport normal\nhalf-rate 0\nhivecs 1\n\
                        etmcr 0x0000000c\nsamples 6\ncycles\nIE:00 IN:12 x3 WT:05 TR:06 TD:00\n\
                        BE*:80 BD:01\n";
    put("captures", "port", &[PORT.as_bytes()])?;
    for (n, line) in LOG_LINES.iter().enumerate() {
        for format in 0..4 {
            put(
                "logs",
                &format!("line-{n}-{format}"),
                &[&[format, n as u8, n as u8], line.as_bytes()],
            )?;
        }
    }
    Ok(())
}

/// Lines of the formats of execution logs.
const LOG_LINES: [&str; 8] = [
    "Trace 0: 0x7f9c7b4000c0 [00800480/0001035c/00000000/00000201] main\n",
    "Trace 1: 0x7fbfa0000100 [0000000001009331/00000000004005c0/00000001/00000201] _start\n",
    "Taking exception 2 [SVC] on CPU 0\n...from EL0 to EL1\n...with ELR 0x8004\n",
    "1 clk cpu0 IT (1) 00008000 e1a00000 A svc_s : NOP\n2 clk cpu0 MW8 20000000 00000000_12345678\n",
    "3 clk cpu0 E 00008000 00000007 CoreEvent_IRQ\n",
    "core   0: 3 0x0000000080000000 (0x00052583) x11 0x07 mem 0x0000000080002000\n",
    "core   0: exception trap_machine_ecall, epc 0x0000000080000230\n",
    "1,80000000,4081,3,0,0,0,0\n",
];

/// The captures whose trace units `perf.data` can have, in each of its forms.
fn of_perf() -> io::Result<()> {
    for path in sorted(&here("../tests/captures"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.join("capture");
        if !folder.is_dir() {
            continue;
        }
        let capture = tracewright::capture::open(&folder);
        let mut capture = capture.map_err(|error| io::Error::other(error.to_string()))?;
        // The names are those of no machine.
        for dump in &mut capture.memory {
            dump.path = Path::new("/").join(&dump.file);
        }
        for (form, big, compressed) in [
            (Form::File, false, None),
            (Form::File, true, None),
            (Form::File, false, Some(512)),
            (Form::Pipe, false, None),
            (Form::Pipe, true, Some(512)),
        ] {
            let recording = perf::Recording { big, form, ..perf::Recording::default() };
            // The file has some protocols only.
            let Ok(data) = recording.of(&capture) else { continue };
            let bytes = data.write(perf::Layout { compressed, ..perf::Layout::default() });
            let order = if big { "big" } else { "little" };
            let packed = if compressed.is_some() { "-packed" } else { "" };
            put("perf", &format!("{name}-{form:?}-{order}{packed}"), &[&bytes])?;
        }
    }
    Ok(())
}

/// Recordings of each port, in both formats, and as levels.
fn of_levels() -> io::Result<()> {
    for port in 0..levels::ROWS {
        let (_, signals) = levels::port(port);
        let unit = signals.len().div_ceil(8);
        // The clock is bit 0; other levels are those of a counter.
        let row =
            |time: u8| (0..unit as u8).map(move |n| time.rotate_left(n.into()) & !1 | time & 1);
        let levels: Vec<u8> = (0..24).flat_map(row).collect();
        let rows: Vec<&[u8]> = levels.chunks_exact(unit).collect();
        let name = |form: &str| format!("{port:02x}-{form}");
        put("levels", &name("rows"), &[&[port | levels::ROWS, 0], &levels])?;
        put("levels", &name("vcd"), &[&[port, 0], &levels::vcd(&signals, &rows)])?;
        put("levels", &name("sr"), &[&[port, 0], &levels::sr(&signals, &rows)])?;
    }
    put("levels", "vectors", &[&[6, 0], VECTORS.as_bytes()])?;
    put("levels", "named", &[&[6, 2], VECTORS.replace("TRACECLK", "clk").as_bytes()])
}

/// A Value Change Dump with vectors, comments and unknown levels.
const VECTORS: &str = "$date now $end $version a b $end $timescale 1ps $end
$scope module top $end $var reg 1 ! TRACECLK $end $var wire 1 \" TRACECTL $end
$var wire 8 # TRACEDATA [7:0] $end $var real 64 $ volts $end $upscope $end
$enddefinitions $end $dumpvars x! x\" bx # r1.5 $ $end
#0 0! 0\" b101 # #5 1! $comment 1! $end #10 b1111zzzz # #11 b0 # 0! #15 1! b10000001 #
";

/// Texts about trace units and trace buffers.
fn of_units() -> io::Result<()> {
    for (n, (kind, text)) in UNIT_TEXTS.iter().enumerate() {
        for number in 0..64 {
            put("units", &format!("text-{n}-{number}"), &[&[*kind, number], text.as_bytes()])?;
        }
    }
    // The registers of the sources of captures.
    for capture in sorted(&here("../tests/captures"))? {
        let name = capture.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for path in sorted(&capture.join("capture"))? {
            if path.extension().is_some_and(|ext| ext == "ini") {
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                put("units", &format!("{name}-{file}"), &[&[0, 0], &fs::read(&path)?])?;
            }
        }
    }
    Ok(())
}

/// Kinds of text as in `tracewright_fuzz::units`, and texts.
const UNIT_TEXTS: [(u8, &str); 14] = [
    (0, "ETMCR=0x400\nETMTEEVR 0x6f\n0x020: 0x1 0x2\nETMIDR=0x4114f250 # id\nETMCCR=0x8d294024\n"),
    (0, "TRCIDR1=0x4100f424\nTRCCONFIGR=0x1fff\nTRCRSCTLR2=0x50003\nTRCEVENTCTL0R=0x81\n"),
    (0, "TRCVICTLR=0x201\nTRCACVR0=0x8000\nTRCACVR1=0x9000\nTRCVIIECTLR=1\nTRCACATR0=0\n"),
    (0, "TRBLIMITR_EL1=0x2019\nTRBPTR_EL1=0x1000\nTRBSR_EL1=0x520001\nTRBBASER_EL1=0x1000\n"),
    (1, "write TRCOSLAR 0\nwrite TRCPRGCTLR 0\nread TRCSTATR 3\nwrite TRCCONFIGR 0x1841\nisb\n"),
    (1, "w ETMCR 0xc00\nr ETMSR 2\nmww 0x20 0x6f\nmdw 0x10\nwrite ETMCR=0x800\ndsb sy\n"),
    (1, "msr TRBLIMITR_EL1 0x2001\nmsr TRFCR_EL1 3\nisb\ntsb csync\nmrs TRBSR_EL1 0\n"),
    (2, "trace main\nexclude 0x8010..+8\nbetween main..0x9000\ntrigger exec:main*3\ncycles\n"),
    (2, "data 0x20000000..+0x1000\ntrigger write:0x20000000=0xab*3\nid 16\nstall\nhalt\n"),
    (2, "trbe 0x10000..+0x4000 wrap 4096\ntimestamps\nlevels 3\ncontext 7\nvmid 1\nid 0x10\n"),
    (2, "etr 0x10000..+0x4000 circular\nbranches\ncontext-bytes 3\ntrigger input:2\nall-data\n"),
    (3, "TRBE 64\nTRBBASER_EL1=0x1000,TRBPTR_EL1=0x1010,TRBLIMITR_EL1=0x2001,TRBSR_EL1=0x100000\n"),
    (3, "ETR 64\nRWP=0x1010,RSZ=0x10,STS=1,DBALO=0x1000,DBAHI=0,AXICTL=0x80,FFCR=1,CTL=1,MODE=0\n"),
    (3, "MTB 64\nPOSITION=0x14,MASTER=0x80000002,FLOW=0,ETB_RWP=4,RDP=16\n"),
];

/// The numbers of random programs, and of random units.
fn of_numbers() -> io::Result<()> {
    for number in 0..NUMBERS {
        let bytes = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        put("round_trip", &format!("{number}"), &[&bytes])?;
        put("cycles", &format!("{number}"), &[&bytes, &[number as u8, 7]])?;
        // A unit and a program, and packets.
        let packets = Random::new(number).bytes(2 + 6 * number as usize);
        put("etmv4", &format!("{number}"), &[&packets])?;
        put("analyzer", &format!("{number}"), &[&bytes])?;
    }
    Ok(())
}

/// An index, whole and in parts, with its checksums and to be corrected.
fn of_indexes() -> io::Result<()> {
    let whole = tracewright_fuzz::index::whole();
    for (n, end) in [whole.len(), whole.len() / 2, 200].into_iter().enumerate() {
        let part = whole.get(..end).unwrap_or(&whole);
        put("index", &format!("own-{n}"), &[&[0], part])?;
        put("index", &format!("corrected-{n}"), &[&[1], part])?;
    }
    Ok(())
}

/// Requests of gdb as lines, and as packets.
fn of_gdb() -> io::Result<()> {
    for (n, lines) in GDB_LINES.iter().enumerate() {
        put("gdb", &format!("lines-{n}"), &[&[1], lines.as_bytes()])?;
        let packets = tracewright_fuzz::gdb::packets(lines.as_bytes());
        put("gdb", &format!("packets-{n}"), &[&[14], &packets])?;
    }
    Ok(())
}

/// Requests of sessions.
const GDB_LINES: [&str; 8] = [
    "qSupported:xmlRegisters=i386\nQStartNoAckMode\n?\ng\np20\np1f\nm8000,40\nx8000,10",
    "qXfer:features:read:target.xml:0,ffb\nqXfer:threads:read::0,1000\nqfThreadInfo\nqsThreadInfo",
    "Hg1\nHc-1\nT1\nqC\nqAttached\nqThreadExtraInfo,1\nvCont?\nvMustReplyEmpty",
    "vCont;s:1\nvCont;r0,ffffffff:1\nvCont;c\nbs\nbc\nc\ns",
    "Z0,8010,4\nZ1,8020,4\nZ2,20000000,4\nvCont;c\nz0,8010,4\nbc\nD",
    "qRcmd,7768656e\nqRcmd,66696e6420616c6c20616e79\nqRcmd,676f746f20656e64\nqRcmd,696e666f",
    "qRcmd,737461636b206f6666\ng\nqRcmd,737461636b206f6e\ng\nqRcmd,68656c70",
    "G00\nP0=0\nM8000,1:00\nX8000,0:\nvKill;1\nk",
];

/// The lengths of entries in a dictionary.
const ENTRIES: std::ops::RangeInclusive<usize> = 2..=24;

/// What a fuzzer inserts: for targets that take bytes of trace, the packets of all cases; for those
/// that take texts, the words of their seeds.
fn dictionaries() -> io::Result<()> {
    let (mut packets, mut words) = (BTreeSet::new(), BTreeSet::new());
    for (_, case) in Case::all() {
        let case = case.map_err(io::Error::other)?;
        let at = |line: &String| line.split(' ').next().and_then(|at| at.parse::<usize>().ok());
        let mut ends: Vec<usize> = case.packets.iter().filter_map(at).collect();
        ends.push(case.bytes.len());
        for packet in ends.windows(2).filter_map(|ends| case.bytes.get(ends[0]..ends[1])) {
            packets.insert(packet.to_vec());
        }
    }
    for target in ["logs", "captures", "units", "levels", "gdb"] {
        for path in sorted(&here("corpus").join(target))? {
            let is_word = |c: &u8| c.is_ascii_alphanumeric() || b"_$-.".contains(c);
            let bytes = fs::read(path)?;
            let parts = bytes.split(|c| !is_word(c)).filter(|word| word.is_ascii());
            words.extend(parts.map(<[u8]>::to_vec));
        }
        dictionary(target, &std::mem::take(&mut words))?;
    }
    for target in ["source", "cases", "packets", "etmv4", "etrace", "link", "joined", "harts"]
        .into_iter()
        .chain(["session", "chunks"])
    {
        dictionary(target, &packets)?;
    }
    Ok(())
}

fn dictionary(target: &str, entries: &BTreeSet<Vec<u8>>) -> io::Result<()> {
    let mut text = String::new();
    for entry in entries.iter().filter(|entry| ENTRIES.contains(&entry.len())) {
        text.push('"');
        entry.iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        text.push_str("\"\n");
    }
    fs::create_dir_all(here("dictionaries"))?;
    fs::write(here("dictionaries").join(format!("{target}.dict")), text)
}

/// The inputs of earlier runs.
fn collected() -> io::Result<()> {
    for path in sorted(&here("inputs"))? {
        let target = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (n, line) in fs::read_to_string(&path)?.lines().enumerate() {
            let digits = line.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).ok());
            let bytes = digits.map(|pair| u8::from_str_radix(pair?, 16).ok());
            let bytes: Option<Vec<u8>> = bytes.collect();
            let bytes = bytes.ok_or_else(|| {
                io::Error::other(format!(
                    "{}:{}: expected hexadecimal bytes",
                    path.display(),
                    n + 1
                ))
            })?;
            put(&target, &format!("collected-{n}"), &[&bytes])?;
        }
    }
    Ok(())
}

/// Writes the shortest inputs of `folder` to `inputs/TARGET.hex`.
fn collect(target: &str, folder: &Path) -> io::Result<()> {
    let mut inputs = Vec::new();
    for path in sorted(folder)? {
        inputs.push(fs::read(path)?);
    }
    inputs.sort_by_key(|input| (input.len(), input.clone()));
    inputs.dedup();
    let mut text = String::new();
    for input in inputs.iter().filter(|input| !input.is_empty()) {
        if text.len() + 2 * input.len() >= COLLECTED {
            break;
        }
        input.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
        text.push('\n');
    }
    fs::create_dir_all(here("inputs"))?;
    fs::write(here("inputs").join(format!("{target}.hex")), text)
}

/// The files and folders in `folder`, by name. A folder that does not exist has none.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
