//! Options of `tracewright timing`.

use clap::{Args, ValueEnum};
use tracewright::analysis::timing::{Clock, Limit, Measure, Span};

use super::decoding::OutcomeArgs;
use super::input::{HowArgs, InputArgs, JobsArgs};
use super::random::WindowArgs;
use super::signals::hertz;
use super::tasks::{SwitchArgs, TaskArgs};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright timing CAPTURE --frequency 72M           how long each function takes
  tracewright timing CAPTURE --measure period --histogram   how regular it is
  tracewright timing CAPTURE --worst print             why its longest call is longer
  tracewright timing CAPTURE --between exception any   until the next element is executed
  tracewright timing CAPTURE --load 1000 --idle main   the load of each 1000 ticks
  tracewright timing CAPTURE --masked                  where interrupts are masked
  tracewright timing CAPTURE --format csv -o timing.csv")]
pub struct TimingArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub switches: SwitchArgs,
    #[command(flatten)]
    pub only: TaskArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// What the text shows; JSON and CSV have all of them.
    #[arg(long, value_enum, default_value_t = MeasureArg::Net)]
    pub measure: MeasureArg,
    /// What measures time. By default cycles, if the trace counts them, else timestamps, and
    /// instructions where it has neither.
    #[arg(long, value_enum)]
    pub clock: Option<ClockArg>,
    /// Ticks of the clock in a second, such as 72M: durations are then shown as times.
    #[arg(long, value_name = "HERTZ", value_parser = hertz)]
    pub frequency: Option<u64>,
    /// Only functions with this name; * stands for any characters.
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// Only exceptions.
    #[arg(long, conflicts_with = "function")]
    pub exceptions: bool,
    /// Only tasks: each time one runs, and from one call in which it waits to the next.
    #[arg(long, conflicts_with_all = ["function", "worst", "masked", "between", "load"])]
    pub task_times: bool,
    /// A row for each caller of a function.
    #[arg(long, conflicts_with_all = ["worst", "masked", "between", "load"])]
    pub by_caller: bool,
    /// The most functions, and the most exceptions.
    #[arg(long, value_name = "N")]
    pub rows: Option<usize>,
    /// How many calls have which duration, too.
    #[arg(long)]
    pub histogram: bool,
    /// A bound of all calls, such as 'net(control) <= 50us' or 'period(exception:15) >= 1ms'
    /// (repeatable). One that is violated gives exit code 1; with --strict, also one that the trace
    /// leaves open.
    #[arg(long = "limit", value_name = "LIMIT")]
    pub limits: Vec<Limit>,
    /// The longest call of this function, from begin to end, beside the median one: functions,
    /// turns of loops and interruptions in order of the difference.
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["function", "exceptions", "histogram", "limits"])]
    pub worst: Option<String>,
    /// With --worst, the N-th longest call.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "worst",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub rank: u32,
    /// The longest sections in which instructions mask interrupts, with the call stacks at both
    /// ends; --rows is how many.
    #[arg(long, conflicts_with_all =
        ["function", "exceptions", "histogram", "worst", "limits"])]
    pub masked: bool,
    /// The time from each event that the first query finds to the next one of the same source that
    /// the second one finds: queries of `find`, such as 'function f' 'exception 15'.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with_all =
        ["function", "exceptions", "histogram", "worst", "limits", "masked"])]
    pub between: Vec<String>,
    /// The load of each processor in parts of this width, such as 10ms, or 1000 ticks of the clock:
    /// the time outside of the functions of --idle; with --task, the time in which it runs, without
    /// handlers.
    #[arg(long, value_name = "WIDTH", conflicts_with_all =
        ["function", "exceptions", "histogram", "worst", "limits", "masked", "between"])]
    pub load: Option<Span>,
    /// With --load, a function in which the processor is idle, with what it calls (repeatable);
    /// * stands for any characters. Without it, that of the operating system, if it is known.
    #[arg(long, value_name = "SYMBOL", requires = "load")]
    pub idle: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = TimingFormat::Text)]
    pub format: TimingFormat,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

/// Format of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimingFormat {
    /// Text.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
    /// Comma-separated values.
    Csv,
}

/// What measures time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// The timestamps of the trace.
    Timestamps,
    /// The processor cycles that the trace counts.
    Cycles,
    /// Executed instructions.
    Instructions,
}

impl ClockArg {
    /// The clock.
    pub fn clock(self) -> Clock {
        match self {
            ClockArg::Timestamps => Clock::Timestamps,
            ClockArg::Cycles => Clock::Cycles,
            ClockArg::Instructions => Clock::Instructions,
        }
    }
}

/// What is measured of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeasureArg {
    /// From its begin to its end.
    Gross,
    /// Gross less exception handlers and other threads.
    Net,
    /// Net less the functions that it calls.
    Own,
    /// From one begin to the next.
    Period,
    /// From an end to the next begin.
    Gap,
    /// Exception handlers and other threads.
    Interrupted,
}

impl MeasureArg {
    /// The measure.
    pub fn measure(self) -> Measure {
        match self {
            MeasureArg::Gross => Measure::Gross,
            MeasureArg::Net => Measure::Net,
            MeasureArg::Own => Measure::Own,
            MeasureArg::Period => Measure::Period,
            MeasureArg::Gap => Measure::Gap,
            MeasureArg::Interrupted => Measure::Interrupted,
        }
    }
}
