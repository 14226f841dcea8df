//! A real program, cross-compiled and run under qemu-user, through trace units of ETMv1 and ETMv2 and
//! back: the instructions that were executed and the data that they moved.
//!
//! The log of QEMU has registers; loads and stores are read off them here.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, args, tracewright};

/// Sorts, hashes and sums with loads and stores of each size, multiples and doubles; calls T32.
const ARM: &str = r#"
typedef unsigned int u32; typedef unsigned short u16; typedef unsigned char u8;
static u32 table[64]; static u16 halves[32]; static signed char bytes[64]; static long long wide[8];
extern int thumb_part(u8 *text, int n);
static void leave(int code) {
  register int r0 __asm__("r0") = code; register int r7 __asm__("r7") = 1;
  __asm__ volatile("svc 0" :: "r"(r0), "r"(r7)); for (;;);
}
__attribute__((noinline)) static void sort(u32 *t, int n) {
  for (int i = 1; i < n; i++) {
    u32 x = t[i]; int j = i;
    for (; j > 0 && t[j-1] > x; j--) t[j] = t[j-1];
    t[j] = x;
  }
}
__attribute__((noinline)) static u32 hash(const signed char *s, int n) { u32 h = 5381; while (n--) h = h * 33 + *s++; return h; }
__attribute__((noinline)) static int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }
__attribute__((noinline)) static long long sum(long long *w, int n) {
  long long s = 0; for (int i = 0; i < n; i++) { s += w[i]; w[i] = s; } return s;
}
__attribute__((noinline)) static int run(int n) {
  u32 seed = 1;
  for (int i = 0; i < 64; i++) {
    seed = seed * 1103515245u + 12345u;
    table[i] = seed >> 8; bytes[i] = (signed char)(seed >> 20); halves[i & 31] += (u16)seed; wide[i & 7] += seed;
  }
  sort(table, 64);
  u32 h = hash(bytes, 64) ^ (u32)sum(wide, 8) ^ halves[3] ^ (u32)fib(n);
  return (int)((h + thumb_part((u8*)bytes, 64)) & 0x7f);
}
void _start(void) { leave(run(9)); }
"#;

const THUMB: &str = r#"
typedef unsigned char u8;
static int find(const u8 *t, int n, u8 c) { for (int i = 0; i < n; i++) if (t[i] == c) return i; return -1; }
__attribute__((noinline)) static int mix(int a, int b, int c, int d) {
  volatile int v[4]; v[0] = a; v[1] = b; v[2] = c; v[3] = d; return v[0] * 3 + v[1] - v[2] + v[3];
}
int thumb_part(u8 *text, int n) {
  int s = 0;
  for (int i = 0; i < n; i += 3) { s += find(text, n, (u8)(i * 7)); text[i] ^= (u8)s; s = mix(s, i, n, text[i]); }
  return s;
}
"#;

/// Runs a tool; `None`, and it is said, where it is not there.
fn tool(name: &str, words: &[&str], folder: &Path) -> Option<bool> {
    match Command::new(name).args(words).current_dir(folder).status() {
        Ok(status) => Some(status.success()),
        Err(_) => {
            eprintln!("skipped: there is no {name}");
            None
        }
    }
}

/// The program, compiled. `None` where the tools are missing.
fn compile(folder: &Path) -> Option<()> {
    fs::write(folder.join("arm.c"), ARM).unwrap();
    fs::write(folder.join("thumb.c"), THUMB).unwrap();
    let common = "-O1 -march=armv5te -ffreestanding -nostdlib -fno-pic -fno-tree-loop-distribute-patterns -c";
    for (state, name) in [("-marm", "arm"), ("-mthumb", "thumb")] {
        let (source, object) = (format!("{name}.c"), format!("{name}.o"));
        let mut words: Vec<&str> = common.split(' ').collect();
        words.extend([state, &source, "-o", &object]);
        assert!(tool("arm-none-eabi-gcc", &words, folder)?, "it compiles");
    }
    let link = "-nostdlib -static -Wl,-Ttext=0x10000 arm.o thumb.o -o program.elf -lgcc";
    let words: Vec<&str> = link.split(' ').collect();
    assert!(tool("arm-none-eabi-gcc", &words, folder)?, "it links");
    Some(())
}

/// Registers before an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    r: [u32; 16],
    psr: u32,
    thumb: bool,
}

