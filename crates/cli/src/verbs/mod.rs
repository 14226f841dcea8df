//! The verbs, one per file. Each returns whether the exit code is 0.

pub mod bench;
pub mod branches;
pub mod calls;
pub mod compare;
pub mod completions;
pub mod coverage;
pub mod decode;
pub mod demo;
pub mod diff;
pub mod encode;
pub mod find;
pub mod frames;
pub mod functions;
pub mod history;
pub mod index;
pub mod info;
pub mod instructions;
pub mod itm;
pub mod log;
pub mod man;
pub mod packets;
pub mod perf_script;
pub mod profile;
pub mod report;
pub mod timeline;
pub mod unit;
