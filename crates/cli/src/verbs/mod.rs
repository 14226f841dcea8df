//! One file a verb. Each returns whether the answer is positive.

pub mod bench;
pub mod compare;
pub mod completions;
pub mod decode;
pub mod demo;
pub mod encode;
pub mod frames;
pub mod info;
pub mod instructions;
pub mod log;
pub mod packets;
