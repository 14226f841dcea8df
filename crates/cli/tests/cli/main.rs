//! Tests of the command line.

mod bench;
mod common;
mod hostile;
mod logs;
mod output;
mod ports;
mod problems;
mod real_arm;
mod riscv;
mod shared;
