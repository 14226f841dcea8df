//! The codes of the ingress port in each version. (0.026, chapter 3; 2.0, "Hart to encoder
//! interface")

use super::{ContextType, Itype};
use crate::etrace::config::{Params, Version};

impl Itype {
    /// The code on a port of `width` bits, 3 or 4; `sijump` makes jumps of 0.026 predictable.
    /// `None` if the port has no such code: 3 bits of 0.026 have no jumps.
    pub const fn code(self, version: Version, width: u8, sijump: bool) -> Option<u8> {
        let code = match (version, self) {
            (_, Itype::None) => 0,
            (_, Itype::Exception) => 1,
            (_, Itype::Interrupt) => 2,
            (_, Itype::TrapReturn) => 3,
            // 0.026, tables 3.1 and 3.2: tail calls are calls.
            (Version::Draft, Itype::NotTaken) => 0,
            (Version::Draft, Itype::Taken) => 6,
            (Version::Draft, Itype::UninferableCall | Itype::UninferableJump | Itype::Swap) => {
                if sijump {
                    9
                } else {
                    8
                }
            }
            (Version::Draft, Itype::InferableCall) => 9,
            (Version::Draft, Itype::Return) => {
                if sijump {
                    11
                } else {
                    10
                }
            }
            (Version::Draft, Itype::InferableReturn) => 11,
            (Version::Draft, Itype::OtherUninferable) => 12,
            (Version::Draft, Itype::InferableJump | Itype::OtherInferable) => 13,
            (_, Itype::NotTaken) => 4,
            (_, Itype::Taken) => 5,
            (_, Itype::InferableCall | Itype::InferableJump | Itype::OtherInferable)
                if width == 3 =>
            {
                0
            }
            (_, Itype::InferableReturn) if width == 3 => 0,
            _ if width == 3 => 6,
            (_, Itype::UninferableCall) => 8,
            (_, Itype::InferableCall) => 9,
            (_, Itype::UninferableJump) => 10,
            (_, Itype::InferableJump) => 11,
            (_, Itype::Swap) => 12,
            (_, Itype::Return | Itype::InferableReturn) => 13,
            (_, Itype::OtherUninferable) => 14,
            (_, Itype::OtherInferable) => 15,
        };
        if width < 4 && code >= 8 { None } else { Some(code) }
    }

    /// The type of a code on a port of `width` bits; `None` if the code is reserved.
    pub const fn of_code(version: Version, width: u8, code: u8) -> Option<Itype> {
        Some(match (version, code) {
            (_, 0) => Itype::None,
            (_, 1) => Itype::Exception,
            (_, 2) => Itype::Interrupt,
            (_, 3) => Itype::TrapReturn,
            (Version::Draft, 6) => Itype::Taken,
            (Version::Draft, 8) => Itype::UninferableCall,
            (Version::Draft, 9) => Itype::InferableCall,
            (Version::Draft, 10) => Itype::Return,
            (Version::Draft, 11) => Itype::InferableReturn,
            (Version::Draft, 12) => Itype::OtherUninferable,
            (Version::Draft, 13) => Itype::OtherInferable,
            (Version::Draft, _) => return None,
            (_, 4) => Itype::NotTaken,
            (_, 5) => Itype::Taken,
            (_, 6) if width == 3 => Itype::UninferableJump,
            (_, 8) => Itype::UninferableCall,
            (_, 9) => Itype::InferableCall,
            (_, 10) => Itype::UninferableJump,
            (_, 11) => Itype::InferableJump,
            (_, 12) => Itype::Swap,
            (_, 13) => Itype::Return,
            (_, 14) => Itype::OtherUninferable,
            (_, 15) => Itype::OtherInferable,
            _ => return None,
        })
    }

    /// The type of a code on the port of this unit; `None` if the code is reserved.
    pub const fn read(code: u8, params: &Params) -> Option<Itype> {
        // 0.026, Table 3.4.
        if params.is_draft() && params.choices.itype4_call && code == 4 {
            return Some(Itype::UninferableCall);
        }
        Itype::of_code(params.version, params.port.itype_width, code)
    }
}

impl ContextType {
    /// The code on the port; `None` if `version` has no such code.
    pub const fn code(self, version: Version) -> Option<u8> {
        match (version, self) {
            (Version::Draft, ContextType::Discontinuity) => Some(0),
            (Version::Draft, ContextType::Precise) => Some(1),
            (Version::Draft, ContextType::Imprecise) => Some(2),
            (Version::Draft, ContextType::Notification) => Some(3),
            (Version::Draft, ContextType::Unreported) => None,
            (_, ContextType::Unreported) => Some(0),
            (_, ContextType::Imprecise) => Some(1),
            (_, ContextType::Precise) => Some(2),
            (_, ContextType::Discontinuity) => Some(3),
            (_, ContextType::Notification) => None,
        }
    }

    /// The type of a code on the port.
    pub const fn of_code(version: Version, code: u8) -> Option<ContextType> {
        match (version, code) {
            (Version::Draft, 0) => Some(ContextType::Discontinuity),
            (Version::Draft, 1) => Some(ContextType::Precise),
            (Version::Draft, 2) => Some(ContextType::Imprecise),
            (Version::Draft, 3) => Some(ContextType::Notification),
            (Version::Draft, _) => None,
            (_, 0) => Some(ContextType::Unreported),
            (_, 1) => Some(ContextType::Imprecise),
            (_, 2) => Some(ContextType::Precise),
            (_, 3) => Some(ContextType::Discontinuity),
            _ => None,
        }
    }
}
