//! Options of the verbs of `unit`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use tracewright::units::routine::Routine;

use super::InfoFormat;
use super::logs::{LogArgs, SecurityArg};

#[derive(Debug, Args)]
pub struct UnitVerbs {
    #[command(subcommand)]
    pub verb: UnitVerb,
}

/// A verb of `unit`.
#[derive(Debug, Subcommand)]
pub enum UnitVerb {
    /// Explain register values field by field, and the whole program in sentences.
    Explain(UnitExplainArgs),
    /// Check register values against the rules of the specification; exit with 1 on errors.
    Lint(UnitExplainArgs),
    /// Make the register values and the sequence of accesses for what is to be traced.
    Program(UnitProgramArgs),
    /// Predict for each instruction and data access of an execution log whether it is traced.
    Filter(UnitFilterArgs),
    /// Check a recorded sequence of register accesses; exit with 1 on errors.
    Sequence(UnitSequenceArgs),
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright unit explain CAPTURE                    what the trace units of a capture trace
  tracewright unit explain ETMv4 TRCCONFIGR=0xc1      one register
  tracewright unit lint CAPTURE                       what the registers lack")]
pub struct UnitExplainArgs {
    /// Unit, core or architecture (such as ETM-A8, Cortex-M4, ETMv3.4), then NAME=VALUE, files of
    /// register values, or a snapshot. Without a unit, the identification registers select it.
    #[arg(required = true, value_name = "UNIT|NAME=VALUE|FILE|SNAPSHOT")]
    pub what: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright unit program ETMv4 --trace 0x80000000..0x80001000 --timestamps
  tracewright unit program ETE --routine switch-out --for c    a process that is traced")]
pub struct UnitProgramArgs {
    /// Unit, core or architecture, then NAME=VALUE or files of its identification registers.
    #[arg(required = true, value_name = "UNIT|NAME=VALUE|FILE")]
    pub what: Vec<String>,
    /// Trace the instructions at these addresses (repeatable). Default: all.
    #[arg(long, value_name = "START..END|FUNCTION")]
    pub trace: Vec<String>,
    /// Do not trace the instructions at these addresses (repeatable).
    #[arg(long, value_name = "START..END|FUNCTION")]
    pub exclude: Vec<String>,
    /// Trace from when START is executed to when END is executed (repeatable).
    #[arg(long, value_name = "START..END")]
    pub between: Vec<String>,
    /// Trace the data accesses to these addresses, or `all` (repeatable).
    #[arg(long, value_name = "START..+SIZE|all")]
    pub data: Vec<String>,
    /// The traced parts of a data access.
    #[arg(long, value_enum, default_value_t = DataArg::Both)]
    pub data_parts: DataArg,
    /// Trace only this context ID.
    #[arg(long, value_name = "N", value_parser = number32)]
    pub context: Option<u32>,
    /// Trace only this virtual machine ID.
    #[arg(long, value_name = "N", value_parser = number32)]
    pub vmid: Option<u32>,
    /// Trace only these exception levels (repeatable).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..4))]
    pub level: Vec<u8>,
    /// Trace only this Security state. (ETMv4, ETE)
    #[arg(long, value_enum, value_name = "STATE")]
    pub security: Option<SecurityArg>,
    /// Trace virtual context identifiers, or virtual machine IDs, without selecting one. (ETMv4,
    /// ETE)
    #[arg(long)]
    pub vmids: bool,
    /// Trigger: exec:ADDRESS, read:ADDRESS, write:ADDRESS=VALUE, access:ADDRESS, input:N or
    /// watchpoint:N, with *TIMES for a later occurrence.
    #[arg(long, value_name = "CONDITION")]
    pub trigger: Option<String>,
    /// Stop the processor at the trigger.
    #[arg(long, requires = "trigger")]
    pub halt: bool,
    /// Bytes of context IDs in the trace.
    #[arg(long, value_name = "N", default_value = "0", value_parser = context_bytes)]
    pub context_bytes: u8,
    /// Trace cycles.
    #[arg(long)]
    pub cycles: bool,
    /// Trace the address of every taken branch.
    #[arg(long)]
    pub branch_output: bool,
    /// Trace timestamps.
    #[arg(long)]
    pub timestamps: bool,
    /// Stall the processor when the FIFO of the unit is nearly full.
    #[arg(long)]
    pub stall: bool,
    /// Trace ID.
    #[arg(long, value_name = "N", value_parser = trace_id)]
    pub trace_id: Option<u8>,
    /// Program with the symbols: an ELF file (repeatable).
    #[arg(long = "image", value_name = "FILE")]
    pub images: Vec<String>,
    /// Program this sink, too, before the unit.
    #[arg(long, value_enum, value_name = "SINK", requires = "buffer")]
    pub sink: Option<SinkArg>,
    /// Memory of the sink.
    #[arg(long, value_name = "START..+SIZE", requires = "sink")]
    pub buffer: Option<String>,
    /// What happens at the end of the memory. Default: fill for trbe, circular for etr.
    #[arg(long, value_enum, value_name = "MODE", requires = "sink")]
    pub mode: Option<ModeArg>,
    /// Bytes of trace after which the trace buffer interrupts: with the trigger counter, which has
    /// 32 bits, or in the mode wrap by wrapping.
    #[arg(long, value_name = "BYTES", requires = "sink", value_parser = number64)]
    pub watermark: Option<u64>,
    /// Address of the registers of an ETR, for openocd and c.
    #[arg(long, value_name = "ADDRESS", requires = "sink", value_parser = number64)]
    pub sink_base: Option<u64>,
    /// Make this routine of software that uses the unit, of Arm ARM K10.5.7.1 or K10.5.10, instead
    /// of the one that programs and enables it. (ETE; ETMv4 without the switches)
    #[arg(long, value_enum, value_name = "ROUTINE")]
    pub routine: Option<RoutineArg>,
    /// --routine switch-*: TTBR0_EL1 of the process that is switched to. The C function has it as a
    /// parameter.
    #[arg(long, value_name = "N", default_value = "0", value_parser = number64, requires = "routine")]
    pub ttbr0: u64,
    /// --routine switch-*: Exception level of the software: at 2 MDCR_EL2 and TRFCR_EL2 belong to
    /// the state, at 3 MDCR_EL3, too.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "routine",
          value_parser = clap::value_parser!(u8).range(1..4))]
    pub at_level: u8,
    /// --routine switch-*: the trace buffer has FEAT_TRBE_EXC: TRBSR_EL2 and TRBSR_EL3 belong to
    /// the state of software at these levels.
    #[arg(long, requires = "routine")]
    pub trbe_exceptions: bool,
    /// Form of the output.
    #[arg(long = "for", value_enum, default_value_t = ProgramForm::Text, value_name = "FORM")]
    pub form: ProgramForm,
    /// Address of the memory-mapped registers of the unit, for openocd and c. Without it, the C
    /// function of an ETE or ETMv4 has System registers.
    #[arg(long, value_name = "ADDRESS", value_parser = number64)]
    pub base: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright unit filter ETMv4 TRCVICTLR=0x201 TRCCONFIGR=0x1 --log log.csv")]
pub struct UnitFilterArgs {
    /// Unit, then NAME=VALUE, files of register values, or a snapshot.
    #[arg(required = true, value_name = "UNIT|NAME=VALUE|FILE|SNAPSHOT")]
    pub what: Vec<String>,
    /// Execution log.
    #[arg(long, value_name = "FILE")]
    pub log: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// Processor of the log.
    #[arg(long, value_name = "N", default_value = "0")]
    pub cpu: u16,
    /// Capture of the execution, of the source with the processor's number: the first difference is
    /// printed, and the exit code is 1 if there is one.
    #[arg(long, value_name = "CAPTURE")]
    pub capture: Option<PathBuf>,
    /// Print statistics only.
    #[arg(long)]
    pub summary: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright unit sequence ETMv4 recording.txt       accesses that a debugger made")]
pub struct UnitSequenceArgs {
    /// Unit, then NAME=VALUE or files of its identification registers, then the recording.
    #[arg(required = true, value_name = "UNIT|NAME=VALUE|RECORDING")]
    pub what: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
}

/// The form of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramForm {
    /// Accesses with their purposes.
    Text,
    /// Files of the Linux driver.
    LinuxSysfs,
    /// Tcl for OpenOCD.
    Openocd,
    /// A C function.
    C,
    /// The registers of a device in a snapshot.
    Snapshot,
}

/// A sink, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SinkArg {
    /// The trace buffer of the processor.
    Trbe,
    /// An Embedded Trace Router.
    Etr,
}

