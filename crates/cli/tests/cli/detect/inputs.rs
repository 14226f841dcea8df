//! Inputs without a description, made from captures whose description is known.

use std::fs;
use std::path::PathBuf;

use tracewright::frames::{Framing, Link, Sources, Splitter};
use tracewright_testing::shared;

/// What an input is.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Trace: framing, offset of the first frame, and the protocol of each main trace ID.
    Trace { framing: &'static str, align: u64, sources: Vec<(u64, &'static str)> },
    /// A file that is named.
    Container(&'static str),
    /// A capture that records its protocols.
    Described(&'static str),
}

/// An input.
pub struct Blind {
    pub name: String,
    pub bytes: Vec<u8>,
    pub image: Option<PathBuf>,
    /// The code at 0x1000 that is in no program file.
    pub boot: Option<Vec<u8>>,
    pub expected: Expected,
    /// What describes the input.
    pub origin: Option<Origin>,
}

/// What describes an input.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A snapshot.
    Snapshot(Described),
    /// Options.
    Options(String),
}

/// A snapshot that describes an input: the file of its buffer, and the bytes in its place.
#[derive(Clone, Debug)]
pub struct Described {
    pub file: PathBuf,
    pub bytes: Vec<u8>,
    /// The trace ID of the input among those of the snapshot, where the input has no frames.
    pub id: Option<u64>,
    /// The framing, where it is not that of the snapshot.
    pub framing: Option<&'static str>,
}

/// The snapshot with the buffer `path` of which `bytes` are taken.
fn origin(path: &str, bytes: Vec<u8>, id: Option<u64>) -> Option<Origin> {
    let file = shared(path)?;
    let described = file.parent()?.join("snapshot.ini").is_file();
    let described = described.then_some(Described { file, bytes, id, framing: None })?;
    Some(Origin::Snapshot(described))
}

/// The folders of the captures.
const CAPTURES: &str = "captures";
const ARM: &str = "conformance/arm/snapshots";
const TI: &str = "captures/ti-am243x-r5f/freertos/files/freertos.data";
const TI_ELF: &str = "captures/ti-am243x-r5f/freertos/freertos.out";
pub const SWO: &str = "captures/sigrok-stm32f105/swo_uart.bin";
const SWO_ELF: &str = "captures/sigrok-stm32f105/trace_example.elf";

fn read(path: &str) -> Option<Vec<u8>> {
    fs::read(shared(path)?).ok()
}

/// The bytes of one ID in frames.
pub fn stream(bytes: &[u8], id: u16) -> Vec<u8> {
    let mut sources = Sources::default();
    Splitter::new(Link::new(Framing::Coresight)).split(0, bytes, &mut sources);
    sources.get(id).map(|source| source.bytes().to_vec()).unwrap_or_default()
}

/// A framed input, cut at its beginning.
type Framed = (String, usize, usize, &'static [(u64, &'static str)], Option<&'static str>);

/// The inputs of the test; other captures and other cuts than those with which the limits of
/// detection were chosen.
pub fn all() -> Option<Vec<Blind>> {
    let mut out = Vec::new();
    framed(&mut out)?;
    ports(&mut out)?;
    unframed(&mut out)?;
    messages(&mut out)?;
    containers(&mut out)?;
    Some(out)
}

