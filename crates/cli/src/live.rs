//! Traces that arrive while they are decoded, and how they end: Ctrl-C, SIGTERM and SIGHUP end the
//! trace, not the command, so that what arrived is decoded and its file is complete.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tracewright::capture::live::Live;
use tracewright::capture::{Buffer, stream};
use tracewright::decode::input::{self, Input, More, Piped, pause};

use crate::fail::Fail;

/// The signals that end a trace.
#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Time between two looks at a trace without bytes.
const LOOK: Duration = Duration::from_millis(5);

/// Whether a signal has ended the trace. A second signal ends the command.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Signals end the trace from here on, but those that the command was started to ignore.
    pub fn at_signals() -> Stop {
        let stop = Stop::default();
        let ignored = ignored();
        for signal in SIGNALS.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            // Where a signal cannot be handled, it ends the command.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.0));
            let _ = flag::register(signal, Arc::clone(&stop.0));
        }
        stop
    }

    /// Whether the trace has ended.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The signals that are ignored, as after `nohup`: bit `n - 1` for signal `n`. 0 where the system
/// does not show it.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// A file that becomes larger than the system allows is a write error, not the end of the command:
/// its temporary file is deleted.
pub fn report_large_files() {
    #[cfg(unix)]
    {
        let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
}

/// The bytes of `buffer`. Of a pipe, they end at a signal.
pub fn input_of(buffer: &Buffer) -> Box<dyn Input> {
    match buffer.is_piped() {
        true => Box::new(Stoppable { input: input::of(buffer), stop: Stop::at_signals() }),
        false => input::of(buffer),
    }
}

/// The bytes of the log at `path`; as [`input_of`].
pub fn log(path: &Path) -> Result<Box<dyn Read>, Fail> {
    let is_open = path == Path::new("-") || fs::metadata(path).is_ok_and(|about| !about.is_file());
    match is_open.then(|| Live::open(path)).transpose()? {
        Some(Live::Stream(log)) => {
            Ok(Box::new(Stoppable { input: Piped::boxed(log), stop: Stop::at_signals() }))
        }
        _ => Ok(stream(path)?),
    }
}

/// An input that ends where `stop` is set.
pub struct Stoppable {
    pub input: Box<dyn Input>,
    pub stop: Stop,
}

impl Input for Stoppable {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        loop {
            if self.stop.is_set() {
                return Ok(More::End);
            }
            match self.input.more(most, false, into)? {
                More::Later if wait => pause(LOOK),
                more => return Ok(more),
            }
        }
    }

    fn left(&self) -> Option<u64> {
        self.input.left()
    }
}

impl Read for Stoppable {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.more(into.len().max(1), true, &mut bytes)?;
        let some = into.get_mut(..bytes.len()).ok_or(io::ErrorKind::InvalidInput)?;
        some.copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_ends_where_it_is_stopped() {
        let (reader, mut writer) = io::pipe().unwrap();
        let stop = Stop::default();
        let mut input = Stoppable { input: Piped::boxed(reader), stop: stop.clone() };
        let mut bytes = Vec::new();
        io::Write::write_all(&mut writer, b"abc").unwrap();
        assert_eq!(input.more(9, true, &mut bytes).unwrap(), More::Some);
        assert_eq!(input.more(9, false, &mut bytes).unwrap(), More::Later);
        stop.0.store(true, Ordering::Relaxed);
        assert_eq!(input.more(9, true, &mut bytes).unwrap(), More::End);
        assert_eq!(bytes, b"abc");
    }
}
