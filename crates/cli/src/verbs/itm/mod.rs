//! `tracewright itm`

mod detection;
mod printer;
mod source;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tracewright::capture::levels::{Coding, SwoOptions, SwoRecording, read_swo};
use tracewright::capture::live::{Live, TCP};
use tracewright::capture::{
    Capture, Container, Found, ImageSource, Kind, OpenError, Problem, Raw, Selection,
    may_be_converted, probe,
};
use tracewright::decode::detect::recognised;
use tracewright::decode::input::{self, Following, Input as Bytes, More, Piped, Reading, pause};
use tracewright::decode::swo::{Greeting, Receiver, Wanted};
use tracewright::frames::Framing;
use tracewright::views::link::largest;

use crate::args::ItmArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::inputs::Inputs;
use crate::live::{Stop, Stoppable};
use crate::message;
use detection::Checked;
use printer::Printer;

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 16;

/// The most bytes of a stream that is converted.
const LARGEST: usize = 1 << 28;

/// Events of a live trace without timestamps wait for their times for one to two of these periods.
const TICK: Duration = Duration::from_millis(18);

/// Lines of text wait for their ends, and events for their timestamps, for one to two of these
/// periods.
const SILENCE: Duration = Duration::from_millis(800);

/// Time between two looks at a live trace while events wait.
const LOOK: Duration = Duration::from_millis(2);

/// After this time without the first byte of a live trace, its usual causes are printed.
const NOTHING: Duration = Duration::from_secs(3);

/// The usual causes of a live trace without bytes.
const NO_BYTES: &str = "no bytes have arrived in 3 seconds: check that the ITM and its ports \
     are enabled (DEMCR.TRCENA, ITM_TCR.ITMENA, ITM_TER), that the TPIU and the pin of SWO are \
     configured, and the bit rate of the probe";

/// Runs the verb.
pub fn run(args: &ItmArgs) -> Result<bool, Fail> {
    let path = &args.input;
    let text = path.to_string_lossy();
    if args.follow && (text == "-" || text.starts_with(TCP)) {
        return Err(Fail::option("--follow", "of a stream", "it is for files and serial ports"));
    }
    let live = text == "-" || text.starts_with(TCP) || args.follow;
    if !live {
        match probe(path)? {
            Found::Snapshot(_) | Found::Folder(_) => return capture(args),
            Found::Program => return Err(not_swo(path, "an ELF file: give it with --image")),
            Found::Perf => return Err(not_swo(path, "a perf.data file; see `tracewright info`")),
            Found::Cycles(_) => return Err(not_swo(path, "the cycles of a trace port")),
            // An archive may be a recording of the signal.
            Found::Container(Container::Sigrok | Container::Zip | Container::Vcd) | Found::Raw => {}
            Found::Container(other) => {
                let what = format!("{}: {}", other.name(), other.help());
                return Err(not_swo(path, &what));
            }
        }
        let regular = std::fs::metadata(path).is_ok_and(|about| about.is_file());
        let options = SwoOptions {
            signal: args.signal.as_deref(),
            baud: args.baud,
            coding: args.coding.map(Into::into),
        };
        if regular
            && args.selection()? == Selection::default()
            && let Some(recording) = read_swo(path, &options)?
        {
            return recorded(args, &recording);
        }
    }
    if has_signal(args) {
        return Err(not_swo(path, NO_SIGNAL));
    }
    let mut checked = Checked { selection: args.selection()?, ..Checked::default() };
    if !live && args.framing.chosen().is_none() && args.id.is_none() {
        checked = detection::check(path, checked.selection)?;
    }
    let certain = stream(args, path, &checked)?;
    if let Some(what) = &checked.unexplained {
        message::line(&format!("note: {}: {what}", path.display()));
    }
    Ok(certain && checked.unexplained.is_none())
}

/// What refuses --signal, --baud and --coding.
const NO_SIGNAL: &str =
    "no recording of a logic analyser, for which --signal and --baud, and --coding, are";

/// Whether options of a recording are given.
fn has_signal(args: &ItmArgs) -> bool {
    args.signal.is_some() || args.baud.is_some() || args.coding.is_some()
}

fn not_swo(path: &Path, what: &str) -> Fail {
    Fail::input(path, &format!("it is {what}"))
}

