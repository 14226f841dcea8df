//! Cases of configurations that no public capture exercises, as our trace units write them: the
//! files `generated-*.case` hold what comes out, and `cases` takes them every way.
//!
//! `BLESS=1` writes their heads anew; then `BLESS=1` with `cases` writes what they mean.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use tracewright::base::{CoreType, Isa, Profile, Step};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol::{self, Ete, Etmv4};
use tracewright_model::generate::{self, Recipe, Sets};
use tracewright_model::{Machine, Program, Stimulus, Way};

/// One file.
struct Generated {
    /// Folder and name.
    file: &'static str,
    /// What it shows, a line of the file each.
    about: &'static str,
    protocol: AnyProtocol,
    isa: Sets,
    registers: &'static [(&'static str, u64)],
    seed: u64,
    stimulus: Stimulus,
    instructions: usize,
}

fn all() -> Vec<Generated> {
    let quiet = Stimulus::default();
    let base = Generated {
        file: "",
        about: "",
        protocol: Ete,
        isa: Sets::A64,
        registers: &[],
        seed: 1,
        stimulus: quiet,
        instructions: 150,
    };
    vec![
        Generated {
            file: "ete/generated-return-stack",
            about: "# Return stack of 2 entries: calls go deeper than it is, and what it forgot has an address again.",
            registers: &[("return-stack-depth", 2)],
            seed: 65,
            instructions: 300,
            ..base
        },
        Generated {
            file: "ete/generated-pe-reset",
            about: "# PE Reset: its return address is not known, and the address history takes up a zero.",
            stimulus: Stimulus { resets: 40, ..quiet },
            ..base
        },
        Generated {
            file: "ete/generated-exception-at-target",
            about: "# Exceptions with E = 0b10: the address is the branch target, too, and no return is taken off.",
            stimulus: Stimulus { interrupts: 6, ..quiet },
            seed: 3,
            ..base
        },
        Generated {
            file: "ete/generated-overflow",
            about: "# Overflow: the unit loses what it holds, and reports everything anew; the first cycle count is unknown.",
            registers: &[("TRCCONFIGR", 0x18d1), ("TRCCCCTLR", 4)],
            stimulus: Stimulus { overflows: 30, cycles: true, ..quiet },
            seed: 4,
            ..base
        },
        Generated {
            file: "ete/generated-speculation",
            about: "# Speculation: false paths, mispredicts, commits; Trace Info with SPEC above zero.",
            registers: &[
                ("TRCIDR0", 0x0800_0ea1),
                ("TRCIDR8", 12),
                ("speculation", 90),
                ("TRCSYNCPR", 6),
            ],
            stimulus: Stimulus { interrupts: 30, ..quiet },
            seed: 5,
            ..base
        },
        Generated {
            file: "ete/generated-source-address-speculation",
            about: "# Source addresses with speculation: cancelled ones, mispredicted ones, and returns before them.",
            registers: &[
                ("TRCIDR0", 0x0800_0ea1),
                ("TRCIDR8", 8),
                ("speculation", 90),
                ("source-addresses", 128),
            ],
            stimulus: Stimulus { interrupts: 40, ..quiet },
            seed: 6,
            ..base
        },
        Generated {
            file: "ete/generated-late-mispredicts",
            about: "# Mispredicts that come after their branch was committed.",
            registers: &[
                ("TRCIDR0", 0x0800_0ea1),
                ("TRCIDR8", 4),
                ("speculation", 128),
                ("late-mispredicts", 1),
            ],
            seed: 7,
            ..base
        },
        Generated {
            file: "ete/generated-q-elements",
            about: "# Q elements with and without a count, interrupts between them.",
            registers: &[("TRCIDR0", 0x2801_8ea1), ("TRCCONFIGR", 0x78c1), ("q-elements", 100)],
            stimulus: Stimulus { interrupts: 40, ..quiet },
            seed: 8,
            ..base
        },
        Generated {
            file: "ete/generated-cycle-counts",
            about: "# Cycle counts in commit mode 0 above a threshold of 3, in all three formats.",
            registers: &[
                ("TRCIDR0", 0x0800_0ea1),
                ("TRCIDR8", 20),
                ("TRCCONFIGR", 0x18d1),
                ("TRCCCCTLR", 3),
            ],
            stimulus: Stimulus { cycles: true, timestamps: 30, ..quiet },
            seed: 9,
            ..base
        },
        Generated {
            file: "ete/generated-filter",
            about: "# Code at EL1 is not traced: a Trace On after each gap.",
            registers: &[("TRCVICTLR", 1 << 21)],
            stimulus: Stimulus { interrupts: 20, ..quiet },
            seed: 10,
            ..base
        },
        Generated {
            file: "etmv4/generated-interworking",
            about: "# A32 and T32 that call each other, with the return stack; time and events.",
            protocol: Etmv4,
            isa: Sets::Both,
            stimulus: Stimulus { timestamps: 40, events: 40, ..quiet },
            seed: 11,
            instructions: 200,
            ..base
        },
        Generated {
            file: "etmv4/generated-speculation",
            about: "# T32 with IT blocks and speculation; Trace Info with SPEC above zero.",
            protocol: Etmv4,
            isa: Sets::T32,
            registers: &[
                ("TRCIDR0", 0x0800_0ea1),
                ("TRCIDR8", 6),
                ("speculation", 90),
                ("TRCSYNCPR", 6),
            ],
            seed: 12,
            ..base
        },
    ]
}

