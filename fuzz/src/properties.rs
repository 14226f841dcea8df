//! What must hold of any bytes.

use std::sync::Arc;

use tracewright::base::{Code, CoreType, Isa, OffsetMap, Pc, Profile, Space, Step};
use tracewright::capture::{Buffer, BufferRef, Capture, Dump, Format, Source};
use tracewright::decode::{Event, Memory, Options, Plan, Session, Wants};
use tracewright::frames::{Framing, Joiner, Link, Sources, Splitter, sync};
use tracewright::image::{Bytes, Cache, CacheOptions, Elf, Image, Load, Region};
use tracewright::isa::classify;
use tracewright::logs::{Assembler, Format as Log, Lookup, Reader};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::{AnyConfig, AnyProtocol};
use tracewright::views::disassembly::disassemble;
use tracewright::{Element, Listener};
use tracewright_model::trial::Trial;
use tracewright_testing::Random;

use crate::case::Case;
use crate::chunks::same as same_in_chunks;
use crate::ways::every_way;

/// A source's bytes, whatever they are: no panic; packets and bad bytes tile them; cutting,
/// cloning, framing and writing again change nothing; a late start that comes to the same state
/// stays the same.
///
/// The first bytes choose the protocol, its configuration and the program.
pub fn source(data: &[u8], take: Take) {
    let Some((&[protocol, seed, ..], bytes)) = data.split_first_chunk::<2>() else { return };
    let all = AnyProtocol::ALL;
    let protocol = all[usize::from(protocol) % all.len()];
    let Some(config) = config(protocol, seed) else { return };
    take(&Case::of(config, program(seed), bytes.to_vec()));
}

/// Takes a case, which may have been damaged: every way as [`taken`], or fewer.
pub type Take = fn(&Case);

/// Every way.
pub fn taken(case: &Case) {
    holds(case, every_way(case).map(drop));
}

/// Panics with the case and the reason if a property does not hold.
pub fn holds(case: &Case, done: Result<(), String>) {
    if let Err(why) = done {
        panic!("{why}\n{:?}\n{:02x?}", case.config, case.bytes);
    }
}

/// Predicted branches that one packet of E-Trace may count: more test nothing else, and take long.
pub const LONGEST_COUNT: u32 = 100;

/// A configuration: for seed 0 what a usual unit has, else any registers at all.
pub fn config(protocol: AnyProtocol, seed: u8) -> Option<AnyConfig> {
    let mut random = Random::new(u64::from(seed) * 0x1_0001 + 1);
    let any: Vec<(&str, u64)> = protocol
        .about()
        .registers
        .iter()
        .map(|register| {
            (register.name, if seed == 0 { usual(register.name) } else { random.next() })
        })
        .collect();
    let core = match seed % 3 {
        0 => None,
        1 => Some(CoreType { profile: Profile::Microcontroller, version: 7 }),
        _ => Some(CoreType { profile: Profile::Application, version: 8 }),
    };
    protocol.configure(core, &|name| any.iter().find(|(known, _)| *known == name).map(|r| r.1)).ok()
}

fn usual(register: &str) -> u64 {
    match register {
        "TRCIDR0" => 0x0800_8ea1,
        "TRCIDR2" => 0x1088,
        "TRCIDR8" => 4,
        "TRCCONFIGR" => 0x38d1,
        _ => 0,
    }
}

/// Random code at the bottom, in the middle and at the top of memory, so that walks end in every
/// way.
pub fn program(seed: u8) -> Image {
    let mut random = Random::new(u64::from(seed) + 77);
    let code = |random: &mut Random| -> Vec<u8> { (0..512).map(|_| random.next() as u8).collect() };
    Image::new([0, 0x1000, 0xffff_fe00, 0xffff_ffff_ffff_fe00].map(|address| {
        let bytes = code(&mut random);
        Region::new("random", address, bytes)
    }))
}

