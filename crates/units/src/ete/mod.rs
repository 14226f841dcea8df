//! ETMv4 and ETE: the trace unit of a processor, as its software programs it.
//!
//! | module | contents |
//! |---|---|
//! | [`registers`] | every register: offset, access, versions, fields |
//! | [`implementation`] | what one unit implements, and units by name |
//! | [`settings`] | the register values of a program, by number |
//! | [`model`] | the unit as it works: comparators, resources, ViewInst |
//! | [`lint`] | what is wrong with register values |
//! | [`request`] | register values for a request, and back |
//! | [`explain`], [`sysfs`] | a program in sentences, and as files of the Linux driver |
//! | [`ete_unit`] | all of them as a `Unit` |
//! | [`sequence`] | routines of register accesses, and the check of recorded ones |
//!
//! Sources: Arm IHI 0064 (ETMv4), Arm ARM chapters D4 and D24 and section K10.5 (ETE), the register
//! pages of Arm DDI 0601, and the reference manuals of cores with such a unit.

#[cfg(feature = "std")]
pub mod ete_unit;
#[cfg(feature = "std")]
pub mod explain;
#[cfg(feature = "std")]
mod forms;
#[cfg(feature = "std")]
pub mod implementation;
#[cfg(feature = "std")]
pub mod lint;
#[cfg(feature = "std")]
pub mod model;
pub mod registers;
#[cfg(feature = "std")]
pub mod request;
#[cfg(feature = "std")]
pub mod sequence;
#[cfg(feature = "std")]
pub mod settings;
#[cfg(feature = "std")]
pub mod sysfs;
