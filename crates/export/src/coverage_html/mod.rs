//! Coverage as a folder of HTML pages, for a review: what was measured, what is not covered, and
//! each source file.
//!
//! | file | contents |
//! |---|---|
//! | `report.rs` | [`CoverageReport`]: what the pages are made of |
//! | `write.rs` | which pages there are |
//! | `page.rs` | the frame of a page: head, navigation, style |
//! | `table.rs` | tables, and lists of rows over several pages |
//! | `totals.rs` | totals by criterion |
//! | `state.rs` | what is known of a part, in words |
//! | `runs_of.rs` | which runs cover a part |
//! | `overview.rs` | `index.html`: context, what is not covered, totals by file |
//! | `violations.rs` | what is not covered, the most basic part only |
//! | `source.rs` | the pages of a source file |
//! | `decisions.rs` | its decisions: values, evaluations, reasons |
//! | `functions.rs` | functions, and the runs that execute them |
//! | `runs.rs` | runs: what each covers and adds |
//! | `exemptions.rs` | exemptions: what, why, until when |
//! | `states.rs` | functions in two states of the program |
//! | `object.rs` | functions of the object code |
//!
//! The pages have no scripts, load nothing, and have the same bytes for the same input. Names and
//! texts from outside are escaped. Long lists have several pages, and what is left out is stated.

mod decisions;
mod exemptions;
mod functions;
mod object;
mod overview;
mod page;
mod report;
mod runs;
mod runs_of;
mod source;
mod state;
mod states;
mod table;
#[cfg(test)]
mod tests;
mod totals;
mod violations;
mod write;

pub use report::CoverageReport;
