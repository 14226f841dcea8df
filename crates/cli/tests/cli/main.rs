//! Tests of the command line.

mod answers;
mod bench;
mod common;
mod logs;
mod ports;
mod problems;
mod real_arm;
mod riscv;
mod shared;
