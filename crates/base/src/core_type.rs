//! The type of the processor that a trace source observes.

/// Architecture profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Application.
    #[default]
    Application,
    /// Real-time.
    RealTime,
    /// Microcontroller: T32 only, exceptions by number.
    Microcontroller,
}

/// The type of the processor in a capture. Decoding needs it where the registers of the trace unit
/// do not determine the encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoreType {
    /// Architecture profile.
    pub profile: Profile,
    /// Architecture version: 4 to 9.
    pub version: u8,
}
