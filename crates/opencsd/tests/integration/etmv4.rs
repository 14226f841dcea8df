//! ETMv4 and ETE packets against listings of OpenCSD: bytes, lengths and text.
//!
//! Each packet line of a listing has the bytes of the packet and its text. The bytes must parse to
//! one packet of that length, the packet must emit the same bytes, and its text must be that of the
//! line.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright_base::{CoreType, Fault, Parse, Profile, Wire};
use tracewright_opencsd::{Etmv4Text, PacketText};
use tracewright_protocols::etmv4::{Config, Packet};
use tracewright_testing::{is_long, shared, short_or_long, text};

/// The ETMv4 and ETE units of a snapshot by trace ID, and one for listings without IDs.
fn units(folder: &Path) -> BTreeMap<u8, Config> {
    let mut units = BTreeMap::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let texts: Vec<_> = files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "ini"))
        .map(|f| String::from_utf8_lossy(&std::fs::read(f).unwrap()).into_owned())
        .collect();
    let microcontroller = texts.iter().any(|text| text.contains("Cortex-M"));
    let core =
        microcontroller.then_some(CoreType { profile: Profile::Microcontroller, version: 8 });
    for text in texts {
        let value = |name: &str| {
            let mut values = text.lines().filter_map(|line| {
                let (key, value) = line.split_once('=')?;
                let key = key.split('(').next()?.trim();
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            });
            values.next()
        };
        let register = |name: &str| {
            // One snapshot has a section name at the end of a line.
            let value = value(name)?;
            let digits = value.split('[').next()?.trim().strip_prefix("0x")?;
            u64::from_str_radix(digits, 16).ok()
        };
        let Some(kind) = value("type") else { continue };
        let config = match kind.split('.').next() {
            Some("ETM4") => Config::etmv4(core, &register).unwrap(),
            Some("ETE") => Config::ete(core, &register).unwrap(),
            _ => continue,
        };
        units.entry(config.trace_id()).or_insert(config);
        units.entry(0).or_insert(config);
    }
    units
}

/// One packet line: `Idx:66; ID:20; [0xc2 0xf6 ];<tab>NAME : text`.
fn line(line: &str) -> Option<(u8, Vec<u8>, &str)> {
    // An error message before the line has no line end.
    let (_, rest) = line.rsplit_once("Idx:")?;
    let (_, rest) = rest.split_once("; ID:")?;
    let (id, rest) = rest.split_once("; [")?;
    let (bytes, text) = rest.split_once(" ];\t")?;
    let bytes = bytes
        .split(' ')
        .map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok())
        .collect::<Option<_>>()?;
    Some((u8::from_str_radix(id, 16).ok()?, bytes, text))
}

/// Compares a listing, and returns the number of packets.
fn check(listing: &str, units: &BTreeMap<u8, Config>) -> usize {
    let mut texts: BTreeMap<u8, Etmv4Text> = BTreeMap::new();
    let mut packets = 0;
    let (mut got, mut emitted) = (String::new(), Vec::new());
    for whole in listing.lines() {
        if whole.starts_with("Trace Packet Lister : Trace buffer done") {
            texts.clear();
        }
        let Some((id, mut bytes, want)) = line(whole) else { continue };
        let Some(config) = units.get(&id) else { continue };
        let text = texts.entry(id).or_default();
        let len = bytes.len();
        got.clear();
        if want.starts_with("I_NOT_SYNC") {
            text.bad(config, &bytes, Fault::Unsynchronised, &mut got);
            assert_eq!(got, want, "{whole}");
            continue;
        }
        // One more byte: the length of a packet must not depend on the end of the bytes.
        bytes.push(0x04);
        match Packet::parse(&bytes, config) {
            Parse::Packet(packet, span) => {
                assert_eq!(span, len, "{whole}: {packet}");
                emitted.clear();
                packet.emit(config, &mut emitted);
                assert_eq!(emitted, bytes[..len], "{whole}: {packet}");
                text.packet(config, &packet, &mut got);
            }
            Parse::Bad(span, fault) => {
                assert_eq!(span, len, "{whole}: {fault}");
                text.bad(config, &bytes, fault, &mut got);
            }
            Parse::Partial => panic!("{whole}: more bytes wanted"),
        }
        assert_eq!(got, want, "{whole}");
        packets += 1;
    }
    packets
}

