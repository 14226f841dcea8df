//! Captures of trace units in software: Debian's `trc_pkt_lister` (OpenCSD) and this project list
//! the same elements. Where it is not installed the test is recorded as skipped.
//!
//! What OpenCSD 1.3.3 is known to get wrong is in [`DEFECTS`], each with the reason: it must differ
//! there.

use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright::base::Step;
use tracewright::base::StepSink;
use tracewright::capture::{Capture, Dump, write};
use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::frames::{Framing, Numbering};
use tracewright::logs::{Recorder, Recording};
use tracewright::opencsd::{Listing, Shown};
use tracewright::protocols::registry::AnyProtocol::{self, Ete, Etmv4};
use tracewright_model::generate::{Recipe, Sets, program};
use tracewright_model::{Machine, Program, Stimulus};

/// One configuration.
struct Run {
    name: &'static str,
    protocol: AnyProtocol,
    isa: Sets,
    registers: &'static [(&'static str, u64)],
    stimulus: Stimulus,
    /// What the program is like beside the instruction set.
    exceptions: bool,
    transactions: bool,
}

/// Nothing but the program.
const QUIET: Stimulus = Stimulus {
    seed: 0,
    interrupts: 0,
    faults: 0,
    resets: 0,
    halts: 0,
    switches: 0,
    timestamps: 0,
    events: 0,
    instrumentation: 0,
    pauses: 0,
    overflows: 0,
    failures: 0,
    cycles: false,
    accesses: false,
    cancels: false,
};
/// Interrupts and faults, contexts that change, time and events.
const BUSY: Stimulus = Stimulus {
    interrupts: 50,
    faults: 100,
    switches: 3,
    timestamps: 60,
    events: 70,
    cycles: true,
    ..QUIET
};

const A64: Run = Run {
    name: "",
    protocol: Ete,
    isa: Sets::A64,
    registers: &[],
    stimulus: QUIET,
    exceptions: true,
    transactions: false,
};

/// An exception at a branch target has an address of its own: E = 0b01, not 0b10.
const OWN: (&str, u64) = ("shared-address", 0);

const SAME: &[Run] = &[
    Run { name: "ETMv4", protocol: Etmv4, registers: &[OWN], stimulus: BUSY, ..A64 },
    Run {
        name: "ETMv4 A32 and T32",
        protocol: Etmv4,
        isa: Sets::Both,
        stimulus: Stimulus { interrupts: 0, faults: 0, ..BUSY },
        exceptions: false,
        ..A64
    },
    Run {
        name: "ETMv4 T32, deep return stack",
        protocol: Etmv4,
        isa: Sets::T32,
        registers: &[("return-stack-depth", 15)],
        stimulus: Stimulus { interrupts: 0, faults: 0, ..BUSY },
        exceptions: false,
        ..A64
    },
    Run { name: "ETE", registers: &[OWN], stimulus: BUSY, ..A64 },
    Run { name: "ETE E = 0b10", registers: &[("TRCCONFIGR", 0x8c1)], stimulus: BUSY, ..A64 },
    Run {
        name: "ETE branch broadcast",
        registers: &[OWN, ("TRCCONFIGR", 0x18c9)],
        stimulus: BUSY,
        ..A64
    },
    Run {
        name: "ETE cycle counts, commit mode 1",
        registers: &[OWN, ("TRCCONFIGR", 0x18d1), ("TRCCCCTLR", 4)],
        stimulus: BUSY,
        ..A64
    },
    Run {
        name: "ETE speculation, SPEC of Trace Info above zero",
        registers: &[
            OWN,
            ("TRCIDR0", 0x0800_0ea1),
            ("TRCIDR8", 30),
            ("speculation", 60),
            ("TRCSYNCPR", 8),
        ],
        stimulus: Stimulus { interrupts: 50, ..QUIET },
        ..A64
    },
    Run {
        name: "ETE source addresses",
        registers: &[("source-addresses", 128), ("TRCCONFIGR", 0x8c1)],
        stimulus: BUSY,
        ..A64
    },
    Run {
        name: "ETE overflow and pauses",
        registers: &[OWN, ("TRCSYNCPR", 8)],
        stimulus: Stimulus { overflows: 100, pauses: 100, halts: 200, ..QUIET },
        ..A64
    },
    Run {
        name: "ETE filter by exception level",
        registers: &[OWN, ("TRCVICTLR", 1 << 21 | 0x201)],
        stimulus: BUSY,
        ..A64
    },
    Run {
        name: "ETE late address after Trace Info",
        registers: &[OWN, ("TRCSYNCPR", 7), ("late-address", 4)],
        ..A64
    },
];

