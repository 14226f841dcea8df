//! Durations of random executions of a program with a cost for each instruction, beside what
//! `timing` prints of their trace.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use crate::common::{Folder, Output, args, tracewright};

const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
const ERET: u32 = 0xd69f_03e0;
const MASK: u32 = 0xd503_42df;
const UNMASK: u32 = 0xd503_42ff;

const MAIN: u64 = 0x8_0000;
const F: u64 = 0x8_1000;
const G: u64 = 0x8_2000;
const H: u64 = 0x8_3000;
const HANDLER: u64 = 0x9_0000;

const fn branch(opcode: u32, from: u64, to: u64) -> u32 {
    let words = (to.wrapping_sub(from) as i64 / 4) as u32;
    match opcode {
        // BL
        0x9400_0000 => opcode | words & 0x3ff_ffff,
        _ => opcode | (words & 0x7_ffff) << 5,
    }
}

const BL: u32 = 0x9400_0000;
/// B.NE
const BNE: u32 = 0x5400_0001;
/// CBZ X2
const CBZ: u32 = 0xb400_0002;

/// The instructions of the program.
fn opcode(address: u64) -> u32 {
    match address {
        0x8_0004 => branch(BL, address, F),
        0x8_000c => branch(BNE, address, 0x8_0004),
        0x8_1004 => branch(BL, address, G),
        0x8_100c => branch(BNE, address, 0x8_1004),
        0x8_1010 => MASK,
        0x8_101c => branch(BNE, address, 0x8_1014),
        0x8_1020 => UNMASK,
        0x8_1024 => branch(CBZ, address, 0x8_102c),
        0x8_1028 => branch(BL, address, H),
        0x8_102c | 0x8_2008 | 0x8_3010 => RET,
        0x9_0008 => branch(BNE, address, 0x9_0004),
        0x9_000c => ERET,
        _ => NOP,
    }
}

/// The cycles of an instruction.
fn cost(address: u64) -> u64 {
    match opcode(address) {
        NOP => 1,
        RET | ERET => 5,
        MASK | UNMASK => 2,
        _ => 3,
    }
}

/// A measured activation: its function, and gross, net and own time.
struct Call {
    function: u64,
    gross: u64,
    net: u64,
    own: u64,
}

#[derive(Default)]
struct Execution {
    seed: u64,
    log: String,
    now: u64,
    /// How often a timestamp is traced.
    often: u64,
    open: Vec<(Call, bool)>,
    calls: Vec<Call>,
}

impl Execution {
    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % below
    }

    fn timestamp(&mut self) {
        let _ = writeln!(self.log, ",timestamp,,,,,,,,{:x},,,,", self.now);
    }

    fn step(&mut self, address: u64) {
        // Sometimes an instruction waits.
        let wait = self.random(8).saturating_sub(5) * 7;
        let cycles = cost(address) + wait;
        let (opcode_here, end) = (opcode(address), self.now + cycles);
        let _ = writeln!(self.log, ",,{address:x},A64,{opcode_here:08x},,,,,,,,{end},");
        self.now += cycles;
        let mut handler = false;
        for (n, (call, is_handler)) in self.open.iter_mut().rev().enumerate() {
            call.gross += cycles;
            call.own += if n == 0 { cycles } else { 0 };
            call.net += if handler { 0 } else { cycles };
            handler |= *is_handler;
        }
        if self.random(self.often) == 0 {
            self.timestamp();
        }
    }

    fn enter(&mut self, function: u64, handler: bool) {
        self.open.push((Call { function, gross: 0, net: 0, own: 0 }, handler));
    }

    fn leave(&mut self) {
        self.calls.extend(self.open.pop().map(|open| open.0));
    }

    fn loops(&mut self, addresses: &[u64], turns: u64) {
        for _ in 0..turns {
            addresses.iter().for_each(|address| self.step(*address));
        }
    }

    fn handler(&mut self, back: u64, turns: u64) {
        let _ = writeln!(self.log, ",exception,{back:x},,,,,,,,irq,{HANDLER:x},,");
        self.enter(HANDLER, true);
        self.step(HANDLER);
        self.loops(&[HANDLER + 4, HANDLER + 8], turns);
        self.step(HANDLER + 12);
        self.leave();
    }

    /// A call of F: turns of its first and its masked loop, whether it calls H, and the turns of a
    /// handler that interrupts it, or 0.
    fn call_f(&mut self, turns: u64, masked: u64, calls_h: bool, interrupted: u64) {
        self.enter(F, false);
        self.step(F);
        for _ in 0..turns {
            self.step(F + 4);
            self.enter(G, false);
            [G, G + 4, G + 8].into_iter().for_each(|address| self.step(address));
            self.leave();
            self.step(F + 8);
            self.step(F + 12);
        }
        self.step(F + 16);
        self.loops(&[F + 0x14, F + 0x18, F + 0x1c], masked);
        self.step(F + 0x20);
        if interrupted > 0 {
            self.handler(F + 0x24, interrupted);
        }
        self.step(F + 0x24);
        if calls_h {
            self.step(F + 0x28);
            self.enter(H, false);
            (0..5).for_each(|n| self.step(H + 4 * n));
            self.leave();
        }
        self.step(F + 0x2c);
        self.leave();
    }
}

