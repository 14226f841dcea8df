//! After packets that contradict the program, the decoders of ETMv3 and PTM report nothing that
//! depends on the position before, until the trace has an address.
//!
//! The program is random A32 code with holes, and the packets are random. A model of the program
//! that shares no code with the decoders follows the elements.

use std::sync::Arc;

use tracewright::base::{CoreType, Element, OffsetMap, Piece, Profile};
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::protocols::registry::AnyProtocol;
use tracewright_testing::{Random, times};

const BASE: u32 = 0x8000;
const WORDS: u32 = 64;

/// An instruction of the program.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Nop,
    /// B, or B with a condition, or BL: the target.
    Branch {
        to: u32,
        conditional: bool,
        link: bool,
    },
    /// BX lr, or BLX r3.
    Indirect {
        link: bool,
    },
}

/// The program: one instruction in each word, and holes in the memory.
struct Program(Vec<Option<What>>);

impl Program {
    fn random(random: &mut Random) -> Program {
        let target = |random: &mut Random| BASE + 4 * random.below(u64::from(WORDS)) as u32;
        let what = |random: &mut Random| match random.below(10) {
            0 => None,
            1 | 2 => Some(What::Branch { to: target(random), conditional: true, link: false }),
            3 => Some(What::Branch { to: target(random), conditional: false, link: false }),
            4 | 5 => Some(What::Branch { to: target(random), conditional: false, link: true }),
            6 | 7 => Some(What::Indirect { link: false }),
            8 => Some(What::Indirect { link: true }),
            _ => Some(What::Nop),
        };
        Program((0..WORDS).map(|_| what(random)).collect())
    }

    fn at(&self, address: u32) -> Option<What> {
        *self.0.get((address.wrapping_sub(BASE) / 4) as usize)?
    }

    fn image(&self) -> Image {
        let words = (0..).zip(&self.0).filter_map(|(n, what)| {
            let address = BASE + 4 * n;
            let opcode = match (*what)? {
                What::Nop => 0xe1a0_0000,
                What::Branch { to, conditional, link } => {
                    let offset = (to.wrapping_sub(address + 8) >> 2) & 0x00ff_ffff;
                    let condition = if conditional { 0 } else { 0xe };
                    condition << 28 | 0x0a00_0000 | u32::from(link) << 24 | offset
                }
                What::Indirect { link: false } => 0xe12f_ff1e,
                What::Indirect { link: true } => 0xe12f_ff33,
            };
            Some(Region::new("code", address.into(), opcode.to_le_bytes().to_vec()))
        });
        Image::new(words)
    }
}

/// The model's position.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Position {
    Unknown,
    At(u32),
    /// After an indirect branch, with a link or without. The address may come in a packet.
    Branched {
        link: bool,
    },
}

/// Follows the elements.
struct Model<'a> {
    program: &'a Program,
    position: Position,
    /// The return addresses of the calls since the position was last unknown.
    returns: Vec<u32>,
}

