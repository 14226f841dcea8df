//! What the tests of all crates share: the look-up of test data and tools, the record of skipped
//! tests, unpacked files, random numbers, and how often a property is tried.
//!
//! Some tests compare with captures and listings that are not part of this repository. They lie in
//! a folder `shared` beside the repository, or where `TRACEWRIGHT_SHARED` points. A test that does
//! not find its data, or a tool that it runs, calls [`shared`], [`tool`], [`tool_since`],
//! [`without_tool`] or [`skip`] and returns: the test harness counts it as passed, and the record
//! of skipped tests shows that it checked nothing. With `TRACEWRIGHT_REQUIRE_SHARED=1` missing data
//! is a failure, with `TRACEWRIGHT_REQUIRE_TOOLS=1` a missing tool is.
#![forbid(unsafe_code)]

use std::time::Duration;

mod data;
mod embedded;
mod random;
mod skipped;

pub use data::{
    c_library, c_options, reader, shared, shared_or_none, text, tool, tool_since, unpacked,
    without_tool,
};
pub use embedded::embedded;
pub use random::Random;
pub use skipped::{print_summary, skip};

/// How often a property is tried: `TRACEWRIGHT_TIMES`, and at least `default`: some tests expect
/// that `default` trials find something.
pub fn times(default: u64) -> u64 {
    let times = std::env::var("TRACEWRIGHT_TIMES").ok();
    times.and_then(|times| times.parse().ok()).map_or(default, |times: u64| times.max(default))
}

/// The time for which this thread has been on a processor, where the system reports it. Other work
/// of the machine does not change it.
pub fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// Whether this is a long run: `TRACEWRIGHT_TIMES` is set. Sweeps over large captures take all of
/// them in a long run, and the small ones otherwise.
pub fn is_long() -> bool {
    std::env::var_os("TRACEWRIGHT_TIMES").is_some()
}

/// `long` in a long run (see [`is_long`]), and `short` otherwise: the number of trials of a test,
/// or the least number of things that it must find.
pub fn short_or_long<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// In a long run (see [`is_long`]) all `items`, otherwise every `n`th of them, the first included.
pub fn sample<T>(n: usize, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    items.into_iter().step_by(short_or_long(n, 1))
}
