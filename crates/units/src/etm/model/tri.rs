//! Three values: something holds, does not hold, or may hold.

/// A value that may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tri {
    /// It does not hold.
    #[default]
    No,
    /// It is unknown, or the implementation decides.
    Maybe,
    /// It holds.
    Yes,
}

impl Tri {
    /// `Yes` where `yes`, otherwise `Maybe` where `maybe`.
    pub const fn of(yes: bool, maybe: bool) -> Tri {
        match (yes, maybe) {
            (true, _) => Tri::Yes,
            (false, true) => Tri::Maybe,
            (false, false) => Tri::No,
        }
    }

    /// Both hold.
    #[must_use]
    pub const fn and(self, other: Tri) -> Tri {
        match (self, other) {
            (Tri::No, _) | (_, Tri::No) => Tri::No,
            (Tri::Yes, Tri::Yes) => Tri::Yes,
            _ => Tri::Maybe,
        }
    }

    /// One of them holds.
    #[must_use]
    pub const fn or(self, other: Tri) -> Tri {
        match (self, other) {
            (Tri::Yes, _) | (_, Tri::Yes) => Tri::Yes,
            (Tri::No, Tri::No) => Tri::No,
            _ => Tri::Maybe,
        }
    }

    /// It does not hold.
    #[must_use]
    pub const fn not(self) -> Tri {
        match self {
            Tri::No => Tri::Yes,
            Tri::Maybe => Tri::Maybe,
            Tri::Yes => Tri::No,
        }
    }
}

impl From<bool> for Tri {
    fn from(value: bool) -> Tri {
        if value { Tri::Yes } else { Tri::No }
    }
}
