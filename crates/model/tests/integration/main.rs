//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod arm32;
mod data;
mod software;
