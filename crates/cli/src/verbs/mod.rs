//! One file a verb. Each returns whether the answer is positive.

pub mod bench;
pub mod completions;
pub mod decode;
pub mod demo;
pub mod frames;
pub mod info;
pub mod instructions;
pub mod packets;
