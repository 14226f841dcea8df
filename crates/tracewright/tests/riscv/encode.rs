//! The encoder emits the same bytes as other encoders.

use std::collections::BTreeSet;
use std::path::Path;

use tracewright::base::{
    Access, Cause, Code, Direction, Element, Encode, Exception, Inconsistency, Kind, Pc, Retired,
    Sink, Space, Step, Taken, Wire,
};
use tracewright::image::Cache;
use tracewright::isa::rv::Upper;
use tracewright::protocols::etrace::config::{LoopLabel, Params, Profile, Sync, Version};
use tracewright::protocols::etrace::decode::INTERRUPT;
use tracewright::protocols::etrace::encode::{
    ContextType, DataEncoder, DataSettings, Encoder, Settings,
};
use tracewright::protocols::etrace::packet::Packet;

use tracewright_testing::{sample, short_or_long};

use crate::logs::steps;
use crate::program::{Mix, Random, run};
use crate::run::{cache, elements, program};
use crate::streams::{data, draft, large, read, reference, shared, up_to};

/// Packets and bytes of steps.
pub fn encode(steps: &[Step], params: &Params, settings: &Settings) -> (Vec<Packet>, Vec<u8>) {
    let mut encoder = Encoder::new(params, settings);
    let mut packets = Vec::new();
    for step in steps {
        encoder.step(step, params, &mut packets);
    }
    encoder.finish(params, &mut packets);
    let mut bytes = Vec::new();
    for packet in &packets {
        packet.emit(params, &mut bytes);
    }
    (packets, bytes)
}

#[track_caller]
fn same(name: &str, packets: &[Packet], got: &[u8], want: &[u8], params: &Params) {
    if got == want {
        return;
    }
    let mut at = 0;
    for (n, packet) in packets.iter().enumerate() {
        let mut bytes = Vec::new();
        packet.emit(params, &mut bytes);
        if want.get(at..at + bytes.len()) != Some(&bytes[..]) {
            let rest = want.get(at..).unwrap_or_default();
            let theirs = Packet::parse(rest, params);
            panic!(
                "{name}: packet {n} of {} at {at}: {packet:x?} is {bytes:02x?}; theirs {theirs:x?}, {:02x?}",
                packets.len(),
                &rest[..rest.len().min(24)]
            );
        }
        at += bytes.len();
    }
    panic!("{name}: {} packets, {} bytes of {}", packets.len(), got.len(), want.len());
}

/// The steps of a program, if its log exists.
pub fn log(root: &Path, program: &str) -> Option<Vec<Step>> {
    let path = root.join(format!("etrace-ref/spike/{program}.spike_pc_trace.csv.xz"));
    if !path.is_file() {
        return None;
    }
    let rv64 = !(program.ends_with("rv32") || program == "xrle");
    Some(steps(&read(&path), rv64))
}

/// Every suite of the reference flow, from the logs that its encoder read.
#[test]
fn reference_flow() {
    let Some(root) = shared() else { return };
    let streams: Vec<_> = sample(2, up_to(20_000, reference(&root))).collect();
    let programs: BTreeSet<_> = streams.iter().map(|stream| stream.program.clone()).collect();
    for program in programs {
        let Some(steps) = log(&root, &program) else { continue };
        for stream in streams.iter().filter(|stream| stream.program == program) {
            let (packets, got) = encode(&steps, &stream.params, &Settings::default());
            same(&stream.path.display().to_string(), &packets, &got, &stream.bytes, &stream.params);
        }
    }
}

/// The packets of 0.026 from PULP's encoder, which did not trace the boot ROM.
#[test]
fn pulp_trdb() {
    let Some(root) = shared() else { return };
    for stream in sample(2, up_to(25_000, draft(&root))) {
        let program = stream.program.split('.').next().unwrap_or_default();
        let Some(steps) = log(&root, program) else { continue };
        let (packets, got) = encode(&without_rom(steps), &stream.params, &Settings::default());
        same(&stream.program, &packets, &got, &stream.bytes, &stream.params);
    }
}