#[test]
fn listings() {
    let Some(folder) = shared("conformance/arm") else { return };
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("expected")).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut total = 0;
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        // Most of the packets, and most of the time. The conformance tests compare it, too.
        if name.starts_with("bugfix-exact-match") && !is_long() {
            continue;
        }
        let snapshot = name.split('.').next().unwrap();
        let units = units(&folder.join("snapshots").join(snapshot));
        if units.is_empty() {
            continue;
        }
        let packets = check(&text(&file), &units);
        println!("{name}: {packets} packets");
        // One listing has no bytes.
        assert!(packets > 0 || snapshot == "a55-test-tpiu", "{name}");
        total += packets;
    }
    assert_eq!(total, short_or_long(163_194, 850_934));
}

fn unit(ete: bool, registers: &'static [(&'static str, u64)]) -> Config {
    let register = |name: &str| {
        let given = registers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        given.or(match name {
            "TRCCONFIGR" | "TRCTRACEIDR" => Some(0),
            "TRCIDR0" => Some(0x0801_8ea1),
            "TRCIDR2" => Some(0x1088),
            _ => None,
        })
    };
    let core = CoreType { profile: Profile::Microcontroller, version: 8 };
    if ete { Config::ete(None, &register) } else { Config::etmv4(Some(core), &register) }.unwrap()
}

/// Packets that no listing contains, in the formats that OpenCSD documents.
#[test]
fn other_packets() {
    let ete = unit(true, &[("TRCDEVARCH", 0x4773_5a13), ("TRCIDR8", 20)]);
    let m = unit(false, &[("TRCIDR1", 0x4100_f460), ("TRCIDR0", 0xe41), ("TRCCONFIGR", 0x700)]);
    for (config, bytes, want) in [
        (ete, &[0x09, 2, 1, 0, 0, 0, 0, 0, 0, 0][..], "I_ITE : Instrumentation; EL2; Payload=0x1"),
        (ete, &[0x0c, 0x25], "I_CCNT_F2 : Cycle Count format 2.; Count=0x5; Commit(3)"),
        (ete, &[0x0d, 0x25], "I_CCNT_F2 : Cycle Count format 2.; Count=0x5; Commit(7)"),
        (ete, &[0x0e, 4, 5], "I_CCNT_F1 : Cycle Count format 1.; Count=0x5; Commit(4)"),
        (ete, &[0x1d], "I_CCNT_F3 : Cycle Count format 3.; Count=0x1; Commit(4)"),
        (ete, &[0x03, 0x11, 0x05], "I_TIMESTAMP : Timestamp.; Updated val = 0x11; CC=0x5"),
        (
            ete,
            &[0x2f, 3],
            "I_CANCEL_F1_MISPRED : Cancel Format 1 + Mispredict.; Cancel(3), Mispredict",
        ),
        (ete, &[0x32], "I_MISPREDICT : Mispredict.; Atom: EE, Mispredict"),
        (ete, &[0x37], "I_CANCEL_F2 : Cancel Format 2.; Atom: N, Cancel(1), Mispredict"),
        (ete, &[0x3b], "I_CANCEL_F3 : Cancel Format 3.; Atom: E, Cancel(3), Mispredict"),
        (ete, &[0x80], "I_CTXT : Context Packet.; Ctxt: Same"),
        (ete, &[0x06, 0x01, 0x70], "I_PE_RESET : PE Reset."),
        (ete, &[0x06, 0x23], "I_EXCEPT : Exception.;  Reserved; Ret Addr Follows;"),
        (ete, &[0xaf], "I_Q : Q Packet.; Count(Unknown)"),
        (ete, &[0xac, 7], "I_Q : Q Packet.; Count(7)"),
        (
            ete,
            &[0xb1],
            "I_SRC_ADDR_MATCH : Exact Source Address Match., [1]; Addr=0x0000000000000000; ",
        ),
        (ete, &[0x00, 0x05], "I_OVERFLOW : Overflow."),
        (
            ete,
            &[0x81, 0xd1, 0x12, 0, 0, 0, 0x34, 0, 0, 0],
            "I_CTXT : Context Packet.; Ctxt: AArch64,EL1, S; CID=0x00000034; VMID=0x0012; ",
        ),
        (m, &[0x05], "I_FUNC_RET : V8M - function return."),
        (m, &[0x06, 0x91, 0x10], "I_EXCEPT : Exception.;  IRQ8; Ret Addr Follows;"),
        (
            m,
            &[0x06, 0xc8, 0x20],
            "I_EXCEPT : Exception.;  MemManage; Fault Pending; Ret Addr Follows, Match Prev;",
        ),
        (m, &[0x43], "I_COND_FLUSH : Conditional Flush."),
        (m, &[0x5a, 0x12], "I_COND_RES_F3 : Conditional Result, format 3."),
        (m, &[0x70], "I_IGNORE : Ignore."),
    ] {
        // After an empty Trace Info packet.
        let (mut text, mut got) = (Etmv4Text::default(), String::new());
        for (bytes, want) in
            [(&[0x01, 0x00][..], "I_TRACE_INFO : Trace Info.; INFO=0x0 { CC.0"), (bytes, want)]
        {
            let Parse::Packet(packet, len) = Packet::parse(&[bytes, &[4]].concat(), &config) else {
                panic!("{bytes:02x?}");
            };
            assert_eq!(len, bytes.len());
            got.clear();
            text.packet(&config, &packet, &mut got);
            assert!(got.starts_with(want), "{got}");
        }
        assert_eq!(got, want);
    }
}

