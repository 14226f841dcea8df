//! `tracewright frames`

use std::ops::Range;

use tracewright::Trace;
use tracewright::capture::{Found, probe};
use tracewright::decode::More;
use tracewright::decode::detect::Candidate;
use tracewright::decode::raw::Unit;
use tracewright::frames::{Event, Framing, Numbering, Split};
use tracewright::opencsd::FrameListing;
use tracewright::views::explain::Remark;
use tracewright::views::frames::{Json, Part, Text};
use tracewright::views::json;
use tracewright::views::link::{Both, Ids};

use crate::args::{Format, FramesArgs, FramingArg, RawFrames};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::report;

/// Runs the verb.
pub fn run(args: &FramesArgs) -> Result<bool, Fail> {
    if !args.raw_frames.is_empty() && args.format != Format::Opencsd {
        let why = "needs --format opencsd; the other formats have frames and the data in them";
        return Err(Fail::option("--raw-frames", "without --format opencsd", why));
    }
    let mut input = open(args)?;
    let format = args.format;
    if format == Format::Opencsd {
        input.first_buffer(&args.input);
    }
    report::notes(&input);
    input.readable(args.strict)?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    if format == Format::Json {
        output.json(&json::head("frames"))?;
    }
    let shown = |what| args.raw_frames.is_empty() || args.raw_frames.contains(&what);
    let ids = &args.input.sources.ids;
    let selects = args.offset.is_some() || !ids.is_empty();
    let numbering = match format {
        Format::Opencsd => Numbering::Opencsd,
        _ => Numbering::Capture,
    };
    let mut nothing = selects;
    let mut problems = listing::Problems::of_capture(&input, false);
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let framing = job.plan.framing;
        if !job.plan.framed() {
            message::line(&format!(
                "note: {} contains unframed trace data of one source",
                job.buffer.name
            ));
            message::line("help: if it contains formatter frames, select them with --framing");
            continue;
        }
        let (colour, len) = (output.colour(), job.buffer.size());
        let selected = selects.then(|| (args.offset.clone(), ids.as_slice()));
        let all = Splitting { job: &job, numbering, selected };
        let mut contents = Ids::default();
        let done = match format {
            Format::Text => {
                let mut view = Text::new(&mut output, len, colour);
                nothing &= all.split(&mut view, &mut contents, Text::broken)?;
                view.finish()
            }
            Format::Json => {
                output.json(&job.json())?;
                let mut view = Json::new(&mut output);
                nothing &= all.split(&mut view, &mut contents, Json::broken)?;
                view.finish()
            }
            Format::Opencsd => {
                let (packed, unpacked) = (shown(RawFrames::Packed), shown(RawFrames::Unpacked));
                let mut view = FrameListing::new(&mut output, framing, packed, unpacked);
                nothing &= all.split(&mut view, &mut contents, FrameListing::broken)?;
                view.finish()
            }
            Format::None => {
                nothing &= all.split(&mut Nothing, &mut contents, |_| false)?;
                Ok(())
            }
        };
        output.check(done)?;
        problems.flawed |= contents.bad > 0;
        let len = job.buffer.len();
        if format != Format::None && !selects && contents.bad == len {
            report::remarks(&[no_frames(&job.buffer.name, len)]);
        }
        if format == Format::None {
            let names_of = |id| {
                let names = job.sources.iter().filter(|s| s.id == Some(id));
                names.map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            let lines = contents
                .lines(names_of)
                .iter()
                .map(|line| format!("  {line}\n"))
                .collect::<String>();
            output.print(&format!("{}: {len} bytes\n{lines}", job.buffer.name))?;
        }
        if output.closed() {
            break;
        }
    }
    let nothing = nothing && format != Format::None && !output.closed();
    output.close()?;
    if nothing {
        report::nothing_selected(&input);
    }
    Ok(report::is_traced(&input) && !problems.fail(args.strict))
}