impl Generated {
    fn way(&self) -> Way {
        Way {
            protocol: self.protocol,
            core: Some(CoreType { profile: Profile::Application, version: 8 }),
            registers: self.registers.to_vec(),
        }
    }

    fn steps(&self) -> (Program, Vec<Step>) {
        let recipe = Recipe { seed: self.seed, isa: self.isa, functions: 3, ..Recipe::default() };
        let program = generate::program(&recipe);
        let stimulus = Stimulus { seed: self.seed, ..self.stimulus };
        let steps = Machine::new(&program, stimulus).collect(self.instructions);
        (program, steps)
    }

    /// Everything of the file that is not written by the runner of cases.
    fn head(&self, program: &Program, bytes: &[u8]) -> String {
        let mut head =
            format!("{}\n# What our trace unit makes of a random program.\n", self.about);
        let names = self.protocol.about().names;
        let _ = writeln!(head, "protocol {}\ncore ARMv8-A", names[0]);
        let way = self.way();
        let mut config = String::new();
        for (name, _) in AnyUnit::usual(self.protocol) {
            let _ = write!(config, " {name}=0x{:x}", way.register(name).unwrap_or(0));
        }
        let _ = writeln!(head, "config{config}");
        for region in program.image.regions() {
            let code = region.run(region.start());
            // T32 in halfwords; a function of A32 reads as well in them.
            let narrow = self.isa != Sets::A64;
            let isa = if narrow { Isa::T32 } else { Isa::A64 };
            for (at, words) in (region.start()..).step_by(32).zip(code.chunks(32)) {
                let hex = |word: &[u8]| word.iter().rev().map(|b| format!("{b:02x}")).collect();
                let words: Vec<String> =
                    words.chunks(if narrow { 2 } else { 4 }).map(hex).collect();
                let _ = writeln!(head, "code 0x{at:x} {isa}: {}", words.join(" "));
            }
        }
        for bytes in bytes.chunks(24) {
            let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(head, "bytes {}", bytes.join(" "));
        }
        head
    }
}

/// The units write what the files hold, and what they write comes back as what ran.
#[test]
fn generated_cases_are_as_they_were() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let mut wrong = Vec::new();
    for generated in all() {
        let (program, steps) = generated.steps();
        let way = generated.way();
        if let Err(why) = way.round_trip(&program.image, &steps) {
            wrong.push(format!("{}: {why}", generated.file));
        }
        let (_, bytes) = way.encode(&steps).expect("a trace unit");
        let head = generated.head(&program, &bytes);
        let path = root.join(format!("{}.case", generated.file));
        let text = fs::read_to_string(&path).unwrap_or_default();
        if text.starts_with(&format!("{head}packets\n")) {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, head).expect("a case file");
        } else {
            wrong.push(format!("{}: not what the unit writes; BLESS=1 writes it", generated.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
