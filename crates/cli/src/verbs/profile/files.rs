//! The captures of a profile: their paths, what was found of each, and which could not be read.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tracewright::analysis::{FileKey, MissingCode};
use tracewright::capture::perf::hex;
use tracewright::export::Format;

use super::counts::Counted;
use crate::args::ProfileArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::inputs::lists;
use crate::{message, report};

/// The most files that were not found that are listed.
const MAX_MISSING: usize = 16;

/// The paths of the captures, the first one first. There is at least one.
pub fn paths(args: &ProfileArgs) -> Result<Vec<PathBuf>, Fail> {
    lists(&given(args))
}

/// The same, as they are given: a path may be that of a list.
pub fn given(args: &ProfileArgs) -> Vec<PathBuf> {
    let first = args.input.path();
    let mut paths = Vec::new();
    paths.extend((!first.as_os_str().is_empty()).then(|| first.to_owned()));
    paths.extend(args.more.iter().chain(&args.further).cloned());
    paths
}

/// What was found of all captures.
pub struct Files<'a> {
    args: &'a ProfileArgs,
    /// The number of captures.
    pub count: usize,
    /// The sums of those that could be read.
    pub total: Counted,
    failed: Vec<Fail>,
    /// The captures whose trace is damaged.
    damaged: usize,
    /// What the captures have that could be read.
    kind: Option<Kind>,
}

/// What captures have. Those of different kinds have no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Executed instructions.
    Instructions,
    /// Samples of the program counter of an ITM.
    Samples,
}