/// Opens the input. The frames of raw trace data and of a TPIU's port need no protocol.
fn open(args: &FramesArgs) -> Result<Input, Fail> {
    let sources = &args.input.sources;
    let pins = args.input.pins.is_some();
    let raw = pins || matches!(probe(args.input.path()), Ok(Found::Raw));
    if !raw || !sources.protocols.is_empty() {
        return Input::open(&args.input, None);
    }
    let is_file = args.input.path().is_file();
    if !is_file && !pins && sources.framing == FramingArg::Auto {
        return Input::open(&args.input, None);
    }
    if is_file && !pins && sources.framing == FramingArg::Auto {
        let input = Input::open(&args.input, None).ok();
        let unframed = |best: &Candidate| best.framing == Framing::Raw && best.is_sure();
        let input = input.filter(|input| input.detected.as_ref().is_some_and(unframed));
        if let Some(input) = input {
            return Ok(input);
        }
    }
    let mut frames = args.input.clone();
    frames.sources.ids.clear();
    // Any protocol makes a capture of raw trace data. Its source is not used.
    frames.sources.protocols.push(Unit { protocol: "ITM".to_owned(), id: None });
    if frames.sources.framing == FramingArg::Auto {
        frames.sources.framing = if pins { FramingArg::Tpiu } else { FramingArg::Coresight };
    }
    let mut input = Input::open(&frames, None)?;
    let mut capture = input.capture().clone();
    capture.sources.clear();
    input.trace = Trace::decoded_with(capture, input.trace.options().clone());
    input.notes.clear();
    Ok(input)
}

/// The remark about a buffer without frames.
fn no_frames(buffer: &str, len: u64) -> Remark {
    let (what, help) = match len {
        0 => (format!("{buffer}: the buffer is empty"), "nothing was captured"),
        _ => (
            format!("{buffer}: no formatter frame in {len} bytes"),
            "select the framing with --framing; the buffer may also be truncated",
        ),
    };
    Remark { what, help: help.into() }
}

/// The offsets and trace IDs that are selected; everything for `None`.
type Selected<'a> = Option<(Option<Range<u64>>, &'a [u16])>;

/// A buffer that is split.
struct Splitting<'a> {
    job: &'a Job<'a>,
    numbering: Numbering,
    selected: Selected<'a>,
}

impl Splitting<'_> {
    /// Splits the buffer for `view`, and counts its contents in `ids`. Returns whether nothing was
    /// selected.
    fn split<S: Split>(
        &self,
        view: &mut S,
        ids: &mut Ids,
        broken: fn(&S) -> bool,
    ) -> Result<bool, Fail> {
        let mut both = Both(view, ids);
        let Some((offset, ids)) = &self.selected else {
            split_all(self.job, self.numbering, &mut both, |both| broken(both.0))?;
            return Ok(false);
        };
        let mut part = Part::new(&mut both, self.numbering, offset.clone(), ids);
        split_all(self.job, self.numbering, &mut part, |part| broken(part.receiver().0))?;
        Ok(part.is_empty())
    }
}

fn split_all<S: Split>(
    job: &Job<'_>,
    numbering: Numbering,
    to: &mut S,
    broken: impl Fn(&S) -> bool,
) -> Result<(), Fail> {
    let mut splitter = job.plan.route(numbering);
    let (mut at, mut input, mut chunk) = (0, live::input_of(job.buffer), Vec::new());
    loop {
        chunk.clear();
        let more = input.more(1 << 20, true, &mut chunk);
        if more.map_err(|error| Fail::read(&job.buffer.name, &error))? == More::End {
            break;
        }
        splitter.split(at, &chunk, to);
        at += chunk.len() as u64;
        if broken(to) {
            return Ok(());
        }
    }
    splitter.finish(at, to);
    Ok(())
}

/// Ignores all frames.
struct Nothing;

impl Split for Nothing {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}
    fn event(&mut self, _: u64, _: Event) {}
}
