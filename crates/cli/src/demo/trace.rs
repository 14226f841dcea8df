//! The trace: packets of both sources in formatter frames.

use tracewright::base::{MissingRegister, Security, TimeDelay, Wire};
use tracewright::frames::{Framing, Joiner};
use tracewright::protocols::etmv4::{self, Address, Atoms, ContextInfo, SubIsa, TraceInfo};
use tracewright::protocols::itm;

use super::program::{AFTER_CALL, MAIN, VECTOR};

/// The trace IDs of the two sources.
const ETM: u8 = 0x10;
pub const ITM: u8 = 0x20;

/// The registers of the trace unit: context identifiers, timestamps and the return stack are on.
pub const ETM_REGISTERS: [(&str, u64); 6] = [
    ("TRCCONFIGR", 0x1841),
    ("TRCTRACEIDR", ETM as u64),
    ("TRCIDR0", 0x2800_0ea1),
    ("TRCIDR1", 0x4100_f403),
    ("TRCIDR2", 0x0000_0488),
    ("TRCIDR8", 0),
];

/// Exception type Call. (IHI 0064, "Exception packet", TYPE)
const CALL: u16 = 2;

/// The bytes of the trace buffer.
pub fn frames() -> Option<Vec<u8>> {
    let (before, after) = instructions().ok()?;
    let mut frames = Vec::new();
    let mut joiner = Joiner::new(Framing::Coresight);
    for (id, bytes) in [
        (ETM, before),
        (ITM, software_writes("squares: 9 4 1\n")),
        (ETM, after),
        (ITM, software_writes("done\n")),
    ] {
        joiner.push(id, &bytes, &mut frames).ok()?;
    }
    joiner.finish(&mut frames);
    Some(frames)
}

/// The packets of the trace unit: up to the exception, and from the exception on.
fn instructions() -> Result<(Vec<u8>, Vec<u8>), MissingRegister> {
    use etmv4::Packet;
    let register = |name: &str| ETM_REGISTERS.iter().find(|r| r.0 == name).map(|r| r.1);
    let config = etmv4::Config::etmv4(None, &register)?;
    let user = ContextInfo::new(0, Security::NonSecure, true).with_context_id(0x2a);
    let system = ContextInfo::new(1, Security::NonSecure, true).with_context_id(0x2a);
    let long = |bits| Address::Long64 { is: SubIsa::Is0, bits };
    let time = |bits| Packet::Timestamp { bits, count: 21, cycles: None };
    let before = [
        Packet::AlignSync,
        Packet::TraceInfo(TraceInfo::default().with_info(0)),
        Packet::TraceOn,
        Packet::AddressContext(long(MAIN), user),
        // Call, return and branch back, twice; the third time the branch is not taken.
        Packet::Atoms(Atoms::EE),
        Packet::Atoms(Atoms::E),
        Packet::Atoms(Atoms::EE),
        Packet::Atoms(Atoms::E),
        time(100_000),
        Packet::Atoms(Atoms::EE),
        Packet::Atoms(Atoms::N),
    ];
    let exception = etmv4::Exception {
        number: CALL,
        also_target: false,
        unknown_address: false,
        fault_pending: false,
    };
    let after = [
        Packet::Exception(exception),
        Packet::Address(Address::Long32 { is: SubIsa::Is0, bits: AFTER_CALL as u32 }),
        Packet::AddressContext(long(VECTOR), system),
        // ERET.
        Packet::Atoms(Atoms::E),
        Packet::AddressContext(long(AFTER_CALL), user),
        time(101_500),
        // The loop with WFI.
        Packet::Atoms(Atoms::E),
        Packet::Event(0b0001),
    ];
    let emit = |packets: &[Packet]| {
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&config, &mut bytes));
        bytes
    };
    Ok((emit(&before), emit(&after)))
}

/// The packets of text that the program writes to stimulus port 0, four bytes at a time.
fn software_writes(text: &str) -> Vec<u8> {
    use itm::{Data, Packet};
    let data = text.as_bytes().chunks(4).flat_map(|chunk| match *chunk {
        [a, b, c, d] => vec![Data::Word(u32::from_le_bytes([a, b, c, d]))],
        ref rest => rest.iter().map(|&byte| Data::Byte(byte)).collect(),
    });
    let data = data.map(|data| Packet::Software { port: 0, data });
    let first = [Packet::Sync { zeros: 5 }, Packet::Page(0)];
    let time = [Packet::LocalTime { delay: TimeDelay::None, ticks: 1_500, bytes: 2 }];
    let mut bytes = Vec::new();
    let config = itm::Config::default();
    first.into_iter().chain(data).chain(time).for_each(|packet| packet.emit(&config, &mut bytes));
    bytes
}