/// The steps without those in Spike's boot ROM.
fn without_rom(mut steps: Vec<Step>) -> Vec<Step> {
    steps.retain(|step| !matches!(step, Step::Retired(r) if r.address < 0x2000));
    steps
}

/// The number of packets and bytes of streams that are not available, with full addresses and with
/// differences.
#[test]
fn pulp_trdb_sizes() {
    let Some(root) = shared() else { return };
    let sizes = [
        ("median", 246, 1_444, 1_806),
        ("multiply", 767, 3_975, 5_937),
        ("pmp", 9_918, 59_717, 60_900),
    ];
    for (program, count, diff, full) in sizes.into_iter().take(short_or_long(2, 3)) {
        let Some(steps) = log(&root, program).map(without_rom) else { continue };
        for (full_address, want) in [(false, diff), (true, full)] {
            let mut params = Params::of(Profile::PulpTrdb, true);
            params.options.full_address = full_address;
            let (packets, got) = encode(&steps, &params, &Settings::default());
            assert_eq!((packets.len(), got.len()), (count, want), "{program}");
        }
    }
}

/// Blocks of several instructions give the packets of one instruction at a time, for every version
/// and all options.
#[test]
fn several_instructions_at_a_time() {
    for seed in 0..short_or_long(60, 400) {
        let mut random = Random::new(seed);
        let version = random.pick(&[Version::Draft, Version::V1_0, Version::V2_0, Version::V2_1]);
        let mix = Mix {
            rv64: random.one_in(2),
            traps: random.pick(&[0, 7, 40]),
            nested: random.one_in(2),
            astray: random.pick(&[0, 5]),
            levels: random.one_in(2),
            contexts: random.pick(&[0, 30]),
            vectored: true,
            ..Mix::default()
        };
        let mut params = Params::spec(version, mix.rv64);
        options(&mut params, &mut random);
        params.choices.resync = random.pick(&[Sync::Packets, Sync::Packets, Sync::Halfwords]);
        params.choices.resync_max = random.pick(&[3, 16, 300, 1 << 20]);
        params.port.iretire_width = random.pick(&[3, 5, 8]);
        params.choices.loop_label = random.pick(&[LoopLabel::NextPacket, LoopLabel::First]);
        let run = run(seed, 120, 1500, mix);
        let context_type = random.pick(&[
            ContextType::Precise,
            ContextType::Imprecise,
            ContextType::Discontinuity,
        ]);
        let one = Settings { context_type, ..Settings::default() };
        let (packets, want) = encode(&run.steps, &params, &one);
        for (retires, blocks) in [(2, 1), (4, 2), (8, 8), (255, 3)] {
            params.port.taken_branches = blocks;
            let several = Settings { retires, ..one.clone() };
            let (_, got) = encode(&run.steps, &params, &several);
            same(&format!("seed {seed} {version} {retires}"), &packets, &want, &got, &params);
        }
    }
}

