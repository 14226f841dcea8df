//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod etmv3;
mod raw;
mod session;
mod swo;
