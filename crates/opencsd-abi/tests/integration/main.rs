//! The library under programs that were not made for it: a client in C that is compiled with
//! OpenCSD's headers, and perf. Each runs with OpenCSD's library and with this one.
//!
//! Without a C compiler, OpenCSD's headers or perf the tests are recorded as skipped.
#![forbid(unsafe_code)]

mod client;
mod custom;
mod data_addresses;
mod misuse;
mod outputs;
mod perf;
mod release_1_3;
mod releases;
mod snapshots;
mod symbols;