/// A link's bytes, whatever they are, in any framing: no panic, and the same however they are cut.
pub fn link(data: &[u8]) {
    let Some((&[framing, cut], bytes)) = data.split_first_chunk::<2>() else { return };
    let framing = Framing::ALL[usize::from(framing) % Framing::ALL.len()];
    let split = |parts: &[&[u8]]| {
        let (mut splitter, mut sources) = (Splitter::new(Link::new(framing)), Sources::default());
        let mut at = 0;
        for part in parts {
            splitter.split(at, part, &mut sources);
            at += part.len() as u64;
        }
        splitter.finish(&mut sources);
        let mut ids: Vec<_> = sources.iter().map(|s| (s.id(), s.bytes().to_vec())).collect();
        ids.sort();
        (ids, sources.events().to_vec())
    };
    let (head, tail) = bytes.split_at(usize::from(cut).min(bytes.len()));
    assert_eq!(split(&[bytes]), split(&[head, tail]), "{framing:?} cut at {cut}");
}

/// Sources joined and split again are the same.
pub fn joined(data: &[u8]) {
    let Some((&[framing], rest)) = data.split_first_chunk::<1>() else { return };
    let framing = Framing::ALL[usize::from(framing) % Framing::ALL.len()];
    let (mut joiner, mut frames) = (Joiner::new(framing), Vec::new());
    let mut want: Vec<(u8, Vec<u8>)> = Vec::new();
    for chunk in rest.chunks(9) {
        let Some((&id, bytes)) = chunk.split_first() else { continue };
        // Without framing there is one source, and it has no id.
        let id = if framing == Framing::Raw { 0 } else { id % 0x6f + 1 };
        joiner.push(id, bytes, &mut frames).expect("an id below 0x70");
        match want.iter_mut().find(|(known, _)| *known == id) {
            Some((_, all)) => all.extend_from_slice(bytes),
            None => want.push((id, bytes.to_vec())),
        }
    }
    joiner.finish(&mut frames);
    let (mut splitter, mut sources) = (Splitter::new(Link::new(framing)), Sources::default());
    splitter.split(0, &frames, &mut sources);
    splitter.finish(&mut sources);
    want.retain(|(_, bytes)| !bytes.is_empty());
    for (id, bytes) in want {
        let got = sources.get(id.into()).map(|source| source.bytes()).unwrap_or_default();
        assert_eq!(got, bytes, "{framing:?} id {id}");
    }
}

/// A capture whose buffer holds any bytes, with a source of each protocol: no panic in a session,
/// and the same elements however the buffer is fed.
pub fn session(data: &[u8]) {
    let Some((&[framing, seed, step], bytes)) = data.split_first_chunk::<3>() else { return };
    let bytes = &with_barriers(framing, bytes)[..];
    let framing = Framing::ALL[usize::from(framing) % Framing::ALL.len()];
    let capture = every_protocol(seed, bytes);
    let decoded = |step: usize| {
        let options = Options { framing: Some(framing), ..Options::default() };
        let plan = Plan::new(&capture, 0, &options).expect("a buffer");
        let memory = Memory::new(&capture);
        let mut session =
            Session::new(&capture, &plan, &memory, &options).expect("a plan of this capture");
        let mut observed = Observed::default();
        for part in bytes.chunks(step) {
            session.feed(part, &mut observed);
        }
        session.finish(&mut observed);
        // The order of sources depends on where pieces are cut; the elements of each source do not.
        observed.0.sort_by_key(|(source, _)| *source);
        observed.0
    };
    let whole = decoded(bytes.len().max(1));
    let parts = decoded(usize::from(step).max(1));
    assert_eq!(whole, parts, "{framing:?} in steps of {step}");
}

/// `bytes` with a barrier after every few frames, if the high bits of `choice` are set.
fn with_barriers(choice: u8, bytes: &[u8]) -> Vec<u8> {
    match usize::from(choice >> 4) {
        0 => bytes.to_vec(),
        frames => {
            let parts: Vec<&[u8]> = bytes.chunks(frames * sync::BARRIER.len()).collect();
            parts.join(&sync::BARRIER[..])
        }
    }
}

