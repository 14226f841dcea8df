//! The result of a check.

/// What a check has found: a text, or why there is none.
pub(super) type Found = Result<String, String>;
