//! What programs in C have of OpenCSD's interface: the structures of elements and packets, and the
//! numbers of errors, operations and responses. All of it is safe code: the library
//! `libopencsd_c_api` passes it on.

pub mod codes;
pub mod config;
pub mod element;
pub mod packets;
pub mod stats;
pub mod text;

/// The version that is reported: that of OpenCSD's interface.
pub const VERSION: u32 = 0x1_0800;
