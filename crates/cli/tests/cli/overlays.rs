//! Images that are loaded at the same address: by context, by time, and selected by the program.
//! The programs are logs, which the trace units in software encode.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright_testing::{Random, short_or_long, tool_since};

use crate::common::{Folder, args, tracewright};

/// The address of both images, and of the code that calls them.
const OVERLAY: u32 = 0x8000;
const BASE: u32 = 0x1000;

/// A program that calls the code at [`OVERLAY`], and what selects its two images.
struct Program {
    a32: bool,
    log: String,
    base: Vec<u32>,
    /// The keys of both images.
    keys: [&'static str; 2],
}

impl Program {
    fn new(a32: bool, keys: [&'static str; 2]) -> Program {
        let log = String::from("step,address,isa,opcode,size,value\n");
        Program { a32, log, base: Vec::new(), keys }
    }

    fn nop(&self) -> u32 {
        if self.a32 { 0xe1a0_0000 } else { 0xd503_201f }
    }

    fn ret(&self) -> u32 {
        if self.a32 { 0xe12f_ff1e } else { 0xd65f_03c0 }
    }

    /// The images: one and three NOP before the return.
    fn images(&self) -> [Vec<u32>; 2] {
        [1, 3].map(|count| [vec![self.nop(); count], vec![self.ret()]].concat())
    }

    fn step(&mut self, address: u32, opcode: u32) {
        let isa = if self.a32 { "A32" } else { "A64" };
        writeln!(self.log, "instruction,{address:x},{isa},{opcode:08x},,").unwrap();
    }

    /// Executes the next instruction of the base.
    fn execute(&mut self, opcode: u32) {
        self.step(BASE + 4 * self.base.len() as u32, opcode);
        self.base.push(opcode);
    }

    /// Calls `address`, whose code is `code`.
    fn call(&mut self, address: u32, code: &[u32]) {
        let at = BASE + 4 * self.base.len() as u32;
        // BL of A32 counts from two instructions after it.
        let opcode = match self.a32 {
            true => 0xeb00_0000 | address.wrapping_sub(at + 8) >> 2 & 0x00ff_ffff,
            false => 0x9400_0000 | address.wrapping_sub(at) >> 2 & 0x03ff_ffff,
        };
        self.execute(opcode);
        for (n, opcode) in (0..).zip(code) {
            self.step(address + 4 * n, *opcode);
        }
    }

    /// Calls an image.
    fn overlay(&mut self, n: usize) {
        let code = self.images()[n].clone();
        self.call(OVERLAY, &code);
    }
}

/// Encodes the program, adds its memory to the capture, and compares what is decoded with the log.
/// The capture is in the folder `snapshot`.
#[track_caller]
fn check(name: &str, encoding: &str, mut program: Program) -> Folder {
    program.execute(program.nop());
    let folder = Folder::new(&format!("overlay-{name}"));
    let (log, snapshot, described) =
        (folder.path("log.csv"), folder.path("snapshot"), folder.path("described"));
    fs::write(&log, &program.log).unwrap();
    let output = tracewright(&args(
        &format!("encode {encoding} --log"),
        &[&log, Path::new("-o"), &snapshot],
    ));
    assert_eq!(output.code, Some(0), "{}", output.err);
    // The same trace with a description in TOML.
    fs::create_dir(&described).unwrap();
    let trace = snapshot.join("trace.ini");
    let trace = fs::read_to_string(&trace).unwrap();
    let file = trace.lines().find_map(|line| line.strip_prefix("file=")).unwrap();
    fs::copy(snapshot.join(file), described.join("trace.bin")).unwrap();
    let unit = fs::read_dir(&snapshot).unwrap().map(|entry| entry.unwrap().path());
    let unit = unit.filter_map(|path| fs::read_to_string(path).ok());
    let unit = unit.filter(|text| text.contains("class=trace_source")).collect::<String>();
    let registers = unit.lines().skip_while(|line| *line != "[regs]").skip(1);
    let protocol = unit.lines().find_map(|line| line.strip_prefix("type=")).unwrap();
    let mut toml = format!(
        "[[buffer]]\nname = \"trace\"\nfile = \"trace.bin\"\nformat = \"coresight\"\n\n\
         [[source]]\nprotocol = \"{protocol}\"\ncore = \"Cortex-A53\"\n[source.parameters]\n"
    );
    registers.for_each(|register| writeln!(toml, "{register}").unwrap());
    let mut core = fs::read_to_string(snapshot.join("cpu_0.ini")).unwrap();
    let bytes = |code: &[u32]| code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let [a, b] = program.images();
    // Two functions that return at once, at 0x2000 and 0x2010.
    let loader = [program.ret(), 0, 0, 0, program.ret()];
    let mut memory = vec![
        ("base.mem", BASE, program.base.clone(), ""),
        ("loader.mem", 0x2000, loader.to_vec(), ""),
    ];
    memory.push(("a.mem", OVERLAY, a, program.keys[0]));
    memory.push(("b.mem", OVERLAY, b, program.keys[1]));
    for (n, (file, address, code, keys)) in memory.iter().enumerate() {
        for folder in [&snapshot, &described] {
            fs::write(folder.join(file), bytes(code)).unwrap();
        }
        write!(core, "\n[dump{n}]\nfile={file}\naddress={address:#x}\n").unwrap();
        write!(toml, "\n[[image]]\nfile = \"{file}\"\naddress = {address:#x}\n").unwrap();
        for key in keys.split(' ').filter(|key| !key.is_empty()) {
            let (key, value) = key.split_once('=').unwrap();
            writeln!(core, "{key}={value}").unwrap();
            writeln!(toml, "{key} = \"{value}\"").unwrap();
        }
    }
    fs::write(snapshot.join("cpu_0.ini"), core).unwrap();
    fs::write(described.join("capture.toml"), toml).unwrap();
    for capture in [&snapshot, &described] {
        let output = tracewright(&args("compare", &[capture, &log]));
        assert_eq!(
            output.code,
            Some(0),
            "{name} {}: {}{}",
            capture.display(),
            output.out,
            output.err
        );
        // The opcodes are those of the selected image.
        let output = tracewright(&args("instructions", &[capture]));
        let isa = if program.a32 { "A32" } else { "A64" };
        let found = output.out.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| !word.starts_with("0x"));
            let address = u64::from_str_radix(&words.next()?[2..], 16).ok()?;
            // Other lines are data accesses.
            let opcode = words.next().filter(|word| word.len() == 8)?;
            Some(format!("instruction,{address:x},{isa},{opcode}"))
        });
        let want = program.log.lines().filter(|line| line.starts_with("instruction,"));
        let want: Vec<_> = want.map(|line| line.trim_end_matches(',').to_owned()).collect();
        assert_eq!(found.collect::<Vec<_>>(), want, "{name} {}", output.err);
        let profile = tracewright(&args("profile --format callgrind", &[capture]));
        assert_eq!(profile.code, Some(0), "{}", profile.err);
        assert!(profile.out.ends_with(&format!("totals: {}\n", want.len())), "{}", profile.out);
    }
    folder
}