/// What happens at the end of a buffer, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Collection stops.
    Fill,
    /// Collection continues at the base, with an interrupt.
    Wrap,
    /// Collection continues at the base.
    Circular,
}

/// A routine, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoutineArg {
    /// Program and enable the unit, its sink first (K10.5.7.1.1).
    Enable,
    /// Disable the unit, then its sink (K10.5.7.1.2).
    Disable,
    /// Save the unit before its power is removed (K10.5.7.1.3).
    Save,
    /// Restore the unit (K10.5.7.1.3).
    Restore,
    /// Switch out a process that is traced (K10.5.10).
    SwitchOut,
    /// Switch it out while tracing is permitted (K10.5.10).
    SwitchOutTracing,
    /// Switch in a process that is traced (K10.5.10).
    SwitchIn,
}

impl From<RoutineArg> for Routine {
    fn from(argument: RoutineArg) -> Routine {
        match argument {
            RoutineArg::Enable => Routine::Enable,
            RoutineArg::Disable => Routine::Disable,
            RoutineArg::Save => Routine::Save,
            RoutineArg::Restore => Routine::Restore,
            RoutineArg::SwitchOut => Routine::SwitchOut,
            RoutineArg::SwitchOutTracing => Routine::SwitchOutTracing,
            RoutineArg::SwitchIn => Routine::SwitchIn,
        }
    }
}

/// The traced parts of a data access, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataArg {
    /// Address and value.
    Both,
    /// The address.
    Address,
    /// The value.
    Value,
}

fn number64(text: &str) -> Result<u64, String> {
    tracewright::units::values::number(text)
        .ok_or_else(|| format!("`{text}` is not a number; write 16 or 0x10"))
}

fn number32(text: &str) -> Result<u32, String> {
    let number = number64(text)?;
    u32::try_from(number).map_err(|_| format!("`{text}` has more than 32 bits"))
}

fn context_bytes(text: &str) -> Result<u8, String> {
    match text {
        "0" | "1" | "2" | "4" => Ok(text.as_bytes().first().map_or(0, |digit| digit - b'0')),
        _ => Err(format!("`{text}` is not a size of context IDs: 0, 1, 2 or 4 bytes")),
    }
}

fn trace_id(text: &str) -> Result<u8, String> {
    match number64(text)? {
        id @ 1..=0x6f => Ok(id as u8),
        _ => Err(format!("`{text}` is not a trace ID; they are 0x01 to 0x6f")),
    }
}