/// The sources of a capture with registers.
fn capture(args: &ItmArgs) -> Result<bool, Fail> {
    let recorded = "the capture records the framing and the sources; remove the option";
    if args.framing.chosen().is_some() {
        return Err(Fail::option("--framing", "of a capture", recorded));
    }
    if has_signal(args) {
        return Err(not_swo(&args.input, NO_SIGNAL));
    }
    if args.selection()? != Selection::default() {
        return Err(Fail::option("--buffer and --swap", "of a capture", recorded));
    }
    let mut capture: Capture = tracewright::read_capture(&args.input)?;
    if capture.kind == Kind::Perf {
        return Err(not_swo(&args.input, "a recording of perf, which has no ITM"));
    }
    for image in &args.images {
        capture.add_image(&ImageSource::parse(image)?)?;
    }
    let mut input = Input::of(capture);
    input.change(|options| options.ids.extend(args.id.map(u16::from)));
    input.inputs = Inputs::of_capture(input.capture());
    input.path.clone_from(&args.input);
    source::decode(args, &input)
}

/// SWO in a recording of its level: each event has the time at which it was sent.
fn recorded(args: &ItmArgs, recording: &SwoRecording) -> Result<bool, Fail> {
    let coding = recording.coding.name();
    if recording.errors > 0 {
        let what = match recording.coding {
            Coding::Manchester => "packets of SWO are not whole bytes",
            Coding::Uart | Coding::Inverted => "bytes of SWO have no stop bit",
        };
        message::line(&format!(
            "note: {} {what} and are left out; check --baud and --coding ({coding})",
            recording.errors
        ));
    }
    if recording.coding != Coding::Uart {
        message::line(&format!("note: the SWO is {coding}"));
    }
    let frequency = args.frequency.or(recording.rate);
    let times = Some(recording.times.as_slice());
    let names = vec!["ITM".to_owned()];
    let mut printer = Printer::open(args, frequency, names, Inputs::default(), [None; 4])?;
    let mut receiver = Receiver::recorded(wanted(args));
    let mut elements = Vec::new();
    for bytes in recording.bytes.chunks(BLOCK) {
        receiver.feed(bytes, &mut elements);
        printer.elements(elements.drain(..), times);
        if !printer.write() {
            break;
        }
    }
    receiver.finish(&mut elements);
    printer.elements(elements.drain(..), times);
    let lost = printer.close()?;
    let certain = summary(args, &receiver, true, false);
    losses(lost);
    Ok(certain && !(args.strict && lost > 0))
}

fn wanted(args: &ItmArgs) -> Wanted {
    Wanted { framing: args.framing.chosen(), id: args.id }
}

/// Bytes from a file, a pipe, a connection or a serial port.
fn stream(args: &ItmArgs, path: &Path, checked: &Checked) -> Result<bool, Fail> {
    let selection = checked.selection;
    let source = Live::open(path)?;
    let (connection, growing) = (matches!(source, Live::Connection(_)), args.follow);
    let is_file = matches!(source, Live::File(_));
    let stop = Stop::at_signals();
    let mut receiver = match source {
        Live::File(_) if !growing => Receiver::recorded(wanted(args)),
        _ => Receiver::new(wanted(args)),
    };
    let mut bytes = Stoppable { input: opened(source, growing, path, selection)?, stop };
    let names = vec!["ITM".to_owned()];
    let mut printer = Printer::open(args, args.frequency, names, Inputs::default(), [None; 4])?;
    let mut elements = Vec::new();
    let mut block = Vec::new();
    let mut greeting = Greeting::default();
    let (mut ticked, mut silent) = (Instant::now(), Instant::now());
    let (began, is_file) = (Instant::now(), is_file && !growing);
    // Text is converted as a whole.
    let mut is_whole = is_file || connection || growing;
    if (connection || growing) && selection != Selection::default() {
        let why = "its bytes are decoded as they arrive; write them to a file first";
        return Err(Fail::option("--buffer and --swap", "of a live trace", why));
    }
    // The reader of the output does not want more, or a signal ended the trace.
    let mut stopped = false;
    let mut may_lack_bytes = !is_file;
    let ended = loop {
        block.clear();
        may_lack_bytes &= receiver.bytes() == 0;
        // Where nothing waits, nothing happens until bytes arrive.
        let is_begun = receiver.form().is_none() && receiver.bytes() > 0;
        let waits = printer.is_waiting() || is_begun || may_lack_bytes;
        if !waits {
            (ticked, silent) = (Instant::now(), Instant::now());
        }
        let mut later = false;
        match bytes.more(BLOCK, !waits, &mut block) {
            Ok(More::Some) => {
                if connection {
                    greeting.pass(&mut block);
                }
                if !is_whole && (selection != Selection::default() || may_be_converted(&block)) {
                    receiver = Receiver::recorded(wanted(args));
                    piped(path, &mut bytes, &mut block, selection)?;
                }
                is_whole = true;
                receiver.feed(&block, &mut elements);
                if !is_file {
                    printer.arrived(receiver.bytes(), began.elapsed());
                }
            }
            Ok(More::Later) => {
                pause(LOOK);
                later = true;
            }
            Ok(More::End) => break None,
            Err(error) => break Some(error),
        }
        printer.elements(elements.drain(..), None);
        if later && may_lack_bytes && began.elapsed() >= NOTHING {
            may_lack_bytes = false;
            message::line(&format!("note: {}: {NO_BYTES}", path.display()));
        }
        if later && ticked.elapsed() >= TICK {
            ticked = Instant::now();
            receiver.pause(&mut elements);
            printer.elements(elements.drain(..), None);
            printer.tick();
        }
        if later && silent.elapsed() >= SILENCE {
            silent = Instant::now();
            printer.silence();
        }
        if !printer.write() {
            stopped = true;
            break None;
        }
    };
    stopped |= bytes.stop.is_set();
    receiver.feed(&greeting.rest(), &mut elements);
    receiver.finish(&mut elements);
    printer.elements(elements.drain(..), None);
    if greeting.removed() > 0 {
        is_terminal(path);
    }
    let end = StreamEnd { path, closed: connection && !stopped, error: ended };
    end.report(args, checked, &receiver, printer)
}

