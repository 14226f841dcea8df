//! Cycles of an ETMv1 or ETMv2 without a description: the protocol, the width of the port and the
//! first record are found.

use std::fs;

use tracewright::frames::cycles::{Width, cycles, etb};

use tracewright_testing::sample;

use crate::common::{Folder, args, tracewright};

/// Two blocks at 0x8000 and 0x8010 that return to one another: a load, and what follows it.
const CODE: [(usize, u32); 6] = [
    (0x8000, 0xe593_2000),
    (0x8004, 0xe251_1001),
    (0x8008, 0xe12f_ff1e),
    (0x8010, 0xe1a0_0000),
    (0x8014, 0xe593_2000),
    (0x8018, 0xe12f_ff1e),
];

/// Their execution.
fn log() -> String {
    let mut log = "step,address,isa,opcode,passed,size,value\n".to_owned();
    for n in 0..360u32 {
        for (address, opcode) in CODE {
            log += &format!("instruction,{address:x},A32,{opcode:x},1,,\n");
            if opcode == 0xe593_2000 {
                log += &format!(
                    "read,{:x},,,,4,{:x}\n",
                    0x2000_0000 + n % 16 * 4,
                    n.wrapping_mul(0x0102_0305)
                );
            }
        }
    }
    log
}

#[test]
fn cycles_without_a_description() {
    let folder = Folder::new("detect-cycles");
    let (log_file, program) = (folder.path("log.csv"), folder.path("program"));
    let mut memory = vec![0; 0x8020];
    for (at, word) in CODE {
        memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    fs::write(&log_file, log()).unwrap();
    fs::write(&program, memory).unwrap();
    let image = format!("--image {}@0", program.display());
    let units = [("ETM1", "ETMCCR=0x30000000"), ("ETM2", "ETMIDR=0x41002100")];
    let all = units.iter().flat_map(|unit| Width::ALL.map(|width| (*unit, width)));
    for ((protocol, version), width) in sample(7, all) {
        let size = match width {
            Width::W4 => 0,
            Width::W8 => 0x10,
            Width::W16 => 0x20,
        };
        let snapshot = folder.path(&format!("{protocol}-{}", width.pins()));
        let words = format!(
            "encode --isa a32 --protocol {protocol} --config ETMCR={:#x} {image} --log",
            0x8c | size
        );
        let mut words = args(&words, &[&log_file]);
        words.extend(args("-o", &[&snapshot]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let capture = tracewright::read_capture(&snapshot).unwrap();
        let records = capture.buffers[0].bytes().into_owned();
        let all = cycles(&records, width);
        let ram: Vec<u8> = etb::write(all, width).flat_map(u32::to_le_bytes).collect();
        let rows = [("raw", width.record(), &records), ("etb", 4, &ram)];
        for (framing, row, bytes) in rows {
            let cut = 5 * row + row / 2;
            let align = (row - cut % row) % row;
            let file = folder.path("dump");
            fs::write(&file, &bytes[cut..]).unwrap();
            let case = format!("{protocol}, {} pins, {framing}", width.pins());
            let output = tracewright(&args("info --format json", &[&file]));
            let line = output.out.lines().find(|line| line.contains(r#""type":"detection""#));
            let line = line.unwrap_or_else(|| panic!("{case}: {}", output.err));
            for want in [
                format!(r#""framing":"{framing}""#),
                format!(r#""align":{align},"#),
                format!(r#""protocol":"{protocol}""#),
            ] {
                assert!(line.contains(&want), "{case}: {want}: {line}");
            }
            let found = tracewright(&args(&format!("decode {image}"), &[&file]));
            let options = format!(
                "decode {image} --protocol {protocol} --framing {framing} --align {align} --config \
                     ETMCR={:#x} --config {version}",
                0x8c | size
            );
            let want = tracewright(&args(&options, &[&file]));
            assert!(found.out.lines().count() > 200, "{case}: {}", found.err);
            assert!(found.out == want.out, "{case}: {}", found.err);
        }
    }
}
