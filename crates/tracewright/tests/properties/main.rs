//! What must hold of any bytes, for a short while: the properties of `fuzz/`, with random bytes and
//! with damaged cases.
#![forbid(unsafe_code)]

#[path = "../../../../fuzz/src/budget.rs"]
mod budget;
#[path = "../../../../fuzz/src/captures.rs"]
mod captures;
#[path = "../cases/case.rs"]
mod case;
#[path = "../../../../fuzz/src/cases.rs"]
mod cases;
#[path = "../cases/chunks.rs"]
mod chunks;
#[allow(dead_code, reason = "fuzz targets use the rest")]
#[path = "../../../../fuzz/src/cycles.rs"]
mod cycles;
#[path = "../../../../fuzz/src/etmv4.rs"]
mod etmv4;
#[path = "../../../../fuzz/src/etrace.rs"]
mod etrace;
#[path = "../../../../fuzz/src/index.rs"]
mod index;
#[path = "../../../../fuzz/src/levels.rs"]
mod levels;
#[path = "../../../../fuzz/src/packets.rs"]
mod packets;
#[path = "../../../../fuzz/src/perf.rs"]
mod perf;
#[path = "../../../../fuzz/src/properties.rs"]
mod properties;
mod replay;
#[allow(dead_code, reason = "fuzz targets use the rest")]
#[path = "../../../../fuzz/src/script.rs"]
mod script;
mod trace_units;
#[path = "../../../../fuzz/src/units.rs"]
mod units;
#[path = "../cases/ways.rs"]
mod ways;

use case::Case;
use tracewright::base::MAX_EXPANSION;
use tracewright::frames::{Framing, Joiner};
use tracewright::protocols::registry::{AnyConfig, AnyProtocol};
use tracewright_testing::{Random, is_long, sample, short_or_long, times};

/// How often each property is tried with each kind of input where `TRACEWRIGHT_TIMES` is not set.
const TIMES: u64 = 16;

/// Random bytes, half of them with what synchronises the protocols here and there.
fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    const SYNCS: [&[u8]; 6] = [
        // ETMv4, ETE: A-Sync, Trace Info, Trace On, address and context.
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00, 0x04, 0x82, 0, 8, 0, 0, 0x11],
        // ETMv3: A-sync, I-sync.
        &[0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0x00, 0x10, 0x00, 0x00],
        // PTM: A-sync, I-sync.
        &[0, 0, 0, 0, 0, 0x80, 0x08, 0x00, 0x10, 0x00, 0x00, 0x21],
        // ITM: synchronisation.
        &[0, 0, 0, 0, 0, 0x80],
        // STM: ASYNC in nibbles, VERSION.
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xf0, 0x30],
        // A full synchronisation packet of a trace port.
        &[0xff, 0xff, 0xff, 0x7f],
    ];
    let mut bytes = random.bytes(len);
    if random.index(2) == 0 {
        for _ in 0..1 + random.index(3) {
            let at = random.index(bytes.len());
            bytes.splice(at..at, SYNCS[random.index(SYNCS.len())].iter().copied());
        }
    }
    bytes
}

/// Damaged indexes, half of them with checksums that fit.
#[test]
fn damaged_indexes() {
    let mut random = Random::new(9);
    let whole = index::whole();
    index::index(&[&[0], &whole[..]].concat());
    for time in 0..times(TIMES) {
        let mut bytes = whole.clone();
        for _ in 0..=random.index(4) {
            let at = random.index(bytes.len());
            bytes[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff]);
        }
        bytes.truncate(bytes.len() - random.index(2) * random.index(bytes.len()));
        index::index(&[&[time as u8 & 1], &bytes[..]].concat());
    }
}

#[test]
fn sources_of_random_bytes() {
    for (n, _) in AnyProtocol::ALL.iter().enumerate() {
        let mut random = Random::new(n as u64 + 1);
        for time in 0..times(TIMES) {
            let seed = if time % 2 == 0 { 0 } else { random.next() as u8 };
            let mut data = vec![n as u8, seed];
            let len = random.index(60);
            data.extend(bytes(&mut random, len));
            properties::source(&data, properties::taken);
        }
    }
}

/// Packets of ETMv4 and ETE in any order.
#[test]
fn etmv4_packets_in_any_order() {
    let mut random = Random::new(23);
    for _ in 0..4 * times(TIMES) {
        let len = random.index(40);
        etmv4::etmv4(&random.bytes(2 + len), properties::taken);
    }
}

