//! RISC-V: custom opcodes, harts, parameters and logs.

mod opcodes;
mod port;
mod units;

use crate::common::Output;

/// The standard output of a run that succeeded.
#[track_caller]
fn ok(output: &Output) -> &str {
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    &output.out
}
