//! dqr, SiFive's decoder of its own trace, decodes the streams of profile `sifive` to the same
//! instructions. `TRACEWRIGHT_DQR` is the path of its program (github.com/sifive/trace-decoder).

use std::process::Command;

use tracewright::base::Step;

use crate::encode::log;
use crate::ntrace_encode::{Names, encode, unit};
use crate::streams::shared;

/// Programs whose execution was logged, and XLEN.
const PROGRAMS: [(&str, &str); 9] = [
    ("median.riscv", "64"),
    ("multiply.riscv", "64"),
    ("qsort.riscv", "64"),
    ("dhrystone.riscv", "64"),
    ("xrle.riscv", "32"),
    ("own_calls_rv64.elf", "64"),
    ("own_calls_rv32.elf", "32"),
    ("own_traps_rv64.elf", "64"),
    ("own_traps_rv32.elf", "32"),
];

/// Options of the encoder, and bits of SRC.
const UNITS: [(Names<'static>, u8); 5] = [
    (&[("mode", "htm")], 0),
    (&[("mode", "btm")], 0),
    (&[("mode", "htm"), ("trTsEnable", "1")], 0),
    (&[("mode", "htm"), ("src_bits", "3"), ("trTeInstSyncMode", "1"), ("trTeInstSyncMax", "2")], 3),
    (&[("mode", "htm"), ("history-bits", "8"), ("count-limit", "64")], 0),
];

/// The addresses of a listing of dqr: `[SRC] ADDRESS: OPCODE ...`.
fn addresses(listing: &str) -> Vec<u64> {
    let address = |line: &str| {
        let line = line.trim_start();
        let line =
            line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(line, |p| p.1);
        let digits = line.trim_start().split_once(':')?.0;
        u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() >= 8)
    };
    listing.lines().filter_map(address).collect()
}

#[test]
fn streams_of_profile_sifive() {
    let Some(dqr) = std::env::var_os("TRACEWRIGHT_DQR") else {
        tracewright_testing::skip("TRACEWRIGHT_DQR is not set");
        return;
    };
    let Some(root) = shared() else { return };
    let folder = std::env::temp_dir().join(format!("ntrace-dqr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stream = folder.join("trace.rtd");
    for (program, xlen) in PROGRAMS {
        let Some(steps) = log(&root, program.split('.').next().unwrap()) else { return };
        // The boot code is in no ELF file.
        let is_boot = |step: &Step| matches!(step, Step::Retired(r) if r.address >> 12 == 1);
        let steps: Vec<Step> = steps.into_iter().filter(|step| !is_boot(step)).collect();
        let pcs = steps.iter().filter_map(|step| match step {
            Step::Retired(retired) => Some(retired.address),
            _ => None,
        });
        let want: Vec<u64> = pcs.collect();
        let elf = root.join("etrace-ref/elf").join(program);
        for (names, bits) in UNITS {
            let common = [("profile", "sifive"), ("xlen", xlen)];
            let (config, settings) = unit(&[&common[..], names].concat());
            let count = |n: u64| Step::Timestamp(n);
            let timed = (0..).zip(&steps).flat_map(|(n, step)| [count(n), *step]);
            let (_, bytes) = encode(&timed.collect::<Vec<_>>(), &config, &settings);
            std::fs::write(&stream, bytes).unwrap();
            let output = Command::new(&dqr)
                .args(["-nosrc", "-nofile", &format!("-srcbits={bits}"), "-t"])
                .args([stream.as_os_str(), "-e".as_ref(), elf.as_os_str()])
                .output()
                .unwrap();
            let got = addresses(&String::from_utf8_lossy(&output.stdout));
            let at = got.iter().zip(&want).position(|(a, b)| a != b);
            assert!(got == want, "{program} {names:?}: {} of {}, {at:?}", got.len(), want.len());
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