fn framed(out: &mut Vec<Blind>) -> Option<()> {
    const ETM4: &[(u64, &str)] = &[(0x10, "ETM4")];
    const JUNO: &[(u64, &str)] = &[(0x10, "ETM4"), (0x13, "ETM4"), (0x15, "ETM4")];
    const TC2: &[(u64, &str)] = &[(0x10, "ETM3"), (0x11, "ETM3"), (0x12, "ETM3"), (0x13, "PTM")];
    const PTM: &[(u64, &str)] = &[(0x10, "PTM"), (0x11, "PTM")];
    const BOTH: &[(u64, &str)] = &[(1, "ITM"), (2, "ETM3")];
    const ETM3: &[(u64, &str)] = &[(0x10, "ETM3")];
    let ricsec = |n| format!("{CAPTURES}/ricsec-decoder/branches/trace{n}/cstrace.bin");
    let arm = |name| format!("{ARM}/{name}");
    let whole = usize::MAX;
    let rows: Vec<Framed> = vec![
        (ricsec(2), 3, whole, ETM4, None),
        (ricsec(3), 7, whole, ETM4, None),
        (ricsec(4), 12, whole, ETM4, None),
        (arm("juno_r1_1/cstrace.bin"), 9, whole, JUNO, None),
        (arm("juno-uname-001/uname_trace.bin"), 13, whole, ETM4, None),
        (arm("juno-uname-001/uname_trace.bin"), 4, 1 << 15, ETM4, None),
        (arm("TC2/cstrace.bin"), 7, whole, TC2, None),
        (arm("TC2/cstrace.bin"), 10, whole, TC2, None),
        (arm("Snowball/cstrace.bin"), 3, whole, PTM, None),
        (arm("Snowball/cstrace.bin"), 14, whole, PTM, None),
        (arm("bugfix-exact-match/cstrace.bin"), 13, 1 << 16, &[(0x12, "ETM4")], None),
        (arm("bugfix-exact-match/cstrace.bin"), 300_003, 1 << 16, &[(0x12, "ETM4")], None),
        (arm("stm_only/cstraceitm.bin"), 2, whole, &[(0x20, "STM")], None),
        (arm("stm_only/cstraceitm.bin"), 9, whole, &[(0x20, "STM")], None),
        (arm("stm-issue-27/stuck_trace.bin"), 4, whole, &[(0x10, "STM")], None),
        (SWO.to_owned(), 2, whole, BOTH, Some(SWO_ELF)),
        (SWO.to_owned(), 8, whole, BOTH, Some(SWO_ELF)),
        (SWO.to_owned(), 13, whole, BOTH, None),
        (TI.to_owned(), 3, whole, ETM3, Some(TI_ELF)),
        (TI.to_owned(), 9, whole, ETM3, Some(TI_ELF)),
        (TI.to_owned(), 14, whole, ETM3, None),
        (TI.to_owned(), 20_010, 1 << 15, ETM3, Some(TI_ELF)),
    ];
    for (path, cut, len, sources, image) in rows {
        let bytes = read(&path)?;
        let bytes: Vec<u8> = bytes.into_iter().skip(cut).take(len).collect();
        let align = (16 - cut as u64 % 16) % 16;
        let aligned = bytes.get(align as usize..).unwrap_or_default().to_vec();
        let origin = origin(&path, aligned, None).or_else(|| options(&path, align));
        out.push(Blind {
            origin,
            name: format!("{path} cut at {cut}"),
            bytes,
            image: image.and_then(shared),
            boot: None,
            expected: Expected::Trace { framing: "coresight", align, sources: sources.to_vec() },
        });
    }
    Some(())
}

/// The options for a capture without a snapshot, whose first frame is at `align`.
fn options(path: &str, align: u64) -> Option<Origin> {
    let unit = match path {
        SWO => {
            "--protocol ITM@1 --protocol ETM3@2 --core Cortex-M3 --config ETMCR=0 --config \
             ETMIDR=0x4114f250"
        }
        TI => {
            "--protocol ETM3@0x10 --core Cortex-R5 --config ETMCR=0xc40 --config ETMIDR=0x4104f230"
        }
        // The capture records no registers: those of an ETMv4 without cycle counts.
        _ if path.contains("ricsec") => {
            "--protocol ETM4@0x10 --config TRCCONFIGR=1 --config TRCIDR0=0x28000ea1 --config \
             TRCIDR2=0x488"
        }
        _ => return None,
    };
    Some(Origin::Options(format!("--framing coresight --align {align} {unit}")))
}

