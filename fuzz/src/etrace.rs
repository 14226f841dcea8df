//! What must hold of E-Trace, whatever the unit's parameters are.

use tracewright::base::Wire;
use tracewright::frames::{Event, Split};
use tracewright::image::{Image, Region};
use tracewright::protocols::Demux;
use tracewright::protocols::etrace::config::{Framing, PARAMETERS};
use tracewright::protocols::etrace::packet::{Payload, Report, Start};
use tracewright::protocols::etrace::{Etrace, Packet, Params};
use tracewright::protocols::registry::AnyConfig;

use crate::case::Case;
use crate::packets::at_each_byte;
use tracewright_testing::Random;

use crate::properties::{LONGEST_COUNT, Take};

/// Where the program is, beside the bottom of memory.
const HIGH: u64 = 0x8000_0000;

/// Parameters, a program, and a source's bytes, whatever they are. Each packet that is read, at any
/// place, is written so that it is read again as the same, and explains itself; and the source is
/// taken every way.
///
/// The first bytes are how many parameters there are, the program's number, and the parameters in
/// pairs: which and its value.
pub fn etrace(data: &[u8], take: Take) {
    let Some((&[count, seed], rest)) = data.split_first_chunk::<2>() else { return };
    let (named, bytes) = rest.split_at((usize::from(count % 16) * 2).min(rest.len()));
    let params = params(named);
    let mut source = Vec::new();
    // Half of the sources begin in the program.
    if count & 0x80 != 0 {
        let address = u64::from(seed) << 1 & params.full_address(u64::MAX);
        let address = address >> params.widths.iaddress_lsb;
        let start = Start { branch: seed & 1 != 0, address, ..Start::default() };
        Packet::from(Payload::Start(start)).emit(&params, &mut source);
    }
    source.extend_from_slice(bytes);
    at_each_byte::<Etrace>(&source, &params);
    take(&Case::of(AnyConfig::Etrace(params), program(seed, params.rv64), source));
}

/// A stream of several harts, whatever its bytes are: what comes out tiles it, and is the same
/// however it is cut, and from a clone; who goes past it is where one is that took it.
///
/// The first bytes choose the link; then come messages of harts, each with where its instruction
/// is, and any bytes.
pub fn harts(data: &[u8]) {
    let Some((&[link, width, count, cut], rest)) = data.split_first_chunk::<4>() else { return };
    let (mut messages, mut harts) = (Vec::new(), Vec::new());
    let width = width % 16 + 1;
    for n in 0..2 + u16::from(link & 1) {
        let mut params = Params::default();
        params.link.framing = if link & 2 == 0 { Framing::Encapsulated } else { Framing::Siemens };
        (params.link.source_width, params.link.timestamp_bytes) = (width, link >> 2 & 3);
        params.link.source = n * 0x29 & (u16::MAX >> (16 - width));
        params.link.aligned = link & 0x10 == 0;
        params.widths.bpred_size = link >> 5;
        harts.push(params);
    }
    let (named, bytes) = rest.split_at((usize::from(count) * 2).min(rest.len()));
    for pair in named.chunks_exact(2) {
        let hart = &harts[usize::from(pair[0]) % harts.len()];
        let start = Start { address: pair[1].into(), ..Start::default() };
        let report = Report { address: pair[1].into(), ..Report::default() };
        let payload = match pair[0] & 0x40 {
            0 => Payload::Start(start),
            _ => Payload::Address(report),
        };
        let mut packet = Packet::from(payload);
        packet.envelope.source = hart.link.source;
        packet.envelope.timestamp = (pair[0] & 0x80 != 0).then_some(9);
        packet.emit(hart, &mut messages);
    }
    let stream = [&messages, bytes, &messages].concat();
    let harts: Vec<_> = harts.into_iter().map(AnyConfig::Etrace).collect();
    let Some(blank) = Demux::new(&harts) else { return };
    let split = |parts: &[&[u8]]| {
        let (mut demux, mut out, mut at) = (blank.clone(), Tiles::default(), 0);
        for part in parts {
            let (mut past, mut same) = (demux.clone(), demux.clone());
            past.skip(at, part);
            same.split(at, part, &mut Tiles::default());
            demux.split(at, part, &mut out);
            assert!(past == demux && same == demux);
            at += part.len() as u64;
        }
        demux.finish(at, &mut out);
        assert!(demux == blank.fresh());
        out.0
    };
    let whole = split(&[&stream]);
    let mut next = 0;
    for (at, len, ..) in &whole {
        assert_eq!((*at, *len > 0), (next, true), "a hole, or twice the same");
        next += len;
    }
    assert_eq!(next, stream.len() as u64);
    let (head, tail) = stream.split_at(usize::from(cut).min(stream.len()));
    assert_eq!(whole, split(&[head, tail]), "cut at {cut}");
    let each: Vec<_> = stream.chunks(1 + usize::from(cut % 9)).collect();
    assert_eq!(whole, split(&each));
}

