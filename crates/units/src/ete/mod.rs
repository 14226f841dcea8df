//! ETMv4 and ETE: the trace unit of a processor, as its software programs it.
//!
//! | module | contents |
//! |---|---|
//! | [`registers`] | every register: offset, access, versions, fields |
//!
//! Sources: Arm IHI 0064 (ETMv4), Arm ARM chapters D4 and D24 and section K10.5 (ETE), the register
//! pages of Arm DDI 0601, and the reference manuals of cores with such a unit.

pub mod registers;
