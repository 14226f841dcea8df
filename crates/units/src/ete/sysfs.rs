//! A program as writes to the files of the Linux driver of ETMv4 and ETE.
//!
//! The files are described in the kernel's documentation, "ETMv4 sysfs linux driver programming
//! reference". The driver writes the registers, with their order and barriers, at `enable_source`.

use std::fmt::Write as _;

use super::implementation::Implementation;
use super::registers::by_name;
use crate::program::Program;

/// The shell script, or `None` for registers that the driver has no file for.
pub fn script(unit: &Implementation, program: &Program) -> Option<String> {
    let values = &program.values;
    let of = |name: &str| values.get(name).unwrap_or(0);
    let mut out = String::from("# Run as root. The sink is enabled first: see enable_sink.\n");
    let device = if unit.version.is_ete() { "ete0" } else { "etm0" };
    let _ = writeln!(out, "cd /sys/bus/coresight/devices/{device}");
    let mut put = |file: &str, text: String| {
        let _ = writeln!(out, "echo {text} > {file}");
    };
    put("reset", "1".to_owned());
    put("mode", format!("{:#x}", mode(of("TRCCONFIGR"), of("TRCSTALLCTLR"), of("TRCEVENTCTL1R"))?));
    let ranges = of("TRCVIIECTLR");
    for n in 0..8u64 {
        let [included, excluded] = [ranges >> n & 1, ranges >> (16 + n) & 1];
        if included | excluded == 0 {
            continue;
        }
        let [first, last] = [2 * n, 2 * n + 1].map(|n| of(&format!("TRCACVR{n}")));
        put("addr_idx", (2 * n).to_string());
        put("addr_range", format!("{first:#x} {last:#x} {excluded}"));
        comparator(&mut put, of(&format!("TRCACATR{}", 2 * n)))?;
    }
    let points = of("TRCVISSCTLR");
    for n in 0..16u64 {
        let address = of(&format!("TRCACVR{n}"));
        let file = match (points >> n & 1, points >> (16 + n) & 1) {
            (1, 0) => "addr_start",
            (0, 1) => "addr_stop",
            (0, 0) => continue,
            _ => return None,
        };
        put("addr_idx", n.to_string());
        put(file, format!("{address:#x}"));
        comparator(&mut put, of(&format!("TRCACATR{n}")))?;
    }
    for n in 0..32u64 {
        if let Some(value) = values.get(&format!("TRCRSCTLR{n}")) {
            put("res_idx", n.to_string());
            put("res_ctrl", format!("{value:#x}"));
            for single in (0..16).filter(|bit| value >> 16 & 0xf == 4 && value >> bit & 1 != 0) {
                put("addr_idx", single.to_string());
                put("addr_single", format!("{:#x}", of(&format!("TRCACVR{single}"))));
            }
        }
    }
    for n in 0..4u64 {
        if let Some(control) = values.get(&format!("TRCCNTCTLR{n}")) {
            put("cntr_idx", n.to_string());
            put("cntrldvr", format!("{:#x}", of(&format!("TRCCNTRLDVR{n}"))));
            put("cntr_val", format!("{:#x}", of(&format!("TRCCNTVR{n}"))));
            put("cntr_ctrl", format!("{control:#x}"));
        }
    }
    for n in 0..8u64 {
        for (stem, index, file) in
            [("TRCCIDCVR", "ctxid_idx", "ctxid_pid"), ("TRCVMIDCVR", "vmid_idx", "vmid_val")]
        {
            if let Some(value) = values.get(&format!("{stem}{n}")) {
                put(index, n.to_string());
                put(file, format!("{value:#x}"));
            }
        }
    }
    put("ns_exlevel_vinst", format!("{:#x}", of("TRCVICTLR") >> 20 & 7));
    put("s_exlevel_vinst", format!("{:#x}", of("TRCVICTLR") >> 16 & 0xf));
    put("event_vinst", format!("{:#x}", of("TRCVICTLR") & 0xff));
    put("event", format!("{:#x}", of("TRCEVENTCTL0R")));
    put("event_instren", format!("{:#x}", of("TRCEVENTCTL1R") & 0xf));
    put("event_ts", format!("{:#x}", of("TRCTSCTLR")));
    put("syncfreq", format!("{:#x}", of("TRCSYNCPR")));
    if values.get("TRCCCCTLR").is_some() {
        put("cyc_threshold", format!("{:#x}", of("TRCCCCTLR")));
    }
    if values.get("TRCBBCTLR").is_some() {
        put("bb_ctrl", format!("{:#x}", of("TRCBBCTLR")));
    }
    // What has no file: the sequencer moves, single-shot comparators and inputs of a request.
    let without = ["TRCSEQEVR", "TRCSSCCR", "TRCEXTINSELR", "TRCVIPCSSCTLR", "TRCQCTLR"];
    let used = values.iter().filter(|(_, value)| *value != 0);
    for (name, _) in used {
        if without.iter().any(|stem| name.starts_with(stem)) && by_name(name).is_some() {
            return None;
        }
    }
    put("enable_source", "1".to_owned());
    Some(out)
}

/// The context of the comparator that is selected.
fn comparator(put: &mut impl FnMut(&str, String), attributes: u64) -> Option<()> {
    let kind = match attributes >> 2 & 3 {
        0 => return Some(()),
        1 => "ctxid",
        2 => "vmid",
        _ => "all",
    };
    put("addr_ctxtype", kind.to_owned());
    put("addr_context", (attributes >> 4 & 7).to_string());
    Some(())
}

/// The bits of the file `mode`: 4 branch broadcast, 5 cycle counts, 6 context IDs, 7 virtual
/// machine IDs, 11 timestamps, 12 return stack, 17 and 21 stall, 19 ATB trigger. The driver has no
/// bit for others.
fn mode(config: u64, stall: u64, event: u64) -> Option<u64> {
    if config & !0x18d9 != 0 {
        return None;
    }
    let bit = |from: u32, to: u32| (config >> from & 1) << to;
    let options = bit(3, 4) | bit(4, 5) | bit(6, 6) | bit(7, 7) | bit(11, 11) | bit(12, 12);
    // ISTALL has two bits: the capability of the driver, and its use.
    let stalls = (stall >> 8 & 1) << 17 | (stall >> 8 & 1) << 21;
    Some(options | stalls | (event >> 11 & 1) << 19)
}