/// A random choice of optional modes and widths.
pub fn options(params: &mut Params, random: &mut Random) {
    let draft = params.version == Version::Draft;
    let (w, o) = (&mut params.widths, &mut params.options);
    w.iaddress_lsb = random.pick(&[0, 1, 1]);
    w.context = random.pick(&[0, 16, 32]);
    w.tval = random.pick(&[0, w.iaddress]);
    o.full_address = random.one_in(4);
    o.resync_disabled |= random.one_in(4);
    if draft {
        use tracewright::protocols::etrace::config::{Difference, MessageType};
        let c = &mut params.choices;
        c.difference =
            random.pick(&[Difference::CurrentMinusPrevious, Difference::PreviousMinusCurrent]);
        c.message_type = random.pick(&[MessageType::Header, MessageType::Payload]);
        return;
    }
    w.time = random.pick(&[0, 16, 64]);
    o.sijump = random.one_in(2);
    o.implicit_return = random.one_in(2);
    o.implicit_exception = random.one_in(2);
    o.branch_prediction = random.one_in(2);
    o.jump_target_cache = random.one_in(2);
    if params.version == Version::V2_1 {
        o.iret_ext = random.one_in(2);
    }
    w.bpred_size = random.pick(&[1, 4, 7]);
    w.cache_size = random.pick(&[1, 4, 7]);
    w.f0s = 1;
    match random.below(4) {
        // The width is not given: only one sub-format exists, or only one is used, or the width is
        // 1.
        0 => w.f0s = 0,
        1 if !o.branch_prediction => (w.bpred_size, w.f0s) = (0, 0),
        2 if !o.jump_target_cache => (w.cache_size, w.f0s) = (0, 0),
        _ => {}
    }
    match random.below(3) {
        0 => w.return_stack_size = random.pick(&[1, 3, 6]),
        1 => w.call_counter_size = random.pick(&[1, 4, 9]),
        _ => {
            w.return_stack_size = random.pick(&[1, 3, 6]);
            w.call_counter_size = random.pick(&[1, 3]);
        }
    }
}

/// The steps of a decoded trace, passed to an encoder.
pub struct Again<'a> {
    code: Cache,
    params: &'a Params,
    encoder: Encoder,
    packets: Vec<Packet>,
    bytes: Vec<u8>,
    upper: Upper,
    last: Option<Retired>,
    /// A trap whose value may follow.
    trapped: Option<Taken>,
    /// The last instruction is reported because of a notification.
    notified: bool,
}

impl<'a> Again<'a> {
    pub fn new(code: Cache, params: &'a Params, settings: &Settings) -> Again<'a> {
        Again {
            code,
            params,
            encoder: Encoder::new(params, settings),
            packets: Vec::new(),
            bytes: Vec::new(),
            upper: Upper::default(),
            last: None,
            trapped: None,
            notified: false,
        }
    }

    fn step(&mut self, step: Step) {
        self.encoder.step(&step, self.params, &mut self.packets);
        for packet in self.packets.drain(..) {
            packet.emit(self.params, &mut self.bytes);
        }
    }

    fn settle(&mut self) {
        if let Some(taken) = self.trapped.take() {
            self.step(Step::Exception(taken));
        }
    }

    fn retire(&mut self, retired: Option<Retired>) {
        if let Some(last) = self.last.take() {
            let next = retired.map_or(last.next, |retired| retired.address);
            if std::mem::take(&mut self.notified) {
                self.step(Step::Trigger);
            }
            self.step(Step::Retired(Retired { next, ..last }));
        }
        self.last = retired;
    }

    fn trap(&mut self, exception: &Exception) {
        // Without a traced address the trap returns to the next instruction.
        let behind = self.last.map_or(0, |last| last.address + u64::from(last.instruction.size));
        let epc = exception.return_address.unwrap_or(behind);
        // If ECALL counts as retired, the encoder adds the instruction to its trap.
        let call = matches!(exception.number, 3 | 8..=11) && self.params.choices.ecall_retires;
        if call && self.last.is_some_and(|last| last.address == epc) {
            self.last = None;
        }
        self.retire(None);
        self.upper = Upper::default();
        self.trapped = Some(Taken {
            cause: Cause::Riscv {
                code: exception.number & !INTERRUPT,
                interrupt: exception.number & INTERRUPT != 0,
            },
            return_address: epc,
            return_isa: self.params.isa(),
            target: 0,
            target_isa: self.params.isa(),
            value: None,
            cancels: false,
        });
    }

    pub fn end(mut self) -> Vec<u8> {
        self.retire(None);
        self.settle();
        self.encoder.finish(self.params, &mut self.packets);
        for packet in self.packets.drain(..) {
            packet.emit(self.params, &mut self.bytes);
        }
        self.bytes
    }
}

impl tracewright::protocols::Observer for Again<'_> {}

impl Sink for Again<'_> {
    fn element(&mut self, _: u64, element: Element) {
        if let (Element::TrapValue(value), Some(taken)) = (element, &mut self.trapped) {
            taken.value = Some(value);
        }
        if !matches!(element, Element::TrapValue(_)) {
            self.settle();
        }
        let range = match element {
            Element::Range(range) => range,
            Element::Exception(exception) => return self.trap(&exception),
            // A notification has no mark, and gives the same packet. (0.026, Table 3.3)
            Element::Inconsistency(Inconsistency::Ambiguous) => {
                self.notified = !self.params.choices.trapped_in_stream;
                return;
            }
            Element::Context(context) => {
                self.retire(None);
                return self.step(Step::Context(context));
            }
            _ => return,
        };
        let isa = self.params.isa();
        let mut at = range.start;
        for n in 1..=range.instructions {
            let pc = Pc { address: at, isa, space: Space::ANY };
            let mut instruction = self.code.instruction(pc).unwrap();
            if self.params.options.sijump {
                let opcode = self.code.opcode(pc).unwrap();
                if instruction.kind == Kind::Indirect {
                    instruction.target = self.upper.target(isa, opcode);
                }
                self.upper = Upper::after(isa, opcode, at);
            }
            let behind = at + u64::from(instruction.size);
            let taken = n < range.instructions || range.taken();
            let retired = Retired { address: at, next: behind, next_isa: isa, taken, instruction };
            self.retire(Some(retired));
            at = behind;
        }
    }
}

