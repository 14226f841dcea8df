//! What is covered, or is not: lines, outcomes, functions, values.

/// A place in a source file: line and column.
type Place = (u32, u32);

/// A part of a source file that is covered, or is not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A line.
    Line(u32),
    /// An outcome of the branch at an address, in a line.
    Branch {
        /// The line.
        line: u32,
        /// The address in the program file.
        address: u64,
        /// Whether it is that the branch was taken.
        taken: bool,
    },
    /// A function: its first line, and its symbol.
    Function(u32, String),
    /// An outcome of the decision at a place.
    Outcome(Place, bool),
    /// The value of a condition, by its position, of the decision at a place.
    Value(Place, usize, bool),
    /// That a condition of the decision at a place decides the outcome.
    Independence(Place, usize),
}

impl Part {
    /// The line that it begins in.
    pub fn line(&self) -> u32 {
        match self {
            Part::Line(line) | Part::Branch { line, .. } | Part::Function(line, _) => *line,
            Part::Outcome(place, _) | Part::Value(place, ..) | Part::Independence(place, _) => {
                place.0
            }
        }
    }

    /// Its kind.
    pub fn kind(&self) -> PartKind {
        match self {
            Part::Line(_) => PartKind::Lines,
            Part::Branch { .. } => PartKind::Branches,
            Part::Function(..) => PartKind::Functions,
            Part::Outcome(..) | Part::Value(..) | Part::Independence(..) => PartKind::Decisions,
        }
    }
}

/// A kind of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// Lines.
    Lines,
    /// Outcomes of conditional branches.
    Branches,
    /// Functions.
    Functions,
    /// Outcomes of decisions, values of conditions, and whether these decide the outcome.
    Decisions,
}

impl PartKind {
    /// All, with their names.
    pub const ALL: [(&str, PartKind); 4] = [
        ("lines", PartKind::Lines),
        ("branches", PartKind::Branches),
        ("functions", PartKind::Functions),
        ("decisions", PartKind::Decisions),
    ];
}
