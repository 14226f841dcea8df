//! Tables of the specification, transcribed: numbers, versions, access types, bit ranges.

mod registers;
