//! Registers to a configuration. (IHI 0064, chapter 7; Arm ARM, chapter D24)

use tracewright_base::{CoreType, MissingRegister, Profile};

use super::super::{Config, Ete, Etmv4, InstP0, QSupport};
use super::{config, ete_1_0, ete_1_3, etmv4_0, etmv4_6};
use crate::protocol::Protocol;

#[test]
fn versions() {
    for (ete, name, value, version) in [
        (false, "TRCIDR1", 0x4100_f403, 0x40),
        (false, "TRCIDR1", 0x4200_f440, 0x44),
        (false, "TRCIDR1", 0x4100_f460, 0x46),
        (true, "TRCDEVARCH", 0x4770_5a13, 0x50),
        (true, "TRCDEVARCH", 0x4773_5a13, 0x53),
        // TRCIDR1 of an ETE has no version.
        (true, "TRCIDR1", 0x4100_fff0, 0x50),
        // Defaults.
        (false, "none", 0, 0x40),
        (true, "none", 0, 0x50),
    ] {
        let config = config(ete, None, &[(name, value)]);
        assert_eq!((config.version(), config.is_ete()), (version, ete), "{name} {value:#x}");
    }
}

#[test]
fn missing() {
    let all = ["TRCCONFIGR", "TRCIDR0", "TRCIDR2"];
    for absent in all {
        let register = |name: &str| (name != absent && all.contains(&name)).then_some(0);
        for made in [Config::etmv4(None, &register), Config::ete(None, &register)] {
            assert!(matches!(made, Err(MissingRegister { name, .. }) if name == absent));
        }
    }
    // They are the required registers of the tables, whose fields are in descending order.
    for registers in [Etmv4::REGISTERS, Ete::REGISTERS] {
        for register in registers {
            assert_eq!(register.required, all.contains(&register.name), "{}", register.name);
            let mut above = 64;
            for field in register.fields {
                assert!(field.low <= field.high && field.high < above, "{}", field.name);
                above = field.low;
            }
        }
    }
}

#[test]
fn fields() {
    let plain = etmv4_0();
    assert_eq!((plain.trace_id(), plain.max_speculation()), (0x10, 0));
    assert_eq!((plain.vmid_bytes(), plain.context_id_bytes()), (0, 4));
    assert_eq!(plain.cycle_counter_bits(), 12);
    assert!(plain.addresses_64() && plain.has_return_stack() && plain.can_count_cycles());
    assert!(!plain.return_stack() && !plain.cycle_counting() && !plain.commit_mode_1());
    assert!(!plain.can_trace_data() && !plain.data_trace() && !plain.conditions());
    assert_eq!((plain.events(), plain.timestamp_bits()), (4, 64));
    assert_eq!(plain.q_support(), QSupport::None);

    let all = etmv4_6();
    assert!(all.data_trace() && all.conditions() && all.microcontroller());
    assert_eq!((all.load_store_p0(), all.q_support()), (InstP0::Both, QSupport::Both));
    assert_eq!(all.vmid_bytes(), 4);

    let ete = ete_1_3();
    assert_eq!(ete.max_speculation(), 20);
    assert!(ete.has_timestamp_marker() && ete.transaction_start_is_p0());
    assert_eq!(ete.q_support(), QSupport::Both);
    assert!(!ete_1_0().has_timestamp_marker());

    let enabled = config(true, None, &[("TRCCONFIGR", 0xb8d8)]);
    assert!(enabled.branch_broadcast() && enabled.cycle_counting() && enabled.context_id());
    assert!(enabled.vmid() && enabled.timestamps() && enabled.return_stack());
    assert_eq!(enabled.q_elements(), 1);
    // TRCIDR2.VMIDOPT 0: VTTBR_EL2.VMID. 1: TRCCONFIGR.VMIDOPT, bit 15. 2: CONTEXTIDR_EL2.
    for (option, chosen, want) in
        [(0, 1, false), (1, 0, false), (1, 1, true), (2, 0, true), (2, 1, true)]
    {
        let registers = [("TRCIDR2", 0x1088 | option << 29), ("TRCCONFIGR", chosen << 15)];
        assert_eq!(config(true, None, &registers).vmid_is_context_id(), want);
    }
    let m7 = CoreType { profile: Profile::Microcontroller, version: 7 };
    assert!(config(false, Some(m7), &[]).microcontroller());
}

/// WFXMODE, TRCIDR2 bit 31, from ETMv4.3 on.
#[test]
fn waypoints() {
    for (ete, idr1, idr2, wait, transaction) in [
        (false, 0x4100_f420, 0x8000_1088, false, false),
        (false, 0x4100_f430, 0x8000_1088, true, false),
        (false, 0x4100_f430, 0x0000_1088, false, false),
        (true, 0x4100_fff0, 0xd000_1088, true, true),
        (true, 0x4100_fff0, 0x4000_1088, false, true),
    ] {
        let config = config(ete, None, &[("TRCIDR1", idr1), ("TRCIDR2", idr2)]);
        let ends = config.waypoints();
        assert!(ends.isb && !ends.barrier);
        assert_eq!((ends.wait, ends.timed_wait, ends.transaction), (wait, wait, transaction));
    }
}
