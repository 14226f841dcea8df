//! Random messages and random bytes.

use tracewright::base::{NoMemory, OffsetMap, Parse, Piece, Wire};
use tracewright::protocols::Stream;
use tracewright::protocols::ntrace::config::{Config, Profile};
use tracewright::protocols::ntrace::packet::{Message, Process};
use tracewright::protocols::ntrace::{Ntrace, Packet};
use tracewright_testing::{Random, times};

/// A number of a random width, at most `bits`.
fn number(random: &mut Random, bits: u64) -> u64 {
    let width = random.below(bits + 1);
    random.next() & 1u64.checked_shl(width as u32).map_or(u64::MAX, |range| range - 1)
}

fn config(random: &mut Random) -> Config {
    let profile = [Profile::Spec, Profile::Nexrv, Profile::Sifive, Profile::Ctte];
    let mut config = Config::of(profile[random.below(4) as usize], random.below(2) == 0);
    config.link.source_bits = [0, 0, 1, 2, 3, 4, 12][random.below(7) as usize];
    config.extend_msb = random.below(2) == 0;
    config
}

/// A message of any kind with random fields.
fn packet(random: &mut Random, config: &Config) -> Packet {
    let blank = loop {
        let tcode = random.below(64) as u8;
        if let Some(message) = Message::of_tcode(tcode, config.profile) {
            break message;
        }
    };
    let (btype, sync) = (random.below(4) as u8, random.below(16) as u8);
    let (icnt, hist) = (number(random, 22), number(random, 32));
    let address = number(random, config.field_bits().into());
    let code = random.below(16) as u8;
    let flag = random.below(2) as u8;
    let optional = if flag == 1 { number(random, 64) } else { 0 };
    let message = match blank {
        Message::Ownership { .. } => Message::Ownership { process: Process(number(random, 64)) },
        Message::DirectBranch { .. } => Message::DirectBranch { icnt },
        Message::IndirectBranch { .. } => Message::IndirectBranch { btype, icnt, uaddr: address },
        Message::Error { .. } => Message::Error { etype: code, ecode: number(random, 8) },
        Message::ProgTraceSync { .. } => Message::ProgTraceSync { sync, icnt, faddr: address },
        Message::DirectBranchSync { .. } => {
            Message::DirectBranchSync { sync, icnt, faddr: address }
        }
        Message::IndirectBranchSync { .. } => {
            Message::IndirectBranchSync { sync, btype, icnt, faddr: address }
        }
        Message::ResourceFull { .. } => {
            let hrepeat = if code == 2 { number(random, 18) } else { 0 };
            Message::ResourceFull { rcode: code, rdata: hist, hrepeat }
        }
        Message::IndirectBranchHist { .. } => {
            Message::IndirectBranchHist { btype, icnt, uaddr: address, hist }
        }
        Message::IndirectBranchHistSync { .. } => {
            Message::IndirectBranchHistSync { sync, btype, icnt, faddr: address, hist }
        }
        Message::RepeatBranch { .. } => Message::RepeatBranch { bcnt: number(random, 18) },
        Message::RepeatInstruction { .. } => {
            Message::RepeatInstruction { rcnt: number(random, 18), icnt, hist }
        }
        Message::RepeatInstructionSync { .. } => {
            let rcnt = number(random, 18);
            Message::RepeatInstructionSync { sync, rcnt, icnt, faddr: address, hist }
        }
        Message::PredictedBranches { .. } => {
            Message::PredictedBranches { bcnt: number(random, 18) }
        }
        Message::CachedTarget { .. } => {
            Message::CachedTarget { btype, icnt, index: number(random, 6), hist }
        }
        Message::ProgTraceCorrelation { .. } => {
            Message::ProgTraceCorrelation { evcode: code, cdf: flag, icnt, hist: optional }
        }
        Message::DataAcquisition { .. } => {
            Message::DataAcquisition { idtag: number(random, 12), data: number(random, 64) }
        }
        Message::AuxAccessWrite { .. } => {
            Message::AuxAccessWrite { address: number(random, 64), data: number(random, 64) }
        }
        Message::InCircuitTrace { .. } => {
            Message::InCircuitTrace { cksrc: code, ckdf: flag, data0: address, data1: optional }
        }
        Message::InCircuitTraceSync { .. } => {
            Message::InCircuitTraceSync { cksrc: code, ckdf: flag, data0: address, data1: optional }
        }
        Message::Configuration { .. } => {
            let words = std::array::from_fn(|_| number(random, 32));
            Message::Configuration { version: code, words }
        }
        Message::Watchpoint { .. } => Message::Watchpoint { hits: number(random, 32) },
        other => other,
    };
    let time = (random.below(2) == 0).then(|| number(random, 64));
    let source = random.next() as u16 & ((1 << config.link.source_bits) - 1);
    Packet { source, message, time }
}

