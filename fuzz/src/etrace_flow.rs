//! After packets that contradict the program nothing is reported that depends on what was
//! contradicted, until the protocol gives it again: an absolute address.
//!
//! The program is random RV32 code with holes, and the packets are random. A model of the program
//! that shares no code with the decoder follows the elements.

use std::sync::Arc;

use tracewright::base::{Element, OffsetMap, Piece, Wire};
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::protocols::etrace::config::{Profile, TrapPacket, Version};
use tracewright::protocols::etrace::packet::{
    Branches, Map, Packet, Payload, PrivilegeContext, Report, Start, Trap,
};
use tracewright::protocols::etrace::{Etrace, Params};
use tracewright::protocols::{Protocol, Stream};
use tracewright_testing::Random;

const BASE: u64 = 0x8000;
const WORDS: u64 = 64;

/// An instruction of the program.
#[derive(Clone, Copy)]
enum What {
    Nop,
    Branch(u64),
    Jump(u64),
    Call(u64),
    Indirect,
    Return,
}

/// The program: one instruction in each word, and holes in the memory.
struct Program(Vec<Option<What>>);

impl Program {
    fn random(random: &mut Random) -> Program {
        let what = |random: &mut Random| {
            let target = BASE + 4 * random.below(WORDS);
            match random.below(14) {
                0 => None,
                1..=3 => Some(What::Branch(target)),
                4 | 5 => Some(What::Jump(target)),
                6 | 7 => Some(What::Indirect),
                8 | 9 => Some(What::Call(target)),
                10 | 11 => Some(What::Return),
                _ => Some(What::Nop),
            }
        };
        Program((0..WORDS).map(|_| what(random)).collect())
    }

    fn at(&self, address: u64) -> Option<What> {
        *self.0.get((address.wrapping_sub(BASE) / 4) as usize)?
    }

    fn image(&self) -> Image {
        let words = (0..).zip(&self.0).filter_map(|(n, what)| {
            let address = BASE + 4 * n;
            let offset = |to: u64| to.wrapping_sub(address) as u32;
            let opcode: u32 = match (*what)? {
                What::Nop => 0x13,
                What::Indirect => 0x0003_0067,
                What::Return => 0x0000_8067,
                What::Branch(to) => {
                    let i = offset(to);
                    let high = (i >> 12 & 1) << 31 | (i >> 5 & 0x3f) << 25;
                    high | (i >> 1 & 0xf) << 8 | (i >> 11 & 1) << 7 | 0x0005_0063
                }
                What::Jump(to) | What::Call(to) => {
                    let i = offset(to);
                    let high = (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21;
                    let link = u32::from(matches!(what, Some(What::Call(_))));
                    high | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12 | link << 7 | 0x6f
                }
            };
            Some(Region::new("code", address, opcode.to_le_bytes().to_vec()))
        });
        Image::default().with(words)
    }
}

/// Where the program is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Position {
    Unknown,
    At(u64),
    /// After a jump to any address.
    Jumped,
    /// After a return: the return address of the last call, if the unit still has it.
    Returned(Option<u64>),
}

struct Model<'a> {
    program: &'a Program,
    position: Position,
    /// The return addresses of the last calls, of which the unit has `depth` at most.
    calls: Vec<u64>,
    depth: usize,
    /// Returns that no packet gave.
    implied: usize,
    /// The address that differences are to.
    base: Option<u64>,
    /// The addresses that packets gave since the last contradiction.
    given: Vec<u64>,
    /// The address is absolute.
    absolute: bool,
    /// The trap value of the packet, which in 1.0 may be the return address, or the address of a
    /// packet without a retired instruction.
    tval: Option<u64>,
    /// The same of the two packets before, where the decoder needs the next packet to report a
    /// trap, and the address of a trap may be that of its handler, where the next trap occurs.
    /// (`drop_unretired`)
    before: [Option<u64>; 2],
    delays: bool,
    /// The decoder reports a trap with this packet, which is the one after the trap.
    late: bool,
    /// The packet before is such a packet: the next address must be absolute.
    trapped: bool,
}

