//! `tracewright unit program`

use tracewright::capture::Form;
use tracewright::image::{Elf, Load};
use tracewright::units::program::Program;
use tracewright::units::request::{DataParts, Request, SecurityStates, parse};
use tracewright::units::routine::{Routine, RoutineRequest};
use tracewright::units::sink::{Buffer, Mode, Sink, Watermark};
use tracewright::{Capture, ImageSource};

use super::subject;
use crate::args::{DataArg, ModeArg, ProgramForm, SecurityArg, SinkArg, UnitProgramArgs};
use crate::fail::Fail;
use crate::message;
use crate::output::Output;

/// Makes a program.
pub fn run(args: &UnitProgramArgs) -> Result<bool, Fail> {
    let subjects = subject::read(&args.what)?;
    let [subject] = subjects.as_slice() else {
        return Err(Fail::option("unit", &args.what.join(" "), "a program is made for one unit"));
    };
    let mut program = Capture::default();
    for image in &args.images {
        program.add_image(&ImageSource::parse(image)?)?;
    }
    let lookup = |name: &str| symbol(&program, name);
    let mut request = request(args, &lookup)?;
    request.routine = args.routine.map(|routine| RoutineRequest {
        routine: routine.into(),
        values: subject.values.clone(),
        tables: args.ttbr0,
        level: args.at_level,
        exceptions: args.trbe_exceptions,
    });
    if args.sink.is_some() && !subject.unit.has_sinks() {
        let why = "a sink is programmed with an ETMv4 or an ETE";
        return Err(Fail::option("--sink", &subject.unit.name(), why));
    }
    let made = match subject.unit.program(&request) {
        Ok(made) => made,
        Err(refusals) => {
            for refusal in refusals {
                message::line(&format!("tracewright: {} cannot: {refusal}", subject.unit.name()));
            }
            return Ok(false);
        }
    };
    let base = || {
        args.base.ok_or_else(|| {
            Fail::option("--for", "openocd or c", "add --base, the address of the unit's registers")
        })
    };
    if made.routine.is_some_and(|routine| routine != Routine::Enable)
        && matches!(args.form, ProgramForm::Snapshot | ProgramForm::LinuxSysfs)
    {
        let why = "these forms have the registers of a unit that is enabled; --for text, openocd \
                   and c have the accesses of a routine";
        return Err(Fail::option("--routine", "with --for snapshot or linux-sysfs", why));
    }
    let text = match args.form {
        ProgramForm::Text => made.text(),
        ProgramForm::Openocd => {
            let sink = args.sink_base.map(|at| format!("set SINK {at:#x}\n")).unwrap_or_default();
            sink + &subject.unit.openocd(&made, base()?)
        }
        ProgramForm::C => {
            let sink = args.sink_base.map(|at| format!("#define SINK {at:#x}u\n"));
            let text = match subject.unit.c(&made, args.base) {
                Some(text) => text,
                None => subject.unit.c(&made, Some(base()?)).unwrap_or_default(),
            };
            sink.unwrap_or_default() + &text
        }
        ProgramForm::Snapshot => {
            let mut all = subject.unit.identification();
            subject.values.iter().chain(made.values.iter()).for_each(|(n, v)| all.set(n, v));
            let program = Program { values: all, ..Program::default() };
            // The number of a register: its offset in words.
            program.snapshot(&|name| subject.unit.register(name).and_then(|r| r.offset))
        }
        ProgramForm::LinuxSysfs => subject.unit.sysfs(&made).ok_or_else(|| {
            let why = "the Linux driver has no files for this unit or this program";
            Fail::option("--for", "linux-sysfs", why)
        })?,
    };
    let mut output = Output::standard()?;
    output.print(&text)?;
    output.close()?;
    Ok(true)
}

