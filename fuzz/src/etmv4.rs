//! What must hold of the packets of an ETMv4 or an ETE in any order.

use std::sync::Arc;

use tracewright::base::{Element, Gap, Inconsistency, OffsetMap, Piece, Security, Wire};
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::protocols::etmv4::{
    Address, Atoms, Config, ContextInfo, Exception, Packet, Q, SubIsa, TraceInfo,
};
use tracewright::protocols::registry::AnyConfig;
use tracewright_testing::Random;

use crate::case::Case;
use crate::properties::Take;

/// Where the program is.
const PROGRAM: u64 = 0x1000;

/// Packets in any order: decoding ends, it is the same however the bytes are cut, and after an
/// inconsistency, a gap or a Trace On no instruction follows before the trace has given the
/// address, and where the context was contradicted, the context.
///
/// The first bytes choose the unit and the program, each two others a packet and its fields: a
/// fuzzer that removes or inserts a pair does not change the packets of the others.
pub fn etmv4(data: &[u8], take: Take) {
    let Some((&[unit, seed], choices)) = data.split_first_chunk::<2>() else { return };
    let config = config(unit, seed);
    let (mut bytes, mut packets) = (Vec::new(), Vec::new());
    for packet in [Packet::AlignSync, Packet::TraceInfo(TraceInfo::default())] {
        packets.push((bytes.len() as u64, packet));
        packet.emit(&config, &mut bytes);
    }
    for choice in choices.as_chunks::<2>().0 {
        for packet in chosen(*choice, &config) {
            packets.push((bytes.len() as u64, packet));
            packet.emit(&config, &mut bytes);
        }
    }
    let image = program(seed);
    let any = if config.is_ete() { AnyConfig::Ete(config) } else { AnyConfig::Etmv4(config) };
    let elements = decode(&any, &image, &bytes);
    nothing_contradicted(&packets, &elements);
    take(&Case::of(any, image, bytes));
}

fn decode(config: &AnyConfig, image: &Image, bytes: &[u8]) -> Vec<(u64, Element)> {
    let options = CacheOptions { blocks: 64, ..CacheOptions::default() };
    let mut code = Cache::new(Arc::new(image.clone()), config.waypoints(), options);
    let mut stream = config.stream();
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    stream.finish(bytes, &OffsetMap::new(&pieces), &mut code, &mut elements);
    elements
}

/// What a packet gives.
#[derive(Clone, Copy, Default)]
struct Given {
    address: bool,
    context: bool,
    /// It has the address of its own instruction.
    source: bool,
}

fn given(packets: &[(u64, Packet)]) -> Vec<(u64, Given)> {
    let mut exception = false;
    let each = |&(at, packet): &(u64, Packet)| {
        // The address after an Exception packet is not the next instruction's.
        let of_exception = core::mem::take(&mut exception);
        let given = match packet {
            Packet::Address(_) | Packet::Q(Q::To(..)) => {
                Given { address: !of_exception, ..Given::default() }
            }
            Packet::AddressContext(..) => {
                Given { address: !of_exception, context: true, source: false }
            }
            Packet::SourceAddress(_) => Given { address: true, context: false, source: true },
            Packet::Context(_) => Given { context: true, ..Given::default() },
            Packet::Exception(e) => {
                exception = !e.unknown_address;
                Given::default()
            }
            _ => Given::default(),
        };
        (at, given)
    };
    packets.iter().map(each).collect()
}

fn nothing_contradicted(packets: &[(u64, Packet)], elements: &[(u64, Element)]) {
    let given = given(packets);
    let at_packet = |at: u64| given.iter().find(|(a, _)| *a == at).map(|(_, g)| *g);
    // The offsets after which address and context have to be given.
    let (mut address, mut context) = (0, 0);
    for &(at, element) in elements {
        let is_source = at_packet(at).is_some_and(|given| given.source);
        match element {
            Element::Gap(gap) if gap != Gap::Data => (address, context) = (at, at),
            Element::TraceOn(_) => (address, context) = (at, at),
            Element::Inconsistency(inconsistency) => match inconsistency {
                Inconsistency::UnconditionalNotTaken => {}
                Inconsistency::AddressNotReached if is_source => {}
                Inconsistency::CommitOfNothing
                | Inconsistency::CancelOfNothing
                | Inconsistency::MispredictOfNothing
                | Inconsistency::Unexpected => (address, context) = (at, at),
                _ => address = at,
            },
            Element::Range(_) | Element::Unknown { .. } | Element::Corrected { .. } => {
                let has = |after: u64, what: fn(&Given) -> bool| {
                    given.iter().any(|(a, given)| (after..at).contains(a) && what(given))
                };
                let has_address = is_source || has(address, |given| given.address);
                let has_context = has(context, |given| given.context);
                assert!(
                    has_address && has_context,
                    "{element:?} at {at} of {packets:#x?} in {elements:#x?}"
                );
            }
            _ => {}
        }
    }
}

