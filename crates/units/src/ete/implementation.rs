//! What one ETMv4 or ETE implements: its identification registers, and the counts in them.

use super::registers::{Named, Version, by_name};
use crate::values::Values;

/// The identification registers of a unit. A register that is not known is `None`, and so is all
/// that only this register reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// The name of the core, or of the architecture.
    pub name: &'static str,
    /// The version of the architecture.
    pub version: Version,
    /// TRCIDR0 to TRCIDR13.
    pub idr: [Option<u32>; 14],
}

/// Names of TRCIDR0 to TRCIDR13.
const NAMES: [&str; 14] = [
    "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR3", "TRCIDR4", "TRCIDR5", "TRCIDR6", "TRCIDR7",
    "TRCIDR8", "TRCIDR9", "TRCIDR10", "TRCIDR11", "TRCIDR12", "TRCIDR13",
];

const fn preset(
    name: &'static str,
    version: Version,
    idr0_2: [u32; 3],
    idr3_5: [Option<u32>; 3],
) -> Implementation {
    let [a, b, c] = idr0_2;
    let [d, e, f] = idr3_5;
    let (first, zero) = ([Some(a), Some(b), Some(c), d, e, f], Some(0));
    let [a, b, c, d, e, f] = first;
    let idr = [a, b, c, d, e, f, zero, zero, zero, zero, zero, zero, zero, zero];
    Implementation { name, version, idr }
}

/// Four pairs of address comparators, eight pairs of resource selectors, one single-shot, context
/// and virtual machine identifier comparator each: the units of most Cortex-A cores.
const CORTEX_A: Option<u32> = Some(0x1117_0004);

/// Units by name. Their TRCIDR0 to TRCIDR2 are those of captures of the cores; TRCIDR3 to TRCIDR5
/// are from such a capture (Cortex-A55) or from the reference manual of the core.
pub const PRESETS: &[Implementation] = &[
    // An ETE 1.0 with two counters and the sequencer.
    preset(
        "ETE",
        Version::Ete(0),
        [0x2801_cea1, 0x4100_fff0, 0xd000_1088],
        [Some(0x0d77_0004), CORTEX_A, Some(0x28c7_09ff)],
    ),
    preset(
        "ETE1.1",
        Version::Ete(1),
        [0x2881_cea1, 0x4100_fff0, 0xd000_1088],
        [Some(0x0d77_0004), CORTEX_A, Some(0x28c7_09ff)],
    ),
    preset(
        "ETE1.3",
        Version::Ete(3),
        [0x28c1_cea1, 0x4100_fff0, 0xd000_1088],
        [Some(0x0d77_0004), CORTEX_A, Some(0x28c7_09ff)],
    ),
    // Every resource that the architecture permits.
    preset(
        "ETE-max",
        Version::Ete(3),
        [0x28c1_cea1, 0x4100_fff0, 0xd000_1088],
        [Some(0x8d7f_0004), Some(0x888f_8008), Some(0x48c7_09ff)],
    ),
    preset(
        "ETMv4",
        Version::Etmv4(2),
        [0x0800_0ea1, 0x4100_f420, 0x2000_1088],
        [Some(0x0d7b_0004), CORTEX_A, Some(0x28c7_0804)],
    ),
    preset(
        "Cortex-A53",
        Version::Etmv4(0),
        [0x2800_0ea1, 0x4100_f403, 0x0000_0488],
        [Some(0x0d7b_0004), CORTEX_A, Some(0x28c7_081e)],
    ),
    preset(
        "Cortex-A55",
        Version::Etmv4(2),
        [0x0800_0ca1, 0x4200_f410, 0x2000_1088],
        [Some(0x007b_0004), CORTEX_A, Some(0x2807_0804)],
    ),
    preset(
        "Cortex-A57",
        Version::Etmv4(0),
        [0x2800_0ea1, 0x4100_f402, 0x0000_0488],
        [None, CORTEX_A, Some(0x2847_086e)],
    ),
    preset(
        "Cortex-A72",
        Version::Etmv4(0),
        [0x2800_0ea1, 0x4100_f400, 0x0000_0488],
        [None, CORTEX_A, Some(0x2847_086e)],
    ),
    preset(
        "Cortex-M55",
        Version::Etmv4(5),
        [0x2800_06e1, 0x4100_f454, 0x0000_0004],
        [None, None, None],
    ),
];

