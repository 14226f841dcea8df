//! Processes on cores that each have one Trace Buffer Unit: the unit is switched out and in as the
//! Arm ARM, K10.5.10, has it, and a full buffer is drained at its interrupt. Every instruction is
//! assigned to its process, and every loss is accounted for.

use std::collections::VecDeque;
use std::fs;

use tracewright::base::{Context, Step};
use tracewright::capture::perf::{self, Aux, Body, Layout, MappedFile, Mmap, Record, Search, Task};
use tracewright::capture::{Buffer, BufferRef, Core, Format, Other, Registers, Source, write};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol::Ete;
use tracewright::{Capture, Trace, open};
use tracewright_model::{Machine, Program, Random, Stimulus};
use tracewright_units::buffers::trbe::{Bytes, Limit, Reg, Status, Trbe};

use super::{Folder, instructions, memory, program};

const CORES: usize = 2;
const PROCESSES: usize = 5;
const QUANTA: usize = 80;
const SIZE: u64 = 0x1000;
const SYNC_PERIOD: u64 = 8;

/// A process and its execution.
struct Process {
    machine: Machine,
    id: u32,
    /// The context of its next instruction.
    context: Context,
}

/// What one process executed on a core from a switch in to the next switch out.
#[derive(Default)]
struct Session {
    id: u32,
    addresses: Vec<u64>,
    /// Bytes that the Trace Buffer Unit discarded.
    discarded: usize,
    /// The buffer was drained in the session.
    drained: bool,
}

/// A core with its trace unit and its Trace Buffer Unit.
struct Cpu {
    trbe: Trbe,
    memory: Bytes,
    base: u64,
    /// The value of TRBPTR_EL1 and TRBSR_EL1 of the session that is switched out.
    saved: (u64, u64),
    sessions: Vec<Session>,
    /// The drained buffers, with the registers.
    drained: Vec<(Vec<u8>, Registers)>,
}

impl Cpu {
    fn new(n: usize) -> Cpu {
        let base = 0xffff_8000_2000_0000 + n as u64 * 0x10_0000;
        let mut trbe = Trbe::default();
        trbe.write(Reg::Base, base);
        trbe.synchronize();
        let memory = Bytes::new(base, SIZE as usize);
        let saved = (base, 0);
        Cpu { trbe, memory, base, saved, sessions: Vec::new(), drained: Vec::new() }
    }

    fn limit(&self) -> Limit {
        Limit::fill(self.base + SIZE)
    }

    /// K10.5.10, SPKLXF, switching in: the registers but TRBLIMITR_EL1, a context synchronization
    /// event, the enable, and the exception return.
    fn switch_in(&mut self) {
        self.trbe.write(Reg::Pointer, self.saved.0);
        self.trbe.write(Reg::Status, self.saved.1);
        self.trbe.synchronize();
        self.trbe.write(Reg::Limit, self.limit().enabled().0);
        self.trbe.prohibit(false);
        self.trbe.synchronize();
    }

    /// K10.5.10, SVKHHY, switching out: an exception to where trace is prohibited, TSB CSYNC, the
    /// disable, a DSB, a context synchronization event, and the save.
    fn switch_out(&mut self) {
        self.trbe.prohibit(true);
        self.trbe.synchronize();
        self.trbe.trace_synchronize();
        self.trbe.write(Reg::Limit, self.limit().0);
        self.trbe.data_synchronize(&mut self.memory);
        self.trbe.synchronize();
        let read = |trbe: &mut Trbe, register| trbe.read(register).known().expect("synchronized");
        self.saved = (read(&mut self.trbe, Reg::Pointer), read(&mut self.trbe, Reg::Status));
    }

    /// Takes the trace out of the buffer of the disabled unit, and begins at its start again.
    fn drain(&mut self) {
        let list = [Reg::Base, Reg::Pointer, Reg::Limit, Reg::Status, Reg::Counter];
        let registers: Vec<_> =
            list.iter().map(|r| (r.name(), self.trbe.read(*r).known().unwrap())).collect();
        self.drained.push((self.memory.all().to_vec(), Registers::from_iter(registers)));
        self.saved = (self.base, 0);
    }