/// Where OpenCSD 1.3.3 goes wrong, and how that is known.
const DEFECTS: &[(Run, &str)] = &[
    (
        Run {
            name: "ETE cycle counts, commit mode 0",
            registers: &[OWN, ("TRCCONFIGR", 0x18d1), ("TRCIDR0", 0x0800_0ea1), ("TRCIDR8", 20)],
            stimulus: BUSY,
            ..A64
        },
        "it does not commit what a Cycle Count packet commits (ETE K10.5.2.16.2)",
    ),
    (
        Run {
            name: "ETE PE reset",
            registers: &[OWN],
            stimulus: Stimulus { resets: 100, ..QUIET },
            ..A64
        },
        "a PE reset is an unknown packet to its decoder, which loses synchronisation (ETE K10.5.2.13 has it)",
    ),
    (
        Run { name: "ETE E = 0b10 and return stack", stimulus: BUSY, ..A64 },
        "it takes a return off the stack although E = 0b10 gives the target (ETE K10.5.5.3)",
    ),
    (
        Run {
            name: "ETE source addresses and return stack",
            registers: &[OWN, ("source-addresses", 128)],
            ..A64
        },
        "a source address after a return does not take the return off the stack (ETE K10.5.5.3)",
    ),
    (
        Run {
            name: "ETE source addresses cancelled",
            registers: &[
                OWN,
                ("TRCCONFIGR", 0x8c1),
                ("TRCIDR0", 0x0800_0ea1),
                ("TRCIDR8", 30),
                ("speculation", 120),
                ("source-addresses", 128),
            ],
            stimulus: Stimulus { interrupts: 50, ..QUIET },
            ..A64
        },
        "a source address does not count as P0 where a Cancel passes it (ETE Table K10-2)",
    ),
    (
        Run {
            name: "ETE Q elements",
            registers: &[OWN, ("TRCCONFIGR", 0x28c1), ("TRCIDR0", 0x2800_8ea1), ("q-elements", 30)],
            stimulus: Stimulus { interrupts: 50, ..QUIET },
            ..A64
        },
        "a branch that ends a Q element is taken to it, wherever the address after it is (ETE K10.5.2.11)",
    ),
    (
        Run { name: "ETE transactions", registers: &[OWN], transactions: true, ..A64 },
        "TSTART is no P0 instruction to it (Arm ARM, FEAT_TME)",
    ),
    (
        Run {
            name: "ETMv4 A32 with ERET",
            protocol: Etmv4,
            isa: Sets::A32,
            registers: &[OWN],
            stimulus: BUSY,
            ..A64
        },
        "A32 ERET is no branch to it (Arm ARM, F5.1.58)",
    ),
];