impl Implementation {
    /// The unit `name`, in any letter case. `ETMv4.N` and `ETE1.N` select a version.
    pub fn named(name: &str) -> Option<Implementation> {
        if let Some(known) = PRESETS.iter().find(|unit| unit.name.eq_ignore_ascii_case(name)) {
            return Some(*known);
        }
        let lower = name.to_ascii_lowercase();
        let minor = |prefix: &str| lower.strip_prefix(prefix)?.parse::<u8>().ok();
        if let Some(minor @ 0..=6) = minor("etmv4.").or_else(|| minor("etm4.")) {
            let mut unit = Implementation::named("ETMv4")?;
            unit.version = Version::Etmv4(minor);
            unit.idr[1] = Some(0x4100_f400 | u32::from(minor) << 4);
            return Some(unit);
        }
        if let Some(minor @ 0..=3) = minor("ete1.") {
            let mut unit = Implementation::named("ETE")?;
            unit.version = Version::Ete(minor);
            return Some(unit);
        }
        None
    }

    /// The unit with the identification registers in `values`: at least TRCIDR1 of an ETMv4, or
    /// TRCDEVARCH.
    pub fn identified(values: &Values) -> Option<Implementation> {
        let get = |name: &str| {
            values.get(name).or_else(|| values.at(by_name(name).and_then(Named::offset)?))
        };
        let arch = get("TRCDEVARCH").filter(|arch| arch & 0xfff == 0xa13);
        let version = match (arch, get("TRCIDR1")) {
            (Some(arch), _) if arch >> 12 & 0xf == 5 => Version::Ete((arch >> 16 & 0xf) as u8),
            (_, Some(id)) if id >> 8 & 0xf == 4 => Version::Etmv4((id >> 4 & 0xf) as u8),
            (Some(arch), _) if arch >> 12 & 0xf == 4 => Version::Etmv4((arch >> 16 & 0xf) as u8),
            _ => return None,
        };
        let name = if version.is_ete() { "ETE" } else { "ETMv4" };
        let mut unit = Implementation { name, version, idr: [None; 14] };
        unit.read(values);
        Some(unit)
    }

    /// Replaces the identification registers by those in `values`.
    pub fn read(&mut self, values: &Values) {
        for (known, name) in self.idr.iter_mut().zip(NAMES) {
            let offset = by_name(name).and_then(Named::offset);
            let value = values.get(name).or_else(|| values.at(offset?));
            *known = value.map(|value| value as u32).or(*known);
        }
    }

    /// The names and values of the known identification registers.
    pub fn identification(&self) -> impl Iterator<Item = (&'static str, u32)> {
        NAMES.into_iter().zip(self.idr).filter_map(|(name, value)| Some((name, value?)))
    }

    fn bits(&self, register: usize, low: u32, mask: u32) -> Option<u32> {
        Some((*self.idr.get(register)?)? >> low & mask)
    }

    fn count(&self, register: usize, low: u32, mask: u32) -> Option<u8> {
        self.bits(register, low, mask).map(|count| count as u8)
    }

    fn flag(&self, register: usize, low: u32) -> Option<bool> {
        self.bits(register, low, 1).map(|bit| bit != 0)
    }

    /// Pairs of address comparators. (TRCIDR4.NUMACPAIRS)
    pub fn address_pairs(&self) -> Option<u8> {
        self.count(4, 0, 0xf)
    }

    /// PE comparator inputs. (TRCIDR4.NUMPC)
    pub fn pe_inputs(&self) -> Option<u8> {
        self.count(4, 12, 0xf)
    }

