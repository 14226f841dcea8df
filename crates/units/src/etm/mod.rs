//! ETMv1.0 to ETMv3.5. (IHI 0014, issue O; what ETMv3.5 adds from later issues)
//!
//! | section of the specification | here |
//! |---|---|
//! | 3.4, 3.5 registers | [`registers`] |
//! | 2.12, Appendix A resources | `resources`, `presets` |
//! | 2.2 to 2.5, 3.6 events | `event` |
//! | 3.5 values of registers | `settings` |
//! | 2.2 to 2.11 behaviour | `model` |
//! | rules of chapters 2 and 3 | `lint`, `sequence` |
//! | 2.10.2 port mode, 8.2 pins of the connector | [`port_mode`], `connector` |
//! | 3.2 addresses of registers | `address` |
//! | 3.3.2 interfaces and what they are connected to | `topology` |
//! | 3.5.1, 3.5.8, 3.5.17 what a unit implements | `probe` |
//! | 3.5.29 authentication signals | `authentication` |
//! | 3.8 save and restore, 3.9 access permissions | `permission`, `bus` |

#[cfg(feature = "std")]
pub mod address;
#[cfg(feature = "std")]
pub mod authentication;
#[cfg(feature = "std")]
pub mod bus;
#[cfg(feature = "std")]
pub mod connector;
#[cfg(feature = "std")]
mod etm_unit;
#[cfg(feature = "std")]
pub mod event;
#[cfg(feature = "std")]
mod explain;
#[cfg(feature = "std")]
pub mod lint;
#[cfg(feature = "std")]
pub mod model;
#[cfg(feature = "std")]
pub mod permission;
pub mod port_mode;
#[cfg(feature = "std")]
pub mod presets;
#[cfg(feature = "std")]
pub mod probe;
#[cfg(feature = "std")]
pub mod program;
pub mod registers;
#[cfg(feature = "std")]
pub mod resources;
#[cfg(feature = "std")]
pub mod sequence;
#[cfg(feature = "std")]
pub mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "std")]
pub mod topology;
#[cfg(feature = "std")]
mod unit;
pub mod version;

#[cfg(feature = "std")]
pub use etm_unit::Etm;
#[cfg(feature = "std")]
pub use unit::GROUP;
