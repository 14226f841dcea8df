//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod cycles;
mod goldens;
mod layout;
mod pins;
mod properties;
mod sources;
mod ways;
