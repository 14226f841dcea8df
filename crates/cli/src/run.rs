//! Runs a session over a buffer on several threads, and shows the progress.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracewright::Listener;
use tracewright::capture::Buffer;
use tracewright::decode::input::Input;
use tracewright::decode::{Caches, Fork, Jobs, Session, Tally};
use tracewright::run::{self, Ran, Selection};
use tracewright::views::instructions::Parts;

use crate::fail::Fail;
use crate::index::Selected;
use crate::message;

/// Time before the progress is shown.
const DELAY: Duration = Duration::from_secs(2);

/// How a buffer is decoded.
pub struct RunOptions<'a> {
    /// Elements of a transaction are withheld until it commits.
    pub committed: bool,
    /// The threads.
    pub jobs: Jobs,
    /// No other buffer is decoded at the same time, so that the progress can be shown.
    pub alone: bool,
    /// Receives the number of threads where the system refused to start more.
    pub refused: &'a AtomicUsize,
    /// The part of the trace that is decoded; all of it for `None`.
    pub selected: Option<&'a Selected>,
    /// Receives which instructions of each range are selected.
    pub parts: Option<&'a Parts>,
    /// When decoding ends.
    pub stop: Stop<'a>,
    /// The code that another session of the same input has decoded, which is taken.
    pub caches: Option<&'a Mutex<Caches>>,
}

/// When decoding of a buffer ends because of errors.
#[derive(Clone, Copy, Default)]
pub struct Stop<'a> {
    /// After this many.
    after: Option<u64>,
    /// Receives the names of the buffers whose decoding ended so, and the offset of the error.
    ended: Option<&'a Mutex<Vec<(String, u64)>>>,
}

/// How the buffers of an input are decoded.
pub struct Runs<'a> {
    committed: bool,
    alone: bool,
    selected: Option<&'a Selected>,
    /// The summaries are those of a part of the trace.
    pub part: bool,
    /// No summary is printed.
    pub quiet: bool,
    refused: AtomicUsize,
    stop_after: Option<u64>,
    stopped: Mutex<Vec<(String, u64)>>,
}

impl<'a> Runs<'a> {
    /// Decodes the `selected` part of `buffers` buffers; all of them for `None`. `committed`:
    /// elements of a transaction are withheld until it commits.
    pub fn new(buffers: usize, committed: bool, selected: Option<&'a Selected>) -> Self {
        let (alone, part) = (buffers == 1, selected.is_some());
        let (quiet, refused) = (false, AtomicUsize::new(0));
        let (stop_after, stopped) = (None, Mutex::default());
        Runs { committed, alone, selected, part, quiet, refused, stop_after, stopped }
    }

    /// The same, where decoding of a buffer ends after this many errors.
    pub fn stop_after(self, errors: Option<u64>) -> Self {
        Runs { stop_after: errors, ..self }
    }

    /// The same, where the summaries are those of a part of the trace if it is a `part`.
    pub fn of_part(self, part: bool) -> Self {
        Runs { part: self.part || part, ..self }
    }

    /// The same, where no summary is printed if it is `quiet`.
    pub fn quiet(self, quiet: bool) -> Self {
        Runs { quiet, ..self }
    }

    /// How one buffer is decoded.
    pub fn options(&self, jobs: Jobs) -> RunOptions<'_> {
        let Runs { committed, alone, selected, ref refused, .. } = *self;
        let stop = Stop { after: self.stop_after, ended: Some(&self.stopped) };
        let (parts, caches) = (None, None);
        RunOptions { committed, jobs, alone, refused, selected, parts, stop, caches }
    }

    /// Whether decoding of the buffer `name` ended because of errors.
    pub fn is_stopped(&self, name: &str) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.iter().any(|(own, _)| own == name)
    }

    /// Prints where decoding ended because of errors. Returns whether it did.
    pub fn report_stops(&self) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let after = self.stop_after.unwrap_or_default();
        for (name, at) in stopped.iter() {
            message::line(&format!(
                "note: {name}: decoding ended at error {after}, at offset {at} (--stop-after)"
            ));
        }
        !stopped.is_empty()
    }

    /// The number of threads where the system refused to start more.
    pub fn refused(&self) -> Option<usize> {
        Some(self.refused.load(Ordering::Relaxed)).filter(|&threads| threads > 0)
    }
}