/// E-Trace units of any parameters.
#[test]
fn etrace_of_random_bytes() {
    let mut random = Random::new(21);
    for _ in 0..times(TIMES) {
        let len = random.index(90);
        let mut data = random.bytes(2 + len);
        // Mostly short packets of instruction trace.
        for byte in data.iter_mut().skip(34) {
            if random.index(4) == 0 {
                *byte = 0x40 | random.index(8) as u8;
            }
        }
        etrace::etrace(&data, properties::taken);
    }
}

/// A packet that reaches the limit of expansion, and that is longer than needed: written again it
/// has fewer bytes, and a lower limit.
#[test]
fn etrace_packet_at_the_limit() {
    #[rustfmt::skip]
    let data = [
        0x89, 0x89, 0x89, 0x89, 0x89, 0x97, 0x89, 0x89, 0x00, 0x00, 0x43, 0xce, 0x00, 0x42, 0x10, 0x0a,
        0xf8, 0x42, 0x0a, 0x08, 0x42, 0x42, 0xd0, 0x89, 0x89, 0xeb, 0x69, 0x61, 0x00, 0x21, 0x80,
    ];
    etrace::etrace(&data, properties::taken);
}

/// A trap of PULP `rv_tracer` whose fields are longer than the four bits of the length in the
/// header of `trdb` can state, and that ends before its address.
#[test]
fn etrace_packet_without_its_last_fields() {
    #[rustfmt::skip]
    let data = [
        0x69, 0x72, 0x65, 0x74, 0x69, 0x72, 0x01, 0xe8, 0xba, 0x2e, 0x8b, 0xa2, 0xe8, 0xba, 0x65, 0x5f,
        0x77, 0x69, 0x64, 0x74, 0x68, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0x65, 0x74, 0x69, 0x72, 0x01, 0xe8,
        0xba, 0x2e, 0x8b, 0xa2, 0xe8, 0xba, 0x65, 0x5f, 0x77, 0x69,
    ];
    etrace::etrace(&data, properties::taken);
}

/// A packet reports the target of a jump whose own address was reported, where trapped instructions
/// are in the stream. Then the trace ends.
#[test]
fn etrace_target_of_a_reported_jump() {
    #[rustfmt::skip]
    let data = [
        0xff, 0x00, 0x0a, 0x00, 0x75, 0x2b, 0x07, 0x07, 0x5e, 0x07, 0x1c, 0x3e, 0xff, 0x5b, 0x07, 0x07,
        0x07, 0xba, 0x74, 0x69, 0x6d, 0x75, 0x5f, 0x77, 0x69, 0x64, 0x37, 0xc4, 0x42, 0x17, 0x08, 0x03,
        0x42, 0x10, 0x41, 0x1b, 0x38, 0xc4, 0x42, 0x17, 0x08,
    ];
    etrace::etrace(&data, properties::taken);
}

/// Several harts in one stream.
#[test]
fn harts_of_random_bytes() {
    let mut random = Random::new(22);
    for _ in 0..5 * times(TIMES) {
        let len = random.index(300);
        let data = random.bytes(4 + len);
        etrace::harts(&data);
    }
}

/// Bits turned round, bytes lost, bytes doubled, the end cut off.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.index(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.index(bytes.len());
        match random.index(5) {
            0 | 1 => bytes[at] ^= 1 << random.index(8),
            2 => {
                bytes.remove(at);
            }
            3 => bytes.insert(at, bytes[at]),
            _ => bytes.truncate(at),
        }
    }
}

#[test]
fn damaged_cases() {
    let mut random = Random::new(4711);
    let mut cases = 0;
    for (name, case) in sample(3, Case::all()) {
        let mut case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
        let whole = case.bytes.clone();
        if let AnyConfig::Etrace(params) = &mut case.config {
            params.choices.longest_count =
                params.choices.longest_count.min(properties::LONGEST_COUNT);
        }
        for _ in 0..times(TIMES / 16) {
            case.bytes.clone_from(&whole);
            damage(&mut random, &mut case.bytes);
            properties::taken(&case);
        }
        cases += 1;
    }
    assert!(cases >= short_or_long(62, 185), "only {cases} cases");
}

#[test]
fn links_of_random_bytes() {
    let mut random = Random::new(3);
    for framing in 0..5 {
        for _ in 0..times(TIMES) {
            let mut data = vec![framing, random.next() as u8];
            let len = random.index(400);
            data.extend(bytes(&mut random, len));
            properties::link(&data);
            properties::joined(&data);
        }
    }
}

