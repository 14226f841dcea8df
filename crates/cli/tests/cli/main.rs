//! Tests of the command line.

mod bench;
mod call_tree;
mod common;
mod demo;
mod detect;
mod ete;
mod etm_units;
mod examples;
mod files;
mod first_paint;
mod hostile;
mod index;
mod interleaved;
mod itm;
mod limits;
mod loader;
mod logs;
mod memory;
mod names;
mod opencsd_parts;
mod output;
mod overlays;
mod people;
mod perf;
mod perf_files;
mod ports;
mod problems;
mod profiles;
mod real_arm;
mod riscv;
mod select;
mod shared;
mod sinks;
mod threads;
#[cfg(unix)]
mod unit_docs;
