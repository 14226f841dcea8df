//! The encoder's registers. (*RISC-V Trace Control Interface Specification* 1.0, "Trace Encoder
//! Control Interface")

use tracewright_base::Register;

use super::{Config, Mode};
use crate::fields::field;

/// The registers from which `apply` reads.
pub const CONTROL: &[Register] = &[
    Register {
        name: "trTeControl",
        aliases: &["tr_te_control"],
        about: "encoder control: mode, synchronisation, inhibited source number",
        required: false,
        fields: &[
            field("trTeInhibitSrc", 15, 15, "messages have no SRC", &[]),
            field(
                "trTeInstMode",
                6,
                4,
                "mode of instruction trace",
                &[(0, "off"), (3, "branch trace messages"), (6, "branch history messages")],
            ),
        ],
    },
    Register {
        name: "trTeInstFeatures",
        aliases: &["tr_te_inst_features"],
        about: "optional features of instruction trace, and the source number",
        required: false,
        fields: &[
            field("trTeSrcBits", 31, 28, "width of SRC", &[]),
            field("trTeSrcID", 27, 16, "source number", &[]),
            field("trTeInstExtendAddrMSB", 10, 10, "equal top address bits are omitted", &[]),
            field("trTeInstEnAllJumps", 9, 9, "direct jumps are traced like branches", &[]),
        ],
    },
];

/// Applies the values of the registers that are known.
pub(super) fn apply(config: &mut Config, register: &dyn Fn(&str) -> Option<u64>) {
    let [control, features] = CONTROL else { return };
    if let Some(value) = features.read(register) {
        config.link.source_bits = (value >> 28 & 0xf).min(12) as u8;
        config.link.source = (value >> 16 & 0xfff) as u16;
        config.extend_msb = value >> 10 & 1 != 0;
        config.all_jumps = value >> 9 & 1 != 0;
    }
    if let Some(value) = control.read(register) {
        config.mode = Mode::of_number(value >> 4 & 0b111).unwrap_or_default();
        if value >> 15 & 1 != 0 {
            config.link.source_bits = 0;
        }
    }
}
