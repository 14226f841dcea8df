//! Runs a session over a buffer, on all cores, and shows how far it is.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracewright::Listener;
use tracewright::capture::Buffer;
use tracewright::decode::input::Input;
use tracewright::decode::{Fork, Merge, Merging, Session, Tally, parallel};

use crate::fail::Fail;
use crate::listing::How;

/// A shorter job shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// Decodes `input`, the bytes of `buffer`, to `listener` and returns what was counted. `write` gets what the
/// listener says, in order, and answers whether more is wanted.
pub fn run<L: Listener + Fork + Send>(
    mut session: Session,
    buffer: &Buffer,
    input: &mut dyn Input,
    listener: L,
    how: &How,
    mut write: impl FnMut(L::Output) -> bool,
) -> Result<(L, Tally), Fail> {
    let mut both = (listener, Merging(Tally::default()));
    let mut tally = Tally::default();
    let mut progress = Progress::new(buffer.size(), how.alone);
    let read = parallel::run(&mut session, input, &mut both, &how.jobs, |(said, counts), at| {
        tally.merge(counts);
        progress.done(at, &tally);
        write(said)
    });
    progress.end();
    read.map_err(|error| Fail::read(&buffer.name, &error))?;
    Ok((both.0, tally))
}

/// A bar on the terminal, for those who wait.
struct Progress {
    start: Instant,
    total: Option<u64>,
    /// Someone may see it.
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new(total: Option<u64>, shown: bool) -> Self {
        let terminal = shown && io::stderr().is_terminal();
        Progress { start: Instant::now(), total, terminal, bar: None }
    }

    fn done(&mut self, bytes: u64, tally: &Tally) {
        if !self.terminal {
            return;
        }
        let elapsed = self.start.elapsed();
        if self.bar.is_none() && elapsed < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| bar(self.total));
        let faults: u64 =
            tally.sources.iter().map(|c| c.undecodable + c.inconsistencies + c.no_code).sum();
        let rate = bytes as f64 / 1e6 / elapsed.as_secs_f64();
        bar.set_message(format!("{rate:.1} MB/s, {} faults", faults + tally.bad_frames));
        bar.set_position(bytes);
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
