//! ETMv1.0 to ETMv3.5. (IHI 0014, issue O; what ETMv3.5 adds from later issues)
//!
//! | section of the specification | here |
//! |---|---|
//! | 3.4, 3.5 registers | [`registers`] |
//! | 2.12, Appendix A resources | `resources`, `presets` |
//! | 2.2 to 2.5, 3.6 events | `event` |
//! | 3.5 values of registers | `settings` |

#[cfg(feature = "std")]
pub mod event;
#[cfg(feature = "std")]
pub mod presets;
pub mod registers;
#[cfg(feature = "std")]
pub mod resources;
#[cfg(feature = "std")]
pub mod settings;
#[cfg(test)]
mod tests;
pub mod version;
