//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod detect;
mod etmv3;
mod plan;
mod raw;
mod session;
mod swo;
