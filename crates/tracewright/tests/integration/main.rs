//! Integration tests, in one program because linking each of them takes longer than running it.
#![forbid(unsafe_code)]

mod analyzer;
mod analyzer_cases;
mod attached;
mod captures;
#[path = "../cases/case.rs"]
mod case;
mod classifier;
mod contradictions;
mod damage;
mod explained;
mod external;
mod facade;
mod files;
mod generated;
mod listed_ranges;
mod listeners;
mod own_link;
mod perf;
mod perf_processes;
mod perf_riscv;
mod programmed;
mod push;
mod reference;
mod reference_arm32;
mod results;
mod searches;
mod selection;
mod sinks;