impl Model<'_> {
    /// A packet begins.
    fn packet(&mut self, payload: &Payload, full: bool, mask: u64) {
        if core::mem::take(&mut self.late) {
            self.given = self.base.into_iter().collect();
        }
        if core::mem::take(&mut self.trapped) {
            self.base = None;
            self.late = self.delays;
            if !self.delays {
                (self.position, self.given) = (Position::Unknown, Vec::new());
            }
        }
        let mut of = |address: u64| {
            self.base = Some(address & mask);
            self.given.extend(self.base);
            self.absolute = true;
        };
        self.before = [self.tval.take().filter(|_| self.delays), self.before[0]];
        match payload {
            Payload::Start(start) => of(start.address << 1),
            Payload::Trap(Trap { thaddr: false, address, .. }) => {
                (self.absolute, self.trapped) = (false, true);
                self.tval = address.map(|address| address << 1 & mask);
            }
            Payload::Trap(Trap { address: Some(address), tval, .. }) => {
                of(address << 1);
                self.tval = Some(tval.unwrap_or(0));
            }
            _ => match payload.report() {
                Some(report) if full => of(report.address << 1),
                Some(report) => {
                    let sum = self.base.map(|base| base.wrapping_add(report.address << 1) & mask);
                    self.given.extend(sum);
                    (self.base, self.absolute) = (sum, false);
                }
                None => self.absolute = false,
            },
        }
    }

    /// Nothing is known but what the packet itself states.
    fn lose(&mut self) {
        self.position = Position::Unknown;
        self.calls.clear();
        match (self.absolute, self.base) {
            (true, Some(base)) => self.given = vec![base],
            _ => (self.base, self.given) = (None, Vec::new()),
        }
    }

    /// A call, which returns to `address`. The unit forgets the oldest call beyond its depth.
    fn call(&mut self, address: u64) {
        self.calls.push(address);
        let excess = self.calls.len().saturating_sub(self.depth);
        self.calls.drain(..excess);
    }

    fn element(&mut self, element: &Element) -> Result<(), String> {
        match element {
            Element::Range(range) => {
                let expected = match self.position {
                    Position::At(address) => Some(address),
                    Position::Returned(to) => to,
                    Position::Unknown | Position::Jumped => None,
                };
                let returned = matches!(self.position, Position::Returned(_));
                self.implied += usize::from(returned && !self.given.contains(&range.start));
                if expected != Some(range.start) && !self.given.contains(&range.start) {
                    return Err(format!("{element} at {:x?}, {:x?}", self.position, self.given));
                }
                let end = range.end();
                self.position = match self.program.at(end - 4) {
                    Some(What::Branch(to) | What::Jump(to)) if range.taken() => Position::At(to),
                    Some(What::Call(to)) if range.taken() => {
                        self.call(end);
                        Position::At(to)
                    }
                    Some(What::Indirect) if range.taken() => Position::Jumped,
                    Some(What::Return) if range.taken() => Position::Returned(self.calls.pop()),
                    _ => Position::At(end),
                };
            }
            Element::Gap(_) => self.lose(),
            Element::Inconsistency(reason) if !reason.is_ambiguity() => self.lose(),
            Element::NoCode { .. } => self.position = Position::Unknown,
            Element::Exception(exception) => {
                let returns = exception.return_address;
                let at = match self.position {
                    Position::At(address) => Some(address),
                    _ => None,
                };
                let known = returns.is_none()
                    || [at, self.tval, self.before[0], self.before[1]].contains(&returns)
                    || returns.is_some_and(|address| self.given.contains(&address));
                if !known && self.position == Position::Unknown {
                    return Err(format!("{element} at {:x?}", self.position));
                }
                if self.late {
                    self.position = Position::Unknown;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn payload(params: &Params, random: &mut Random) -> Payload {
    let somewhere = |random: &mut Random| (BASE + 4 * random.below(WORDS)) >> 1;
    let privilege_context = PrivilegeContext {
        privilege: [0, 1, 3][random.index(3)],
        context: random.below(2) as u32,
        ..PrivilegeContext::default()
    };
    let full = params.options.full_address;
    let report = |random: &mut Random| {
        let difference = (random.below(33) * 2).wrapping_sub(32);
        let width = params.widths.address();
        let address =
            if full { somewhere(random) } else { difference & (u64::MAX >> (64 - width)) };
        let draft = params.is_draft();
        let updiscon = !draft && random.index(8) == 0;
        Report { address, updiscon, ..Report::default() }
    };
    match random.below(16) {
        0 => Payload::Start(Start {
            branch: random.index(2) == 0,
            privilege_context,
            address: somewhere(random),
        }),
        1 => Payload::Trap(Trap {
            branch: true,
            privilege_context,
            ecause: [2, 5, 8][random.index(3)],
            interrupt: random.index(2) == 0,
            thaddr: params.choices.trap != TrapPacket::ThAddr
                || params.is_draft()
                || random.index(4) > 0,
            address: Some(somewhere(random)),
            tval: None,
        }),
        2..=7 => Payload::Address(report(random)),
        8 => {
            let map = Map { bits: random.next() as u32 >> 1, len: 31 };
            Payload::Branches(Branches { full: false, map, report: None })
        }
        _ => {
            let len = 1 + random.index(4) as u8;
            let map = Map { bits: random.next() as u32 & ((1 << len) - 1), len };
            let full = full && params.is_draft();
            Payload::Branches(Branches { full, map, report: Some(report(random)) })
        }
    }
}

/// One run of `count` packets.
fn run(params: &Params, random: &mut Random, count: usize) -> Found {
    let program = Program::random(random);
    let (mut bytes, mut packets) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let payload = payload(params, random);
        packets.push((bytes.len() as u64, payload));
        Packet::from(payload).emit(params, &mut bytes);
    }
    let image = Arc::new(program.image());
    let mut found: Vec<(u64, Element)> = Vec::new();
    decode(&bytes, params, &image, &mut found);
    let all = found.iter().map(|(at, element)| format!("{at} {element}"));
    let all: Vec<_> = all.collect();
    let (position, mask) = (Position::Unknown, params.isa().address_mask());
    let mut model = Model {
        program: &program,
        position,
        calls: Vec::new(),
        depth: depth(params),
        implied: 0,
        base: None,
        given: Vec::new(),
        absolute: false,
        tval: None,
        before: [None; 2],
        delays: params.choices.drop_unretired,
        late: false,
        trapped: false,
    };
    let mut elements = found.iter().peekable();
    for (at, payload) in &packets {
        let full = params.options.full_address;
        model.packet(payload, full, mask);
        while let Some((_, element)) = elements.next_if(|(found, _)| found <= at) {
            if let Err(error) = model.element(element) {
                let sent = packets.iter().map(|(at, payload)| format!("{at} {payload:x?}"));
                let text = [sent.collect(), all].concat().join("\n");
                panic!("{error}, offset {at}, {payload:x?}, {}\n{text}", params.to_text());
            }
        }
    }
    let contradictions = found.iter().filter(|(_, e)| matches!(e, Element::Inconsistency(_)));
    Found { contradictions: contradictions.count(), implied: model.implied }
}

/// What a run showed.
pub struct Found {
    /// The number of contradictions.
    pub contradictions: usize,
    /// The number of returns whose target no packet gave.
    pub implied: usize,
}

/// The number of calls that a unit remembers: 2 to the power of `return_stack_size`, or what a
/// counter of `call_counter_size` bits counts. (2.0, "Implicit return mode")
fn depth(params: &Params) -> usize {
    match (params.widths.return_stack_size, params.widths.call_counter_size) {
        _ if !params.options.implicit_return => 0,
        (0, counter) => (1 << counter) - 1,
        (stack, _) => 1 << stack,
    }
}

/// Every element of a stream.
fn decode(bytes: &[u8], params: &Params, image: &Arc<Image>, found: &mut Vec<(u64, Element)>) {
    let waypoints = Etrace::waypoints(params);
    let mut code = Cache::new(Arc::clone(image), waypoints, CacheOptions::default());
    let mut stream = Stream::<Etrace>::new(*params);
    let piece = |at| [Piece { start: 0, at, fragment: true }];
    let taken = stream.feed(bytes, &OffsetMap::new(&piece(0)), &mut code, found);
    let rest = piece(taken as u64);
    let left = bytes.get(taken..).unwrap_or_default();
    stream.finish(left, &OffsetMap::new(&rest), &mut code, found);
}

/// The units: the specification's profile in each version, and the encoder of the reference flow,
/// which reports some instructions that trapped.
const UNITS: [(Version, Profile); 6] = [
    (Version::Draft, Profile::Spec),
    (Version::V1_0, Profile::Spec),
    (Version::V2_0, Profile::Spec),
    (Version::V2_1, Profile::Spec),
    (Version::V2_0, Profile::ReferenceFlow),
    (Version::V2_0, Profile::ReferenceFlow),
];

/// A random unit, program and stream.
pub fn etrace_flow(seed: u64) -> Found {
    let random = &mut Random::new(seed);
    let (version, profile) = random.pick(&UNITS);
    let rv64 = random.index(2) == 0;
    let params = Params::new(version, profile, rv64);
    let mut params = params.expect("each unit exists in its version");
    params.options.full_address = random.index(3) == 0;
    params.choices.drop_unretired = profile == Profile::ReferenceFlow && random.index(2) == 0;
    // A stack of 2 to 8 entries, or a counter of 1 to 3 bits.
    let size = random.below(4) as u8;
    params.options.implicit_return = size > 0;
    match random.index(2) {
        0 => params.widths.return_stack_size = size,
        _ => params.widths.call_counter_size = size,
    }
    let count = 4 + random.index(60);
    run(&params, random, count)
}
