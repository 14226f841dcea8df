//! The index of a capture, and the part of a trace that it makes accessible.

use std::path::{Path, PathBuf};

use tracewright::decode::Plan;
use tracewright::index::{Compare, Index, Running, Unusable, Window};
use tracewright::views::instructions::Parts;

use crate::args::{UseIndexArgs, WindowArgs};
use crate::fail::Fail;
use crate::input::Input;
use crate::inputs::Inputs;
use crate::message;

/// The index file beside the capture at `path`.
pub fn beside(input: &Input, path: &Path) -> PathBuf {
    tracewright::index::beside(input.capture().kind, path)
}

/// Whether a selected buffer is a pipe.
pub fn is_piped(input: &Input) -> bool {
    input.buffers.iter().any(|&buffer| input.capture().buffers[buffer].is_piped())
}

/// The plans of the selected buffers.
pub fn plans(input: &Input) -> Vec<Plan> {
    input.buffers.iter().map(|&buffer| input.job(buffer).plan.clone()).collect()
}

/// The path of the index of `args`, or of the one beside the capture; `None` where none is used.
fn path(input: &Input, args: &UseIndexArgs) -> Option<PathBuf> {
    let own = || args.index.clone().unwrap_or_else(|| beside(input, &input.path));
    (!args.no_index).then(own)
}

/// The files that a command reads, and the index that it may read: an output replaces none of them.
pub fn inputs(input: &Input, args: &UseIndexArgs) -> Inputs {
    input.inputs.clone().file(path(input, args).as_deref())
}

/// The index of `args`, or the one beside the capture, if it can be used. Prints why it is not
/// used.
pub fn open(input: &Input, args: &UseIndexArgs) -> Result<Option<Index>, Fail> {
    compared(input, args, Compare::Data)
}

/// As [`open`], with this much of the trace compared.
fn compared(input: &Input, args: &UseIndexArgs, compare: Compare) -> Result<Option<Index>, Fail> {
    let Some(path) = path(input, args) else { return Ok(None) };
    if args.index.is_none() && !path.exists() {
        return Ok(None);
    }
    match input.trace.subject().open_index(&path, &plans(input), compare) {
        Err(Unusable::Read(why)) if args.index.is_some() => {
            Err(Fail::input(&path, &why.to_string()))
        }
        Err(Unusable::Read(why)) => {
            message::line(&format!("note: {} is not used: {why}", path.display()));
            Ok(None)
        }
        Ok(index) => {
            if let Some(damage) = index.damage() {
                message::line(&format!(
                    "note: only the first part of {} is used: {damage}; `tracewright index` makes it \
                     again",
                    path.display()
                ));
            }
            Ok(Some(index))
        }
        Err(why) => {
            message::line(&format!(
                "note: {} is not used: {why}; `tracewright index` makes it again",
                path.display()
            ));
            Ok(None)
        }
    }
}

/// As [`open`], but an index that is there and cannot be used is an error. The trace is not
/// compared with it: segments are compared when they are decoded.
pub fn required(input: &Input, args: &UseIndexArgs) -> Result<Option<Index>, Fail> {
    let index = compared(input, args, Compare::Length)?;
    match path(input, args).filter(|path| path.exists()) {
        Some(path) if index.as_ref().is_none_or(|index| index.damage().is_some()) => {
            let what = "the index cannot be used, so that units would be others; make it again, or \
                        leave it out with --no-index";
            Err(Fail::input(&path, what))
        }
        _ => Ok(index),
    }
}

/// A part of a trace.
pub struct Selected {
    /// What is inside.
    pub window: Window,
    /// Of it, what is executed while these tasks run.
    pub running: Option<Running>,
    /// An index, with which decoding begins near it.
    pub index: Option<Index>,
}

impl Selected {
    /// The part that `args` select; `None` for everything.
    pub fn open(
        input: &Input,
        args: Option<&WindowArgs>,
        committed: bool,
    ) -> Result<Option<Selected>, Fail> {
        let Some(mut selected) = Selected::whole(input, args, committed)? else { return Ok(None) };
        if let Some(args) = args {
            selected.index = open(input, &args.index)?;
        }
        Ok(Some(selected))
    }

    /// As [`Selected::open`], without an index.
    pub fn whole(
        input: &Input,
        args: Option<&WindowArgs>,
        committed: bool,
    ) -> Result<Option<Selected>, Fail> {
        let Some(args) = args else { return Ok(None) };
        let window = args.window();
        if window.is_all() {
            return Ok(None);
        }
        if committed {
            return Err(Fail::input(
                &input.path,
                "--committed needs the whole trace; remove --offset, --time, --instruction and --at",
            ));
        }
        if is_piped(input) {
            return Err(Fail::input(
                &input.path,
                "a part of a pipe cannot be selected; write the trace to a file",
            ));
        }
        Ok(Some(Selected { window, running: None, index: None }))
    }

    /// Where the parts of ranges are noted.
    pub fn parts(&self) -> Option<Parts> {
        self.window.instruction.as_ref().map(|_| Parts::default())
    }
}