/// How a stream ended.
struct StreamEnd<'a> {
    path: &'a Path,
    /// The other side closed the connection.
    closed: bool,
    /// The error of the read that ended it.
    error: Option<io::Error>,
}

impl StreamEnd<'_> {
    /// Ends the output, and reports what was received.
    fn report(
        self,
        args: &ItmArgs,
        checked: &Checked,
        receiver: &Receiver,
        printer: Printer,
    ) -> Result<bool, Fail> {
        let has_time = printer.has_time();
        let lost = printer.close()?;
        let certain = summary(args, receiver, has_time, checked.unlikely);
        losses(lost);
        let is_framed = receiver.form().is_some_and(|(form, _)| form.framing == Framing::Coresight);
        if certain && checked.is_open && !receiver.begins_synced() && (lost > 0 || is_framed) {
            message::line(&format!("help: {WRONG_RATE}"));
        }
        let (path, bytes) = (self.path, receiver.bytes());
        if let Some(error) = self.error {
            let what =
                format!("the trace ends after {bytes} bytes: {error}; all of them were decoded");
            return Err(Fail::input(path, &what));
        }
        if self.closed {
            message::line(&format!(
                "tracewright: {}: the connection was closed by the other side after {bytes} bytes; all \
                 of them were decoded",
                path.display(),
            ));
            return Ok(false);
        }
        Ok(certain && !(args.strict && lost > 0))
    }
}

/// The bytes of `source`; those of a file that is not `growing` may be converted.
fn opened(
    source: Live,
    growing: bool,
    path: &Path,
    selection: Selection,
) -> Result<Box<dyn Bytes>, Fail> {
    Ok(match source {
        Live::File(file) if growing => Box::new(Following::new(file)),
        Live::File(file) => match converted(path, selection)? {
            Some(bytes) => bytes,
            None => Box::new(Reading(file)),
        },
        Live::Stream(stream) => Piped::boxed(stream),
        Live::Connection(stream) => Piped::boxed(stream),
    })
}

/// Prints that a connection begins with the text of a terminal.
fn is_terminal(path: &Path) {
    message::line(&format!(
        "note: {}: it begins with the text of a terminal of J-Link, which is left out; SWO is on \
         another port (2332, or -swoport of the server)",
        path.display()
    ));
}

/// Reads the rest of a stream that begins with `block`, which is text or of which `selection` has a
/// part, and replaces `block` by the trace in it. Prints what was converted.
fn piped(
    path: &Path,
    bytes: &mut impl Bytes,
    block: &mut Vec<u8>,
    selection: Selection,
) -> Result<(), Fail> {
    while block.len() < LARGEST {
        let more = bytes.more(BLOCK, true, block);
        if more.map_err(|error| Fail::read(&path.display().to_string(), &error))? == More::End {
            break;
        }
    }
    let failed = |problem| Fail::from(OpenError::new(path, problem));
    let found = selection.convert(block).map_err(|why| failed(Problem::Memory(why.into())))?;
    match found {
        Some((converted, what)) => {
            if let Some(what) = what {
                message::line(&format!("note: {}: {what}", path.display()));
            }
            *block = converted.to_vec();
        }
        None => recognised(block).map_or(Ok(()), |problem| Err(failed(problem)))?,
    }
    Ok(())
}