/// `parse(emit(message))` is the message, and no beginning of its bytes is a message.
#[test]
fn random_messages() {
    let mut random = Random::new(1);
    for _ in 0..times(20_000) {
        let config = config(&mut random);
        let packet = packet(&mut random, &config);
        let mut bytes = Vec::new();
        packet.emit(&config, &mut bytes);
        let want = Parse::Packet(packet, bytes.len());
        assert_eq!(Packet::parse(&bytes, &config), want, "{config:?} {bytes:02x?}");
        for cut in 1..bytes.len() {
            assert_eq!(Packet::parse(&bytes[..cut], &config), Parse::Partial, "{bytes:02x?}");
        }
        // What follows does not matter.
        bytes.extend([0xff, 0x24]);
        assert_eq!(Packet::parse(&bytes, &config), want);
        let mut total = 0;
        Packet::explain(&bytes, &config, &mut |field| total += field.sent);
        assert!(total as usize <= (bytes.len() - 2) * 6);
    }
}

/// Random bytes, random messages with damage: the spans of messages and of undecodable bytes tile
/// the bytes, whatever the chunks are.
#[test]
fn random_bytes() {
    let mut random = Random::new(2);
    for round in 0..times(40) {
        let config = config(&mut random);
        let mut bytes = random.bytes(25_000);
        if round % 2 == 0 {
            bytes.clear();
            while bytes.len() < 25_000 {
                packet(&mut random, &config).emit(&config, &mut bytes);
                if random.below(8) == 0 {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] = random.next() as u8;
                }
            }
        }
        let whole = elements(&bytes, &config, bytes.len());
        assert_eq!(elements(&bytes, &config, 61), whole);
        assert_eq!(elements(&bytes, &config, 1 + random.below(4000) as usize), whole);
    }
}

/// The elements of `bytes` in chunks of `chunk` bytes.
fn elements(bytes: &[u8], config: &Config, chunk: usize) -> Vec<(u64, tracewright::base::Element)> {
    struct All(Vec<(u64, tracewright::base::Element)>);

    impl tracewright::base::Sink for All {
        fn element(&mut self, at: u64, element: tracewright::base::Element) {
            self.0.push((at, element));
        }
    }

    impl tracewright::protocols::Observer for All {}

    let mut all = All(Vec::new());
    let mut stream = Stream::<Ntrace>::new(*config);
    let (mut rest, mut at): (Vec<u8>, u64) = (Vec::new(), 0);
    for piece in bytes.chunks(chunk) {
        rest.extend_from_slice(piece);
        let pieces = [Piece { start: 0, at, fragment: true }];
        let taken = stream.feed(&rest, &OffsetMap::new(&pieces), &mut NoMemory, &mut all);
        rest.drain(..taken);
        at += taken as u64;
    }
    let pieces = [Piece { start: 0, at, fragment: true }];
    stream.finish(&rest, &OffsetMap::new(&pieces), &mut NoMemory, &mut all);
    all.0
}
