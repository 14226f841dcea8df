//! Captures of ETMv3 and PTM units in software, listed by OpenCSD: Debian's `trc_pkt_lister`
//! (libopencsd-bin), where it is installed.
//!
//! Elements are compared. The text of packets differs between versions of OpenCSD.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tracewright::base::StepSink;
use tracewright::capture::{Dump, write_over};
use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::frames::{Framing, Numbering};
use tracewright::image::Image;
use tracewright::logs::{Recorder, Recording};
use tracewright::opencsd::{Listing, Shown};
use tracewright::protocols::registry::AnyProtocol;
use tracewright_model::{Machine, Recipe, Sets, Stimulus, generate};
use tracewright_testing::tool;

/// The lines of a listing that are elements. OpenCSD loses the IT state of T32 branches, and lists
/// some branches without a condition as not taken.
fn elements(listing: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(listing)
        .lines()
        .filter(|line| line.starts_with("Idx:") && line.contains("OCSD_GEN_TRC_ELEM_"))
        .map(|line| match line.contains("(ISA=T32) N iBR") {
            true => line.trim_end().replace(" <cond>", ""),
            false => line.trim_end().to_owned(),
        })
        .collect()
}

fn reference(folder: &Path) -> Vec<String> {
    let mut list = Command::new("trc_pkt_lister");
    // It leaves a file where it runs.
    list.current_dir(folder).arg("-ss_dir").arg(folder).args(["-decode", "-logstdout"]);
    elements(&list.stderr(Stdio::null()).output().unwrap().stdout)
}

fn ours(folder: &Path) -> Vec<String> {
    let capture = tracewright::read_capture(folder).unwrap();
    let options = Options { numbering: Numbering::Opencsd, ..Options::default() };
    let plan = Plan::new(&capture, 0, &options).unwrap();
    let memory = Memory::new(&capture);
    let mut text = Vec::new();
    let shown =
        Shown { packets: true, bytes: true, elements: true, packed: false, unpacked: false };
    let mut listing = Listing::new(&mut text, &plan, shown, false);
    Session::new(&capture, &plan, &memory, &options)
        .unwrap()
        .run(capture.buffers[0].parts(), &mut listing);
    listing.finish().unwrap();
    elements(&text)
}

/// The program as dumps with space between them: OpenCSD reads opcodes ahead, and finds none where
/// a dump ends or the next one begins.
fn memory(image: &Image) -> Vec<Dump> {
    const APART: u64 = 0x1000;
    let mut regions: Vec<_> = image.regions().iter().collect();
    regions.sort_by_key(|region| region.start());
    let mut dumps: Vec<(u64, Vec<u8>)> = Vec::new();
    for region in regions {
        let bytes = region.run(region.start());
        match dumps.last_mut() {
            Some((start, before)) if region.start() < *start + before.len() as u64 + APART => {
                before.resize((region.start() - *start) as usize, 0);
                before.extend_from_slice(bytes);
            }
            _ => dumps.push((region.start(), bytes.to_vec())),
        }
    }
    let dump = |(start, mut bytes): (u64, Vec<u8>)| {
        bytes.resize(bytes.len().next_multiple_of(16) + 16, 0);
        Dump::new(format!("code_{start:x}"), start, bytes)
    };
    dumps.into_iter().map(dump).collect()
}

/// Records a random program, in a folder of its own.
fn record(
    folder: &Path,
    seed: u64,
    isa: Sets,
    protocol: AnyProtocol,
    registers: &[(&str, u64)],
    core: &str,
) {
    let recipe =
        Recipe { seed, isa, functions: 6, exceptions: false, waits: false, ..Recipe::default() };
    let program = generate::program(&recipe);
    let stimulus = Stimulus { seed, cycles: true, timestamps: 200, ..Stimulus::default() };
    let images = memory(&program.image);
    let recording = Recording {
        protocol,
        registers: registers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        texts: Vec::new(),
        framing: Framing::Coresight,
        messages: false,
        core: core.to_owned(),
        images,
    };
    let mut recorder = Recorder::new(recording).unwrap();
    Machine::new(&program, stimulus).run(3000, |step| recorder.step(0, step));
    write_over(&recorder.finish().unwrap(), folder).unwrap();
}

#[test]
fn opencsd_lists_the_same_elements() {
    let Some(_) = tool(&[("trc_pkt_lister", "libopencsd-bin")]) else { return };
    let folder =
        std::env::temp_dir().join(format!("tracewright-reference-arm32-{}", std::process::id()));
    let a32 = [Sets::A32, Sets::T32];
    // Where direct branches have no packet, OpenCSD's ETMv3 decoder loses the instruction set.
    type Unit<'a> = (&'a str, AnyProtocol, &'a [Sets], &'a [(&'a str, u64)], &'a str);
    let units: [Unit<'_>; 4] = [
        ("ptm", AnyProtocol::Ptm, &a32, &[], "Cortex-A15"),
        ("ptm-returns", AnyProtocol::Ptm, &a32, &[("ETMCR", 0x3000_0400)], "Cortex-A15"),
        ("ptm-cycles", AnyProtocol::Ptm, &a32, &[("ETMCR", 0x1000_1400)], "Cortex-A15"),
        ("etm3", AnyProtocol::Etmv3, &a32, &[("ETMCR", 0x1000_0900)], "Cortex-A7"),
    ];
    for (name, protocol, sets, registers, core) in units {
        for (seed, set) in (1u64..).zip(sets) {
            let folder: PathBuf = folder.join(format!("{name}-{seed}"));
            record(&folder, seed, *set, protocol, registers, core);
            let (theirs, mine) = (reference(&folder), ours(&folder));
            let first = theirs.iter().zip(&mine).position(|(a, b)| a != b);
            let shown = first.map(|n| (&theirs[n], &mine[n]));
            assert_eq!(shown, None, "{name} {set:?}: element {first:?}");
            assert_eq!(theirs.len(), mine.len(), "{name} {set:?}");
            assert!(mine.len() > 100, "{name} {set:?}: {} elements", mine.len());
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