/// The bytes of a file that has them as text or in records, or of a part of it. Prints what was
/// converted.
fn converted(path: &Path, selection: Selection) -> Result<Option<Box<dyn Bytes>>, Fail> {
    let capture = Capture::raw(&[path.to_owned()], &Raw { selection, ..Raw::default() })?;
    capture.notes.iter().for_each(|note| message::line(&format!("note: {note}")));
    let is_changed = !capture.notes.is_empty() || selection != Selection::default();
    let buffer = capture.buffers.first().filter(|_| is_changed);
    Ok(buffer.map(input::of))
}

/// Why few bytes of a serial wire may be packets.
const WRONG_RATE: &str =
    "if it is a serial wire (SWO), its bit rate or the core clock may be wrong";

/// Prints how often packets were lost.
fn losses(count: u64) {
    match count {
        0 => {}
        1 => message::line("note: once, packets were lost or bytes could not be decoded"),
        _ => message::line(&format!(
            "note: {count} times, packets were lost or bytes could not be decoded"
        )),
    }
}

/// Frames that have data of more trace IDs than these are seldom frames.
const SOURCES: usize = 8;

/// Whether the ITM has few of the bytes, and many trace IDs have the others.
fn is_stray(receiver: &Receiver) -> bool {
    let others: u64 = receiver.others().map(|(_, bytes)| bytes).sum();
    let own = receiver.bytes().saturating_sub(others + receiver.bad_frame_bytes());
    receiver.others().count() > SOURCES && own * 8 < others
}

/// Prints what was found. `unlikely`: detection finds no likely source. Returns whether most of the
/// bytes are packets of an ITM.
fn summary(args: &ItmArgs, receiver: &Receiver, has_time: bool, unlikely: bool) -> bool {
    let name = args.input.display();
    let Some((form, certain)) = receiver.form() else { return true };
    let bytes = receiver.bytes();
    if bytes == 0 {
        message::line(&format!("note: {name}: there are no bytes"));
        return true;
    }
    let framing = match (form.framing, form.id) {
        (Framing::Raw, _) => "of an ITM without framing".to_owned(),
        (framing, Some(id)) => {
            format!("of frames ({}), the ITM has trace ID {id:#04x}", framing.name())
        }
        (framing, None) => format!("of frames ({})", framing.name()),
    };
    message::line(&format!("{name}: {bytes} bytes {framing}"));
    let is_given = args.id.is_some() || args.framing.chosen().is_some();
    // Synchronisation packets of a port prove its frames.
    let is_accident = unlikely && form.framing == Framing::Coresight;
    let enough = certain && (is_given || !is_stray(receiver));
    let certain = enough && !is_accident;
    if !certain {
        let what = match enough {
            true => "the frames may be an accident, as no source in them is likely",
            false => "few of the bytes are packets of an ITM",
        };
        message::line(&format!("note: {name}: {what}"));
        message::line(&format!(
            "help: {WRONG_RATE}; `tracewright info` shows what the file may contain; \
                      --framing and --id select"
        ));
    }
    let (others, more) = largest(receiver.others().collect());
    let others = others.into_iter().map(|(id, bytes)| format!("{id:#04x} ({bytes} bytes)"));
    let others: Vec<String> = others.chain(more).collect();
    if !others.is_empty() {
        message::line(&format!(
            "note: the frames contain other trace sources: {}",
            others.join(", ")
        ));
    }
    if receiver.bad_frame_bytes() > 0 {
        message::line(&format!(
            "note: {} bytes are no frames; the first frame begins at offset {}",
            receiver.bad_frame_bytes(),
            form.skip
        ));
    }
    if form.start > 0 {
        message::line(&format!(
            "note: the trace begins inside a packet; {} bytes before the first whole packet are \
             skipped",
            form.start
        ));
    } else if !receiver.begins_synced() && !certain {
        message::line("note: the trace does not begin with a synchronisation packet");
    }
    if !has_time {
        message::line("note: the trace has no timestamps; ITM_TCR.TSENA enables them");
    }
    certain
}