/// Calls with random turns.
fn execute(seed: u64, often: u64) -> Execution {
    let log = "cpu,step,address,isa,opcode,passed,el,security,size,value,cause,target,time,stall\n";
    let mut own = Execution {
        seed: seed * 2 + 1,
        log: log.to_owned(),
        now: 1000,
        often,
        ..Execution::default()
    };
    own.timestamp();
    own.step(MAIN);
    for _ in 0..20 {
        own.step(MAIN + 4);
        let (turns, masked) = (1 + own.random(3), 1 + own.random(2));
        let calls_h = own.random(3) == 0;
        let interrupted = if own.random(4) == 0 { 1 + own.random(4) } else { 0 };
        own.call_f(turns, masked, calls_h, interrupted);
        own.step(MAIN + 8);
        own.step(MAIN + 12);
    }
    own.step(MAIN + 16);
    own.timestamp();
    own
}

/// The trace of an execution.
fn trace(folder: &Folder, own: &Execution, name: &str) -> std::path::PathBuf {
    let (log, image) = (folder.path(&format!("{name}.csv")), folder.path("program.bin"));
    fs::write(&log, &own.log).unwrap();
    let words = (MAIN..HANDLER + 0x20).step_by(4).map(opcode);
    fs::write(&image, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let snapshot = folder.path(name);
    let _ = fs::remove_dir_all(&snapshot);
    let words = format!(
        "encode --protocol ETM4 --config TRCCONFIGR=0x811 --config TRCCCCTLR=4 --cycles log --image \
         {}@{MAIN:#x} --log",
        image.display()
    );
    let mut all = args(&words, &[&log]);
    all.extend(args("-o", &[&snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    snapshot
}

fn lines(output: &Output, kind: &str) -> Vec<Value> {
    let all = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|line: &Value| line["type"] == kind).collect()
}

#[track_caller]
fn contains(interval: &Value, value: u64, case: &str) {
    let least = interval["least"].as_u64().unwrap_or_else(|| panic!("{case}: {interval}"));
    let most = interval["most"].as_u64().unwrap_or(u64::MAX);
    assert!(least <= value && value <= most, "{case}: {value} in {interval}");
}

/// The bounds by timestamps, and by the counts of cycles, have the true durations, wherever the
/// clock is traced.
#[test]
fn true_times_lie_in_the_intervals() {
    let folder = Folder::new("timing-costs");
    let mut compared = 0;
    for seed in 0..12 {
        let own = execute(seed, 1 + seed * 4);
        let path = trace(&folder, &own, "random");
        for clock in ["timestamps", "cycles"] {
            let words = format!("timing --clock {clock} --format json");
            let output = tracewright(&args(&words, &[&path]));
            assert_eq!(output.code, Some(0), "{}", output.err);
            for line in lines(&output, "timing").iter().filter(|line| line["exception"].is_null()) {
                let case = format!("seed {seed} by {clock}");
                // Before the first count of cycles the time is not known.
                let bounded = measured(&own, line, &case);
                let all = bounded.iter().all(|bounded| *bounded);
                assert!(all || clock == "cycles", "{case}: {line}");
                compared += bounded.len();
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// Compares the durations of a function. Returns of each measure whether its sum has an upper end.
fn measured(own: &Execution, line: &Value, case: &str) -> Vec<bool> {
    let name = line["name"].as_str().unwrap();
    let address = u64::from_str_radix(name.trim_start_matches("0x"), 16).unwrap_or(0);
    let mut bounded = Vec::new();
    for (measure, of) in [
        ("gross", (|call| call.gross) as fn(&Call) -> u64),
        ("net", |call| call.net),
        ("own", |call| call.own),
    ] {
        let calls = own.calls.iter().filter(|call| call.function == address);
        let mut times: Vec<u64> = calls.map(of).collect();
        if times.is_empty() {
            continue;
        }
        times.sort_unstable();
        let found = &line[measure];
        let case = format!("{case} {name} {measure}");
        assert_eq!(found["count"].as_u64(), Some(times.len() as u64), "{case}");
        contains(&found["min"], times[0], &case);
        contains(&found["median"], times[(times.len() - 1) / 2], &case);
        contains(&found["max"], times[times.len() - 1], &case);
        contains(&found["sum"], times.iter().sum(), &case);
        bounded.push(found["sum"]["most"].is_u64());
    }
    bounded
}
