//! `timing --between` and `find` for the packets of an ITM: software writes by port and value,
//! steps of exceptions, samples of the program counter, data trace.

use std::fs;

use serde_json::Value;

use crate::common::{Folder, tracewright};

/// A trace with a timestamp behind each packet: each packet is sent `after` cycles.
fn trace(packets: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    for (after, packet) in packets {
        bytes.extend(*packet);
        // Local timestamp packet format 1, in time. (Armv7-M ARM, D4.2.4)
        bytes.extend([0xc0, *after]);
    }
    bytes
}

/// A write of a byte to a port.
const fn write(port: u8, value: u8) -> [u8; 2] {
    [port << 3 | 1, value]
}

const ENTER: [u8; 3] = [0x0e, 15, 0x10];
const EXIT: [u8; 3] = [0x0e, 15, 0x20];
/// A value that comparator 1 has seen written, and a sample.
const DATA: [u8; 5] = [0b1001_1111, 7, 0, 0, 0];
const SAMPLE: [u8; 5] = [0x17, 0, 1, 0, 8];

#[test]
fn packets_of_an_itm_are_events() {
    let folder = Folder::new("itm-distances");
    let path = folder.path("swo.bin");
    // At cycles 10, 30, 35, 45, 60, 100, 103, 110, 118.
    let bytes = trace(&[
        (10, &write(3, 1)),
        (20, &ENTER),
        (5, &DATA),
        (10, &EXIT),
        (15, &write(3, 2)),
        (40, &write(3, 1)),
        (3, &SAMPLE),
        (7, &ENTER),
        (8, &write(3, 2)),
    ]);
    fs::write(&path, bytes).unwrap();
    let at = path.to_str().unwrap();
    let between = |from: &str, to: &str, more: &[&str]| {
        tracewright(&[&["timing", "--protocol", "ITM", at, "--between", from, to], more].concat())
    };
    for (from, to, count, least, most) in [
        ("write 3 =1", "write 3 =2", 2, 18, 50),
        ("write 3", "write 3", 3, 18, 50),
        ("dwt enter 15", "dwt exit 15", 1, 15, 15),
        ("dwt enter", "dwt exit", 1, 15, 15),
        ("dwt enter 15", "dwt data 1", 1, 5, 5),
        ("dwt data =7", "write 3 =2", 1, 25, 25),
        ("dwt sample 0x8000100", "dwt enter 15", 1, 7, 7),
        ("write 3 =2", "dwt sample", 1, 43, 43),
        ("dwt exit", "dwt enter", 1, 65, 65),
    ] {
        let output = between(from, to, &["--format", "json"]);
        assert_eq!(output.code, Some(0), "{from} to {to}: {}", output.err);
        let line = output.out.lines().nth(1).expect("a line");
        let line: Value = serde_json::from_str(line).expect("JSON");
        let time = &line["time"];
        assert_eq!(time["count"], count, "{from} to {to}: {line}");
        for (name, value) in [("min", least), ("max", most)] {
            let is = &time[name];
            assert_eq!((&is["least"], &is["most"]), (&value.into(), &value.into()), "{line}");
        }
        assert!(time["max_at"]["instruction"].is_null(), "{line}");
    }
    let text = between("write 3 =1", "write 3 =2", &["--frequency", "1M"]);
    assert!(text.out.contains("at offset 0x") && text.out.contains("50.00 us"), "{}", text.out);
    for (query, why) in [
        ("exception 15", "`dwt enter N`"),
        ("access 0x100", "`dwt data COMPARATOR`"),
        ("function main", "it has `write PORT` and `dwt`"),
        ("dwt entered", "is not an event of a DWT"),
        ("write 3 =1 ~a", "a value or a text"),
    ] {
        for (from, to) in [(query, "any"), ("any", query)] {
            let output = between(from, to, &[]);
            assert_eq!(output.code, Some(2), "{query}: {}", output.out);
            assert!(output.err.contains(why), "{query}: {}", output.err);
        }
    }
    let found = |query: &str| {
        let words = ["find", "--protocol", "ITM", at];
        tracewright(&[&words[..], &[query]].concat()).out.trim().to_owned()
    };
    for (query, count) in [
        ("count write 3 =2", "2"),
        ("count write 4 =2", "0"),
        ("count dwt", "5"),
        ("count dwt enter 15", "2"),
        ("count dwt return", "0"),
        ("count dwt data 1 =7", "1"),
        ("count dwt data 0", "0"),
        ("count dwt sample 0..0x8000100", "0"),
        ("count dwt sleep", "0"),
    ] {
        assert_eq!(found(query), count, "{query}");
    }
}

/// Beside a trace unit, an ITM has another clock.
#[test]
fn an_itm_beside_a_trace_unit_is_selected_alone() {
    let folder = Folder::with_demo("itm-distances-demo");
    let demo = folder.demo();
    let words = ["timing", demo.to_str().unwrap(), "--between", "write 0", "write 0"];
    let run = |more: &[&str]| tracewright(&[&words[..], more].concat());
    let output = run(&[]);
    assert_eq!(output.err.matches("packets of ITM_0 have no time").count(), 1, "{}", output.err);
    assert!(output.out.contains("0.."), "{}", output.out);
    let output = run(&["--id", "0x20", "--format", "json"]);
    assert!(!output.err.contains("have no time"), "{}", output.err);
    let line: Value = serde_json::from_str(output.out.lines().nth(1).unwrap()).unwrap();
    // The writes before and after the timestamp at 1500 cycles; one pair lies between two.
    assert_eq!((&line["time"]["count"], &line["time"]["min"]["most"]), (&7.into(), &1500.into()));
}
