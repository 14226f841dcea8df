//! Tests of the command line.

mod bench;
mod call_tree;
mod common;
mod ete;
mod etm_units;
mod files;
mod hostile;
mod limits;
mod logs;
mod memory;
mod names;
mod output;
mod perf;
mod ports;
mod problems;
mod real_arm;
mod riscv;
mod shared;
mod sinks;
mod threads;
