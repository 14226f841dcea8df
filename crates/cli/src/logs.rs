//! Execution logs: reading of the log that the command line selects.

use std::io::Read;
use std::path::Path;

use tracewright::base::Isa;
use tracewright::capture::{Container, Dump, Form, Source, stream, unpacked};
use tracewright::decode::Memory;
use tracewright::image::{Elf, Extensions, Load};
use tracewright::logs::{
    Assembler, Entry, Follower, Format, InstructionSet, LogError, LogMap, Lookup, Mode, Reader,
    Timing, csv, instruction_set,
};
use tracewright::{Capture, ImageSource};

use crate::args::{IsaArg, LogArgs, LogFormat, SecurityArg};
use crate::fail::Fail;
use crate::inputs::read_text;
use crate::live;
use crate::message;

/// Number of bytes of a log that are read at a time.
const CHUNK: usize = 1 << 20;

/// A log that is being read.
pub struct Log<'a> {
    path: &'a Path,
    input: Box<dyn Read>,
    /// The first bytes, read to detect the format.
    first: Vec<u8>,
    reader: Reader,
    /// Makes the instructions of a log that has changes of flow only.
    follower: Option<Follower>,
    /// The number of entries that were read.
    entries: u64,
    /// The options select the format.
    is_selected: bool,
    /// The log is read only for its opcodes: nothing is stated of its end.
    pub is_silent: bool,
    /// The program images.
    pub images: Vec<Dump>,
    pub format: Format,
    /// The instruction set of instructions for which the log states none.
    pub isa: Isa,
    /// How far it is known.
    pub set: InstructionSet,
}

