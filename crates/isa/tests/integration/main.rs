//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod assemble;
mod opcodes;
mod rv;
mod tables;
