//! Runs a session over a buffer, and shows how far it is.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracewright::Listener;
use tracewright::capture::Buffer;
use tracewright::decode::{Session, Tally};

/// Bytes between two looks at the clock.
const STRETCH: usize = 1 << 20;
/// A shorter job shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// Decodes all of `buffer` to `listener` and returns what was counted.
pub fn run<L: Listener>(mut session: Session, buffer: &Buffer, listener: &mut L) -> Tally {
    let mut both = (listener, Tally::default());
    let mut progress = Progress::new(buffer.len());
    for part in buffer.parts() {
        for stretch in part.chunks(STRETCH) {
            session.feed(stretch, &mut both);
            if both.0.full() {
                return both.1;
            }
            progress.done(stretch.len(), &both.1);
        }
    }
    session.finish(&mut both);
    progress.end();
    both.1
}

/// A bar on the terminal, for those who wait.
struct Progress {
    start: Instant,
    total: u64,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new(total: u64) -> Self {
        Progress { start: Instant::now(), total, done: 0, bar: None }
    }

    fn done(&mut self, bytes: usize, tally: &Tally) {
        self.done += bytes as u64;
        if self.bar.is_none() && (self.start.elapsed() < PATIENCE || !io::stderr().is_terminal()) {
            return;
        }
        let elapsed = self.start.elapsed();
        let bar = self.bar.get_or_insert_with(|| bar(self.total));
        let faults: u64 = tally.sources.iter().map(|c| c.bad + c.doubts + c.no_code).sum();
        let rate = self.done as f64 / 1e6 / elapsed.as_secs_f64();
        bar.set_message(format!("{rate:.1} MB/s, {} faults", faults + tally.bad_frames));
        bar.set_position(self.done);
    }

    fn end(&mut self) {
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

fn bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = "{wide_bar} {bytes}/{total_bytes} {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