/// The request of the command line.
fn request(args: &UnitProgramArgs, lookup: parse::Lookup<'_>) -> Result<Request, Fail> {
    let spans = |option: &str, texts: &[String]| {
        let span = |text: &String| {
            parse::span(text, lookup).map_err(|why| Fail::option(option, text, &why.to_string()))
        };
        texts.iter().map(span).collect::<Result<Vec<_>, _>>()
    };
    let all_data = args.data.iter().any(|text| text == "all");
    let data: Vec<_> = args.data.iter().filter(|text| *text != "all").cloned().collect();
    let between = args.between.iter().map(|text| {
        parse::pair(text, lookup).map_err(|why| Fail::option("--between", text, &why.to_string()))
    });
    let trigger = args.trigger.as_ref().map(|text| {
        parse::condition(text, lookup)
            .map_err(|why| Fail::option("--trigger", text, &why.to_string()))
    });
    let levels = args.level.iter().fold(0, |all, level| all | 1 << level);
    Ok(Request {
        trace: spans("--trace", &args.trace)?,
        exclude: spans("--exclude", &args.exclude)?,
        between: between.collect::<Result<_, _>>()?,
        data: spans("--data", &data)?,
        all_data,
        parts: match args.data_parts {
            DataArg::Both => DataParts::Both,
            DataArg::Address => DataParts::Address,
            DataArg::Value => DataParts::Value,
        },
        context: args.context,
        vmid: args.vmid,
        levels: Some(levels).filter(|levels| *levels != 0),
        security: args.security.map(|state| match state {
            SecurityArg::Secure => SecurityStates::Secure,
            SecurityArg::NonSecure => SecurityStates::NonSecure,
        }),
        vmids: args.vmids,
        trigger: trigger.transpose()?,
        context_bytes: args.context_bytes,
        cycles: args.cycles,
        branch_output: args.branch_output,
        timestamps: args.timestamps,
        stall: args.stall,
        halt: args.halt,
        trace_id: args.trace_id,
        sink: sink(args, lookup)?,
        routine: None,
    })
}

/// The sink of the command line.
fn sink(args: &UnitProgramArgs, lookup: parse::Lookup<'_>) -> Result<Option<Sink>, Fail> {
    let (Some(sink), Some(buffer)) = (args.sink, &args.buffer) else { return Ok(None) };
    let span = parse::span(buffer, lookup)
        .map_err(|why| Fail::option("--buffer", buffer, &why.to_string()))?;
    let mode = match (args.mode, sink) {
        (Some(ModeArg::Fill), _) | (None, SinkArg::Trbe) => Mode::Fill,
        (Some(ModeArg::Wrap), _) => Mode::Wrap,
        (Some(ModeArg::Circular), _) | (None, SinkArg::Etr) => Mode::Circular,
    };
    let watermark = args.watermark.map(|bytes| match mode {
        Mode::Wrap => Watermark::Wrap(bytes),
        Mode::Fill | Mode::Circular => Watermark::Trigger(bytes),
    });
    let buffer = Buffer { base: span.start, limit: span.end, mode, watermark };
    let sink = match sink {
        SinkArg::Trbe => Sink::Trbe(buffer),
        SinkArg::Etr => Sink::Etr(buffer),
    };
    match sink.invalid() {
        Some(why) => Err(Fail::option("--sink", &sink.to_string(), why)),
        None => Ok(Some(sink)),
    }
}

/// The addresses of the symbol `name` in the images, without an instruction set bit.
fn symbol(program: &Capture, name: &str) -> Option<(u64, Option<u64>)> {
    program.memory.iter().filter(|dump| dump.form == Form::Elf).find_map(|dump| {
        let file = dump.bytes.as_ref()?;
        let elf = Elf::read(file, dump.name.as_str(), Load::default()).ok()?;
        let code = elf.symbols.iter().find(|symbol| symbol.name == name);
        match code {
            Some(code) => {
                let end = code.start.checked_add(code.size).filter(|_| code.size > 0);
                Some((code.start, end))
            }
            None => Elf::address_of(file, name).map(|start| (start, None)),
        }
    })
}