/// Everything that comes out: place, length, whose or nobody's, and the bytes.
#[derive(Default)]
struct Tiles(Vec<(u64, u64, Option<u16>, Vec<u8>)>);

impl Split for Tiles {
    fn piece(&mut self, id: u16, at: u64, _: bool, bytes: &[u8]) {
        self.0.push((at, bytes.len() as u64, Some(id), bytes.to_vec()));
    }

    fn event(&mut self, at: u64, event: Event) {
        if let Event::Bad { len, .. } | Event::Null { len } = event {
            self.0.push((at, len.into(), None, Vec::new()));
        }
    }
}

/// The unit: what its profile has, but for the parameters that are named by number.
fn params(named: &[u8]) -> Params {
    let values = named.chunks_exact(2).filter_map(|pair| {
        let parameter = &PARAMETERS[usize::from(pair[0]) % PARAMETERS.len()];
        let value = u64::from(pair[1]);
        let words = parameter.words();
        let value = match words.get(pair[1] as usize % words.len().max(1)) {
            Some((number, _)) => *number,
            None => {
                let many = (parameter.most - parameter.least).saturating_add(1);
                parameter.least + value % many
            }
        };
        (parameter.name() != "longest_count").then(|| (parameter.name(), value))
    });
    let values: Vec<_> = values.chain([("longest_count", LONGEST_COUNT.into())]).collect();
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|v| v.1);
    // A profile that does not exist in the version is tried in its own version.
    let own = |name: &str| if name == "version" { None } else { value(name) };
    let params = Params::from_registers(&value).or_else(|_| Params::from_registers(&own));
    params.expect("each profile exists in its own version")
}

/// Branches, jumps, calls, returns, what makes their bases, and opcodes of any kind.
fn program(seed: u8, rv64: bool) -> Image {
    let mut random = Random::new(u64::from(seed) * 0x101 + 5);
    let mut code = Vec::new();
    while code.len() < 0x400 {
        let any = random.next() as u32;
        let near = any >> 8 & 0xf00;
        let opcode = match random.index(12) {
            0 | 1 => near | 0x0000_0063,
            2 => near << 16 & 0x07e0_0000 | 0x0000_006f,
            3 => near << 16 & 0x07e0_0000 | 0x0000_00ef,
            // JALR: a return, a call, a jump.
            4 => [0x0000_8067, 0x000f_80e7, 0x0007_8067][random.index(3)],
            // AUIPC, and JALR of what it made.
            5 => {
                code.extend(0x0000_0097_u32.to_le_bytes());
                near << 16 & 0x03c0_0000 | 0x0000_80e7
            }
            6 => [0x0000_0073, 0x0010_0073, 0x3020_0073, 0x1020_0073][random.index(4)],
            7 => any | 0b11,
            _ => 0x0000_0013,
        };
        // Half of the plain ones, branches, jumps and returns are compressed.
        let short = [0x0001_u16, 0xc101, 0xe781, 0xa011, 0x8082, 0x9782, any as u16 & !0b10];
        match random.index(2) {
            0 => code.extend(opcode.to_le_bytes()),
            _ => code.extend(short[random.index(short.len())].to_le_bytes()),
        }
    }
    let top = if rv64 { u64::MAX } else { u64::from(u32::MAX) } - 0x3ff;
    Image::new([0, HIGH, top].map(|at| Region::new("program", at, code.clone())))
}
