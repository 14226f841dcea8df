//! The programs that are run: compilers, QEMU, the command itself, OpenCSD's lister.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::configs::{Config, System, Target};

/// What is there, and where things are put.
pub(super) struct Tools {
    command: PathBuf,
    folder: PathBuf,
    /// OpenCSD's lister is installed.
    pub(super) lister: bool,
}

impl Tools {
    /// Builds the command, and looks for the rest.
    pub(super) fn new(root: &Path) -> Result<Tools, String> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
        let folder = std::path::absolute(target.join("real-programs"));
        let folder = folder.map_err(|error| error.to_string())?;
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // For who has built it in another way.
        let command = match std::env::var_os("TRACEWRIGHT_COMMAND") {
            Some(command) => PathBuf::from(command),
            None => {
                let mut build = Command::new(env!("CARGO"));
                build.current_dir(root).args(["build", "--release", "-p", "tracewright-cli"]);
                good(&mut build)?;
                target.join("release/tracewright")
            }
        };
        Ok(Tools { command, folder, lister: installed("trc_pkt_lister") })
    }

    /// What is not installed of what `target` needs.
    pub(super) fn missing(&self, target: &Target) -> Option<&'static str> {
        let compiler = target.compiler.first().copied();
        compiler.into_iter().chain([target.qemu]).find(|name| !installed(name))
    }

    /// The same of a machine without an operating system.
    pub(super) fn missing_of(&self, system: &System) -> Option<&'static str> {
        let needs = system.compiler.iter().take(1).chain(system.machine.iter().take(1));
        needs.copied().find(|name| !installed(name))
    }

    /// Compiles a program that needs no operating system.
    pub(super) fn bare(&self, root: &Path, system: &System) -> Result<PathBuf, String> {
        let elf = self.folder.join(format!("{}.elf", system.name));
        let (compiler, options) = system.compiler.split_first().ok_or("no compiler")?;
        let mut compile = Command::new(compiler);
        compile.args(options).arg("-o").arg(&elf);
        compile.arg(root.join("xtask/programs/system").join(system.source));
        good(&mut compile)?;
        Ok(elf)
    }

    /// Compiles a program. It is static, so that its file is all the memory there is.
    pub(super) fn compile(
        &self,
        target: &Target,
        source: &Path,
        name: &str,
    ) -> Result<PathBuf, String> {
        let elf = self.folder.join(format!("{name}-{}.elf", target.name));
        let (compiler, options) = target.compiler.split_first().ok_or("no compiler")?;
        let mut compile = Command::new(compiler);
        compile.args(options).args(["-O2", "-static", "-o"]).arg(&elf).arg(source).arg("-lm");
        good(&mut compile)?;
        Ok(elf)
    }

    /// Runs a program and logs each instruction.
    pub(super) fn log(&self, target: &Target, elf: &Path) -> Result<PathBuf, String> {
        let mut run = Command::new(target.qemu);
        run.args([one_instruction(target.qemu, true)?, "-d", "exec,nochain"]).arg(elf);
        self.logged(run, elf)
    }

    /// The same without an operating system.
    pub(super) fn system_log(&self, system: &System, elf: &Path) -> Result<PathBuf, String> {
        let (qemu, machine) = system.machine.split_first().ok_or("no machine")?;
        let mut run = Command::new(qemu);
        run.args(machine).args(["-nographic", "-semihosting", "-d", "exec,nochain,int,in_asm"]);
        match one_instruction(qemu, false)? {
            "" => run.args(["-accel", "tcg,one-insn-per-tb=on"]),
            option => run.arg(option),
        };
        run.arg("-kernel").arg(elf);
        self.logged(run, elf)
    }

    fn logged(&self, mut run: Command, elf: &Path) -> Result<PathBuf, String> {
        let log = elf.with_extension("log");
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let name = run.get_program().to_string_lossy().into_owned();
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let status = run.status().map_err(|error| format!("{name}: {error}"))?;
        if !status.success() {
            return Err(format!("{}: {status}", elf.display()));
        }
        Ok(log)
    }

    /// How many instructions a log has, and how many of those are of the set that `set` begins
    /// with.
    pub(super) fn count(&self, set: &str, log: &Path, elf: &Path) -> Result<(u64, u64), String> {
        let mut info = Command::new(&self.command);
        let output = good(info.args(["log", "info"]).arg(log).arg("--image").arg(elf))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // `  A32           123 instructions`
        let counts = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, count) = (words.next()?, words.next()?.parse::<u64>().ok()?);
            (words.next() == Some("instructions")).then_some((name, count))
        });
        let (mut all, mut own) = (0, 0);
        for (name, count) in counts {
            all += count;
            own += if set.starts_with(name) { count } else { 0 };
        }
        if all == 0 { Err(format!("log info prints {text}")) } else { Ok((all, own)) }
    }

    /// Encodes a log to a snapshot; how many bytes of trace it has.
    pub(super) fn encode(
        &self,
        config: &Config,
        elf: &Path,
        log: &Path,
    ) -> Result<(PathBuf, u64), String> {
        let snapshot = elf.with_extension(config.name);
        self.forget(&snapshot)?;
        let mut encode = Command::new(&self.command);
        encode.arg("encode").arg("--log").arg(log).arg("--image").arg(elf);
        encode.args(["--protocol", config.protocol]).args(config.options).arg("-o").arg(&snapshot);
        let output = good(&mut encode)?;
        // `.. to N bytes of trace in ..`
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let bytes = errors.split(" bytes of trace").next().and_then(|t| t.rsplit(' ').next());
        let bytes =
            bytes.and_then(|n| n.parse().ok()).ok_or_else(|| format!("encode prints {errors}"))?;
        Ok((snapshot, bytes))
    }

    /// The output of `compare` where a snapshot differs from the log.
    pub(super) fn compare(
        &self,
        snapshot: &Path,
        elf: &Path,
        log: &Path,
    ) -> Result<Option<String>, String> {
        let mut compare = Command::new(&self.command);
        compare.arg("compare").arg(snapshot).arg(log).arg("--image").arg(elf);
        if snapshot.extension().is_some_and(|config| config == "PTM-broadcast") {
            compare.args(["--framing", "tpiu"]);
        }
        let output = compare.output().map_err(|error| error.to_string())?;
        match output.status.code() {
            Some(0) => Ok(None),
            Some(1) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Our listing of a snapshot.
    pub(super) fn ours(&self, snapshot: &Path) -> Command {
        let mut list = Command::new(&self.command);
        list.args(["decode", "--packets", "--format", "opencsd"]).arg(snapshot);
        list
    }

    /// OpenCSD's.
    pub(super) fn reference(&self, snapshot: &Path) -> Command {
        let mut list = Command::new("trc_pkt_lister");
        // It leaves a file where it runs.
        list.current_dir(&self.folder);
        list.arg("-ss_dir").arg(snapshot).args(["-decode", "-logstdout"]);
        list
    }

    /// Deletes a file or a folder, where there is one.
    pub(super) fn forget(&self, path: &Path) -> Result<(), String> {
        let done = match path.is_dir() {
            true => fs::remove_dir_all(path),
            false if path.exists() => fs::remove_file(path),
            false => Ok(()),
        };
        done.map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// What has `qemu` put one instruction into a block: its name has changed with QEMU 8.1. Empty
/// where it is a setting of the accelerator.
fn one_instruction(qemu: &str, user: bool) -> Result<&'static str, String> {
    let help = Command::new(qemu).arg("-h").output();
    let help = help.map_err(|error| format!("{qemu}: {error}"))?;
    let known = String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb");
    Ok(match (known, user) {
        (false, _) => "-singlestep",
        (true, true) => "-one-insn-per-tb",
        (true, false) => "",
    })
}

fn installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Runs a program that must succeed.
fn good(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}\n{errors}", output.status))
}