/// Frames of random sources, damaged; and anything at all.
#[test]
fn sessions_of_random_bytes() {
    let mut random = Random::new(9);
    for time in 0..times(TIMES) {
        let framing = random.index(5) as u8;
        let mut data = vec![framing, 0, random.next() as u8];
        if time % 4 == 0 {
            let len = random.index(300);
            data.extend(bytes(&mut random, len));
        } else {
            data.extend(frames(&mut random, framing));
            let mut tail = data.split_off(3);
            damage(&mut random, &mut tail);
            data.extend(tail);
        }
        properties::session(&data);
    }
}

/// Captures decoded in chunks on several threads: random bytes, and frames of several sources.
#[test]
fn chunks_of_random_bytes() {
    let mut random = Random::new(10);
    for time in 0..times(TIMES) {
        let framing = random.index(5) as u8;
        let mut data = vec![framing, 0, random.next() as u8, random.next() as u8];
        if time % 4 == 0 {
            let len = random.index(300);
            data.extend(bytes(&mut random, len));
        } else {
            for _ in 0..1 + random.index(4) {
                let mut more = frames(&mut random, framing);
                // Most have no damage, so that most frames stay frames.
                if random.index(4) == 0 {
                    damage(&mut random, &mut more);
                }
                data.extend(more);
            }
        }
        properties::chunks(&data);
    }
}

/// Each protocol's cases, repeated: chunks begin anywhere in them and are joined.
#[test]
fn chunks_of_repeated_cases_join() {
    let mut joined: Vec<(AnyProtocol, bool, u64)> = Vec::new();
    let mut prepared = 0;
    for (name, case) in sample(9, Case::all()) {
        let case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
        // A short run takes some of the cases, without those of the limit of expansion, whose code
        // is long.
        if !is_long() && case.max_expansion != MAX_EXPANSION {
            continue;
        }
        let mut framed = Vec::new();
        let mut joiner = Joiner::new(Framing::Coresight);
        for n in 0..24 {
            let other = [n; 9];
            joiner.push(chunks::FRAMED_ID, &case.bytes, &mut framed).unwrap();
            // One that is silent most of the time.
            joiner.push(0x33, &other[..usize::from(n % 12 == 0)], &mut framed).unwrap();
        }
        joiner.finish(&mut framed);
        for (framing, buffer) in
            [(Framing::Raw, case.bytes.repeat(24)), (Framing::Coresight, framed)]
        {
            let chunk = (3 * case.bytes.len()).next_multiple_of(16);
            let work = chunks::of_case(&case, &buffer, framing, 16, chunk)
                .unwrap_or_else(|why| panic!("{name}, {framing:?}: {why}"));
            assert_eq!(work.bytes, buffer.len() as u64, "{name}");
            assert!(work.prepared <= 2 * work.again, "{name}: {work:?}");
            prepared += u64::from(work.prepared > 0);
            joined.push((case.config.protocol(), framing == Framing::Raw, work.joined));
        }
    }
    let mut joining = 0;
    for &protocol in AnyProtocol::ALL {
        for raw in [true, false] {
            // An MTB has no trace ID. Its packets are found by their alignment, which frames lose.
            if protocol == AnyProtocol::Mtb && !raw {
                continue;
            }
            let own = joined.iter().filter(|(p, r, _)| *p == protocol && *r == raw);
            let most = own.map(|(_, _, joined)| *joined).max();
            // The cases of a short run may have no synchronisation in the middle.
            let joins = most.is_none_or(|most| most > 2);
            assert!(joins || !is_long(), "{protocol:?} raw {raw}: {most:?} joins");
            joining += usize::from(joins);
        }
    }
    assert!(joining >= 12, "only {joining}");
    assert!(prepared > short_or_long(20, 200), "the heads of chunks of {prepared} buffers");
    assert!(joined.len() > short_or_long(50, 500), "only {} buffers", joined.len());
}

/// Bytes of each protocol's source, in frames.
fn frames(random: &mut Random, framing: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut joiner = Joiner::new(Framing::ALL[usize::from(framing)]);
    for _ in 0..random.index(12) {
        let id = properties::FIRST_ID + random.index(AnyProtocol::ALL.len() + 1) as u8;
        let len = 1 + random.index(40);
        let source = bytes(random, len);
        joiner.push(id, &source, &mut out).unwrap();
    }
    joiner.finish(&mut out);
    out
}

/// What trace units write of random programs.
#[test]
fn random_programs_there_and_back() {
    let mut random = Random::new(13);
    for _ in 0..times(TIMES) / 2 {
        properties::round_trip(&random.next().to_le_bytes(), properties::taken);
    }
}

