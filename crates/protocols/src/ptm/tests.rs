//! Tables from IHI 0035, in its order. Each row is decoded in every way.

mod flow;
mod packets;
mod program;

use tracewright_base::{CoreType, Fault, Parse, Wire};

use super::{Config, Packet, Ptm};
use crate::protocol::Protocol;

/// ETMCR: nothing optional is traced.
const PLAIN: Config = Config { control: 0, extension: 0, id: Some(0x411c_f301), trace_id: 0x10 };
/// ETMCR bit 12: cycles are counted.
const COUNTED: Config = Config { control: 1 << 12, ..PLAIN };
/// ETMCR bit 29: the return stack is used.
const STACK: Config = Config { control: 1 << 29, ..PLAIN };
/// ETMCR bits 15:14: four bytes of CONTEXTIDR are traced; ETMCCER bits 29:28: binary 64-bit time.
const RICH: Config = Config {
    control: 1 << 30 | 0b11 << 14,
    extension: 0b11 << 28,
    id: Some(0x411c_f312),
    trace_id: 0x13,
};
const CONFIGS: [Config; 4] = [PLAIN, COUNTED, STACK, RICH];

/// Every header is in the table "Packet formats" or reserved.
#[test]
fn headers() {
    for config in &CONFIGS {
        for header in 0..=0xffu8 {
            let reserved = match header {
                0x00 | 0x08 | 0x0c | 0x3c | 0x42 | 0x46 | 0x66 | 0x72 | 0x76 => false,
                0x6e => config.context_id_bytes() == 0,
                // An atom packet without an atom.
                0x80 | 0x82 => !config.counts_cycles(),
                h => h & 1 == 0 && h & 0x80 == 0,
            };
            let parsed = Packet::parse(&[header], config);
            let is_bad = matches!(
                parsed,
                Parse::Bad(1, Fault::Reserved(h) | Fault::ReservedForConfig(h)) if h == header
            );
            assert_eq!(is_bad, reserved, "header {header:02x} gives {parsed:?}");
        }
    }
}

/// The registers of the Cortex-A9 and Cortex-A15 captures.
#[test]
fn registers() {
    let a9 = |name: &str| match name {
        "ETMCR" => Some(0x1000_1000),
        "ETMCCER" => Some(0x0000_08ea),
        "ETMIDR" => Some(0x411c_f301),
        "ETMTRACEIDR" => Some(0x10),
        _ => None,
    };
    let config = Ptm::configure(None::<CoreType>, &a9).unwrap();
    assert!(config.counts_cycles() && !config.uses_return_stack());
    assert_eq!((config.context_id_bytes(), config.timestamp_bits()), (0, 48));
    assert!(!config.timestamps_are_binary());
    assert_eq!((config.minor_version(), Ptm::trace_id(&config)), (Some(0), 0x10));
    assert!(Ptm::waypoints(&config).isb && !Ptm::waypoints(&config).barrier);

    let a15 = |name: &str| match name {
        "ETMCR" => Some(0x2000_0400),
        "ETMCCER" => Some(0x35c0_1ac2),
        "ETMTRACEIDR" => Some(2),
        _ => None,
    };
    let config = Ptm::configure(None, &a15).unwrap();
    assert!(!config.counts_cycles() && config.uses_return_stack());
    assert_eq!((config.timestamp_bits(), config.timestamps_are_binary()), (64, true));
    assert_eq!(config.minor_version(), None);
    assert!(Ptm::waypoints(&config).barrier);

    let missing = Ptm::configure(None, &|name| a9(name).filter(|_| name != "ETMCCER"));
    assert_eq!(missing.unwrap_err().name, "ETMCCER");
}