#[test]
fn initial_trace_info() {
    let ete = unit(true, &[]);
    let Parse::Packet(packet, _) = Packet::parse(&[0x01, 0x0d, 0x41, 0x02, 0x16], &ete) else {
        panic!()
    };
    let mut text = Etmv4Text::default();
    let same = "I_TRACE_INFO : Trace Info.; INFO=0x41 { CC.1, TSTATE.1 }; CC_THRESHOLD=0x16";
    let first = format!("{same}; INIT SPEC DEPTH=2; Decoder Sync point TINFO");
    for want in [first.as_str(), same] {
        let mut got = String::new();
        text.packet(&ete, &packet, &mut got);
        assert_eq!(got, want);
    }
}

/// Before a Trace Info packet, only the bits in packets are known.
#[test]
fn partly_known() {
    let ete = unit(true, &[]);
    let mut text = Etmv4Text::default();
    for (bytes, want) in [
        (
            &[0x95, 0x90, 0x25][..],
            "I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x???????????04A40 (16:0) ~[0x4A40]",
        ),
        (
            &[0x9a, 0x10, 0x25, 0x12, 0x34],
            "I_ADDR_L_32IS0 : Address, Long, 32 bit, IS0.; Addr=0x34124A40; ",
        ),
    ] {
        let Parse::Packet(packet, _) = Packet::parse(bytes, &ete) else { panic!() };
        let mut got = String::new();
        text.packet(&ete, &packet, &mut got);
        assert_eq!(got, want);
    }
}

#[test]
fn undecodable_bytes() {
    let (ete, m) = (unit(true, &[]), unit(false, &[]));
    for (config, bytes, fault, want) in [
        (
            ete,
            &[0x07][..],
            Fault::ReservedForConfig(7),
            "I_RESERVED_CFG : Reserved header for current configuration.[I_EXCEPT_RTN]",
        ),
        (
            m,
            &[0x23],
            Fault::ReservedForConfig(0x23),
            "I_RESERVED_CFG : Reserved header for current configuration.[I_NUM_DS_MKR]",
        ),
        (
            m,
            &[0x5f],
            Fault::ReservedForConfig(0x5f),
            "I_RESERVED_CFG : Reserved header for current configuration.[I_COND_RES_F3]",
        ),
        (ete, &[0x08], Fault::Reserved(8), "I_RESERVED : Reserved Packet Header"),
        (
            ete,
            &[0x00, 0x00, 0x01],
            Fault::Sequence,
            "I_BAD_SEQUENCE : Invalid Sequence in packet.[I_ASYNC]",
        ),
        (
            ete,
            &[0x00, 0x01],
            Fault::Sequence,
            "I_BAD_SEQUENCE : Invalid Sequence in packet.[I_EXTENSION]",
        ),
        (
            ete,
            &[0x9a, 0x01],
            Fault::Truncated,
            "I_INCOMPLETE_EOT : Incomplete packet at end of trace.[I_ADDR_L_32IS0]",
        ),
        (
            ete,
            &[0x06],
            Fault::Truncated,
            "I_INCOMPLETE_EOT : Incomplete packet at end of trace.[I_EXCEPT]",
        ),
        (
            ete,
            &[0x01],
            Fault::Truncated,
            "I_INCOMPLETE_EOT : Incomplete packet at end of trace.[I_TRACE_INFO]",
        ),
        (
            ete,
            &[0x00; 5],
            Fault::Truncated,
            "I_INCOMPLETE_EOT : Incomplete packet at end of trace.[I_ASYNC]",
        ),
        (ete, &[0xf7, 0x9a], Fault::Unsynchronised, "I_NOT_SYNC : I Stream not synchronised"),
    ] {
        let mut got = String::new();
        Etmv4Text::default().bad(&config, bytes, fault, &mut got);
        assert_eq!(got, want, "{bytes:02x?}");
    }
}
