//! Compiler and QEMU. Where one is missing, the test is recorded as skipped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tracewright_testing::{tool, tool_since};

/// The machine that executes the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// An ARM926EJ-S without an operating system: vectors, a timer interrupt, memory faults.
    Bare,
    /// A Linux process.
    Linux,
}

impl Machine {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Machine::Bare => "real-arm-bare",
            Machine::Linux => "real-arm-linux",
        }
    }

    /// The QEMU command, its options, and its Debian package.
    const fn qemu(self) -> (&'static str, &'static [&'static str], &'static str) {
        const SYSTEM: &[&str] = &[
            "-M",
            "versatilepb",
            "-nographic",
            "-serial",
            "none",
            "-monitor",
            "none",
            "-semihosting",
            "-icount",
            "shift=6",
        ];
        match self {
            Machine::Bare => ("qemu-system-arm", SYSTEM, "qemu-system-arm"),
            Machine::Linux => ("qemu-arm", &[], "qemu-user"),
        }
    }
}

/// Compilers for Armv5TE, and their Debian packages.
const COMPILERS: [(&str, &str); 3] = [
    ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
    ("arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi"),
    ("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
];

const SOURCES: [(&str, &str, &str); 4] = [
    ("arm.c", "-marm", include_str!("program/arm.c")),
    ("thumb.c", "-mthumb", include_str!("program/thumb.c")),
    ("bare.S", "-marm", include_str!("program/bare.S")),
    ("user.S", "-marm", include_str!("program/user.S")),
];

/// Compiles the program into `folder`.
pub(super) fn compile(machine: Machine, folder: &Path) -> Option<PathBuf> {
    let compiler = tool(&COMPILERS)?;
    let begins = if machine == Machine::Bare { "bare.S" } else { "user.S" };
    let mut objects = Vec::new();
    let sources = SOURCES.into_iter().filter(|(name, ..)| name.ends_with(".c") || *name == begins);
    for (name, state, text) in sources {
        fs::write(folder.join(name), text).expect("a source");
        let object = format!("{name}.o");
        let mut options = words(
            "-O1 -march=armv5te -mfloat-abi=soft -ffreestanding -nostdlib -fno-pic -fno-pie \
             -fno-stack-protector -fno-tree-loop-distribute-patterns -c",
        );
        if machine == Machine::Bare {
            options.push("-DBARE");
        }
        options.extend([state, name, "-o", &object]);
        good(Command::new(compiler).args(options).current_dir(folder));
        objects.push(object);
    }
    let mut link = words("-nostdlib -static -no-pie -Wl,--build-id=none -Wl,-Ttext=0x10000");
    if machine == Machine::Bare {
        link.push("-Wl,--section-start=.vectors=0");
    }
    link.extend(["-o", "program.elf"]);
    good(Command::new(compiler).args(link).args(objects).current_dir(folder));
    Some(folder.join("program.elf"))
}

/// Runs the program, and returns QEMU's log of each instruction and of the registers before it.
pub(super) fn execute(machine: Machine, folder: &Path) -> Option<String> {
    let (qemu, options, package) = machine.qemu();
    let qemu = tool_since(&[(qemu, package)], (7, 2))?;
    let help =
        Command::new(qemu).arg(if machine == Machine::Bare { "-help" } else { "-h" }).output();
    let help = String::from_utf8_lossy(&help.expect("help").stdout).into_owned();
    // The option has another name from QEMU 8.1 on.
    let step: &[&str] = match (help.contains("one-insn-per-tb"), machine) {
        (true, Machine::Bare) => &["-accel", "tcg,one-insn-per-tb=on"],
        (true, Machine::Linux) => &["-one-insn-per-tb"],
        (false, _) => &["-singlestep"],
    };
    let mut run = Command::new(qemu);
    run.args(options).args(["-cpu", "arm926"]).args(step);
    run.args(["-d", "exec,nochain,cpu,int", "-D", "qemu.log"]);
    if machine == Machine::Bare {
        run.arg("-kernel");
    }
    run.arg("program.elf").current_dir(folder).env("QEMU_AUDIO_DRV", "none");
    let output = File::create(folder.join("qemu.txt")).expect("a file");
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
    run.status().expect("it runs");
    Some(fs::read_to_string(folder.join("qemu.log")).expect("QEMU's log"))
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn good(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
