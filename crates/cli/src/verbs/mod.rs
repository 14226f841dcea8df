//! One file a verb. Each returns whether the answer is positive.

pub mod decode;
pub mod packets;
