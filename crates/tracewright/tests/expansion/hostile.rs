//! Traces that cost as much as their protocol allows, whole. What they cost together is bounded by
//! the [`Reserve`], so that 1 MiB takes less than 10 seconds of a processor.
//!
//! The work is counted, not timed: look-ups of program memory, and elements.

use std::sync::Arc;

use tracewright::Sink;
use tracewright::base::{
    Block, BlockCache, Code, Element, Inconsistency, Instruction, MAX_EXPANSION, Miss, OffsetMap,
    Pc, Piece, Reserve, Turns, Uncached,
};
use tracewright::image::{Cache, CacheOptions};
use tracewright::protocols::Observer;
use tracewright_testing::is_long;

use crate::case::Case;

/// The head of a trace, with its program, and the bytes that follow, again and again.
struct Trace {
    name: &'static str,
    head: &'static str,
    again: &'static [u8],
}

#[rustfmt::skip]
const TRACES: &[Trace] = &[
    Trace {
        name: "MTB: 16,000 branches that are not taken",
        head: "protocol MTB\ncore Cortex-M0+\ncode 0x1000 T32: d1fe*16000\ncode 0x8d00 T32: f7f8 b97e\n\
               bytes 00 8d 00 00 01 10 00 00\n",
        again: &[0x00, 0x8d, 0, 0, 0, 0x10, 0, 0],
    },
    Trace {
        name: "N-Trace: 400,102 half-words of 4,001 blocks, and an address",
        head: "protocol NTRACE\nconfig aligned=1\ncode 0x1000 RV64: 00051063*4000\n\
               code 0x4e80 RV64: 980fc06f\nbytes 24 15 00 83\n",
        again: &[0x0c, 0x98, 0xac, 0x84, 0x07, 0x24, 0x15, 0x00, 0x83],
    },
    Trace {
        name: "N-Trace: 16,911 repetitions of a history of 31 branches, and an address",
        head: "protocol NTRACE\nconfig aligned=1 xlen=64\ncode 0x1000 RV64: c101*524272\n\
               code 0x100fe0 RV64: 8200006f\nbytes 24 15 00 83\n",
        again: &[0x6c, 0x08, 0, 0, 0, 0, 0x81, 0x3c, 0x20, 0x13, 0x24, 0x15, 0x00, 0x83],
    },
    Trace {
        name: "N-Trace: 500,000 repetitions of a direct branch, and an address",
        head: "protocol NTRACE\nconfig aligned=1 xlen=64\ncode 0x1000 RV64: c109*524272\n\
               code 0x100fe0 RV64: 8200006f\nbytes 24 15 00 83\n",
        again: &[0x0c, 0x07, 0x78, 0x80, 0x10, 0xe8, 0x07, 0x24, 0x15, 0x00, 0x83],
    },
    Trace {
        name: "N-Trace: 500,000 branches as predicted, and an address",
        head: "protocol NTRACE\nconfig aligned=1 profile=3 xlen=64\ncode 0x1000 RV64: c101*524272\n\
               code 0x100fe0 RV64: 8200006f\nbytes e8 c5 81 01 19 01 40 0b 24 15 00 83\n",
        again: &[0xe0, 0x80, 0x10, 0xe8, 0x07, 0x24, 0x15, 0x00, 0x83],
    },
    Trace {
        name: "E-Trace: 60,000 branches as predicted, of 4,001 blocks, and an address",
        head: "protocol ETRACE\nconfig profile=1 nocontext=1 iaddress_width=32 bpred_size=4 f0s_width=1\n\
               config branch_prediction=1\ncode 0x1000 RV32: 00051063*4000\n\
               code 0x4e80 RV32: 980fc06f\nbytes 43 73 00 04\n",
        again: &[0x43, 0x08, 0x52, 0x07, 0x43, 0x73, 0x00, 0x04],
    },
    Trace {
        name: "ETE: 24 atoms in a byte, of 43,001 instructions",
        head: "protocol ETE\ncore ARMv8-A\nconfig TRCCONFIGR=0x1001 TRCTRACEIDR=0x10 TRCIDR0=0x28018ea1\n\
               config TRCIDR2=0x40001088 TRCIDR8=0\ncode 0x1000 A64: d503201f*43000\n\
               code 0x2afe0 A64: 17ff5808\nbytes 00*11 80 01 00 81 11 9a 00 08 00 00\n",
        again: &[0xd4],
    },
    Trace {
        name: "ETE: a source address in a byte, after 2,500 branches that are not taken",
        head: "protocol ETE\ncore ARMv8-A\nconfig TRCCONFIGR=0x1001 TRCTRACEIDR=0x10 TRCIDR0=0x28018ea1\n\
               config TRCIDR2=0x40001088 TRCIDR8=0\ncode 0x1000 A64: 54000000*2500\n\
               code 0x3710 A64: 17fff63c\nbytes 00*11 80 01 00 81 11 9a 00 08 00 00 b6 44 1b 00 00\n",
        again: &[0xb0],
    },
    Trace {
        name: "ETE: a source address in a byte, in a block of 1,022 instructions, and an atom",
        head: "protocol ETE\ncore ARMv8-A\nconfig TRCCONFIGR=0x1001 TRCTRACEIDR=0x10 TRCIDR0=0x28018ea1\n\
               config TRCIDR2=0x40001088 TRCIDR8=0\ncode 0x1000 T32: bf00*1021\n\
               code 0x17fa T32: e401\nbytes 00*11 80 01 00 81 01 9b 00 10 00 00 b7 7b 17 00 00 f7\n",
        again: &[0xb0, 0xf7],
    },
    Trace {
        name: "PTM: a waypoint update after 20,000 barriers, and an atom",
        head: "protocol PTM\ncore Cortex-A9\nconfig ETMCR=0 ETMCCER=0 ETMIDR=0x411cf301 ETMTRACEIDR=0x10\n\
               code 0x8000 A32: f57ff06f*20000\ncode 0x1b880 A32: eaffb1de\n\
               bytes 00*5 80 08 00 80 00 00 01\n",
        again: &[0x72, 0xbe, 0xb8, 0x03, 0x84],
    },
];