    /// Pairs of resource selectors, with the pair of selectors 0 and 1. (TRCIDR4.NUMRSPAIR; from
    /// ETMv4.3 and in ETE, 0 is no pair)
    pub fn selector_pairs(&self) -> Option<u8> {
        let count = self.count(4, 16, 0xf)?;
        let none = count == 0 && !matches!(self.version, Version::Etmv4(0..=2));
        Some(if none { 0 } else { count + 1 })
    }

    /// Single-shot comparators. (TRCIDR4.NUMSSCC)
    pub fn single_shots(&self) -> Option<u8> {
        self.count(4, 20, 0xf)
    }

    /// Context identifier comparators. (TRCIDR4.NUMCIDC)
    pub fn context_comparators(&self) -> Option<u8> {
        self.count(4, 24, 0xf)
    }

    /// Virtual machine identifier comparators. (TRCIDR4.NUMVMIDC)
    pub fn vmid_comparators(&self) -> Option<u8> {
        self.count(4, 28, 0xf)
    }

    /// Counters. (TRCIDR5.NUMCNTR)
    pub fn counters(&self) -> Option<u8> {
        self.count(5, 28, 7)
    }

    /// Whether there is a sequencer. (TRCIDR5.NUMSEQSTATE)
    pub fn sequencer(&self) -> Option<bool> {
        self.bits(5, 25, 7).map(|states| states != 0)
    }

    /// External input selectors. (TRCIDR5.NUMEXTINSEL)
    pub fn input_selectors(&self) -> Option<u8> {
        self.count(5, 9, 7)
    }

    /// ATB triggers. (TRCIDR5.ATBTRIG)
    pub fn atb_trigger(&self) -> Option<bool> {
        self.flag(5, 22)
    }

    /// Low-power override. (TRCIDR5.LPOVERRIDE)
    pub fn low_power_override(&self) -> Option<bool> {
        self.flag(5, 23)
    }

    /// Bits of a trace ID. (TRCIDR5.TRACEIDSIZE)
    pub fn trace_id_bits(&self) -> Option<u8> {
        self.count(5, 16, 0x3f)
    }

    /// Events, 0 to 4. (TRCIDR0.NUMEVENT, and no event without resource selectors)
    pub fn events(&self) -> Option<u8> {
        if self.selector_pairs() == Some(0) {
            return Some(0);
        }
        self.count(0, 10, 3).map(|count| count + 1)
    }

    /// Branch broadcasting. (TRCIDR0.TRCBB)
    pub fn branch_broadcast(&self) -> Option<bool> {
        self.flag(0, 5)
    }

    /// Trace of conditional instructions. (TRCIDR0.TRCCOND)
    pub fn conditional(&self) -> Option<bool> {
        self.flag(0, 6)
    }

    /// Cycle counts. (TRCIDR0.TRCCCI)
    pub fn cycle_counts(&self) -> Option<bool> {
        self.flag(0, 7)
    }

    /// Return stack. (TRCIDR0.RETSTACK)
    pub fn return_stack(&self) -> Option<bool> {
        self.flag(0, 9)
    }

    /// Filters of Q elements. (TRCIDR0.QFILT)
    pub fn q_filter(&self) -> Option<bool> {
        self.flag(0, 14)
    }

    /// Q elements: 0 none, 1 with a count, 2 without, 3 both. (TRCIDR0.QSUPP)
    pub fn q_elements(&self) -> Option<u8> {
        self.count(0, 15, 3)
    }

    /// Timestamps. (TRCIDR0.TSSIZE)
    pub fn timestamps(&self) -> Option<bool> {
        self.bits(0, 24, 0x1f).map(|size| size != 0)
    }

    /// Loads and stores as P0 elements. (TRCIDR0.INSTP0)
    pub fn load_store_p0(&self) -> Option<bool> {
        self.bits(0, 1, 3).map(|value| value == 3)
    }

    /// Data trace. (TRCIDR0.TRCDATA)
    pub fn data(&self) -> Option<bool> {
        self.bits(0, 3, 3).map(|value| value == 3)
    }

    /// The instrumentation instruction. (TRCIDR0.ITE)
    pub fn instrumentation(&self) -> Option<bool> {
        self.flag(0, 22)
    }