/// Runs the program, and reads QEMU's log.
fn execute(folder: &Path) -> Option<Vec<Before>> {
    let words =
        |step| ["-cpu", "arm926", step, "-d", "exec,nochain,cpu", "-D", "qemu.log", "program.elf"];
    // The option was called otherwise before QEMU 8.
    for step in ["-singlestep", "-one-insn-per-tb"] {
        tool("qemu-arm", &words(step), folder)?;
        let Ok(log) = fs::read_to_string(folder.join("qemu.log")) else { continue };
        let mut all = Vec::new();
        let mut now = Before::default();
        for line in log.lines() {
            if let Some(psr) = line.strip_prefix("PSR=") {
                now.psr = u32::from_str_radix(&psr[..8], 16).unwrap();
                now.thumb = psr.split_whitespace().nth(2) == Some("T");
                all.push(now);
            } else if line.starts_with('R') {
                for word in line.split_whitespace() {
                    let (name, value) = word.split_once('=').unwrap();
                    let n: usize = name[1..].parse().unwrap();
                    now.r[n] = u32::from_str_radix(value, 16).unwrap();
                }
            }
        }
        if !all.is_empty() {
            return Some(all);
        }
    }
    panic!("qemu-arm has written no log");
}

/// The bytes of the program at their addresses: the loadable segments of a 32-bit ELF file.
fn memory(elf: &[u8]) -> impl Fn(u32) -> u32 + '_ {
    let word = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().unwrap());
    let half = |at: usize| u16::from_le_bytes(elf[at..at + 2].try_into().unwrap());
    let (table, count) = (word(28) as usize, usize::from(half(44)));
    let segments: Vec<(u32, usize, u32)> = (0..count)
        .map(|n| table + 32 * n)
        .filter(|&at| word(at) == 1)
        .map(|at| (word(at + 8), word(at + 4) as usize, word(at + 16)))
        .collect();
    move |address| {
        let (start, at, _) = segments
            .iter()
            .find(|(start, _, len)| (*start..start + len).contains(&address))
            .expect("an address of the program");
        let at = at + (address - start) as usize;
        let two = |n: usize| elf.get(at + n).map_or(0, |&byte| u32::from(byte));
        two(0) | two(1) << 8 | two(2) << 16 | two(3) << 24
    }
}

/// One transfer: way, address, size, value.
type Moved = (bool, u32, u32, u32);

/// Whether the condition `c` holds.
fn holds(c: u32, psr: u32) -> bool {
    let flag = |bit: u32| psr >> bit & 1 != 0;
    let (n, z, carry, v) = (flag(31), flag(30), flag(29), flag(28));
    let base = match c >> 1 {
        0 => z,
        1 => carry,
        2 => n,
        3 => v,
        4 => carry && !z,
        5 => n == v,
        6 => n == v && !z,
        _ => return true,
    };
    base != (c & 1 != 0)
}

/// What an A32 instruction moved.
fn arm(opcode: u32, before: &Before, after: &Before) -> Vec<Moved> {
    let bit = |n: u32| opcode >> n & 1 != 0;
    let reg = |low: u32| (opcode >> low & 0xf) as usize;
    let read = |n: usize| if n == 15 { before.r[15] + 8 } else { before.r[n] };
    let loaded = |n: usize| match n {
        15 => after.r[15] | u32::from(after.thumb),
        n => after.r[n],
    };
    let (rn, rd, load) = (reg(16), reg(12), bit(20));
    let place = |offset: u32| {
        let moved =
            if bit(23) { read(rn).wrapping_add(offset) } else { read(rn).wrapping_sub(offset) };
        if bit(24) { moved } else { read(rn) }
    };
    let value = |n: usize, size: u32| {
        let word = if load { loaded(n) } else { read(n) };
        word & (u32::MAX >> (32 - 8 * size))
    };
    match opcode >> 25 & 0b111 {
        0b000 if opcode & 0x90 == 0x90 && opcode >> 5 & 0b11 != 0 => {
            let offset = if bit(22) { opcode >> 4 & 0xf0 | opcode & 0xf } else { read(reg(0)) };
            let at = place(offset);
            match (opcode >> 5 & 0b11, load) {
                (0b01, _) | (0b11, true) => vec![(load, at, 2, value(rd, 2))],
                (0b10, true) => vec![(true, at, 1, value(rd, 1))],
                (way, _) => {
                    let load = way == 0b10;
                    let word = |n: usize| if load { loaded(n) } else { read(n) };
                    vec![(load, at, 4, word(rd)), (load, at + 4, 4, word(rd + 1))]
                }
            }
        }
        0b010 | 0b011 => {
            let offset = match bit(25) {
                false => opcode & 0xfff,
                true => {
                    let (m, amount) = (read(reg(0)), opcode >> 7 & 0x1f);
                    match opcode >> 5 & 0b11 {
                        0 => m << amount,
                        1 => m.checked_shr(if amount == 0 { 32 } else { amount }).unwrap_or(0),
                        2 => (m as i32 >> if amount == 0 { 31 } else { amount }) as u32,
                        _ => m.rotate_right(amount),
                    }
                }
            };
            let size = if bit(22) { 1 } else { 4 };
            vec![(load, place(offset), size, value(rd, size))]
        }
        0b100 => {
            let list: Vec<usize> = (0..16).filter(|n| opcode >> n & 1 != 0).collect();
            let len = 4 * list.len() as u32;
            let first = match (bit(24), bit(23)) {
                (false, true) => read(rn),
                (true, true) => read(rn) + 4,
                (false, false) => read(rn) - len + 4,
                (true, false) => read(rn) - len,
            };
            multiple(load, first, &list, |n| value(n, 4))
        }
        _ => Vec::new(),
    }
}

