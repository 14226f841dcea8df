//! Results of different programs are not summed or compared.

use std::path::Path;

use tracewright::analysis::{Profile, Programs};
use tracewright::capture::perf::ListedProgram;
use tracewright::capture::{Form, Kind};
use tracewright::image::ProgramId;

use crate::fail::Fail;
use crate::input::Input;
use crate::message;

/// The programs of a capture.
pub fn of(input: &Input) -> Programs {
    Programs::of_capture(&name(&input.path), &input.capture)
}

/// The programs of a capture with this profile, and the executed memory without a file.
pub fn of_profile(input: &Input, profile: &Profile) -> Programs {
    let mut programs = of(input);
    if input.capture.kind == Kind::Perf {
        return programs;
    }
    let dumps = input.capture.memory.iter().filter(|dump| dump.form == Form::Raw);
    for dump in dumps {
        let Some(bytes) = &dump.bytes else { continue };
        let of_dump = |path: &str| path == dump.file;
        let modules = profile.modules.iter().filter(|((path, _), _)| of_dump(path));
        let ranges = modules.flat_map(|(_, module)| module.ranges.keys());
        let executed = ranges.filter_map(|&(start, last)| {
            let offset = start.checked_sub(dump.address)?;
            // The last instruction has at least two bytes.
            let size = last.checked_sub(start)?.saturating_add(2);
            Some((start, bytes.part(offset, size)))
        });
        programs.add_memory(&name(&input.path), &dump.file, ProgramId::of_memory(executed));
    }
    programs
}

/// The programs of a branch list.
pub fn of_list(path: &Path, list: &[ListedProgram]) -> Programs {
    let mut programs = Programs::default();
    for program in list {
        programs.add(Programs::of_module(&name(path), &program.file));
    }
    programs
}

/// The name of a capture in messages.
fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Adds the programs of another capture to those of the captures before. Fails where they are
/// different programs; if it is `forced`, a note states that.
pub fn add(known: &mut Programs, other: Programs, forced: bool) -> Result<(), Fail> {
    if let Some(different) = known.difference(&other) {
        if !forced {
            return Err(Fail::programs(&different));
        }
        message::line(&format!("note: {different}"));
    }
    known.add(other);
    Ok(())
}
