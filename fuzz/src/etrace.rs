//! What must hold of E-Trace, whatever the unit's parameters are.

use tracewright::base::{Parse, Wire};
use tracewright::image::{Image, Region};
use tracewright::protocols::etrace::config::PARAMETERS;
use tracewright::protocols::etrace::packet::{Payload, Start};
use tracewright::protocols::etrace::{Packet, Params};
use tracewright::protocols::registry::AnyConfig;

use crate::case::Case;
use crate::properties::{Random, taken};

/// Predicted branches that one packet may count: more say nothing else, and take long.
const LONGEST_COUNT: u64 = 100;

/// Where the program is, beside the bottom of memory.
const HIGH: u64 = 0x8000_0000;

/// Parameters, a program, and a source's bytes, whatever they are. Each packet that is read, at any place, is
/// written so that it is read again as the same, and explains itself; and the source is taken every way.
///
/// The first bytes are how many parameters there are, the program's number, and the parameters in pairs: which
/// and its value.
pub fn etrace(data: &[u8]) {
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
    for at in 0..source.len() {
        packet(&source[at..], &params);
    }
    taken(&Case::of(AnyConfig::Etrace(params), program(seed, params.rv64), source));
}

/// The packet at the start of `bytes`, if there is one.
fn packet(bytes: &[u8], params: &Params) {
    let Parse::Packet(packet, len) = Packet::parse(bytes, params) else { return };
    assert!(len > 0 && len <= bytes.len(), "{len} of {bytes:02x?}");
    let mut again = Vec::new();
    packet.emit(params, &mut again);
    let read = Packet::parse(&again, params);
    assert_eq!(read, Parse::Packet(packet, again.len()), "{:02x?}\n{params:?}", &bytes[..len]);
    let _ = packet.to_string();
    Packet::explain(&bytes[..len], params, &mut |_| {});
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
    let values: Vec<_> = values.chain([("longest_count", LONGEST_COUNT)]).collect();
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|v| v.1);
    Params::from_registers(&value).expect("every parameter has a default")
}

/// Branches, jumps, calls, returns, what makes their bases, and opcodes of any kind.
fn program(seed: u8, rv64: bool) -> Image {
    let mut random = Random(u64::from(seed) * 0x101 + 5);
    let mut code = Vec::new();
    while code.len() < 0x400 {
        let any = random.next() as u32;
        let near = any >> 8 & 0xf00;
        let opcode = match random.below(12) {
            0 | 1 => near | 0x0000_0063,
            2 => near << 16 & 0x07e0_0000 | 0x0000_006f,
            3 => near << 16 & 0x07e0_0000 | 0x0000_00ef,
            // JALR: a return, a call, a jump.
            4 => [0x0000_8067, 0x000f_80e7, 0x0007_8067][random.below(3)],
            // AUIPC, and JALR of what it made.
            5 => {
                code.extend(0x0000_0097_u32.to_le_bytes());
                near << 16 & 0x03c0_0000 | 0x0000_80e7
            }
            6 => [0x0000_0073, 0x0010_0073, 0x3020_0073, 0x1020_0073][random.below(4)],
            7 => any | 0b11,
            _ => 0x0000_0013,
        };
        // Half of the plain ones, branches, jumps and returns are compressed.
        let short = [0x0001_u16, 0xc101, 0xe781, 0xa011, 0x8082, 0x9782, any as u16 & !0b10];
        match random.below(2) {
            0 => code.extend(opcode.to_le_bytes()),
            _ => code.extend(short[random.below(short.len())].to_le_bytes()),
        }
    }
    let top = if rv64 { u64::MAX } else { u64::from(u32::MAX) } - 0x3ff;
    Image::new([0, HIGH, top].map(|at| Region::new("program", at, code.clone())))
}