/// Parts of a trace, with an index and without: the memory that is selected at the beginning of a
/// part depends on what is before it.
#[test]
fn parts_have_the_selected_images() {
    let mut random = Random::new(3);
    let mut contexts = Program::new(false, ["context=5", "context=6,7"]);
    let mut times = Program::new(false, ["until=0x1000", "from=0x1000 until=0x9000"]);
    let keys = ["overlay=bank selected_by=0x2000", "overlay=bank selected_by=0x2010"];
    let mut addresses = Program::new(false, keys);
    for n in 0..120u64 {
        let (image, time) = (random.below(2), 0x40 * n);
        writeln!(contexts.log, "contextid,,,,,{}", 5 + image).unwrap();
        contexts.overlay(image as usize);
        writeln!(times.log, "timestamp,,,,,{time:x}").unwrap();
        times.overlay(usize::from(time >= 0x1000));
        if n % 8 == 0 {
            addresses.call(0x2000 + 0x10 * image as u32, &[addresses.ret()]);
            (0..8).for_each(|_| addresses.overlay(image as usize));
        }
    }
    for (name, registers, program) in [
        ("parts-context", "TRCCONFIGR=0x41", contexts),
        ("parts-time", "TRCCONFIGR=0x801", times),
        ("parts-address", "TRCCONFIGR=0x1", addresses),
    ] {
        let encoding = format!("--protocol ETM4 --config {registers} --config TRCSYNCPR=8");
        let folder = check(name, &encoding, program);
        let snapshot = &folder.path("snapshot");
        let made = tracewright(&args("index --segment 64", &[snapshot]));
        assert_eq!(made.code, Some(0), "{}", made.err);
        let count = tracewright(&args("instructions --format pc", &[snapshot])).out.lines().count();
        let verbs = ["instructions", "decode --packets", "functions"].into_iter().cycle();
        for verb in verbs.take(short_or_long(2, 30)) {
            let start = random.below(count as u64);
            let words = format!("{verb} --instruction {start}..{}", start + 1 + random.below(60));
            let with = tracewright(&args(&words, &[snapshot]));
            let without = tracewright(&args(&format!("{words} --no-index"), &[snapshot]));
            assert_eq!(with.out, without.out, "{name} {words}");
            assert_eq!((with.code, with.err), (without.code, without.err), "{name} {words}");
        }
        let whole = tracewright(&args("instructions --no-index", &[snapshot])).out;
        let some = tracewright(&args("instructions --instruction 300..310", &[snapshot])).out;
        let codes = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.starts_with("0x"));
            lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let (whole, some) = (codes(&whole), codes(&some));
        assert_eq!(some.len(), 10, "{name} {some:?}");
        assert!(whole.windows(10).any(|part| part == some), "{name} {some:?}");
    }
}