/// Frames with synchronisation packets, and the blocks of a probe.
fn ports(out: &mut Vec<Blind>) -> Option<()> {
    let bytes = read(&format!("{ARM}/a55-test-tpiu/DSTREAM_0.bin"))?;
    let sources = vec![(1, "ETM4")];
    for cut in [7usize, 300] {
        let align = 512 - cut as u64;
        let expected = Expected::Trace { framing: "dstream", align, sources: sources.clone() };
        let path = format!("{ARM}/a55-test-tpiu/DSTREAM_0.bin");
        let origin = origin(&path, bytes[512..].to_vec(), None);
        let (name, bytes) = (format!("DSTREAM cut at {cut}"), bytes[cut..].to_vec());
        out.push(Blind { name, bytes, image: None, boot: None, expected, origin });
    }
    let port: Vec<u8> =
        bytes.chunks(512).flat_map(|block| &block[..block.len() - 8]).copied().collect();
    for cut in [0usize, 11] {
        let expected = Expected::Trace { framing: "tpiu", align: 0, sources: sources.clone() };
        let (name, bytes) = (format!("TPIU cut at {cut}"), port[cut..].to_vec());
        let file = shared(&format!("{ARM}/a55-test-tpiu/DSTREAM_0.bin"))?;
        let framing = Some("tpiu");
        let described = Described { file, bytes: bytes.clone(), id: None, framing };
        let origin = Some(Origin::Snapshot(described));
        out.push(Blind { name, bytes, image: None, boot: None, expected, origin });
    }
    Some(())
}

fn unframed(out: &mut Vec<Blind>) -> Option<()> {
    let mut add = |name: String, bytes: Vec<u8>, protocol, image: Option<&str>, origin| {
        let expected = Expected::Trace { framing: "raw", align: 0, sources: vec![(0, protocol)] };
        out.push(Blind {
            name,
            bytes,
            image: image.and_then(shared),
            boot: None,
            expected,
            origin,
        });
    };
    for (path, id, protocol, image) in [
        (TI.to_owned(), 0x10, "ETM3", Some(TI_ELF)),
        (format!("{ARM}/TC2/cstrace.bin"), 0x11, "ETM3", None),
        (format!("{ARM}/TC2/cstrace.bin"), 0x13, "PTM", None),
        (format!("{ARM}/Snowball/cstrace.bin"), 0x10, "PTM", None),
        (format!("{ARM}/stm_only/cstraceitm.bin"), 0x20, "STM", None),
        (SWO.to_owned(), 1, "ITM", None),
        (SWO.to_owned(), 2, "ETM3", Some(SWO_ELF)),
        (format!("{CAPTURES}/ricsec-decoder/branches/trace2/cstrace.bin"), 0x10, "ETM4", None),
    ] {
        let bytes = read(&path)?;
        let name = format!("{path}, ID {id:#x} without frames");
        let itm = || (protocol == "ITM").then(|| Origin::Options("--protocol ITM".to_owned()));
        let origin = origin(&path, bytes.clone(), Some(id.into())).or_else(itm);
        add(name, stream(&bytes, id), protocol, image, origin);
    }
    for (path, cut, protocol) in [
        ("conformance/arm/snapshots/001-ack_test/session1.bin", 0, "ETE"),
        ("conformance/arm/snapshots/tme_test/session1.bin", 0, "ETE"),
        ("conformance/arm/snapshots/ts_marker/session1.bin", 0, "ETE"),
        ("conformance/arm/snapshots/event_test/session1.bin", 0, "ETE"),
        ("conformance/arm/snapshots/q_elem/session2.bin", 0, "ETE"),
        ("conformance/arm/snapshots/trace_file_vmid/session1.bin", 0, "ETE"),
        ("conformance/arm/snapshots/armv8_1m_branches/trace.bin", 0, "ETM4"),
        ("conformance/arm/snapshots/tc2-ptm-rstk-t32/PTM_0_2.bin", 5, "PTM"),
        ("conformance/arm/snapshots/itm_only_raw/itm_testdata.bin", 7, "ITM"),
        ("captures/rtic-scope/itm-crate-itm.bin", 5, "ITM"),
    ] {
        let bytes: Vec<u8> = read(path)?.into_iter().skip(cut).collect();
        let itm = || (protocol == "ITM").then(|| Origin::Options("--protocol ITM".to_owned()));
        let origin = origin(path, bytes.clone(), Some(0)).or_else(itm);
        add(format!("{path} from byte {cut}"), bytes, protocol, None, origin);
    }
    let middle = stream(&read(SWO)?, 1).into_iter().skip(1003).collect();
    add("the ITM of the SWO capture from its middle".to_owned(), middle, "ITM", None, None);
    Some(())
}

