//! Full decode beside OpenCSD: by the command, or by this project's library through OpenCSD's C
//! interface.

use std::path::Path;
use std::process::Command;

use super::inputs::Input;
use super::options::Options;
use super::table::{Spread, table};
use super::tools::{Row, Tools, output, size};

const METHOD: &str = "\
Method. Each input is one capture: formatter frames (or raw trace data), registers, program memory. Both decoders get the same bytes of trace and of \
memory. In each round, alternately: Tracewright decodes the capture three times in one process (`tracewright bench --repeat 3 --jobs 1`), OpenCSD once with \
program memory given as files, which is how its own lister gives it, and once as buffers, which is faster (`benches/reference/driver.c`, -O2, \
blocks of 1 KiB as its lister gives them). Each pass begins with a decoder that knows nothing. Every element is delivered, and every field of it \
folded into a number, on both sides. Timed is from the first byte of trace to the last, without reading files, as time of the processor (user and system) \
and not on the clock, because the machine may be busy. Of Tracewright's three passes the shortest counts for the round. Ratios are made round by round: \
median (least to greatest). Before the rounds, each decoder folds its ranges alone, with start, end, number of instructions and kind, size, condition \
and outcome of the last instruction: `ranges` shows whether the two numbers are equal.
";

const INTERFACE: &str = "\
Method. As above, but Tracewright is the library with OpenCSD's C interface: the same driver with the same headers, whose calls go to it \
(`LD_PRELOAD`), three passes in each round, with program memory as buffers. Each pass makes a new decode tree.
";

/// Measures all inputs. Answers with the text, and whether both found the same ranges everywhere.
pub(super) fn measure(tools: &Tools, options: &Options) -> Result<(String, bool), String> {
    let mut rows = Vec::new();
    let mut agree = true;
    let mut version = None;
    for input in tools.list(options)? {
        eprintln!("{} ...", input.name);
        let folder = tools.write(&input, size(&input, options))?;
        let measured = Measured::of(tools, &input, &folder, options.rounds);
        tools.remove(&folder);
        let measured = measured?;
        agree &= measured.agree.unwrap_or(true);
        let row = measured.row();
        eprintln!("  {}", row.join("  "));
        rows.push(row);
        version = measured.version.or(version);
    }
    let version = match version {
        Some(version) => format!("OpenCSD {version}"),
        None => "OpenCSD did not run".into(),
    };
    let head = [
        "input",
        "MB",
        "ranges",
        "ns/range",
        "MB/s",
        "Minstr/s",
        "ratio, buffers",
        "ratio, files",
        "OpenCSD buffers ns",
        "files ns",
        "ranges agree",
    ];
    let interface = if tools.interface.is_some() { INTERFACE } else { "" };
    Ok((format!("\n{METHOD}{interface}\n{version}.\n\n{}", table(&head, &rows)), agree))
}

/// One input, measured.
struct Measured {
    name: &'static str,
    ours: Row,
    /// OpenCSD's shortest passes, with files and with buffers.
    files: Vec<f64>,
    buffers: Vec<f64>,
    ratio_files: Vec<f64>,
    ratio_buffers: Vec<f64>,
    /// Both found the same ranges; `None` where there is no reference.
    agree: Option<bool>,
    /// The version of OpenCSD that ran.
    version: Option<String>,
}

impl Measured {
    fn of(tools: &Tools, input: &Input, folder: &Path, rounds: usize) -> Result<Self, String> {
        let mut measured = Measured {
            name: input.name,
            ours: Row::default(),
            files: Vec::new(),
            buffers: Vec::new(),
            ratio_files: Vec::new(),
            ratio_buffers: Vec::new(),
            agree: None,
            version: None,
        };
        // Absent where OpenCSD has no decoder for the capture.
        let job = folder.join("reference/reference.job");
        let driver = tools.driver.as_ref().ok().filter(|_| job.is_file());
        let decoded =
            |repeat: &str, memory: &str, library: Option<&Path>| -> Result<Option<Row>, String> {
                let Some(driver) = driver else { return Ok(None) };
                let mut command = Command::new(driver);
                command.arg(&job).args([repeat, memory]);
                command.envs(library.map(|library| ("LD_PRELOAD", library)));
                let words = output(&mut command)?;
                if words.trim_end().ends_with("no decoder") {
                    eprintln!("{}: OpenCSD has no decoder for it", input.name);
                    return Ok(None);
                }
                Ok(Some(Row::of_driver(&words)))
            };
        let reference = |repeat: &str, memory: &str| decoded(repeat, memory, None);
        let interface = tools.interface.as_deref();
        let counted = reference("0", "buffers")?;
        // The time up to an error is not that of the input.
        let stopped = counted.as_ref().is_some_and(|counted| counted.errors > 0);
        if stopped {
            eprintln!("{}: OpenCSD stopped with an error, no ratio: {counted:?}", input.name);
        }
        let timed = |repeat: &str, memory: &str| match stopped {
            true => Ok(None),
            false => reference(repeat, memory),
        };
        for _ in 0..rounds {
            let ours = match interface {
                None => tools.bench(folder, 3)?,
                Some(library) => {
                    let Some(timed) = decoded("3", "buffers", Some(library))? else { break };
                    let counted = decoded("0", "buffers", Some(library))?.unwrap_or_default();
                    Row { seconds: timed.seconds, ..counted }
                }
            };
            let least = ours.least();
            if let Some(files) = timed("1", "files")? {
                measured.files.push(files.least());
                measured.ratio_files.push(files.least() / least);
            }
            if let Some(buffers) = timed("1", "buffers")? {
                measured.buffers.push(buffers.least());
                measured.ratio_buffers.push(buffers.least() / least);
            }
            let mut seconds = std::mem::take(&mut measured.ours.seconds);
            seconds.push(least);
            measured.ours = Row { seconds, ..ours };
        }
        if let Some(counted) = counted {
            let same = counted.range_checksum == measured.ours.range_checksum
                && counted.ranges == measured.ours.ranges
                && counted.bytes == measured.ours.bytes;
            if !same {
                eprintln!(
                    "{}: ranges differ: {} {} here, {} {} there",
                    input.name,
                    measured.ours.ranges,
                    measured.ours.range_checksum,
                    counted.ranges,
                    counted.range_checksum
                );
            }
            measured.agree = Some(same);
            measured.version = Some(counted.version);
        }
        Ok(measured)
    }

    fn row(&self) -> Vec<String> {
        let Row { bytes, ranges, instructions, .. } = self.ours;
        let least = self.ours.least();
        let per_range = |seconds: f64| match ranges {
            0 => "-".into(),
            ranges => format!("{:.2}", 1e9 * seconds / ranges as f64),
        };
        let shortest =
            |all: &[f64]| Spread::of(all).map_or("-".into(), |spread| per_range(spread.least));
        let ratio = |all: &[f64]| Spread::of(all).map_or("-".into(), Spread::text);
        vec![
            self.name.to_owned(),
            format!("{:.0}", bytes as f64 / (1 << 20) as f64),
            ranges.to_string(),
            per_range(least),
            format!("{:.1}", bytes as f64 / 1e6 / least),
            format!("{:.0}", instructions as f64 / 1e6 / least),
            ratio(&self.ratio_buffers),
            ratio(&self.ratio_files),
            shortest(&self.buffers),
            shortest(&self.files),
            match self.agree {
                Some(true) => "yes".into(),
                Some(false) => "NO".into(),
                None => "-".into(),
            },
        ]
    }
}
