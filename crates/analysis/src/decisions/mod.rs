//! Decisions and conditions of source text, and how the program that ran evaluates them: decision,
//! condition and modified condition/decision coverage (MC/DC) without instrumentation.
//!
//! | file | contents |
//! |---|---|
//! | `decision.rs` | [`Decision`]: conditions, and in which order they are evaluated |
//! | `expression.rs` | the operators of a decision, from its text |
//! | `copies.rs` | [`Copies`]: the branches of a program that evaluate conditions |
//! | `nearby.rs` | which decisions are near each other |
//! | `walk.rs` | where execution leads from a branch |
//! | `assign.rs` | which branch evaluates which condition |
//! | `by_value.rs` | the same where the last condition has no branch |
//! | `chain.rs` | whether a branch tests one stored value |
//! | `evaluated.rs` | [`Vector`]: an evaluation |
//! | `evidence.rs` | whether the line table shows the same |
//! | `log.rs` | [`DecisionListener`]: the branches of decisions that a trace executes |
//! | `evaluate.rs` | [`Evaluation`]: the evaluations of decisions by thread and frame |
//! | `outcomes.rs` | what outcomes of branches alone cover |
//! | `covered.rs` | [`DecisionCoverage`]: what the evaluations cover |
//!
//! A *decision* is an expression of conditions with `&&`, `||` and `!`; a *condition* has none of
//! these. One evaluation is a *vector*: each condition is true, false or not evaluated. The
//! compiler may copy a decision, into each function that it inlines the code into, and for tests of
//! loops.

mod assign;
mod by_value;
mod chain;
mod copies;
mod covered;
mod decision;
mod evaluate;
mod evaluated;
mod evidence;
mod expression;
mod log;
mod nearby;
mod outcomes;
mod walk;

pub use copies::{Copies, Unmatched};
pub use covered::{ConditionCoverage, Criterion, DecisionCoverage, MeasuredDecision};
pub use decision::{Condition, Decision, SourceText};
pub use evaluate::{Evaluation, Evaluations};
pub use evaluated::Vector;
pub use expression::{Next, Tree};
pub use nearby::same_file;
pub use outcomes::ExecutedBranches;

pub use log::{DecisionListener, DecisionPart};
