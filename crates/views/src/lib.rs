//! Sinks with opinions: what a trace says, in the words of some reader.
#![forbid(unsafe_code)]

pub mod opencsd;
