//! Tables of the specification, transcribed: numbers, versions, access types, bit ranges.

mod behaviour;
mod bus;
mod comparators;
mod explain;
mod filters;
mod lint;
mod parallel;
mod permission;
mod programs;
mod registers;
mod sequences;
mod tables;
