//! Conditions that may not be known.

/// Whether every condition is true; `None` if that depends on a condition that is not known.
pub fn all(conditions: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let fold = |known: Option<bool>, next: Option<bool>| match (known, next) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    conditions.into_iter().fold(Some(true), fold)
}

/// Whether a condition is true at least; `None` if that depends on one that is not known.
pub fn any(conditions: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    not(all(conditions.into_iter().map(not)))
}

/// The opposite.
pub fn not(condition: Option<bool>) -> Option<bool> {
    condition.map(|condition| !condition)
}