/// The long streams of the reference flow, from their decoded execution, because they have no log.
#[test]
fn reference_flow_long() {
    let Some(root) = shared() else { return };
    for stream in sample(5, up_to(60_000, large(&root))) {
        let elf = read(&root.join(format!("etrace-ref-large/{}.riscv.xz", stream.program)));
        let image = program(elf, stream.params.rv64);
        let params = &stream.params;
        let mut again = Again::new(cache(&image, params), params, &Settings::default());
        elements(&stream.bytes, params, &mut cache(&image, params), &mut again);
        let got = again.end();
        let same = got.iter().zip(&stream.bytes).take_while(|(a, b)| a == b).count();
        assert!(
            got == stream.bytes,
            "{}: {same} of {} and {} bytes",
            stream.program,
            stream.bytes.len(),
            got.len()
        );
    }
}

/// Data accesses: the bytes are those of the reference flow's data encoder.
#[test]
fn reference_data() {
    let Some(root) = shared() else { return };
    let log = read(&root.join("etrace-data-ref/own_calls_rv64.spike_data_trace.csv.xz"));
    let log = String::from_utf8(log).unwrap();
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        let number = |n: usize| u64::from_str_radix(cells[n], 16).unwrap();
        let direction = if number(1) == 1 { Direction::Write } else { Direction::Read };
        Access::new(direction, 1 << number(3), 0).at(number(2)).of(number(4))
    };
    let accesses: Vec<_> = log.lines().skip(1).map(row).collect();
    for stream in data(&root) {
        let debug = stream.path.to_string_lossy().contains("debug");
        let settings =
            DataSettings { enabled: true, full_address: debug, full_data: debug, latency: 0 };
        let mut encoder = DataEncoder::new(settings);
        let mut packets = Vec::new();
        for access in &accesses {
            encoder.access(access, &stream.params, &mut packets);
        }
        encoder.finish(&stream.params, &mut packets);
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&stream.params, &mut bytes));
        // Support packets come before and after the data packets.
        let at = stream.bytes.windows(64).position(|w| bytes.starts_with(w));
        let at = at.unwrap_or_else(|| panic!("{}: not even the first ones", stream.path.display()));
        assert!(at < 8, "{at}");
        let want = &stream.bytes[at..];
        let same = bytes.iter().zip(want).take_while(|(a, b)| a == b).count();
        assert_eq!(same, bytes.len(), "{}: {same} bytes", stream.path.display());
        assert!(want.len() - same < 8);
    }
}
