//! The example with data accesses: its program is compiled, its trace is made of an execution under
//! QEMU, and what the command answers is what that execution did. `BLESS=1` writes the program and
//! the trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tracewright::base::{Access, Direction, Isa, Step};
use tracewright::capture::{Source, core_type};
use tracewright::decode::Memory;
use tracewright::frames::{Framing, Joiner};
use tracewright::logs::{Assembler, Format, Lookup, Reader};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright_testing::tool_since;

use crate::common::{Folder, args, tracewright};
use crate::demo::{blessed, compiled, file};

/// A folder with the example in `example`.
fn example(test: &str) -> (Folder, PathBuf) {
    let folder = Folder::new(test);
    let path = folder.path("example");
    let output = tracewright(&args("demo --data --write", &[&path]));
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "{}", output.err);
    (folder, path)
}

#[test]
fn the_program_is_that_of_its_source() {
    let options = "--target=armv7r-none-eabi -mcpu=cortex-r5 -marm \
                   -Wl,--build-id=none,-z,max-page-size=4096";
    compiled("heater/", "heater", options);
}

/// QEMU's log of the execution.
fn execute() -> Option<String> {
    let qemu = tool_since(&[("qemu-arm", "qemu-user")], (7, 2))?;
    let folder = Folder::new("heater-execution");
    let (log, program) = (folder.path("log"), folder.path("heater.elf"));
    fs::copy(file("heater/heater.elf"), &program).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(qemu);
    command.args(["-singlestep", "-d", "exec,nochain,cpu", "-D"]).arg(&log).arg(program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(fs::read_to_string(log).unwrap())
}

/// The registers before an instruction, and the flags N, Z, C and V.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    registers: [u64; 16],
    flags: u64,
}

impl State {
    /// The states before all instructions. R15 is the address.
    fn all(log: &str) -> Vec<State> {
        let mut all: Vec<State> = Vec::new();
        for line in log.lines() {
            if line.starts_with("Trace ") {
                all.push(State::default());
            }
            let Some(own) = all.last_mut() else { continue };
            for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
                let Ok(value) = u64::from_str_radix(value, 16) else { continue };
                match name.strip_prefix('R').and_then(|number| number.parse::<usize>().ok()) {
                    Some(number) => own.registers[number] = value,
                    None if name == "PSR" => own.flags = value >> 28,
                    None => {}
                }
            }
        }
        all
    }

    /// Whether a condition passes. (Arm ARM, A8.3)
    fn passes(&self, condition: u32) -> bool {
        let flag = |bit: u32| self.flags >> bit & 1 == 1;
        let (n, z, c, v) = (flag(3), flag(2), flag(1), flag(0));
        let own = match condition >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => c && !z,
            5 => n == v,
            6 => n == v && !z,
            _ => return true,
        };
        own != (condition & 1 == 1)
    }
}

/// The data accesses of an instruction between two states: LDR, LDRB, STR, STRB with an immediate
/// or a register, LDM and STM. (Arm ARM, A5.3, A5.5)
fn accesses(opcode: u32, before: &State, after: &State) -> Vec<Access> {
    let register = |at: u32| before.registers[(opcode >> at & 0xf) as usize];
    let bit = |at: u32| opcode >> at & 1 == 1;
    if !before.passes(opcode >> 28) {
        return Vec::new();
    }
    let direction = if bit(20) { Direction::Read } else { Direction::Write };
    let states = if bit(20) { after } else { before };
    let access = |address: u64, size: u8, number: usize| {
        let value = states.registers[number] & (u64::MAX >> (64 - 8 * u32::from(size)));
        Access::new(direction, size, 0).at(address).of(value)
    };
    match opcode >> 25 & 7 {
        2 | 3 => {
            assert!(!bit(25) || opcode >> 4 & 0xff == 0, "{opcode:x}: a shifted register");
            let pc = if opcode >> 16 & 0xf == 15 { 8 } else { 0 };
            let offset = if bit(25) { register(0) } else { u64::from(opcode & 0xfff) };
            let base = register(16) + pc;
            let moved = if bit(23) { base + offset } else { base - offset };
            let address = if bit(24) { moved } else { base };
            let number = (opcode >> 12 & 0xf) as usize;
            vec![access(address, if bit(22) { 1 } else { 4 }, number)]
        }
        4 => {
            let numbers: Vec<usize> = (0..16).filter(|at| bit(*at)).map(|at| at as usize).collect();
            let size = 4 * numbers.len() as u64;
            let base = if bit(23) { register(16) } else { register(16) - size };
            let first = base + if bit(24) == bit(23) { 4 } else { 0 };
            let each = numbers.into_iter().enumerate();
            each.map(|(n, number)| access(first + 4 * n as u64, 4, number)).collect()
        }
        0 if opcode & 0x90 == 0x90 => panic!("{opcode:x}: not a form that is known here"),
        _ => Vec::new(),
    }
}