/// A capture whose buffer holds `bytes`, with a source of each protocol and the program of `seed`.
fn every_protocol(seed: u8, bytes: &[u8]) -> Capture {
    let sources = AnyProtocol::ALL.iter().zip(FIRST_ID..).map(|(protocol, id)| {
        let about = protocol.about();
        let register = |name: &'static str| match name {
            "TRCTRACEIDR" | "ETMTRACEIDR" => (name, u64::from(id)),
            "ITMTCR" | "STMTCSR" => (name, u64::from(id) << 16 | 1),
            name => (name, usual(name)),
        };
        Source {
            name: format!("{id:02x}"),
            device_type: about.names[0].into(),
            registers: about.registers.iter().map(|r| register(r.name)).collect(),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }
    });
    let memory = program(seed)
        .regions()
        .iter()
        .map(|region| Dump::new(region.name(), region.start(), region.run(region.start()).to_vec()))
        .collect();
    Capture {
        buffers: vec![Buffer::new("any", Format::CoreSight, bytes.to_vec())],
        sources: sources.collect(),
        memory,
        ..Capture::default()
    }
}

/// The same capture on one thread and on several, in short chunks: every view of it is the same.
pub fn chunks(data: &[u8]) {
    let Some((&[framing, seed, step, chunk], bytes)) = data.split_first_chunk::<4>() else {
        return;
    };
    let bytes = &with_barriers(framing, bytes)[..];
    let framing = Framing::ALL[usize::from(framing) % Framing::ALL.len()];
    let capture = every_protocol(seed, bytes);
    let options = Options { framing: Some(framing), ..Options::default() };
    let plan = Plan::new(&capture, 0, &options).expect("a buffer");
    // Mostly whole frames; or any bytes at all.
    let step = if step < 0xc0 { 16 * (1 + usize::from(step) / 48) } else { usize::from(step) };
    let chunk = step * (1 + usize::from(chunk) % 6);
    if let Err(why) = same_in_chunks(&capture, &plan, &options, step, chunk) {
        panic!("{framing:?}: {why}");
    }
}

/// The trace id of the first source.
pub const FIRST_ID: u8 = 0x10;

/// Every element, with its source, and its packets in words.
#[derive(Default)]
struct Observed(Vec<(usize, String)>);

