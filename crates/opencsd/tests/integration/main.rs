//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod bad_packets;
mod barrier;
mod etmv3;
mod etmv4;
mod itm_stm;
mod ptm;
mod raw_frames;