#[test]
fn a_context_selects_its_image() {
    let mut program = Program::new(false, ["context=5", "context=6,7"]);
    for (context, image) in [(5, 0), (6, 1), (5, 0), (5, 0), (7, 1)] {
        writeln!(program.log, "contextid,,,,,{context}").unwrap();
        program.overlay(image);
    }
    check("context", "--protocol ETM4 --config TRCCONFIGR=0x41", program);
}

#[test]
fn a_time_selects_its_image() {
    let mut program = Program::new(false, ["until=0x1000", "from=0x1000 until=0x2000"]);
    for (time, image) in [(0x500, 0), (0xfff, 0), (0x1000, 1), (0x1fff, 1)] {
        writeln!(program.log, "timestamp,,,,,{time:x}").unwrap();
        program.overlay(image);
    }
    check("time", "--protocol ETM4 --config TRCCONFIGR=0x801", program);
}

#[test]
fn an_executed_address_selects_its_image() {
    for (name, encoding) in [
        ("address-etmv4", "--protocol ETM4"),
        ("address-ptm", "--protocol PTM"),
        ("address-etmv3", "--protocol ETM3"),
    ] {
        let keys = ["overlay=bank selected_by=0x2000", "overlay=bank selected_by=0x2010"];
        let mut program = Program::new(!encoding.ends_with("ETM4"), keys);
        for image in [0, 1, 1, 0] {
            program.call(0x2000 + 0x10 * image, &[program.ret()]);
            program.overlay(image as usize);
        }
        check(name, encoding, program);
    }
}