/// A packet or none at every byte.
#[test]
fn packets_of_random_bytes() {
    let mut random = Random::new(17);
    for n in 0..AnyProtocol::ALL.len() {
        for time in 0..times(TIMES) {
            let mut data = vec![n as u8, if time % 2 == 0 { 0 } else { random.next() as u8 }];
            let len = random.index(60);
            data.extend(bytes(&mut random, len));
            packets::packets(&data);
        }
    }
}

/// Folders of files, damaged: a snapshot, one with a description, one of a trace port's cycles.
#[test]
fn damaged_captures() {
    const FOLDERS: [&str; 3] = [
        "== snapshot.ini\n[snapshot]\nversion=1.0\ndescription=small\n[device_list]\ndevice0=cpu.ini\n\
         device1=etm.ini\n[clusters]\nall=cpu\n[trace]\nmetadata=trace.ini\n\
         == cpu.ini\n[device]\nname=cpu\nclass=core\ntype=Cortex-A53\n[regs]\nPC(size:64)=0x1000\n\
         [dump1]\nfile=code.bin\naddress=0x1000\noffset=2\nlength=4\nspace=EL1N\n\
         == etm.ini\n[device]\nname=etm\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR(0x004)=0xC1\n\
         TRCTRACEIDR=0x10\nTRCIDR0=0x28000EA1\nTRCIDR1=0x4100F403\nTRCIDR2=0x488\nTRCIDR8=0\n\
         == trace.ini\n[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=ETB\nfile=trace.bin\n\
         format=coresight\n[core_trace_sources]\ncpu=etm\n[source_buffers]\netm(stream:0)=ETB\n\
         == trace.bin\n!\0\0\0\0\0\0\0\0\0\0\0\u{1}\u{1}\0\0\n== code.bin\ncodecode\n",
        "== capture.toml\n[[buffer]]\nname = \"ring\"\nfiles = [\"a.bin\", \"b\"]\n[[buffer]]\nfile = \"a.bin\"\nwrap = 3\n\
         [[source]]\nname = \"hart\"\nprotocol = \"etrace\"\nparams = \"unit\"\n[source.parameters]\nxlen = 64\n\
         [[source]]\nprotocol = \"ITM\"\nbuffer = \"ring\"\n[[image]]\nfile = \"b\"\naddress = \"0x8000\"\n\
         == a.bin\ns\0\0\0 ABCDEFGH\n== b\nabcd\n== unit\n[all]\nversion = 2.0\niaddress_lsb_p=1\n",
        "== port\netmp 1\narch 1.3\nwidth 8\nport normal\nhalf-rate 0\nhivecs 1\netmcr 0x0000000c\n\
         samples 6\ncycles\nIE:00 IN:12 x3 WT:05 TR:06 TD:00\nBE*:80 BD:01\n== ETMPORT1\n",
    ];
    let mut random = Random::new(31);
    for _ in 0..times(TIMES) {
        for folder in FOLDERS {
            let mut data = folder.as_bytes().to_vec();
            damage(&mut random, &mut data);
            captures::captures(&data);
        }
    }
    // A port's cycles, of which the last but one has bits that the port does not have, and the last
    // is cut.
    let port = [
        &b"== a.etmp\nETMPORT1\x01\0\x01\x03\x08\0\0\0\x0c\0\0\0"[..],
        &[0; 16],
        &[0xff; 8],
        &[0; 16],
        &[0x0c, 0x08, 0x00, 0x08, 0x3a, 0x30, 0x31],
    ];
    captures::captures(&port.concat());
    for folder in FOLDERS {
        captures::captures(folder.as_bytes());
    }
}

#[test]
fn memory_of_random_bytes() {
    let mut random = Random::new(5);
    for _ in 0..times(TIMES) * 10 {
        let len = random.index(80);
        let mut data = random.bytes(len);
        if random.index(2) == 0 {
            data.splice(0..0, *b"\x7fELF\x02\x01\x01");
        }
        properties::memory(&data);
    }
}