/// The accesses of the execution with the instruction of each, in order.
fn executed(log: &str, image: &dyn Fn(u64) -> u32) -> Vec<(u64, Vec<Access>)> {
    let all = State::all(log);
    let mut next = all.iter().skip(1).chain(all.last());
    let each = all.iter().map(|own| {
        let after = next.next().unwrap();
        let address = own.registers[15];
        (address, accesses(image(address), own, after))
    });
    each.collect()
}

/// The opcode at an address of the program, whose first byte of code memory is that of the file.
fn opcodes() -> impl Fn(u64) -> u32 {
    let bytes = fs::read(file("heater/heater.elf")).unwrap();
    move |address| {
        let at = (address - 0x8000) as usize;
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }
}

/// What the unit traces of the execution, up to the call of the system that ends the program.
fn encoded(log: &str, path: &Path) -> Vec<u8> {
    let trace = tracewright::open(path).unwrap();
    let capture = trace.capture();
    let source = &capture.sources[0];
    let value = |name: &str| source.register(name);
    let core = core_type("Cortex-R5");
    let mut unit = AnyUnit::new(AnyProtocol::Etmv3, core, &value).unwrap().unwrap();
    let id = unit.config().trace_id();
    let image = Memory::new(capture).of(capture, &Source::default());
    let mut assembler = Assembler::new(Lookup::new(image));
    assembler.isa = Isa::A32;
    let all = executed(log, &opcodes());
    let (mut count, mut bytes) = (0, Vec::new());
    let mut take = |_: u16, step: &Step| {
        let Step::Retired(retired) = step else { return unit.step(step, &mut bytes) };
        let (address, accesses) = &all[count];
        assert_eq!(retired.address, *address);
        count += 1;
        unit.step(step, &mut bytes);
        accesses.iter().for_each(|access| unit.step(&Step::Access(*access), &mut bytes));
    };
    let mut reader = Reader::new(Format::Qemu, Isa::A32);
    let mut entry = |entry| assembler.entry(&entry, &mut take);
    reader.feed(log.as_bytes(), &mut entry).unwrap();
    reader.finish(&mut entry).unwrap();
    assembler.finish(&mut take);
    assert_eq!(count, all.len());
    unit.step(&Step::Halted, &mut bytes);
    unit.finish(&mut bytes);
    let (mut joiner, mut frames) = (Joiner::new(Framing::Coresight), Vec::new());
    joiner.push(id, &bytes, &mut frames).unwrap();
    joiner.finish(&mut frames);
    frames
}

#[test]
fn the_trace_is_that_of_an_execution() {
    let Some(log) = execute() else { return };
    let (_folder, path) = example("heater-trace");
    blessed("heater/trace.bin", &encoded(&log, &path));
}

/// The accesses of the trace are those of the execution, each with its instruction.
#[test]
fn accesses_are_those_of_the_execution() {
    let Some(log) = execute() else { return };
    let (_folder, path) = example("heater-accesses");
    let output = tracewright(&args("decode --strict --format json", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = lines.filter(|line| line["kind"] == "data-access");
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let hexadecimal =
        |text: String| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let found: Vec<(u64, String, u64, u64)> = found
        .map(|line| {
            let [by, address, value] =
                ["pc", "address", "value"].map(|key| hexadecimal(text(&line, key)));
            (by, text(&line, "direction"), address, value)
        })
        .collect();
    let mut want = Vec::new();
    for (by, accesses) in executed(&log, &opcodes()) {
        for access in accesses {
            let direction = if access.direction == Direction::Read { "read" } else { "write" };
            want.push((
                by,
                direction.to_owned(),
                access.address().unwrap(),
                access.value().unwrap(),
            ));
        }
    }
    assert!(want.len() > 200);
    assert_eq!(found, want);
}

/// The limit is written twice: by the function that sets it, and by the one with the error.
#[test]
fn the_writes_of_the_limit_are_shown() {
    let output = tracewright(&args("demo --data", &[]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let writes: Vec<&str> = output.out.lines().filter(|line| line.contains("219 <- ")).collect();
    let ends = [" <- 0x3c by 0x00008098 <set_limit+0xc>", " <- 0x18 by 0x0000811c <add+0x10>"];
    // The first one is among the first elements, too.
    assert_eq!(writes.len(), 3, "{}", output.out);
    for (line, end) in writes.iter().zip(ends) {
        assert!(line.starts_with("element ") && line.ends_with(end), "{line}");
    }
}