impl<'a> Log<'a> {
    /// Opens a log, and reads its first bytes to detect the format. `or` is the instruction set
    /// where neither the options nor an image determine it.
    pub fn open(path: &'a Path, args: &LogArgs, or: Option<Isa>) -> Result<Log<'a>, Fail> {
        Log::of(path, stream(path)?, args, or)?.checked()
    }

    /// As [`Log::open`]. A log that arrives while it is read ends at a signal.
    pub fn open_live(path: &'a Path, args: &LogArgs) -> Result<Log<'a>, Fail> {
        Log::open_any(path, args)?.checked()
    }

    /// As [`Log::open_live`], for a verb that needs no instruction set.
    pub fn open_any(path: &'a Path, args: &LogArgs) -> Result<Log<'a>, Fail> {
        Log::of(path, live::log(path)?, args, None)
    }

    /// The log, where the instruction set of its instructions is known, or one is usual.
    fn checked(self) -> Result<Log<'a>, Fail> {
        match self.set {
            InstructionSet::Known(_) => {}
            InstructionSet::Assumed(isa) => message::line(&format!(
                "tracewright: note: the log does not state its instruction set; {isa} is assumed, and --isa \
                 selects another one"
            )),
            InstructionSet::Unknown => {
                let why = "the log does not state its instruction set, and its addresses and opcodes do \
                           not show it; select it with --isa, or add the program with --image";
                return Err(Fail::input(self.path, why));
            }
        }
        Ok(self)
    }

    fn of(
        path: &'a Path,
        mut input: Box<dyn Read>,
        args: &LogArgs,
        or: Option<Isa>,
    ) -> Result<Log<'a>, Fail> {
        let mut program = Capture::default();
        for image in &args.images {
            program.add_image(&ImageSource::parse(image)?)?;
        }
        let mut first = Vec::new();
        input = unpacked(input).map_err(|error| Fail::input(path, &error.to_string()))?;
        let looked = input.by_ref().take(CHUNK as u64).read_to_end(&mut first);
        looked.map_err(|error| Fail::input(path, &error.to_string()))?;
        let map = described(args)?;
        let found = args.log_format.as_deref().and_then(Format::named);
        let found = map.as_ref().map(|_| Format::Described).or(found);
        let is_selected = found.is_some();
        let found = found.or_else(|| Format::detect(&first));
        let format = found.ok_or_else(|| {
            let names: Vec<_> = Format::all().map(Format::name).collect();
            let known = names.join(", ");
            let head = first.split(|&b| b == b'\n').next().unwrap_or_default();
            let column = csv::unknown_column(head).map(String::from_utf8_lossy);
            let column = column.filter(|column| !column.contains(char::is_control));
            let packed = Container::probe(&first).filter(|container| {
                use Container::{Xz, Zip, Zstandard};
                matches!(container, Xz | Zip | Zstandard)
            });
            if let Some(container) = packed {
                let (name, help) = (container.name(), container.help());
                return Fail::input(path, &format!("{name}, not an execution log; {help}"));
            }
            let what = match (first.is_empty(), column) {
                (true, _) => {
                    "the log is empty; check that the simulator was run with logging".to_owned()
                }
                (false, Some(column)) => {
                    format!("unknown CSV column `{column}`; docs/logs.md lists the columns")
                }
                (false, None) => format!(
                    "unknown format of execution log; select one with --log-format: {known}"
                ),
            };
            Fail::input(path, &what)
        })?;
        let given = args.isa.map(isa).or_else(|| program.memory.iter().find_map(machine)).or(or);
        let set = given.map_or_else(
            || instruction_set::of(format, map.as_ref(), &first),
            InstructionSet::Known,
        );
        let isa = match set {
            InstructionSet::Known(isa) | InstructionSet::Assumed(isa) => isa,
            InstructionSet::Unknown => Isa::A64,
        };
        let signals = args.log_signals.as_deref().filter(|_| format == Format::Rvfi);
        let reader = match (map, signals) {
            (Some(map), _) => Reader::with_map(map, isa),
            (None, Some(prefix)) => Reader::with_signals(prefix),
            (None, None) => Reader::new(format, isa),
        };
        let images = program.memory;
        let follower = (format == Format::BranchFlow).then(|| {
            let program = Capture { memory: images.clone(), ..Capture::default() };
            let image = Memory::new(&program).of(&program, &Source::default());
            Follower::new(Lookup::new(image), isa)
        });
        Ok(Log {
            path,
            input,
            first,
            reader,
            follower,
            entries: 0,
            is_selected,
            is_silent: false,
            images,
            format,
            isa,
            set,
        })
    }

    /// The assembler of the log's entries to steps, for the RISC-V extensions `riscv`.
    pub fn assembler(&self, args: &LogArgs, riscv: Extensions) -> Result<Assembler, Fail> {
        let program = Capture { memory: self.images.clone(), ..Capture::default() };
        let image = Memory::new(&program).of(&program, &Source::default());
        let mut assembler = Assembler::new(Lookup::with(image, riscv));
        let non_secure = args.security.map(|security| security == SecurityArg::NonSecure);
        assembler.mode = Mode { el: args.el, non_secure };
        assembler.isa = self.isa;
        assembler.timing = match args.cycles.as_deref() {
            None => Timing::Untimed,
            Some("log") => Timing::Log,
            Some(number) => Timing::Each(number.parse().map_err(|_| {
                Fail::option("--cycles", number, "expected a number of cycles, or `log`")
            })?),
        };
        Ok(assembler)
    }

    /// Reads a chunk of the log. Returns `false` at its end.
    pub fn more(&mut self, out: &mut dyn FnMut(Entry)) -> Result<bool, Fail> {
        self.part(CHUNK, out)
    }

    /// Reads at most `len` bytes of the log. Returns `false` at its end.
    pub fn part(&mut self, len: usize, out: &mut dyn FnMut(Entry)) -> Result<bool, Fail> {
        let path = self.path;
        let invalid = |error: LogError| Fail::input(path, &error.to_string());
        let (entries, follower) = (&mut self.entries, &mut self.follower);
        let mut take = |entry: Entry| {
            *entries += 1;
            match follower {
                Some(follower) => follower.entry(entry, &mut *out),
                None => out(entry),
            }
        };
        if self.first.is_empty() {
            let read = self.input.by_ref().take(len as u64).read_to_end(&mut self.first);
            read.map_err(|error| Fail::input(path, &error.to_string()))?;
            if self.first.is_empty() {
                self.reader.finish(&mut take).map_err(invalid)?;
                if let Some(follower) = &mut self.follower {
                    follower.finish(out);
                }
                return self.ended().map(|()| false);
            }
        }
        let len = len.min(self.first.len());
        self.reader.feed(&self.first[..len], &mut take).map_err(invalid)?;
        self.first.drain(..len);
        Ok(true)
    }

    /// What is stated at the end of a log: that it ends inside a line.
    ///
    /// # Errors
    /// No line is one of the format that the options select.
    fn ended(&self) -> Result<(), Fail> {
        if self.is_selected && self.entries == 0 && self.reader.lines() > 0 {
            let what = format!(
                "none of its {} lines is an instruction or event of the format {}; without --log-format, \
                 the format is detected",
                self.reader.lines(),
                self.format.name()
            );
            return Err(Fail::input(self.path, &what));
        }
        if let Some((count, Some(first))) = self.follower.as_ref().map(Follower::unfollowed)
            && !self.is_silent
        {
            message::line(&format!(
                "tracewright: note: {count} changes of flow have no code of an --image between their \
                 ends, the first ends at {first:#x}; tracing is off in between"
            ));
        }
        if let Some(LogError { line, found, .. }) = self.reader.unfinished()
            && !self.is_silent
        {
            let path = self.path.display();
            message::line(&format!(
                "tracewright: note: {path}: the log ends inside line {line}, `{found}`, which is left \
                 out"
            ));
        }
        Ok(())
    }

    /// Number of lines read.
    pub fn lines(&self) -> u64 {
        self.reader.lines()
    }
}

/// Prints the problems of a log to standard error.
pub fn notes(assembler: &Assembler) {
    let summary = assembler.summary;
    if let Some(address) = summary.first_unknown {
        let n = summary.unknown;
        message::line(&format!(
            "tracewright: note: {n} instructions have no opcode in the log or in an --image, the first at \
             {address:#x}; they are not traced"
        ));
    }
    if summary.jumps > 0 {
        let n = summary.jumps;
        message::line(&format!(
            "tracewright: note: {n} discontinuities without a branch or exception in the log; tracing is off \
             in between"
        ));
    }
    if summary.expanded > 0 {
        let n = summary.expanded;
        message::line(&format!(
            "tracewright: note: of {n} compressed instructions, the log has the opcode of 32 bits to which they \
             expand; the program memory of these instructions is in an --image only"
        ));
    }
    if summary.uncaused > 0 {
        let n = summary.uncaused;
        message::line(&format!(
            "tracewright: note: the log has no cause of its traps ({n}): in trace of causes (E-Trace), it is \
             the reserved cause 14"
        ));
    }
    if summary.listed == 0 && summary.software == 0 {
        message::line(
            "tracewright: note: the log contains no instructions; check the log options of the simulator",
        );
    }
}

/// The map of the options.
fn described(args: &LogArgs) -> Result<Option<LogMap>, Fail> {
    if let Some(pattern) = &args.log_pattern {
        let map = LogMap::of_pattern(pattern);
        return map
            .map(Some)
            .map_err(|why| Fail::option("--log-pattern", pattern, &why.to_string()));
    }
    let Some(path) = &args.log_map else { return Ok(None) };
    let map = LogMap::read(&read_text(path)?);
    map.map(Some).map_err(|why| Fail::input(path, &why.to_string()))
}

/// A format that is written.
pub fn format(format: LogFormat) -> Format {
    match format {
        LogFormat::Qemu => Format::Qemu,
        LogFormat::Tarmac => Format::Tarmac,
        LogFormat::Spike => Format::Spike,
        LogFormat::SpikeCsv => Format::SpikeCsv,
        LogFormat::Csv => Format::Csv,
    }
}

fn isa(isa: IsaArg) -> Isa {
    match isa {
        IsaArg::A64 => Isa::A64,
        IsaArg::A32 => Isa::A32,
        IsaArg::T32 => Isa::T32,
        IsaArg::Rv32 => Isa::Rv32,
        IsaArg::Rv64 => Isa::Rv64,
    }
}

/// The instruction set at the entry point of an ELF file. (ELF, e_machine: 40 Arm, 183 AArch64, 243
/// RISC-V)
fn machine(dump: &Dump) -> Option<Isa> {
    let file = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf)?;
    let elf = Elf::read(file, dump.name.as_str(), Load::default()).ok()?;
    match (elf.machine, elf.bits64) {
        (40, _) if elf.entry & 1 != 0 => Some(Isa::T32),
        (40, _) => Some(Isa::A32),
        (183, _) => Some(Isa::A64),
        (243, true) => Some(Isa::Rv64),
        (243, false) => Some(Isa::Rv32),
        _ => None,
    }
}
