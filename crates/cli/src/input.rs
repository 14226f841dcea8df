//! From the command line to a capture and what of it to decode.

use std::path::Path;

use tracewright::Capture;
use tracewright::capture::{Form, Found, Raw, probe};
use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::frames::{Framing, Numbering};

use crate::args::{FramingArg, HowArgs, InputArgs};
use crate::fail::Fail;

/// A capture and the buffers of it that were asked for.
pub struct Input {
    pub capture: Capture,
    pub buffers: Vec<usize>,
    pub memory: Memory,
    pub options: Options,
}

impl Input {
    /// Opens what the user named.
    pub fn open(args: &InputArgs, how: Option<&HowArgs>) -> Result<Input, Fail> {
        let mut capture = read(args)?;
        for image in &args.images {
            capture.add_image(image)?;
        }
        let buffers = buffers(&capture, args)?;
        let options = Options {
            ids: args.ids.clone(),
            framing: args.framing.chosen(),
            numbering: Numbering::Capture,
            check_opcodes: how.is_some_and(|how| how.check_opcodes),
            split_source_ranges: how.is_some_and(|how| how.split_source_ranges),
        };
        let memory = Memory::new(&capture);
        Ok(Input { capture, buffers, memory, options })
    }

    /// The plan for one of the buffers.
    pub fn plan(&self, buffer: usize) -> Plan {
        Plan::new(&self.capture, buffer, &self.options).unwrap_or_else(|| Plan {
            buffer,
            framing: Framing::Raw,
            sources: Vec::new(),
            skipped: Vec::new(),
        })
    }

    /// The session for `plan`.
    pub fn session(&self, plan: &Plan) -> Session {
        Session::new(&self.capture, plan, &self.memory, &self.options)
    }

    /// Any program memory at all.
    pub fn has_memory(&self) -> bool {
        self.capture.memory.iter().any(|dump| dump.bytes.is_some() || dump.form == Form::Elf)
    }
}

fn read(args: &InputArgs) -> Result<Capture, Fail> {
    let Some(protocol) = &args.protocol else {
        return Ok(tracewright::open(&args.input)?);
    };
    if let Ok(Found::Snapshot(_)) = probe(&args.input) {
        return Err(Fail::usage(
            &args.input,
            "is a snapshot and says its protocols itself; leave out --protocol",
        ));
    }
    let raw = Raw {
        device_type: protocol.clone(),
        registers: args.registers.clone(),
        format: format(args.framing),
        core: args.core.clone(),
        images: Vec::new(),
    };
    Ok(Capture::raw(std::slice::from_ref(&args.input), &raw)?)
}

/// Bare bytes are one source's own, unless the user says that they are framed.
fn format(framing: FramingArg) -> tracewright::capture::Format {
    use tracewright::capture::Format;
    match framing {
        FramingArg::Auto | FramingArg::Raw => Format::SourceData,
        FramingArg::Coresight | FramingArg::Tpiu | FramingArg::TpiuHsync => Format::CoreSight,
        FramingArg::Dstream => Format::DstreamCoreSight,
    }
}

fn buffers(capture: &Capture, args: &InputArgs) -> Result<Vec<usize>, Fail> {
    if let Some(name) = &args.source {
        return match capture.buffer(name) {
            Some(buffer) => Ok(vec![buffer]),
            None => {
                let names: Vec<_> = capture.buffers.iter().map(|b| b.name.as_str()).collect();
                let names = names.join(", ");
                Err(Fail::usage(&args.input, &format!("has no buffer `{name}`; it has {names}")))
            }
        };
    }
    let all = 0..capture.buffers.len();
    Ok(if args.all_buffers { all.collect() } else { all.take(1).collect() })
}

/// How a path is named in messages.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