/// Functions and coverage are those of the image that is in memory.
#[test]
fn images_have_their_own_functions() {
    let Some(gcc) = tool_since(&[("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")], (12, 2))
    else {
        return;
    };
    let mut contexts = Program::new(false, ["context=5", "context=6"]);
    let mut times = Program::new(false, ["until=0x1000", "from=0x1000"]);
    for (n, image) in [0, 0, 1, 1].into_iter().enumerate() {
        writeln!(contexts.log, "contextid,,,,,{}", 5 + image).unwrap();
        contexts.overlay(image);
        writeln!(times.log, "timestamp,,,,,{:x}", 0x800 * n).unwrap();
        times.overlay(image);
    }
    for (name, registers, program) in [
        ("functions-context", "TRCCONFIGR=0x41", contexts),
        ("functions-time", "TRCCONFIGR=0x801", times),
    ] {
        let folder = check(name, &format!("--protocol ETM4 --config {registers}"), program);
        let snapshot = folder.path("snapshot");
        let core = snapshot.join("cpu_0.ini");
        let mut text = fs::read_to_string(&core).unwrap();
        for (name, file, count) in [("alpha", "a", 1), ("beta", "b", 3)] {
            let code = "nop\n".repeat(count);
            let source = format!(
                ".global {name}\n.type {name},%function\n{name}:\n{code}ret\n\
                 .size {name},.-{name}\n"
            );
            fs::write(snapshot.join("image.s"), source).unwrap();
            let options =
                format!("-nostdlib -static -Wl,-n,-Ttext={OVERLAY:#x},-e,{name} image.s -o");
            let mut command = Command::new(gcc);
            command.args(options.split(' ')).arg(format!("{name}.elf")).current_dir(&snapshot);
            assert!(command.status().expect("it runs").success());
            // The ELF file takes the place of the dump.
            let dump = format!("file={file}.mem\naddress={OVERLAY:#x}\n");
            assert!(text.contains(&dump), "{text}");
            text = text.replace(&dump, &format!("file={name}.elf\naddress=0\n"));
        }
        let text = text.replace("[dump2]", "[elf_all2]").replace("[dump3]", "[elf_all3]");
        fs::write(&core, text).unwrap();
        let output = tracewright(&args("functions --format json --sort self", &[&snapshot]));
        let rows = output.out.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let rows = rows.filter(|row: &serde_json::Value| row["type"] == "function");
        let rows =
            rows.map(|row| [&row["name"], &row["calls"], &row["instructions"]].map(Clone::clone));
        let rows: Vec<_> = rows.filter(|[name, ..]| name == "alpha" || name == "beta").collect();
        let want = [("beta", 8), ("alpha", 4)];
        let want = want.map(|(name, sum)| [serde_json::json!(name), 2.into(), sum.into()]);
        assert_eq!(rows, want, "{name}: {}", output.out);
        let blocks = tracewright(&args("coverage --format drcov", &[&snapshot])).out;
        assert!(blocks.contains("BB Table: 2 bbs"), "{name}: {blocks}");
    }
}

#[test]
fn a_write_selects_its_image() {
    let keys = ["selected_by_write=0x3000=1 selected=1", "selected_by_write=0x3000=2"];
    let mut program = Program::new(true, keys);
    program.overlay(0);
    for value in [2, 1, 2, 2] {
        // STR r1, [r0]
        program.execute(0xe580_1000);
        writeln!(program.log, "write,3000,,,4,{value:x}").unwrap();
        program.overlay(value - 1);
    }
    check("write", "--protocol ETM3 --config ETMCR=0xc", program);
}

#[test]
fn a_condition_that_cannot_be_read_is_reported() {
    let folder = Folder::with_demo("overlay-reported");
    let path = fs::read_dir(folder.demo()).unwrap().map(|entry| entry.unwrap().path());
    let path =
        path.filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("[elf_all1]")));
    let path = path.last().expect("a device with memory");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("[elf_all1]").unwrap();
    let line = at + text[at..].find('\n').unwrap() + 1;
    fs::write(&path, format!("{}context=everyone\n{}", &text[..line], &text[line..])).unwrap();
    let output = tracewright(&args("info --all", &[&folder.demo()]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let want = "expected identifiers of 32 bits, separated by commas";
    assert!(format!("{}{}", output.out, output.err).contains(want), "{}{}", output.out, output.err);
}