fn multiple(load: bool, first: u32, list: &[usize], value: impl Fn(usize) -> u32) -> Vec<Moved> {
    (first..).step_by(4).zip(list).map(|(at, &n)| (load, at, 4, value(n))).collect()
}

/// What a T32 instruction of 16 bits moved.
fn thumb(opcode: u32, before: &Before, after: &Before) -> Vec<Moved> {
    let low = |shift: u32| (opcode >> shift & 7) as usize;
    let r = |n: usize| before.r[n];
    let one = |load: bool, at: u32, size: u32, n: usize| {
        let word = if load { after.r[n] } else { r(n) };
        vec![(load, at, size, word & (u32::MAX >> (32 - 8 * size)))]
    };
    let (imm5, l) = (opcode >> 6 & 0x1f, opcode >> 11 & 1 != 0);
    match opcode >> 11 {
        0b01001 => one(true, (r(15) & !3) + 4 + (opcode & 0xff) * 4, 4, low(8)),
        0b01010 | 0b01011 => {
            let at = r(low(3)).wrapping_add(r(low(6)));
            match opcode >> 9 & 7 {
                0 => one(false, at, 4, low(0)),
                1 => one(false, at, 2, low(0)),
                2 => one(false, at, 1, low(0)),
                3 | 6 => one(true, at, 1, low(0)),
                4 => one(true, at, 4, low(0)),
                _ => one(true, at, 2, low(0)),
            }
        }
        0b01100 | 0b01101 => one(l, r(low(3)) + imm5 * 4, 4, low(0)),
        0b01110 | 0b01111 => one(l, r(low(3)) + imm5, 1, low(0)),
        0b10000 | 0b10001 => one(l, r(low(3)) + imm5 * 2, 2, low(0)),
        0b10010 | 0b10011 => one(l, r(13) + (opcode & 0xff) * 4, 4, low(8)),
        0b10110 | 0b10111 if opcode >> 9 & 3 == 2 => {
            let mut list: Vec<usize> = (0..8).filter(|n| opcode >> n & 1 != 0).collect();
            if opcode >> 8 & 1 != 0 {
                list.push(if l { 15 } else { 14 });
            }
            let first = if l { r(13) } else { r(13) - 4 * list.len() as u32 };
            let value = |n: usize| match (l, n) {
                (true, 15) => after.r[15] | u32::from(after.thumb),
                (true, n) => after.r[n],
                (false, n) => r(n),
            };
            multiple(l, first, &list, value)
        }
        0b11000 | 0b11001 => {
            let list: Vec<usize> = (0..8).filter(|n| opcode >> n & 1 != 0).collect();
            multiple(l, r(low(8)), &list, |n| if l { after.r[n] } else { r(n) })
        }
        _ => Vec::new(),
    }
}

/// What was executed, and what that moved: address of the instruction, way, address, size, value.
#[derive(Debug, Default, PartialEq)]
struct Run {
    instructions: Vec<u32>,
    moved: Vec<(u32, Moved)>,
}

