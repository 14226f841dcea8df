//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod common;
mod cycles;
mod folder;
mod forms;
mod hostile;
mod levels;
mod memory;
mod perf;
mod perf_events;
mod perf_files;
mod perf_hostile;
mod perf_layouts;
mod perf_riscv;
mod perf_search;
mod problems;
mod raw;
mod shared;
mod sinks;
mod snapshot;
mod write;