impl Model<'_> {
    /// The target of an indirect branch that the return stack predicts. A branch with a link pushes
    /// its own return address after that.
    fn predicted(&mut self, link: bool) -> Option<u32> {
        let index = self.returns.len().checked_sub(1 + usize::from(link))?;
        Some(self.returns.remove(index))
    }

    /// `element` states that the position is `address`.
    fn arrive(&mut self, address: u32, element: &Element) -> Result<(), String> {
        let position = self.position;
        let expected = match position {
            Position::At(at) => Some(at),
            Position::Branched { link } => self.predicted(link),
            Position::Unknown => None,
        };
        self.position = Position::At(address);
        if expected == Some(address) {
            return Ok(());
        }
        Err(format!("{element} at position {position:x?}"))
    }

    fn element(&mut self, element: &Element) -> Result<(), String> {
        match element {
            Element::Range(range) => {
                self.arrive(range.start as u32, element)?;
                let end = range.end() as u32;
                self.position = match self.program.at(end - 4) {
                    Some(What::Branch { to, link, .. }) if range.taken() => {
                        if link {
                            self.returns.push(end);
                        }
                        Position::At(to)
                    }
                    Some(What::Indirect { link }) if range.taken() => {
                        if link {
                            self.returns.push(end);
                        }
                        Position::Branched { link }
                    }
                    _ => Position::At(end),
                };
            }
            Element::Inconsistency(_) | Element::NoCode { .. } | Element::Gap(_) => {
                self.position = Position::Unknown;
                self.returns.clear();
            }
            Element::Exception(exception) => {
                if let Some(address) = exception.return_address {
                    self.arrive(address as u32, element)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Five bytes of a branch address in A32, and exception information.
fn branch(address: u32, exception: Option<u8>) -> Vec<u8> {
    let group = |shift: u32| (address >> shift & 0x7f) as u8 | 0x80;
    let first = 0x81 | (address >> 2 & 0x3f) as u8 * 2;
    let mut bytes = vec![first, group(8), group(15), group(22), 0x08 | (address >> 29) as u8];
    if let Some(exception) = exception {
        bytes[4] |= 0x40;
        bytes.push(exception << 1);
    }
    bytes
}

/// A packet: its bytes and the address that it gives.
fn packet(random: &mut Random, ptm: bool, known: &[u32]) -> (Vec<u8>, Option<u32>) {
    let somewhere = |random: &mut Random| match random.index(4) {
        0 => known[random.index(known.len())],
        _ => BASE + 4 * random.below(u64::from(WORDS)) as u32,
    };
    match random.below(16) {
        0 => {
            let address = somewhere(random);
            let reason = [0x01, 0x21, 0x41][random.index(3)];
            let bytes = address.to_le_bytes();
            let bytes = match ptm {
                true => [&[0x08], &bytes[..], &[reason]].concat(),
                false => [&[0x08, reason], &bytes[..]].concat(),
            };
            (bytes, Some(address))
        }
        1 => {
            let address = somewhere(random);
            (branch(address, Some(0xe)), Some(address))
        }
        2..=6 => {
            let address = somewhere(random);
            (branch(address, None), Some(address))
        }
        7 => (vec![0x0c], None),
        8 => (vec![0x66], None),
        // One atom, E or N; several.
        9..=12 => (vec![0x84], None),
        13 => (vec![if ptm { 0x86 } else { 0xc0 }], None),
        _ => (vec![if ptm { 0x88 } else { 0x8c }], None),
    }
}

fn decode(
    name: &str,
    registers: &[(&str, u64)],
    image: Image,
    bytes: &[u8],
) -> Vec<(u64, Element)> {
    let register = |name: &str| registers.iter().find(|r| r.0 == name).map(|r| r.1);
    let core = CoreType { profile: Profile::Application, version: 7 };
    let config = AnyProtocol::named(name).unwrap().configure(Some(core), &register).unwrap();
    let mut cache = Cache::new(Arc::new(image), config.waypoints(), CacheOptions::default());
    let mut elements = Vec::new();
    let mut stream = config.stream();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let taken = stream.feed(bytes, &OffsetMap::new(&pieces), &mut cache, &mut elements);
    assert_eq!(taken, bytes.len());
    elements
}

/// One run of `count` packets.
fn run(ptm: bool, stack: bool, random: &mut Random, count: usize) {
    let program = Program::random(random);
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    let mut addresses = vec![(bytes.len() as u64, Some(BASE))];
    bytes.extend(if ptm { [0x08, 0, 0x80, 0, 0, 0x21] } else { [0x08, 0x21, 0, 0x80, 0, 0] });
    for _ in 0..count {
        let (packet, address) = packet(random, ptm, &[BASE, 0x9000, BASE + 4]);
        addresses.push((bytes.len() as u64, address));
        bytes.extend(packet);
    }
    let (name, control) = if ptm { ("PTM", u64::from(stack) << 29) } else { ("ETM3", 0) };
    let id = if ptm { 0x411c_f312 } else { 0x4104_f230 };
    let registers = [("ETMCR", control), ("ETMIDR", id), ("ETMCCER", 0), ("ETMTRACEIDR", 0x10)];
    let elements = decode(name, &registers, program.image(), &bytes);
    let all: Vec<_> = elements.iter().map(|(at, element)| format!("{at} {element}")).collect();
    let mut elements = elements.iter().peekable();
    let mut model = Model { program: &program, position: Position::Unknown, returns: Vec::new() };
    for (at, address) in addresses {
        let mut lost = false;
        while let Some((_, element)) = elements.next_if(|(found, _)| *found <= at) {
            if let Err(error) = model.element(element) {
                let returns = &model.returns;
                panic!("{error}, offset {at} of {bytes:02x?}, {returns:x?}\n{}", all.join("\n"));
            }
            lost |= matches!(element, Element::TraceOn(_));
        }
        if let Some(address) = address {
            model.position = Position::At(address);
            if lost {
                model.returns.clear();
            }
        }
    }
}

#[test]
fn nothing_follows_from_what_was_contradicted() {
    let mut random = Random::new(3);
    for time in 0..times(2000) {
        let count = 4 + random.index(60);
        run(time % 3 != 0, time % 3 == 1, &mut random, count);
    }
}