    /// Trace of context identifiers. (TRCIDR2.CIDSIZE)
    pub fn context_ids(&self) -> Option<bool> {
        self.bits(2, 5, 0x1f).map(|size| size != 0)
    }

    /// Trace of virtual machine identifiers. (TRCIDR2.VMIDSIZE)
    pub fn vmids(&self) -> Option<bool> {
        self.bits(2, 10, 0x1f).map(|size| size != 0)
    }

    /// The identifier that is traced as that of the virtual machine: 0 VTTBR_EL2.VMID, 1 either, 2
    /// CONTEXTIDR_EL2. (TRCIDR2.VMIDOPT)
    pub fn vmid_option(&self) -> Option<u8> {
        self.count(2, 29, 3)
    }

    /// The lowest threshold of cycle counts. (TRCIDR3.CCITMIN)
    pub fn least_threshold(&self) -> Option<u32> {
        self.bits(3, 0, 0xfff)
    }

    /// TRCSTALLCTLR. (TRCIDR3.STALLCTL)
    pub fn stall(&self) -> Option<bool> {
        self.flag(3, 26)
    }

    /// The prevention of overflows. (TRCIDR3.NOOVERFLOW)
    pub fn no_overflow(&self) -> Option<bool> {
        self.flag(3, 31)
    }

    /// Forced trace of System errors. (TRCIDR3.TRCERR; always in ETE)
    pub fn forced_errors(&self) -> Option<bool> {
        if self.version.is_ete() { Some(true) } else { self.flag(3, 24) }
    }

    /// Traced processors. (TRCIDR3.NUMPROC)
    pub fn processors(&self) -> Option<u8> {
        let (low, high) = (self.count(3, 28, 7)?, self.count(3, 12, 3)?);
        Some((high << 3 | low) + 1)
    }

    /// Whether the unit has a register. A register is assumed to be implemented where the
    /// identification register that reports it is not known.
    pub fn has(&self, named: Named) -> bool {
        let n = named.number;
        let below = |count: Option<u8>| count.is_none_or(|count| n < count);
        let some = |count: Option<u8>| count.is_none_or(|count| count > 0);
        let yes = |flag: Option<bool>| flag.unwrap_or(true);
        named.row.register.versions.contains(self.version)
            && match named.row.register.name {
                "TRCPROCSELR" => self.processors().is_none_or(|count| count > 1),
                "TRCSTALLCTLR" => yes(self.stall()),
                "TRCCCCTLR" => yes(self.cycle_counts()),
                "TRCBBCTLR" => yes(self.branch_broadcast()) && some(self.address_pairs()),
                "TRCQCTLR" => yes(self.q_filter()),
                "TRCITEEDCR" => yes(self.instrumentation()),
                "TRCVIIECTLR" | "TRCVISSCTLR" => some(self.address_pairs()),
                "TRCVIPCSSCTLR" => some(self.pe_inputs()),
                "TRCVDCTLR" | "TRCVDSACCTLR" | "TRCVDARCCTLR" => yes(self.data()),
                "TRCDVCVR<n>" | "TRCDVCMR<n>" => below(self.count(4, 4, 0xf)),
                "TRCEVENTCTL0R" | "TRCEVENTCTL1R" => some(self.events()),
                "TRCSEQEVR<n>" | "TRCSEQRSTEVR" | "TRCSEQSTR" => yes(self.sequencer()),
                "TRCEXTINSELR" => some(self.input_selectors()),
                "TRCEXTINSELR<n>" => below(self.input_selectors()),
                "TRCCNTRLDVR<n>" | "TRCCNTCTLR<n>" | "TRCCNTVR<n>" => below(self.counters()),
                "TRCRSCTLR<n>" => self.selector_pairs().is_none_or(|pairs| n / 2 < pairs),
                "TRCSSCCR<n>" | "TRCSSCSR<n>" => below(self.single_shots()),
                "TRCSSPCICR<n>" => below(self.single_shots()) && some(self.pe_inputs()),
                "TRCACVR<n>" | "TRCACATR<n>" => {
                    self.address_pairs().is_none_or(|pairs| n / 2 < pairs)
                }
                "TRCCIDCVR<n>" => below(self.context_comparators()),
                "TRCVMIDCVR<n>" => below(self.vmid_comparators()),
                "TRCCIDCCTLR0" => some(self.context_comparators()),
                "TRCCIDCCTLR1" => self.context_comparators().is_none_or(|count| count > 4),
                "TRCVMIDCCTLR0" => some(self.vmid_comparators()),
                "TRCVMIDCCTLR1" => self.vmid_comparators().is_none_or(|count| count > 4),
                _ => true,
            }
    }