/// The unit.
fn config(unit: u8, seed: u8) -> Config {
    let register = |name: &str| {
        Some(match name {
            // The return stack, Q elements.
            "TRCCONFIGR" => 0x6001 | u64::from(unit >> 4 & 1) << 12,
            "TRCTRACEIDR" => 0x10,
            // COMMTRANS, bit 30.
            "TRCIDR0" => 0x0801_8ea1 | u64::from(unit >> 5 & 1) << 30,
            "TRCIDR2" => 0x1088,
            "TRCIDR8" => [0, 0, 1, 2, 4, 8, 20, u64::from(seed % 40)][usize::from(unit >> 1 & 7)],
            _ => return None,
        })
    };
    let read = if unit & 1 == 0 { Config::etmv4 } else { Config::ete };
    read(None, &register).expect("no register is missing")
}

/// One packet, or a few that mostly come together.
fn chosen([choice, fields]: [u8; 2], config: &Config) -> Vec<Packet> {
    let random = &mut Random::new(u64::from(fields) << 8 | u64::from(choice));
    let address = match random.index(4) {
        0 => Address::Match(random.index(3) as u8),
        _ => {
            Address::Long32 { is: SubIsa::Is0, bits: PROGRAM as u32 + 4 * random.index(40) as u32 }
        }
    };
    let long =
        Address::Long32 { is: SubIsa::Is0, bits: PROGRAM as u32 + 4 * random.index(40) as u32 };
    let context = ContextInfo::new(1, Security::Secure, true);
    // Mostly few P0 elements; as many as there can be atoms in a packet.
    let count = random.index(if choice & 0x60 == 0x60 { 25 } else { 4 }) as u32;
    let exception = Exception {
        number: [14, 0, 24, 25][random.index(4)],
        also_target: random.index(2) == 0,
        unknown_address: config.is_ete() && random.index(4) == 0,
        fault_pending: false,
    };
    // Half of them in packets with other numbers than three.
    let header = if choice & 0x40 == 0 { 0xf8 | fields & 7 } else { 0xc0 | fields };
    let atoms = Atoms::from_header(header).map(Packet::Atoms);
    let one = |packet| vec![packet];
    match choice % 32 {
        0..=9 => atoms.into_iter().collect(),
        10 => one(Packet::Address(address)),
        11 | 12 => one(Packet::AddressContext(long, context)),
        13 => one(Packet::Context(Some(context))),
        14 => one(Packet::Context(None)),
        15 => one(Packet::TraceOn),
        16 => one(Packet::Exception(exception)),
        17 if exception.unknown_address => one(Packet::Exception(exception)),
        17 => vec![Packet::Exception(exception), Packet::Address(long)],
        18 => one(Packet::Q(Q::Uncounted)),
        19 => one(Packet::Q(Q::Counted(count))),
        20 => one(Packet::Q(Q::To(address, count))),
        21 if config.is_ete() => one(Packet::SourceAddress(long)),
        22 if config.is_ete() => one(Packet::TransactionStart),
        23 if config.is_ete() => one(Packet::TransactionCommit),
        24 => one(Packet::Commit(count)),
        25 => one(Packet::Cancel1 { count, mispredict: choice & 0x80 != 0 }),
        26 => one(Packet::Cancel3 { atom: choice & 0x80 != 0, count: 2 }),
        27 => one(Packet::Mispredict(tracewright::protocols::etmv4::Before::Nothing)),
        28 => one(Packet::Event(1)),
        29 => vec![Packet::AlignSync, Packet::TraceInfo(TraceInfo::default())],
        30 => {
            let info = TraceInfo::default().with_speculation(count);
            vec![Packet::AlignSync, Packet::TraceInfo(info)]
        }
        31 if choice & 0xe0 == 0 => one(Packet::Discard),
        _ => one(Packet::Timestamp { bits: 5, count: 7, cycles: None }),
    }
}

/// Branches of each kind, near each other.
fn program(seed: u8) -> Image {
    let mut random = Random::new(u64::from(seed) * 0x101 + 5);
    let mut code = Vec::new();
    for n in 0..40u32 {
        let near = random.index(40) as u32;
        let forward = near.wrapping_sub(n);
        let opcode = match random.index(10) {
            0 => 0x1400_0000 | forward & 0x03ff_ffff,
            1 => 0x5400_0000 | (forward & 0x7_ffff) << 5,
            2 => 0x9400_0000 | forward & 0x03ff_ffff,
            3 => 0xd65f_03c0,
            4 => 0xd61f_0000,
            5 => 0xd503_3fdf,
            6 if near < 4 => 0x0000_0000,
            _ => 0xd503_201f,
        };
        code.extend(opcode.to_le_bytes());
    }
    Image::new([Region::new("program", PROGRAM, code)])
}