/// The five instructions at 0x1000 with which the simulator Spike starts.
pub fn boot(rv32: bool) -> Vec<u8> {
    let load = if rv32 { 0x0182_a283 } else { 0x0182_b283 };
    let words: [u32; 5] = [0x0000_0297, 0x0202_8593, 0xf140_2573, load, 0x0002_8067];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// RISC-V without parameters.
fn messages(out: &mut Vec<Blind>) -> Option<()> {
    let elf = |name: &str| format!("captures/riscv/etrace-ref/elf/{name}");
    for (path, image, profile) in [
        ("etrace-ref/itype3_basic/dhrystone.te_inst_raw", elf("dhrystone.riscv"), "reference-flow"),
        ("etrace-ref/itype4_basic/multiply.te_inst_raw", elf("multiply.riscv"), "reference-flow"),
        ("etrace-ref/itype4_debug/qsort.te_inst_raw", elf("qsort.riscv"), "reference-flow"),
        ("etrace-ref/itype4_fake_scf/median.te_inst_raw", elf("median.riscv"), "reference-flow"),
        (
            "etrace-ref/itype3_debug/own_traps_rv32.te_inst_raw",
            elf("own_traps_rv32.elf"),
            "reference-flow",
        ),
        ("etrace-tecodec-optmodes/qsort.b.te_inst_raw", elf("qsort.riscv"), "siemens"),
        ("draft0026-pulp-trdb/dhrystone.diff.pulp", elf("dhrystone.riscv"), "pulp-trdb"),
        ("draft0026-pulp-trdb/own_calls_rv32.full.pulp", elf("own_calls_rv32.elf"), "pulp-trdb"),
        (
            "pulp/hello_culsans.encap",
            "captures/riscv/pulp/hello_culsans.riscv".to_owned(),
            "pulp-rv_tracer",
        ),
    ] {
        let expected = Expected::Trace { framing: "raw", align: 0, sources: vec![(0, profile)] };
        let bytes = read(&format!("captures/riscv/{path}"))?;
        let (name, image) = (path.to_owned(), shared(&image));
        let boot = (!path.starts_with("pulp/")).then(|| boot(path.contains("rv32")));
        out.push(Blind { name, bytes, image, boot, expected, origin: None });
    }
    Some(())
}

fn containers(out: &mut Vec<Blind>) -> Option<()> {
    for (path, expected) in [
        (SWO_ELF, Expected::Container("a program (ELF)")),
        (
            "captures/sigrok-stm32f105/trace_example.sr",
            Expected::Trace {
                framing: "coresight",
                align: 0,
                sources: vec![(1, "ITM"), (2, "ETM3")],
            },
        ),
        (
            "captures/ti-am243x-r5f/freertos/opencsd-1.3.3-decode.ppl.gz",
            Expected::Container("gzip"),
        ),
        ("captures/riscv/etrace-ref-large/coremark.riscv.xz", Expected::Container("xz")),
        ("captures/simpleperf-etm/perf_kernel.data", Expected::Described("perf.data")),
        ("captures/simpleperf-etm/perf_etm.data", Expected::Described("perf.data")),
    ] {
        out.push(Blind {
            name: path.to_owned(),
            bytes: read(path)?,
            image: None,
            boot: None,
            expected,
            origin: None,
        });
    }
    Some(())
}
