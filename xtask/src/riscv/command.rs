//! Tracewright's command, instruction by instruction.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::inputs::{Input, boot};
use crate::processor_time::timed;

/// An input as files.
pub struct Files {
    folder: PathBuf,
    tracewright: PathBuf,
    xlen: &'static str,
}

impl Files {
    /// Writes the files of `input`. `None` where the command is not built beside this program.
    pub fn of(input: &Input) -> Result<Option<Files>, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let tracewright = own.with_file_name("tracewright");
        if !tracewright.is_file() {
            return Ok(None);
        }
        let name = format!("tracewright-riscv-{}-{}", input.name, std::process::id());
        let folder = std::env::temp_dir().join(name);
        let rv64 = input.params.widths.iaddress > 32;
        let rom: Vec<u8> = boot(rv64).iter().flat_map(|word| word.to_le_bytes()).collect();
        let files = Files { folder, tracewright, xlen: if rv64 { "xlen=64" } else { "xlen=32" } };
        let write = || {
            fs::create_dir_all(&files.folder)?;
            fs::write(files.folder.join("trace"), &input.bytes)?;
            fs::write(files.folder.join("program"), &input.elf)?;
            fs::write(files.folder.join("rom"), rom)
        };
        write().map_err(|error| format!("{}: {error}", files.folder.display()))?;
        Ok(Some(files))
    }

    fn command(&self, format: &str) -> Command {
        let mut command = Command::new(&self.tracewright);
        command.args(["instructions", "--jobs", "1", "--format", format]);
        command.args(["--protocol", "etrace", "--config", "profile=reference-flow"]);
        command.args(["--config", self.xlen, "--image"]).arg(self.folder.join("program"));
        let rom = format!("{}@0x1000", self.folder.join("rom").display());
        command.args(["--image", &rom]).arg(self.folder.join("trace"));
        command
    }

    /// Processor seconds of the whole process. Its output is discarded.
    pub fn seconds(&self, format: &str) -> Result<f64, String> {
        timed(&mut self.command(format))
    }

    /// The lines of addresses that the command writes.
    pub fn addresses(&self) -> Result<Vec<u8>, String> {
        let output = self.command("pc").output().map_err(|error| error.to_string())?;
        Ok(output.stdout)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