impl<'a> Files<'a> {
    /// Nothing was read yet of `count` captures.
    pub fn new(args: &'a ProfileArgs, count: usize) -> Files<'a> {
        let total = Counted { good: true, ..Counted::default() };
        Files { args, count, total, failed: Vec::new(), damaged: 0, kind: None }
    }

    /// Fails where the capture at `path` has something else than those before.
    pub fn check(&self, path: &Path, kind: Kind) -> Result<(), Fail> {
        let what = match (self.kind, kind) {
            (Some(Kind::Instructions), Kind::Samples) => {
                "it is the trace of an ITM, which has samples of the program counter and no \
                 instructions as the captures before it; its profile is one of its own"
            }
            (Some(Kind::Samples), Kind::Instructions) => {
                "it is not the trace of an ITM, whose samples are counted; its profile is one of its \
                 own"
            }
            _ => return Ok(()),
        };
        Err(Fail::input(path, what))
    }

    /// Prints the notes of the only capture, and fails where nothing of `input` can be read.
    pub fn readable(&self, input: &Input) -> Result<(), Fail> {
        if self.count == 1 && !self.args.quiet {
            report::notes(input);
        }
        input.readable(self.args.strict)
    }

    /// Adds the capture of an ITM at `path`, and prints a line about it.
    pub fn add_samples(&mut self, path: &Path, count: u64, note: Option<String>, good: bool) {
        self.kind = Some(Kind::Samples);
        self.total.good &= good;
        let notes: Vec<String> = note.into_iter().collect();
        match self.count {
            1 => self.print(&notes),
            _ => self.line(path, format!("{count} samples of the program counter"), &notes),
        }
    }

    /// Prints the line about the capture at `path`.
    fn line(&self, path: &Path, what: String, notes: &[String]) {
        if !self.args.quiet {
            self.always(path, what, notes);
        }
    }

    /// As [`line`](Self::line), also with --quiet.
    fn always(&self, path: &Path, what: String, notes: &[String]) {
        let path = path.display().to_string();
        let mut text = format!("{path}: {what}");
        // A note begins with the path where it is about the file.
        let prefix = path + ": ";
        let short = |note: &String| note.strip_prefix(&prefix).unwrap_or(note).to_owned();
        match notes {
            [] => {}
            [one] => _ = write!(text, "; {}", short(one)),
            [first, rest @ ..] => {
                _ = write!(text, "; {} (and {} more notes)", short(first), rest.len())
            }
        }
        message::line(&text);
    }

    /// Adds the counts of the capture at `path`, and prints a line about it.
    pub fn add(&mut self, path: &Path, counted: Counted) {
        let Counted { profile, notes, damage, good, bytes, ranges, contradictions, .. } = counted;
        self.kind = Some(Kind::Instructions);
        let (undecodable, losses) = (counted.undecodable, counted.losses);
        let damaged = undecodable > 0 || losses > 0 || contradictions.inconsistencies() > 0;
        self.damaged += usize::from(damaged);
        self.total.undecodable = self.total.undecodable.saturating_add(undecodable);
        self.total.losses = self.total.losses.saturating_add(losses);
        self.total.contradictions.merge(contradictions);
        if self.args.quiet && !damage.is_empty() {
            self.always(path, "it is not read completely".into(), &damage);
        }
        if self.count == 1 {
            self.print(&notes);
        } else {
            let times: u64 = profile.missing.values().map(|missing| missing.times).sum();
            let mut text = format!("{} instructions", profile.instructions);
            if times > 0 {
                let _ = write!(text, ", memory is missing {times} times");
            }
            self.line(path, text, &notes);
        }
        self.total.profile.merge(profile);
        self.total.good &= good;
        self.total.bytes = self.total.bytes.saturating_add(bytes);
        self.total.ranges = self.total.ranges.saturating_add(ranges);
    }

    /// A capture cannot be read.
    pub fn fail(&mut self, fail: Fail) {
        self.failed.push(fail);
    }

    fn print(&self, notes: &[String]) {
        if !self.args.quiet {
            notes.iter().for_each(|note| message::line(&format!("note: {note}")));
        }
    }

    /// Prints what is missing, and the captures that could not be read. Returns whether nothing was
    /// wrong.
    pub fn end(&mut self) -> Result<bool, Fail> {
        self.print(&self.missing());
        if self.failed.len() == self.count && !self.failed.is_empty() {
            return Err(Fail::all(self.failed.drain(..).collect(), "captures"));
        }
        if !self.failed.is_empty() {
            message::line(&format!(
                "{} of {} captures cannot be read, and are not in the profile:",
                self.failed.len(),
                self.count
            ));
            for fail in &self.failed {
                message::line(&format!("  {fail}"));
            }
        }
        if self.args.quiet && self.damaged > 0 {
            let Counted { undecodable, contradictions, losses, .. } = &self.total;
            message::line(&format!(
                "note: {} of {} captures have damaged trace: {undecodable} bytes are undecodable, {} \
                 packets contradict the program, trace was lost {losses} times",
                self.damaged,
                self.count,
                contradictions.inconsistencies()
            ));
        }
        if self.kind == Some(Kind::Instructions) && self.is_empty() {
            message::line(&format!("note: the profile is empty: {}", self.why_empty()));
        }
        Ok(self.total.good && self.failed.is_empty())
    }

    /// Whether nothing was executed of known code.
    pub fn is_empty(&self) -> bool {
        let lists = self.args.format.format() == Some(Format::BranchList);
        self.total.profile.modules.values().all(|module| {
            let executed = module.ranges.is_empty() && module.branches.is_empty();
            executed && (!lists || module.lists.is_empty())
        })
    }

    /// A text for each file that was not found, and what that costs.
    fn missing(&self) -> Vec<String> {
        let missing = &self.total.profile.missing;
        // Of one capture without mapped files, the summary of the trace has it.
        let files = self.count > 1 || missing.keys().any(Option::is_some);
        let mut all: Vec<_> = missing.iter().filter(|_| files).collect();
        all.sort_by_key(|(file, missing)| (std::cmp::Reverse(missing.times), *file));
        let mut texts: Vec<String> = all
            .iter()
            .take(MAX_MISSING)
            .map(|(file, missing)| cost(file.as_ref(), missing))
            .collect();
        if let Some(more @ 1..) = all.len().checked_sub(MAX_MISSING) {
            texts.push(format!("code of {more} more files is missing"));
        }
        if all.iter().any(|(file, _)| file.is_some()) {
            texts.push("files are given with --symfs FOLDER or --binary FILE".into());
        }
        texts
    }

    /// Why no instruction of a known file was executed.
    fn why_empty(&self) -> String {
        let Counted { profile, bytes, ranges, .. } = &self.total;
        let times: u64 = profile.missing.values().map(|missing| missing.times).sum();
        let filtered = self.args.kernel || self.args.user || !self.args.exclude_process.is_empty();
        if !profile.modules.is_empty() {
            "the code of its program files is not known".into()
        } else if profile.outside > 0 {
            format!("all {} executed ranges are in memory that is of no file", profile.outside)
        } else if *ranges > 0 && filtered {
            format!("--kernel, --user and --exclude-process leave none of {ranges} executed ranges")
        } else if times > 0 {
            format!("none of the executed code is known; program memory is missing {times} times")
        } else if *bytes == 0 {
            "there is no trace".into()
        } else {
            "the trace has no executed instructions".into()
        }
    }
}

/// What is missing of a file, or of memory that is of no file.
fn cost(file: Option<&FileKey>, missing: &MissingCode) -> String {
    let MissingCode { times, first } = missing;
    let times = match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    match file {
        Some((path, id)) => {
            let id = id
                .as_deref()
                .map_or("no build ID is recorded".into(), |id| format!("build ID {}", hex(id)));
            format!(
                "{path} was not found ({id}): the trace leads to its code {times}, first at {first:#x}"
            )
        }
        None => {
            format!(
                "program memory is missing {times}, first at {first:#x}, where no file is mapped"
            )
        }
    }
}
