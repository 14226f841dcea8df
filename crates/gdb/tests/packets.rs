//! A server of gdb and packets that are cut, damaged, random, too long or too many.

use std::fs;
use std::path::Path;

use tracewright_gdb::{MOST, emit};
use tracewright_testing::{Random, times};

#[path = "../../../fuzz/src/gdb.rs"]
mod property;

use property::{Replayed, gdb, packets};

fn replayed() -> Replayed {
    Replayed::open(env!("CARGO_MANIFEST_DIR"))
}

/// The requests of a session, and forms that no gdb sends.
const LINES: [&str; 44] = [
    "qSupported:multiprocess+;swbreak+;xmlRegisters=i386",
    "vMustReplyEmpty",
    "QStartNoAckMode",
    "Hg0",
    "Hg1",
    "Hc-1",
    "Hgffffffffffffffff",
    "qXfer:features:read:target.xml:0,ffb",
    "qXfer:features:read:target.xml:100,40",
    "qXfer:features:read:target.xml:ffffffffffffffff,ffffffffffffffff",
    "qXfer:threads:read::0,1000",
    "qTStatus",
    "?",
    "qfThreadInfo",
    "qsThreadInfo",
    "qThreadExtraInfo,1",
    "qAttached",
    "qC",
    "T1",
    "g",
    "p1f",
    "p20",
    "m8000,40",
    "mffffffffffffffff,ffffffffffffffff",
    "x8000,1000",
    "Z0,8010,4",
    "z0,8010,4",
    "Z1,8020,4",
    "Z2,20000000,4",
    "vCont?",
    "vCont;s:1",
    "vCont;c:1",
    "vCont;r0,ffffffffffffffff:1",
    "vCont;s:9",
    "bs",
    "bc",
    "c",
    "s",
    "P0=0",
    "X8000,0:",
    "qRcmd,7768656e",
    "qRcmd,66696e6420616c6c20616e79",
    "qRcmd,676f746f20656e64",
    "qRcmd,ff",
];

/// A session, cut at each byte.
#[test]
fn packets_are_cut_at_every_byte() {
    let replayed = replayed();
    let mut bytes = Vec::new();
    for line in LINES {
        emit(line.as_bytes(), &mut bytes);
        // Acknowledgements, a repetition, Ctrl-C.
        bytes.extend(b"+-\x03");
    }
    bytes.extend(packets(b"D"));
    let (mut whole, mut each) = (Vec::new(), Vec::new());
    replayed.serve(|server| {
        server.feed(&bytes, &mut whole);
        assert!(server.is_closed());
    });
    replayed.serve(|server| bytes.iter().for_each(|byte| server.feed(&[*byte], &mut each)));
    assert_eq!(whole, each);
    for cut in (0..bytes.len()).step_by(7) {
        let mut parts = Vec::new();
        replayed.serve(|server| {
            server.feed(&bytes[..cut], &mut parts);
            server.feed(&bytes[cut..], &mut parts);
        });
        assert_eq!(whole, parts, "cut at {cut}");
    }
    let text = String::from_utf8_lossy(&whole);
    for part in ["ReverseContinue+", "<architecture>aarch64", "replaylog:end", "replaylog:begin"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Lines of a session in random order, damaged, and random bytes.
#[test]
fn any_bytes_are_answered() {
    let replayed = replayed();
    let mut random = Random::new(1);
    for n in 0..times(400) {
        let len = random.index(60);
        let mut data = vec![(random.next() >> 32) as u8];
        if n % 4 == 0 {
            data.extend(random.bytes(len));
        } else {
            for _ in 0..1 + random.index(12) {
                data.extend(random.pick(&LINES).bytes());
                data.push(b'\n');
            }
            // Of the lines, packets.
            data[0] |= 1;
        }
        for _ in 0..random.index(4) {
            let at = random.index(data.len());
            match random.below(3) {
                0 => data.insert(at + 1, (random.next() >> 40) as u8),
                1 => data.truncate(at + 1),
                _ => data[at] ^= 1 << random.below(8),
            }
        }
        gdb(&replayed, &data);
    }
}

/// The inputs of earlier runs of the fuzzer.
#[test]
fn inputs_of_the_fuzzer() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/inputs/gdb.hex");
    let text = fs::read_to_string(path).expect("inputs");
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("a byte")
    };
    let replayed = replayed();
    let mut count = 0;
    for line in text.lines() {
        let data: Vec<u8> = line.as_bytes().chunks(2).map(byte).collect();
        gdb(&replayed, &data);
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

/// A packet without an end takes no memory, and the next one is answered; breakpoints are bounded.
#[test]
fn memory_is_bounded() {
    replayed().serve(|server| {
        let mut out = Vec::new();
        server.feed(b"$", &mut out);
        for _ in 0..64 {
            server.feed(&[b'm'; MOST], &mut out);
        }
        assert!(out.is_empty());
        server.feed(b"#00$?#3f", &mut out);
        assert!(out.starts_with(b"-+$T05"), "{}", String::from_utf8_lossy(&out));
        let mut refused = 0;
        for address in 0..5000 {
            out.clear();
            server.feed(&packets(format!("Z0,{address:x},4").as_bytes()), &mut out);
            refused += u32::from(out.starts_with(b"+$E."));
        }
        assert_eq!(refused, 5000 - 4096);
        // What is refused is no breakpoint.
        out.clear();
        server.feed(&packets(b"z0,1,4\nZ0,1387,4\nZ0,1386,4"), &mut out);
        assert!(out.starts_with(b"+$OK#9a+$OK#9a+$E."), "{}", String::from_utf8_lossy(&out));
    });
}
