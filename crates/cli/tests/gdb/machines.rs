//! The program for each architecture: compiled, executed by QEMU, and traced.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tracewright_testing::{tool, tool_since};

use crate::{Folder, TRACEWRIGHT, tracewright};

/// A processor: options of the compiler, QEMU, and a trace protocol.
#[derive(Clone, Copy)]
pub struct Machine {
    pub name: &'static str,
    /// The compiler, and its package. Those of GCC describe each instruction of an epilogue in the
    /// unwind tables.
    compiler: (&'static str, &'static str),
    compile: &'static str,
    qemu: &'static str,
    protocol: &'static str,
}

const CLANG: (&str, &str) = ("clang-19", "clang-19");

pub const MACHINES: [Machine; 6] = [
    Machine {
        name: "a64",
        compiler: ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        compile: "-fasynchronous-unwind-tables",
        qemu: "qemu-aarch64",
        protocol: "ETM4",
    },
    Machine {
        name: "a32",
        compiler: ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
        compile: "-march=armv7-a+fp -marm",
        qemu: "qemu-arm",
        protocol: "ETM3",
    },
    Machine {
        name: "t32",
        compiler: ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
        compile: "-march=armv7-a+fp -mthumb",
        qemu: "qemu-arm",
        protocol: "PTM",
    },
    Machine {
        name: "m-profile",
        compiler: ("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
        compile: "-mcpu=cortex-m3 -mthumb -DM_PROFILE -Wl,-T,program.ld",
        qemu: "qemu-system-arm",
        protocol: "ETM4",
    },
    Machine {
        name: "rv64",
        compiler: CLANG,
        compile: "--target=riscv64-linux-gnu -march=rv64imac -mabi=lp64 -fuse-ld=lld-19 \
                  -fasynchronous-unwind-tables",
        qemu: "qemu-riscv64",
        protocol: "etrace",
    },
    Machine {
        name: "rv32",
        compiler: CLANG,
        compile: "--target=riscv32-linux-gnu -march=rv32imac -mabi=ilp32 -fuse-ld=lld-19 \
                  -fasynchronous-unwind-tables",
        qemu: "qemu-riscv32",
        protocol: "etrace",
    },
];

/// The options of QEMU for a processor of the M profile.
const M_PROFILE: &str = "-M mps2-an385 -display none -monitor none -serial none -semihosting-config \
                     enable=on,target=native";

/// A program, and its trace.
pub struct Traced {
    machine: Machine,
    folder: Folder,
    pub elf: PathBuf,
    pub capture: PathBuf,
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

fn good(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Machine {
    fn is_m_profile(self) -> bool {
        self.qemu == "qemu-system-arm"
    }

    fn qemu(self) -> Option<&'static str> {
        let package = if self.is_m_profile() { "qemu-system-arm" } else { "qemu-user" };
        tool_since(&[(self.qemu, package)], (7, 2))
    }

    /// Compiles, executes and traces the program.
    pub fn traced(self) -> Option<Traced> {
        let compiler = tool(&[self.compiler])?;
        if self.compiler == CLANG {
            tool(&[("ld.lld-19", "lld-19")])?;
        }
        let qemu = self.qemu()?;
        let folder = Folder::new(self.name);
        fs::write(folder.path("program.c"), include_str!("program.c")).expect("a source");
        fs::write(folder.path("program.ld"), include_str!("program.ld")).expect("a script");
        let elf = folder.path("program.elf");
        let options = "-g -O1 -fno-pic -static -nostdlib -ffreestanding -fno-pie \
                       -Wl,--build-id=none program.c -o";
        let mut compile = Command::new(compiler);
        compile.args(words(self.compile)).args(words(options)).arg(&elf);
        good(compile.current_dir(folder.path("")));
        let log = folder.path("log");
        let mut run = Command::new(qemu);
        if self.is_m_profile() {
            run.args(words(M_PROFILE)).args(["-icount", "shift=5,sleep=off"]);
        }
        let details = if self.is_m_profile() { "exec,nochain,cpu,int" } else { "exec,nochain,cpu" };
        run.args(["-singlestep", "-d", details, "-D"]).arg(&log);
        if self.is_m_profile() {
            run.arg("-kernel");
        }
        good(run.arg(&elf).stdin(Stdio::null()));
        let capture = folder.path("capture");
        let [log, image, output] =
            [&log, &elf, &capture].map(|path| path.to_str().expect("a path").to_owned());
        tracewright(&[
            "encode",
            "--protocol",
            self.protocol,
            "--log",
            &log,
            "--image",
            &image,
            "-o",
            &output,
        ]);
        Some(Traced { machine: self, folder, elf, capture })
    }
}

impl Traced {
    /// The target of gdb that replays the trace.
    pub fn replayed(&self) -> String {
        format!("| {TRACEWRIGHT} gdbserver {}", self.capture.display())
    }

    /// The program in QEMU, which waits for gdb, and the target of gdb.
    pub fn executed(&self) -> (Child, String) {
        let socket = self.folder.path("socket");
        let _ = fs::remove_file(&socket);
        let mut run = Command::new(self.machine.qemu);
        if self.machine.is_m_profile() {
            run.args(words(M_PROFILE)).arg("-gdb");
            run.arg(format!("unix:{},server=on,wait=off", socket.display()));
            run.args(["-S", "-kernel"]);
        } else {
            run.arg("-g").arg(&socket);
        }
        run.arg(&self.elf).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = run.spawn().expect("QEMU runs");
        for _ in 0..200 {
            if socket.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        (child, socket.display().to_string())
    }
}