    /// Runs a process for `count` instructions; the interrupt of a full buffer is taken `latency`
    /// instructions after it is requested.
    fn run(&mut self, process: &mut Process, count: usize, latency: usize) {
        self.switch_in();
        let mut session = Session { id: process.id, ..Session::default() };
        let unit = AnyUnit::new(Ete, None, &|name| match name {
            "TRCSYNCPR" => Some(SYNC_PERIOD),
            _ => AnyUnit::usual(Ete).iter().find(|(known, _)| *known == name).map(|(_, v)| *v),
        });
        let mut unit = unit.unwrap().unwrap();
        let mut bytes = Vec::new();
        let mut steps = VecDeque::from([Step::Context(process.context)]);
        process.machine.run(count, |step| steps.push_back(*step));
        steps.push_back(Step::Halted);
        let mut wait = latency;
        for step in &steps {
            match step {
                Step::Retired(retired) => session.addresses.push(retired.address),
                Step::Context(context) => process.context = *context,
                _ => {}
            }
            unit.step(step, &mut bytes);
            self.collect(&mut bytes, &mut session);
            if self.trbe.interrupt() {
                wait = wait.saturating_sub(1);
            }
            if wait == 0 {
                // The handler of the interrupt: trace is prohibited, and the unit is disabled.
                wait = latency;
                self.switch_out();
                assert!(Status(self.saved.1).stopped() && Status(self.saved.1).wrapped());
                self.drain();
                session.drained = true;
                self.switch_in();
            }
        }
        // The trace unit is disabled, which flushes it.
        unit.finish(&mut bytes);
        self.collect(&mut bytes, &mut session);
        self.switch_out();
        if Status(self.saved.1).stopped() {
            self.drain();
        }
        self.sessions.push(session);
    }

    fn collect(&mut self, bytes: &mut Vec<u8>, session: &mut Session) {
        let offer = self.trbe.offer(bytes, &mut self.memory);
        assert_eq!(offer.rejected, 0);
        session.discarded += offer.discarded;
        bytes.clear();
    }
}

/// The processes run one program with different events.
fn processes(program: &Program) -> Vec<Process> {
    (0..PROCESSES)
        .map(|n| {
            let stimulus = Stimulus { seed: 100 + n as u64, ..Stimulus::default() };
            let mut machine = Machine::new(program, stimulus);
            let mut first = None;
            machine.run(1, |step| {
                if let Step::Context(context) = step {
                    first = Some(*context);
                }
            });
            let context = first.expect("the first step is the context");
            Process { machine, id: context.context_id.unwrap(), context }
        })
        .collect()
}

/// Writes the drained buffers of all cores as a snapshot, with the registers of each.
fn capture(cpus: &[Cpu], program: &Program) -> Capture {
    let mut capture = Capture { memory: memory(program), ..Capture::default() };
    for (n, cpu) in cpus.iter().enumerate() {
        let mut source = Source {
            name: format!("ete_{n}"),
            device_type: "ETE".into(),
            registers: Registers::from_iter(AnyUnit::usual(Ete).iter().copied()),
            core: Some(n),
            ..Source::default()
        };
        for (k, (bytes, registers)) in cpu.drained.iter().enumerate() {
            let name = format!("core{n}_{k}");
            source.buffers.push(BufferRef { buffer: capture.buffers.len(), stream: None });
            capture.buffers.push(Buffer::new(name.clone(), Format::SourceData, bytes.clone()));
            capture.others.push(Other {
                name,
                class: "trace_sink".into(),
                device_type: "TRBE".into(),
                registers: registers.clone(),
                ..Other::default()
            });
        }
        capture.cores.push(Core {
            name: format!("cpu_{n}"),
            device_type: AnyUnit::core(Ete).into(),
            ..Core::default()
        });
        capture.sources.push(source);
    }
    capture
}

