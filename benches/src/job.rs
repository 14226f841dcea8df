//! Job files for the driver of OpenCSD: one line for each buffer, source and memory range of a
//! capture.
//!
//! ```text
//! buffer PATH coresight|tpiu|raw
//! source PROTOCOL VERSION PROFILE REGISTER...   registers in the order of `DecoderRegisters`, in hexadecimal
//! memory ADDRESS PATH
//! ```

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tracewright::Capture;
use tracewright::base::Profile;
use tracewright::capture::Form;
use tracewright::decode::{Options, Plan};
use tracewright::frames::Framing;
use tracewright::opencsd::registers::DecoderRegisters;

/// Writes the job of the first buffer of `capture` into `folder`, with the files that the job
/// names. Returns the path of the job.
///
/// # Errors
/// An [`io::Error`] if a file cannot be written, or if OpenCSD has no decoder for the framing.
pub fn write(capture: &Capture, folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let mut text = String::new();
    let plan = Plan::new(capture, 0, &Options::default()).ok_or_else(|| odd("no buffer"))?;
    let framing = match plan.framing {
        Framing::Coresight => "coresight",
        Framing::Tpiu => "tpiu",
        Framing::Raw => "raw",
        _ => return Err(odd("a framing that the driver does not know")),
    };
    let trace = folder.join("trace.bin");
    fs::write(&trace, capture.buffers[0].bytes())?;
    let _ = writeln!(text, "buffer {} {framing}", trace.display());
    for planned in &plan.sources {
        let source = &capture.sources[planned.source];
        let Some(decoder) = DecoderRegisters::of(planned.config.protocol()) else { continue };
        let core = capture.core_type(source).unwrap_or_default();
        let profile = match core.profile {
            Profile::Application => 'A',
            Profile::RealTime => 'R',
            Profile::Microcontroller => 'M',
        };
        let _ = write!(text, "source {} {} {profile}", decoder.name, core.version);
        for name in decoder.registers {
            let _ = write!(text, " {:#x}", source.register(name).unwrap_or(0));
        }
        text.push('\n');
    }
    // Each range once: a capture can list the same dump for each core.
    let mut known: Vec<(u64, usize)> = Vec::new();
    for (n, dump) in capture.memory.iter().enumerate().filter(|(_, dump)| dump.form == Form::Raw) {
        let Some(bytes) = &dump.bytes else { continue };
        if known.contains(&(dump.address, bytes.len())) {
            continue;
        }
        known.push((dump.address, bytes.len()));
        let file = folder.join(format!("memory{n}.bin"));
        fs::write(&file, bytes.as_ref())?;
        let _ = writeln!(text, "memory {:#x} {}", dump.address, file.display());
    }
    let job = folder.join("reference.job");
    fs::write(&job, text)?;
    Ok(job)
}

fn odd(what: &str) -> io::Error {
    io::Error::other(what)
}
