//! What processors did, as [`Step`](tracewright_base::Step)s: from execution logs of simulators.
#![forbid(unsafe_code)]

pub mod log;