/// Decodes `input`, the bytes of `buffer`, to `listener`, and returns the counts. `write` receives
/// the output of the listener in order, and returns whether more is needed.
pub fn run<L: Listener + Fork + Send>(
    session: Session,
    buffer: &Buffer,
    input: &mut dyn Input,
    listener: L,
    options: &RunOptions<'_>,
    write: impl FnMut(L::Output) -> bool,
) -> Result<(L, Tally), Fail> {
    let ran = run_whole(session, buffer, input, listener, options, write)?;
    Ok((ran.listener, ran.tally))
}

/// As [`run`], with the caches of the session.
pub fn run_whole<L: Listener + Fork + Send>(
    session: Session,
    buffer: &Buffer,
    input: &mut dyn Input,
    listener: L,
    options: &RunOptions<'_>,
    mut write: impl FnMut(L::Output) -> bool,
) -> Result<Ran<L>, Fail> {
    let mut progress = Progress::new(buffer.size(), options.alone && options.selected.is_none());
    let selection = Selection {
        window: options.selected.map(|selected| selected.window.clone()).unwrap_or_default(),
        running: options.selected.and_then(|selected| selected.running.as_ref()),
        index: options.selected.and_then(|selected| selected.index.as_ref()),
        parts: options.parts,
        jobs: options.jobs.clone(),
        stop_after: options.stop.after,
    };
    let ran = run::run(session, buffer, input, &selection, listener, |output, at, tally| {
        progress.update(at, tally);
        write(output)
    });
    progress.end();
    let ran = ran.map_err(|error| Fail::read(&buffer.name, &error))?;
    if let Some(threads) = ran.refused {
        options.refused.store(threads, Ordering::Relaxed);
    }
    if let (Some(at), Some(ended)) = (ran.stopped, options.stop.ended) {
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push((buffer.name.clone(), at));
    }
    if let Some(damage) = &ran.damage {
        message::line(&format!("note: the index is not used: {damage}"));
    }
    Ok(ran)
}

/// A progress bar on the terminal.
pub struct Progress {
    start: Instant,
    total: Option<u64>,
    /// Standard error is a terminal.
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// The progress through `total` bytes, if it is shown.
    pub fn new(total: Option<u64>, shown: bool) -> Self {
        let terminal = shown && io::stderr().is_terminal();
        Progress { start: Instant::now(), total, terminal, bar: None }
    }

    fn update(&mut self, bytes: u64, tally: &Tally) {
        let faults: u64 =
            tally.sources.iter().map(|c| c.undecodable + c.inconsistencies + c.no_code).sum();
        self.show(bytes, || format!(", {} faults", faults + tally.bad_frames));
    }

    /// Shows the number of bytes, and a text.
    pub fn show(&mut self, bytes: u64, text: impl FnOnce() -> String) {
        if !self.terminal {
            return;
        }
        let elapsed = self.start.elapsed();
        if self.bar.is_none() && elapsed < DELAY {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| bar(self.total));
        let rate = bytes as f64 / 1e6 / elapsed.as_secs_f64();
        bar.set_message(format!("{rate:.1} MB/s{}", text()));
        bar.set_position(bytes);
    }

    /// Removes the progress bar.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{wide_bar} {bytes}/{total_bytes} {msg}",
        None => "{spinner} {bytes} {msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bar is shown on a terminal, and after the delay.
    #[test]
    fn the_progress_of_long_work_is_shown() {
        for (terminal, elapsed, shown) in
            [(true, 0, false), (true, 1, false), (true, 3, true), (false, 3, false)]
        {
            let start = Instant::now().checked_sub(Duration::from_secs(elapsed)).unwrap();
            let mut progress = Progress { start, total: Some(10), terminal, bar: None };
            progress.show(5, String::new);
            assert_eq!(progress.bar.is_some(), shown, "{terminal}, {elapsed} s");
            progress.end();
            assert!(progress.bar.is_none());
        }
    }
}
