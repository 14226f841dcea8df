//! The library under clients in C and C++: the examples, and a client that calls every function
//! wrongly. And the header.
//!
//! Without a C compiler or valgrind the tests are recorded as skipped.
#![forbid(unsafe_code)]

mod answers;
mod client;
mod damaged;
mod examples;
mod header;
mod misuse;
mod pushed;
mod results;
