//! The kind of processor that a trace source watches.

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

/// What a capture says of the processor. Decoding needs it where the trace unit's own registers
/// leave the choice open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoreType {
    /// Architecture profile.
    pub profile: Profile,
    /// Architecture version: 4 to 9.
    pub version: u8,
}