/// The run as an execution log, and what a trace of it must say.
fn log(all: &[Before], elf: &[u8]) -> (String, Run) {
    let memory = memory(elf);
    let mut csv = String::from("step,address,isa,opcode,passed,size,value\n");
    let mut run = Run::default();
    // The last instruction leaves the program: what it does is the system's.
    for pair in all.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let pc = before.r[15];
        let word = memory(pc);
        let (isa, opcode, passed, moved) = if before.thumb {
            let half = word & 0xffff;
            let wide = half >> 11 == 0b11110;
            let opcode =
                if wide { format!("{:08x}", word.rotate_left(16)) } else { format!("{half:04x}") };
            let conditional = half >> 12 == 0b1101 && half >> 9 & 7 != 7;
            let passed = !conditional || holds(half >> 8 & 0xf, before.psr);
            ("T32", opcode, passed, if wide { Vec::new() } else { thumb(half, before, after) })
        } else {
            let passed = holds(word >> 28, before.psr);
            let moved = if passed { arm(word, before, after) } else { Vec::new() };
            ("A32", format!("{word:08x}"), passed, moved)
        };
        run.instructions.push(pc);
        writeln!(csv, "instruction,{pc:x},{isa},{opcode},{},,", u8::from(passed)).unwrap();
        for one @ (load, at, size, value) in moved {
            let step = if load { "read" } else { "write" };
            writeln!(csv, "{step},{at:x},,,,{size},{value:x}").unwrap();
            run.moved.push((pc, one));
        }
    }
    (csv, run)
}

/// What the command says of a capture.
fn decoded(snapshot: &Path) -> Run {
    let said = tracewright(&args("instructions --strict --format pc", &[snapshot]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let hex = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let instructions = said.out.lines().map(hex).collect();
    let said = tracewright(&args("decode --strict --format json", &[snapshot]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut moved = Vec::new();
    for line in said.out.lines().filter(|line| line.contains("\"direction\"")) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let field =
            |name: &str| hex(line[name].as_str().unwrap_or_else(|| panic!("{name} in {line}")));
        let load = line["direction"] == "read";
        let size = line["size"].as_u64().unwrap() as u32;
        moved.push((field("by"), (load, field("address"), size, field("value"))));
    }
    Run { instructions, moved }
}

#[test]
fn a_real_program_there_and_back() {
    let folder = Folder::new("real-arm");
    let path = folder.path("");
    let Some(all) = compile(&path).and_then(|()| execute(&path)) else { return };
    let elf = fs::read(path.join("program.elf")).unwrap();
    let (csv, want) = log(&all, &elf);
    assert!(want.instructions.len() > 50_000 && want.moved.len() > 10_000, "it does something");
    fs::write(path.join("log.csv"), csv).unwrap();
    // ETMCR: values and addresses; stall; the width of the port.
    for (name, config) in [
        ("ETM1", "--config ETMCR=0x9c"),
        ("ETM1", "--config ETMCR=0x108c --config early-data=60 --config noise=1 --config fifo=9"),
        ("ETM1", "--config ETMCR=0xac --config waits=20 --config noise=1"),
        ("ETM2", "--config ETMCR=0x9c"),
        ("ETM2", "--config ETMCR=0x8c --config fold=120 --config noise=1 --config ETMSYNCFR=300"),
        ("ETM2", "--config ETMCR=0x10ac --config waits=20"),
    ] {
        let snapshot = path.join("snapshot");
        let (log, program) = (path.join("log.csv"), path.join("program.elf"));
        let words = format!("encode --protocol {name} {config} --log");
        let mut words = args(&words, &[&log]);
        words.extend(args("--image", &[&program]));
        words.extend(args("--output", &[&snapshot]));
        let said = tracewright(&words);
        assert_eq!(said.code, Some(0), "{name} {config}: {}", said.err);
        let got = decoded(&snapshot);
        let n = got.instructions.iter().zip(&want.instructions).take_while(|(a, b)| a == b).count();
        assert!(got.instructions == want.instructions, "{name} {config}: instruction {n}");
        let n = got.moved.iter().zip(&want.moved).take_while(|(a, b)| a == b).count();
        let pair = (got.moved.get(n), want.moved.get(n));
        assert!(got.moved == want.moved, "{name} {config}: access {n}: {pair:x?}");
        fs::remove_dir_all(&snapshot).unwrap();
    }
    eprintln!("{} instructions, {} accesses", want.instructions.len(), want.moved.len());
}