impl Listener for Observed {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.push((source, format!("{at} {element}")));
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, bytes, packet } = event {
            self.0.push((*source, format!("{} {packet}", bytes.at())));
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

/// A random program through a random trace unit, both chosen by the first bytes: what is decoded is
/// what ran, and its bytes mean the same every way that they are taken.
pub fn round_trip(data: &[u8], take: Take) {
    let Some((seed, _)) = data.split_first_chunk::<8>() else { return };
    let trial = Trial::new(u64::from_le_bytes(*seed));
    if let Err(why) = trial.run() {
        panic!("{why}\n{trial:?}");
    }
    let trial = Trial { instructions: trial.instructions / 8, ..trial };
    let (program, steps) = trial.steps();
    let (config, bytes) = trial.way.encode(&steps).expect("a trace unit");
    take(&Case::of(config, Image::clone(&program.image), bytes));
}

/// Program memory, whatever it is: no panic in the reader of ELF files, in what is walked of one,
/// nor in any instruction and its text.
pub fn memory(data: &[u8]) {
    if let Ok(elf) =
        Elf::read(&Bytes::from(data.to_vec()), "fuzz", Load { zeros: true, ..Load::default() })
    {
        walked(elf);
    }
    for isa in EVERY_ISA {
        for address in [0, 0x8000, 0xffff_fffc, u64::MAX - 3] {
            let Some(instruction) = classify(isa, data, address, &mut Default::default()) else {
                continue;
            };
            let size = usize::from(instruction.size);
            assert!(matches!(size, 2 | 4 | 6 | 8), "{size} bytes: {isa:?} {data:02x?}");
            let mut bytes = [0; 4];
            bytes.iter_mut().zip(data).take(size).for_each(|(to, from)| *to = *from);
            let opcode = match (isa, size) {
                (Isa::T32 | Isa::ThumbEe, 4) => u32::from_le_bytes(bytes).rotate_left(16),
                _ => u32::from_le_bytes(bytes),
            };
            assert!(!disassemble(isa, opcode, address).is_empty(), "{isa:?} {opcode:#x}");
        }
    }
}

const EVERY_ISA: [Isa; 7] =
    [Isa::A64, Isa::A32, Isa::T32, Isa::ThumbEe, Isa::Jazelle, Isa::Rv32, Isa::Rv64];

/// The code at the edges of an ELF file's memory, and the names there.
fn walked(elf: Elf) {
    let mut offsets = vec![elf.entry];
    for region in elf.regions.iter().take(8) {
        offsets.extend([Some(region.start()), region.last()].into_iter().flatten());
    }
    let image = Arc::new(Image::new(elf.regions).with_symbols(&elf.symbols));
    let waypoints =
        AnyProtocol::Etmv4.configure(None, &|name| Some(usual(name))).map(|c| c.waypoints());
    let options = CacheOptions { blocks: 16, ..CacheOptions::default() };
    let mut cache = Cache::new(Arc::clone(&image), waypoints.expect("registers"), options);
    for address in offsets {
        let _ = image.symbols().at(address);
        for isa in EVERY_ISA {
            let pc = Pc { address, isa, space: Space::ANY };
            let block = cache.block(pc).copied();
            assert_eq!(cache.block(pc).copied(), block, "{pc:?} another time");
            let _ = cache.instruction(pc);
        }
    }
}

/// An execution log in any format, whatever it is: no panic; the same entries however it is cut;
/// CSV that was written is read again as the same; the steps go through a trace unit, and its bytes
/// through a decoder.
pub fn log(data: &[u8]) {
    let Some((&[format, unit, seed], text)) = data.split_first_chunk::<3>() else { return };
    let formats: Vec<Log> = Log::all().collect();
    let format = formats[usize::from(format) % formats.len()];
    let isa = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64][usize::from(seed) % 5];
    let read = |cuts: &[usize]| {
        let (mut entries, mut reader) = (Vec::new(), Reader::new(format, isa));
        let mut start = 0;
        for &cut in cuts.iter().chain([&text.len()]) {
            let part = &text[start..cut.max(start)];
            if reader.feed(part, &mut |entry| entries.push(entry)).is_err() {
                return entries;
            }
            start = cut.max(start);
        }
        // A last line may be wrong; what came before it stands.
        let _ = reader.finish(&mut |entry| entries.push(entry));
        entries
    };
    let whole = read(&[]);
    for cut in [text.len() / 3, text.len() / 2] {
        assert_eq!(read(&[cut, cut + 1.min(text.len() - cut)]), whole, "cut at {cut}");
    }
    let mut assembler = Assembler::new(Lookup::default());
    let mut steps = Vec::new();
    let mut collect = |_: u16, step: &Step| steps.push(*step);
    whole.iter().for_each(|entry| assembler.entry(entry, &mut collect));
    assembler.finish(&mut collect);

    let protocol = AnyUnit::ALL[usize::from(unit) % AnyUnit::ALL.len()];
    let core = Some(CoreType { profile: Profile::Application, version: 8 });
    let usual = |name: &str| {
        let known = AnyUnit::usual(protocol).iter().find(|(known, _)| *known == name);
        known.map(|&(_, value)| value)
    };
    let Ok(Some(mut unit)) = AnyUnit::new(protocol, core, &usual) else { return };
    let mut bytes = Vec::new();
    unit.steps(&steps, &mut bytes);
    unit.finish(&mut bytes);
    // The first byte of what a unit writes begins a packet.
    let mut stream = unit.config().with_whole_messages().stream();
    let pieces = [tracewright::base::Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let memory = &mut tracewright::base::NoMemory;
    let taken = stream.feed(&bytes, &offsets, memory, &mut elements);
    assert_eq!(taken, bytes.len(), "the last packet is not whole");
    let bad = elements.iter().find(|(_, element)| matches!(element, Element::Undecodable { .. }));
    assert_eq!(bad, None, "{steps:?}");
}