    /// Whether software of a processor saves and restores the register. TRCIMSPEC1 on exist only
    /// where an implementation defines them. (Arm ARM K10.5.7.6)
    pub fn saves(&self, named: Named) -> bool {
        let extension = named.row.register.name == "TRCIMSPEC<n>" && named.number > 0;
        named.row.saved && self.has(named) && !extension
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::all;
    use super::*;

    /// The capture of a Cortex-A55 that has every register of its debugger's list.
    #[test]
    fn counts_of_a_cortex_a55() {
        let unit = Implementation::named("cortex-a55").unwrap();
        assert_eq!(unit.address_pairs(), Some(4));
        assert_eq!(unit.selector_pairs(), Some(8));
        assert_eq!(unit.single_shots(), Some(1));
        assert_eq!(unit.context_comparators(), Some(1));
        assert_eq!(unit.vmid_comparators(), Some(1));
        assert_eq!(unit.counters(), Some(2));
        assert_eq!(unit.sequencer(), Some(true));
        assert_eq!(unit.input_selectors(), Some(4));
        assert_eq!(unit.events(), Some(4));
        assert_eq!(unit.least_threshold(), Some(4));
        let has = |name: &str| unit.has(by_name(name).unwrap());
        for (name, want) in [
            ("TRCACVR7", true),
            ("TRCACVR8", false),
            ("TRCRSCTLR15", true),
            ("TRCRSCTLR16", false),
            ("TRCCNTVR1", true),
            ("TRCCNTVR2", false),
            ("TRCRSR", false),
            ("TRCVIPCSSCTLR", false),
            ("TRCCIDCCTLR1", false),
        ] {
            assert_eq!(has(name), want, "{name}");
        }
    }

    #[test]
    fn identification() {
        let of = |pairs: &[(&str, u64)]| {
            Implementation::identified(&pairs.iter().copied().collect()).map(|unit| unit.version)
        };
        assert_eq!(of(&[("TRCIDR1", 0x4100_f442)]), Some(Version::Etmv4(4)));
        assert_eq!(
            of(&[("TRCIDR1", 0x4100_fff0), ("TRCDEVARCH", 0x4771_5a13)]),
            Some(Version::Ete(1))
        );
        assert_eq!(of(&[("0x1e4", 0x4100_f403)]), Some(Version::Etmv4(0)));
        assert_eq!(of(&[("TRCIDR1", 0x4100_fff0)]), None);
        assert_eq!(of(&[("TRCIDR0", 0x0800_0ca1)]), None);
    }

    /// Every preset reports its own version, and has the registers of the minimal program of Table
    /// K10-3.
    #[test]
    fn presets() {
        for unit in PRESETS {
            let values: Values =
                unit.identification().map(|(name, value)| (name, u64::from(value))).collect();
            if !unit.version.is_ete() && unit.name != "Cortex-A55" {
                let identified = Implementation::identified(&values).unwrap();
                assert_eq!(identified.version, unit.version, "{}", unit.name);
            }
            let saved = all().filter(|named| unit.saves(*named)).count();
            assert!(saved > 14, "{}: {saved}", unit.name);
            assert!(unit.has(by_name("TRCVICTLR").unwrap()));
        }
        assert_eq!(Implementation::named("etmv4.4").unwrap().version, Version::Etmv4(4));
        assert!(Implementation::named("etmv4.9").is_none());
    }
}