/// The instructions of a session that `decoded` has from its front on: those of the start, then
/// behind a gap those of the end. Returns how many are missing.
fn match_session(session: &Session, decoded: &mut VecDeque<(u64, Option<u32>)>) -> usize {
    let want = &session.addresses;
    let is = |at: usize, got: &(u64, Option<u32>)| *got == (want[at], Some(session.id));
    let mut at = 0;
    while at < want.len() && decoded.front().is_some_and(|got| is(at, got)) {
        decoded.pop_front();
        at += 1;
    }
    if at == want.len() {
        return 0;
    }
    assert!(session.discarded > 0 || session.drained, "a session without loss is complete");
    // Behind the loss, the rest of the session up to its end.
    let rest = (0..want.len() - at).rev().find(|len| {
        let from = want.len() - len;
        (0..*len).all(|n| decoded.get(n).is_some_and(|got| is(from + n, got)))
    });
    let rest = rest.unwrap_or(0);
    decoded.drain(..rest);
    want.len() - at - rest
}

#[test]
fn every_instruction_has_its_process() {
    let program = program(11);
    let mut processes = processes(&program);
    let mut random = Random::new(5);
    let mut cpus: Vec<Cpu> = (0..CORES).map(Cpu::new).collect();
    for _ in 0..QUANTA {
        // Each core takes the process that waits longest.
        for cpu in &mut cpus {
            let mut process = processes.remove(0);
            let count = 200 + random.index(4000);
            cpu.run(&mut process, count, 1 + random.index(60));
            processes.push(process);
        }
    }
    for cpu in &mut cpus {
        cpu.drain();
        assert!(cpu.trbe.violations.is_empty(), "{:?}", cpu.trbe.violations);
    }
    let folder = Folder::new();
    write(&capture(&cpus, &program), &folder.0).unwrap();
    let trace = open(&folder.0).unwrap();
    assert!(trace.capture().notes.is_empty(), "{}", trace.capture().notes[0]);
    assert!(trace.capture().buffers.iter().all(|buffer| buffer.sink.is_some()));
    let decoded = instructions(&trace);
    let found = account(&cpus, &decoded);
    for cpu in &cpus {
        // A full buffer reports the loss behind it; the last one was drained by choice.
        let full = cpu.drained.iter().filter(|(_, registers)| is_full(registers));
        let first = trace.capture().buffers.iter().position(|b| b.name == cpu_name(cpu, &cpus));
        let own = &trace.capture().buffers[first.unwrap()..][..cpu.drained.len()];
        let reports = own.iter().filter(|b| !b.sink.as_ref().unwrap().layout.lost.is_empty());
        assert_eq!(reports.count(), full.count());
    }
    let Found { executed, missing, discarded, lossy } = found;
    let drains: usize = cpus.iter().map(|cpu| cpu.drained.len()).sum();
    println!("{executed} instructions, {missing} lost in {lossy} sessions, {drains} buffers");
    assert!(drains > 8 && lossy > 4 && missing > 0 && discarded > 0);
    assert!(missing * 5 < executed, "{missing} of {executed}");

    // The same buffers as AUX records.
    let folder = Folder::new();
    let trace = perf_data(&folder, &cpus, &program);
    assert_eq!(account(&cpus, &instructions(&trace)), found);
    assert_eq!(instructions(&trace), decoded);
    let linux = trace.capture().linux.as_ref().expect("a perf.data file");
    let losses: Vec<u64> = linux.queues.values().map(|queue| queue.losses).collect();
    let full = |cpu: &Cpu| cpu.drained.iter().filter(|(_, r)| is_full(r)).count() as u64;
    assert_eq!(losses, cpus.iter().map(full).collect::<Vec<_>>());
    let truncated = linux.parts.iter().map(|part| part.flags & Aux::TRUNCATED != 0);
    let drained = cpus.iter().flat_map(|cpu| &cpu.drained);
    assert!(truncated.eq(drained.map(|(_, registers)| is_full(registers))));
}

/// What was executed, and what of it was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    executed: usize,
    missing: usize,
    discarded: usize,
    lossy: usize,
}