/// Lines that a log may have, put together and damaged at random.
#[test]
fn execution_logs() {
    const LINES: [&str; 14] = [
        "Trace 0: 0x7f9c7b4000c0 [00800480/0001035c/00000000/00000201] main\n",
        "Trace 1: 0x7fbfa0000100 [0000000001009331/00000000004005c0/00000001/00000201] _start\n",
        "0x0001035c:  bf00       nop\n",
        "Taking exception 2 [SVC] on CPU 0\n...from EL0 to EL1\n...with ELR 0x8004\n",
        "1 clk cpu0 IT (1) 00008000 e1a00000 A svc_s : NOP\n",
        "2 clk cpu0 IS (2) 00008004 0afffffe A svc_s : BEQ\n",
        "2 clk cpu0 MW8 20000000 00000000_12345678\n",
        "3 clk cpu0 E 00008000 00000007 CoreEvent_IRQ\n",
        "core   0: 3 0x0000000080000000 (0x00052583) x11 0x07 mem 0x0000000080002000\n",
        "core   0: exception trap_machine_ecall, epc 0x0000000080000230\n",
        "1,80000000,4081,3,0,0,0,0\n",
        "cpu,step,address,isa,opcode,value,size,cause\n",
        "0,instruction,8000,A32,e5910000,,,\n0,read,20000000,,,1,4,late\n",
        "0,software-write,1,,,5,32,\n0,exception,8004,,,,,irq\n0,halted,,,,,,\n",
    ];
    let mut random = Random::new(0x10_65);
    for _ in 0..times(TIMES) * 4 {
        let mut log = random.bytes(3);
        for _ in 0..random.index(12) {
            log.extend_from_slice(LINES[random.index(LINES.len())].as_bytes());
        }
        if random.index(2) == 0 {
            for _ in 0..random.index(4) {
                let at = random.index(log.len());
                log[at] = random.next() as u8;
            }
        }
        properties::log(&log);
    }
}

/// Recordings of the levels of each port: random levels in both formats, and damaged files.
#[test]
fn recordings_of_levels() {
    let mut random = Random::new(41);
    for time in 0..times(TIMES) * 4 {
        let port = random.next() as u8 & !levels::ROWS;
        let (_, signals) = levels::port(port);
        let unit = signals.len().div_ceil(8);
        let len = unit * random.index(20);
        let mut rows = random.bytes(len);
        rows.iter_mut().step_by(unit).enumerate().for_each(|(n, byte)| *byte ^= n as u8 & 1);
        levels::levels(&[&[port | levels::ROWS, 0], &rows[..]].concat());
        let rows: Vec<&[u8]> = rows.chunks_exact(unit).collect();
        let mut file = match time % 2 {
            0 => levels::vcd(&signals, &rows),
            _ => levels::sr(&signals, &rows),
        };
        damage(&mut random, &mut file);
        levels::levels(&[&[port, random.next() as u8], &file[..]].concat());
    }
}

/// Texts about each unit, put together of lines and damaged.
#[test]
fn texts_about_units() {
    const LINES: [&str; 16] = [
        "ETMCR=0x400\nETMTEEVR 0x6f\nETMIDR=0x4114f250 # id\n",
        "0x020: 0x1 0x2\n",
        "TRCIDR1=0x4100f424\nTRCCONFIGR=0x1fff\nTRCRSCTLR2=0x50003\n",
        "TRCVICTLR=0x201\nTRCACVR0=0x8000\nTRCACVR1=0x9000\n",
        "write TRCOSLAR 0\nread TRCSTATR 3\nwrite TRCPRGCTLR 1\nisb\n",
        "w ETMCR 0xc00\nr ETMSR 2\nmww 0x20 0x6f\ndsb sy\n",
        "trace main\nexclude 0x8010..+8\n",
        "between main..0x9000\n",
        "trigger exec:main*3\ncycles\n",
        "trigger write:0x20000000=0xab*3\ndata 0x20000000..+0x1000\n",
        "trbe 0x10000..+0x4000 wrap 4096\n",
        "etr 0x10000..+0x4000 circular\nlevels 3\n",
        "context 7\nvmid 1\ncontext-bytes 3\nid 16\n",
        "TRBE 64\nTRBBASER_EL1=0x1000,TRBPTR_EL1=0x1010,TRBLIMITR_EL1=0x2001,TRBSR_EL1=0x100000\n",
        "ETR 64\nRWP=0x1010,RSZ=0x10,STS=1,DBALO=0x1000,AXICTL=0x80,FFCR=1,CTL=1\n",
        "MTB 64\nPOSITION=0x14,MASTER=0x80000002\n",
    ];
    let mut random = Random::new(43);
    for time in 0..times(TIMES) * 4 {
        let kind = (time % u64::from(units::KINDS)) as usize;
        // The lines of each kind.
        let lines = [&LINES[..4], &LINES[4..6], &LINES[6..13], &LINES[13..]][kind];
        let mut data = vec![kind as u8, random.next() as u8];
        for _ in 0..1 + random.index(6) {
            data.extend_from_slice(lines[random.index(lines.len())].as_bytes());
        }
        let mut text = data.split_off(2);
        if random.index(2) == 0 {
            damage(&mut random, &mut text);
        }
        data.extend(text);
        units::units(&data);
    }
}