#[test]
fn opencsd_lists_the_same() {
    let Some(_) = tracewright_testing::tool(&[("trc_pkt_lister", "libopencsd-bin")]) else {
        return;
    };
    let version = version().expect("the version of trc_pkt_lister");
    let scratch =
        std::env::temp_dir().join(format!("tracewright-reference-{}", std::process::id()));
    let mut wrong = Vec::new();
    for run in SAME {
        for seed in 1..4 {
            let (capture, ours) = run.listed(seed);
            let theirs = reference(&capture, &scratch);
            match difference(&ours, &theirs) {
                None => println!("{} {seed}: {} elements the same", run.name, ours.len()),
                Some(why) => wrong.push(format!("{} {seed}: {why}", run.name)),
            }
        }
    }
    for (run, why) in DEFECTS {
        if version != "1.3.3" {
            println!("{}: not compared with OpenCSD {version}", run.name);
            continue;
        }
        let differ = (1..4).any(|seed| {
            let (capture, ours) = run.listed(seed);
            difference(&ours, &reference(&capture, &scratch)).is_some()
        });
        match differ {
            true => println!("{}: differs as known: {why}", run.name),
            false => wrong.push(format!("{}: a known defect did not occur: {why}", run.name)),
        }
    }
    let _ = fs::remove_dir_all(&scratch);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Run {
    /// A capture and our listing of it.
    fn listed(&self, seed: u64) -> (Capture, Vec<String>) {
        let recipe = Recipe {
            seed,
            isa: self.isa,
            exceptions: self.exceptions,
            transactions: self.transactions,
            ..Recipe::default()
        };
        let program = program(&recipe);
        let stimulus = Stimulus { seed, failures: 8, ..self.stimulus };
        let steps = Machine::new(&program, stimulus).collect(1500);
        let capture = self.record(&program, &steps);
        let ours = list(&capture);
        (capture, ours)
    }

    fn record(&self, program: &Program, steps: &[Step]) -> Capture {
        let images = program.image.regions().iter().map(|region| {
            let bytes = region.run(region.start()).to_vec();
            Dump::new(region.name().replace(' ', "-"), region.start(), bytes)
        });
        let mut recorder = Recorder::new(Recording {
            protocol: self.protocol,
            registers: self.registers.iter().map(|(name, v)| ((*name).to_owned(), *v)).collect(),
            texts: Vec::new(),
            framing: Framing::Coresight,
            messages: false,
            core: "ARMv8-A".to_owned(),
            images: images.collect(),
        })
        .expect("a trace unit");
        for step in steps {
            recorder.step(0, step);
        }
        recorder.finish().expect("a capture")
    }
}

/// OpenCSD's version, where `trc_pkt_lister` prints it.
fn version() -> Option<String> {
    let folder = std::env::temp_dir();
    let out = Command::new("trc_pkt_lister").current_dir(folder).arg("-help").output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("Library Version"))?;
    Some(line.split(':').nth(1)?.trim().to_owned())
}

fn list(capture: &Capture) -> Vec<String> {
    let mut text = Vec::new();
    let options = Options { numbering: Numbering::Opencsd, ..Options::default() };
    let shown =
        Shown { packets: false, bytes: false, elements: true, packed: false, unpacked: false };
    let memory = Memory::new(capture);
    let plan = Plan::new(capture, 0, &options).expect("a source");
    let mut listing = Listing::new(&mut text, &plan, shown, false);
    Session::new(capture, &plan, &memory, &options)
        .unwrap()
        .run(capture.buffers[0].parts(), &mut listing);
    listing.finish().expect("a listing");
    elements(&String::from_utf8_lossy(&text))
}

fn reference(capture: &Capture, folder: &Path) -> Vec<String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder");
    write(capture, folder).expect("a snapshot");
    let mut command = Command::new("trc_pkt_lister");
    // It leaves a file behind where it stands.
    command.current_dir(folder);
    let out = command.arg("-ss_dir").arg(folder).args(["-decode", "-logstdout"]).output();
    elements(&String::from_utf8_lossy(&out.expect("a listing").stdout))
}

/// Places and elements of a listing.
fn elements(text: &str) -> Vec<String> {
    let element = |line: &str| {
        let at = line.find("OCSD_GEN_TRC_ELEM")?;
        let place = line.strip_prefix("Idx:")?.split(';').next()?;
        Some(format!("{place} {}", line[at..].trim()))
    };
    text.lines().filter_map(element).collect()
}

fn difference(ours: &[String], theirs: &[String]) -> Option<String> {
    let same = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let line = |list: &[String]| list.get(same).cloned().unwrap_or_else(|| "(end)".to_owned());
    (ours != theirs).then(|| format!("ours {}, theirs {}", line(ours), line(theirs)))
}