/// Assigns the decoded instructions of each buffer to the sessions.
fn account(cpus: &[Cpu], decoded: &[Vec<(u64, Option<u32>)>]) -> Found {
    let mut found = Found::default();
    let mut buffers = decoded.iter();
    for cpu in cpus {
        let own = buffers.by_ref().take(cpu.drained.len());
        let mut decoded: VecDeque<_> = own.flatten().copied().collect();
        for session in &cpu.sessions {
            let lost = match_session(session, &mut decoded);
            found.executed += session.addresses.len();
            found.missing += lost;
            found.discarded += session.discarded;
            found.lossy += usize::from(lost > 0);
        }
        assert_eq!(decoded.len(), 0, "an instruction that belongs to no session");
    }
    found
}

/// Collection had stopped at the end of the buffer.
fn is_full(registers: &Registers) -> bool {
    Status(registers.get("TRBSR_EL1").unwrap()).stopped()
}

/// The drained buffers of all cores as the AUX records of a `perf.data` file, where each process
/// has mapped the program.
fn perf_data(folder: &Folder, cpus: &[Cpu], program: &Program) -> Trace {
    let recording = perf::Recording::default();
    let mut units = Capture { buffers: Vec::new(), memory: Vec::new(), ..capture(cpus, program) };
    // The processes are in CONTEXTIDR_EL1: perf reads TRCCONFIGR.VMID as CONTEXTIDR_EL2.
    for source in &mut units.sources {
        for register in &mut source.registers.0 {
            if register.name == "TRCCONFIGR" {
                register.value &= !0x80;
            }
        }
    }
    let mut data = recording.of(&units).expect("a file");
    fs::create_dir_all(&folder.0).unwrap();
    let mut ids: Vec<u32> = cpus.iter().flat_map(|c| c.sessions.iter().map(|s| s.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), PROCESSES);
    let mut binaries = Vec::new();
    for (n, dump) in memory(program).into_iter().enumerate() {
        let path = folder.0.join(format!("region{n}.bin"));
        fs::write(&path, dump.bytes.as_deref().unwrap()).unwrap();
        binaries.push((path, dump.address, dump.bytes.as_deref().unwrap().len()));
    }
    let id = recording.id(0, 0);

    for &process in &ids {
        let (parent_process, parent_thread, thread) = (1, 1, process);
        let task = Task { process, parent_process, thread, parent_thread, time: 0 };
        data.records.push(Record::new(Body::Fork(task)).with_id(id));
        for (path, address, len) in &binaries {
            let file = MappedFile { identity: vec![0; 24], protection: 5, flags: 2 };
            let map = Mmap {
                process,
                thread,
                address: *address,
                len: *len as u64,
                offset: 0,
                file: Some(file),
                path: path.to_string_lossy().into_owned(),
            };
            data.records.push(Record::new(Body::Mmap(map)).with_id(id));
        }
    }
    let mut time = 0;
    for (n, cpu) in (0u32..).zip(cpus) {
        let mut offset = 0;
        for (memory, registers) in &cpu.drained {
            // The driver passes on what was written; a full buffer stopped at its end.
            let written = registers.get("TRBPTR_EL1").unwrap() - cpu.base;
            let (size, lost) = match is_full(registers) {
                true => (SIZE, Aux::TRUNCATED),
                false => (written, 0),
            };
            let aux = Aux { offset, size, flags: Aux::RAW | lost };
            time += 1;
            offset += size.next_multiple_of(8);
            let bytes = memory[..size as usize].to_vec();
            data.add_trace(&recording.id(n, time), n, aux, bytes);
        }
    }
    let path = folder.0.join("perf.data");
    fs::write(&path, data.write(Layout::default())).unwrap();
    let binaries = binaries.into_iter().map(|(path, ..)| path).collect();
    Trace::new(perf::open(&path, &Search { binaries, ..Search::default() }).expect("a capture"))
}

fn cpu_name(cpu: &Cpu, cpus: &[Cpu]) -> String {
    let n = cpus.iter().position(|other| std::ptr::eq(other, cpu)).unwrap();
    format!("core{n}_0")
}