/// The most work of a trace, and for each byte of it.
const MOST: u64 = 1 << 24;
const MOST_EACH: u64 = 1 << 9;

/// The bytes of a trace without the reserve.
const FREE: usize = 1 << 7;

/// Program memory that counts look-ups. `bounded`: the reserve is used.
struct Counted {
    cache: Cache,
    look_ups: u64,
    bounded: bool,
}

impl Code for Counted {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        self.look_ups += 1;
        self.cache.block(pc)
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        self.look_ups += 1;
        self.cache.instruction(pc)
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        self.look_ups += 1;
        self.cache.opcode(pc)
    }

    fn work_reserve(&self) -> Reserve {
        self.cache.work_reserve()
    }

    fn set_work_reserve(&mut self, reserve: Reserve) {
        if self.bounded {
            self.cache.set_work_reserve(reserve);
        }
    }
}

/// What was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Decoded {
    elements: u64,
    instructions: u64,
    /// How often a limit was reached.
    limits: u64,
}

impl Sink for Decoded {
    fn element(&mut self, _: u64, element: Element) {
        self.elements += 1;
        match element {
            Element::Range(range) => self.instructions += u64::from(range.instructions),
            Element::Inconsistency(Inconsistency::ExpansionLimit) => self.limits += 1,
            _ => {}
        }
    }

    fn turns(&mut self, turns: Turns<'_>) {
        let one: u64 = turns.ranges.iter().map(|range| u64::from(range.instructions)).sum();
        self.instructions += turns.times * one;
        self.elements += if turns.listed { turns.times * turns.ranges.len() as u64 } else { 1 };
    }
}

impl Observer for Decoded {}

/// Decodes `len` bytes of the trace, `piece` at a time. Returns the work, too.
fn decode<K: BlockCache>(
    trace: &Trace,
    len: usize,
    piece: usize,
    code: impl FnOnce(Cache) -> K,
    work: impl FnOnce(&K) -> u64,
) -> (Decoded, u64) {
    let case = Case::parse(trace.head).expect(trace.name);
    let mut bytes = case.bytes;
    while bytes.len() < len {
        bytes.extend(trace.again);
    }
    let options = CacheOptions { riscv: case.config.riscv(), ..CacheOptions::default() };
    let mut code = code(Cache::new(Arc::new(case.image), case.config.waypoints(), options));
    let (mut stream, mut decoded) = (case.config.stream(), Decoded::default());
    let (mut taken, mut end) = (0, 0);
    while end < bytes.len() {
        end = bytes.len().min(end + piece);
        let at = [Piece { start: 0, at: taken as u64, fragment: true }];
        let offsets = OffsetMap::new(&at);
        taken += stream.feed(&bytes[taken..end], &offsets, &mut code, &mut decoded);
    }
    let at = [Piece { start: 0, at: taken as u64, fragment: true }];
    stream.finish(&bytes[taken..], &OffsetMap::new(&at), &mut code, &mut decoded);
    let work = work(&code) + decoded.elements;
    (decoded, work)
}

/// The work is bounded, the limit is reported, and how the bytes are cut and whether blocks are
/// cached make no difference. Without the reserve each byte costs more. A short run has the reserve
/// of one of 64 sources.
#[test]
fn hostile_traces_are_bounded() {
    let (len, sources) = if is_long() { (1 << 20, 1) } else { (1 << 14, 64) };
    let reserved = move |mut cache: Cache| {
        cache.set_work_reserve(Reserve::new(MAX_EXPANSION, sources));
        cache
    };
    let counted = |cache, bounded| Uncached(Counted { cache, look_ups: 0, bounded });
    let bounded = move |cache| counted(reserved(cache), true);
    let look_ups = |code: &Uncached<Counted>| code.0.look_ups;
    let most = MOST / sources as u64 + MOST_EACH * len as u64;
    for trace in TRACES {
        let free = decode(trace, FREE, usize::MAX, |cache| counted(cache, false), look_ups);
        assert!(free.1 > MOST_EACH * FREE as u64, "{}: {}", trace.name, free.1);
        assert_eq!(free.0.limits, 0, "{}", trace.name);
        let (whole, work) = decode(trace, len, usize::MAX, bounded, look_ups);
        println!("{}: {work} look-ups and elements, {whole:?}", trace.name);
        assert!(work < most, "{}: {work}", trace.name);
        assert!(whole.limits > 0, "{}", trace.name);
        let pieces = decode(trace, len, 1000, bounded, look_ups);
        assert_eq!((whole, work), pieces, "{}", trace.name);
        for piece in [usize::MAX, 777] {
            let (cached, _) = decode(trace, len, piece, reserved, |_| 0);
            assert_eq!(whole, cached, "{}, by {piece}", trace.name);
        }
    }
}

/// Turns of a loop are no straight code, also where a turn has 93 ranges: a history of 31 branches
/// in a loop with two jumps.
#[test]
fn long_turns_are_counted() {
    let trace = Trace {
        name: "N-Trace: 16,911 repetitions of 31 turns of a loop of three blocks",
        head: "protocol NTRACE\nconfig aligned=1 xlen=64\ncode 0x1000 RV64: c101 a009 ffdff06f\n\
               bytes 24 15 00 83\n",
        again: &[0x6c, 0x08, 0, 0, 0, 0, 0x81, 0x3c, 0x20, 0x13],
    };
    let reserved = |mut cache: Cache| {
        cache.set_work_reserve(Reserve::new(MAX_EXPANSION, 1));
        cache
    };
    let len = 4 + trace.again.len();
    let (decoded, _) = decode(&trace, len, usize::MAX, reserved, |_| 0);
    // The first turn begins at the branch.
    assert_eq!((decoded.limits, decoded.instructions), (0, 16_911 * 93 - 2));
}
