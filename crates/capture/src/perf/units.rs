//! The trace units of the CPUs: the words of AUXTRACE_INFO. (tools/perf/util/cs-etm.h of Linux)

use std::collections::BTreeMap;

use tracewright_base::Invalid;

use super::riscv_unit;
use crate::device::{Register, Registers, Source};

/// The mark of an ETMv3 or a PTM.
const ETMV3: u64 = 0x3030_3030_3030_3030;
/// The mark of an ETMv4.
const ETMV4: u64 = 0x4040_4040_4040_4040;
/// The mark of an ETE.
const ETE: u64 = 0x5050_5050_5050_5050;

const ETMV3_NAMES: &[&str] = &["ETMCR", "ETMTRACEIDR", "ETMCCER", "ETMIDR"];
const ETMV4_NAMES: &[&str] = &[
    "TRCCONFIGR",
    "TRCTRACEIDR",
    "TRCIDR0",
    "TRCIDR1",
    "TRCIDR2",
    "TRCIDR8",
    "TRCAUTHSTATUS",
    "TS_SOURCE",
];
const ETE_NAMES: &[&str] = &[
    "TRCCONFIGR",
    "TRCTRACEIDR",
    "TRCIDR0",
    "TRCIDR1",
    "TRCIDR2",
    "TRCIDR8",
    "TRCAUTHSTATUS",
    "TRCDEVARCH",
    "TS_SOURCE",
];

/// The names of the parameters after `mark`, in their order.
fn names(mark: u64) -> Option<&'static [&'static str]> {
    match mark {
        ETMV3 => Some(ETMV3_NAMES),
        ETMV4 => Some(ETMV4_NAMES),
        ETE => Some(ETE_NAMES),
        riscv_unit::MARK => Some(riscv_unit::NAMES),
        _ => None,
    }
}

/// The trace unit of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// The mark of a kind of unit, which may be another kind than the unit's.
    pub mark: u64,
    /// The parameters, in the order of the file. A missing parameter is not recorded.
    pub params: Vec<u64>,
}

/// The least number of words of a slot without a trace unit: mark and CPU.
const EMPTY_SLOT: u64 = 2;

/// The slots of the trace units: mark, CPU, from version 1 on the number of parameters, parameters.
/// The slot of a CPU without a trace unit may have zeros only.
struct Slots<'a> {
    version: u64,
    /// The words from the next mark on.
    rest: &'a [u64],
    /// The number of words before it that may be those of empty slots.
    zeros: u64,
}

impl<'a> Slots<'a> {
    fn new(version: u64, words: &'a [u64]) -> Slots<'a> {
        let mut slots = Slots { version, rest: words, zeros: 0 };
        slots.skip_zeros();
        slots
    }

    /// Skips zeros before a mark.
    fn skip_zeros(&mut self) {
        let len = self.rest.iter().take_while(|word| **word == 0).count();
        self.zeros += len as u64;
        self.rest = self.rest.get(len..).unwrap_or_default();
    }

    /// The CPU and the parameters of the next slot, which begins with `mark`.
    fn next(&mut self, mark: u64) -> Option<(u64, &'a [u64])> {
        let &[_, cpu, ref after @ ..] = self.rest else { return None };
        let (params, next) = match (self.version, after) {
            (0, after) => {
                // Version 0 has the parameters that its time knew, and no number of them. A driver
                // with more registers appends them.
                let known = if mark == ETMV3 { 4 } else { 7 };
                let (params, next) = after.split_at_checked(known)?;
                let more = next.iter().position(|word| names(*word).is_some());
                let more = more.unwrap_or(next.len());
                let (added, next) = next.split_at_checked(more)?;
                self.zeros += added.iter().filter(|word| **word == 0).count() as u64;
                (params, next)
            }
            (_, &[len, ref params @ ..]) => params.split_at_checked(usize::try_from(len).ok()?)?,
            (_, []) => return None,
        };
        self.rest = next;
        self.skip_zeros();
        Some((cpu, params))
    }
}

/// The content of AUXTRACE_INFO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// The version: 0 and 1 from perf before 6.4 and from simpleperf, 2 from later ones.
    pub version: u64,
    /// The number of the PMU that recorded: [`Attr::kind`](super::Attr::kind).
    pub pmu: u32,
    /// The trace is a snapshot of the end of each buffer.
    pub snapshot: bool,
    /// The trace units by CPU.
    pub cpus: BTreeMap<u32, Unit>,
}

impl Units {
    /// Reads the words.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(words: &[u64]) -> Result<Units, Invalid> {
        let &[version, pmu_and_count, snapshot, ref rest @ ..] = words else {
            return Err("AUXTRACE_INFO has fewer than 3 words".into());
        };
        if version > 2 {
            let why = format!("AUXTRACE_INFO has version {version}, and 2 is the last known");
            return Err(why.into());
        }
        let count = pmu_and_count & u64::from(u32::MAX);
        let mut units = Units {
            version,
            pmu: (pmu_and_count >> 32) as u32,
            snapshot: snapshot != 0,
            cpus: BTreeMap::new(),
        };
        let mut slots = Slots::new(version, rest);
        for n in 0..count {
            let short = || format!("AUXTRACE_INFO ends within the trace unit {n} of {count}");
            let Some(&mark) = slots.rest.first() else {
                let empty = (count - n).saturating_mul(EMPTY_SLOT);
                if empty > slots.zeros {
                    return Err(short().into());
                }
                break;
            };
            let names = names(mark)
                .ok_or_else(|| format!("trace unit {n} has the unknown mark {mark:#x}"))?;
            let (cpu, params) = slots.next(mark).ok_or_else(short)?;
            let cpu = u32::try_from(cpu).map_err(|_| format!("CPU {cpu} has no 32-bit number"))?;
            // Parameters after the known ones are those of a later perf.
            let params = params.get(..names.len()).unwrap_or(params).to_vec();
            units.cpus.insert(cpu, Unit { mark, params });
        }
        Ok(units)
    }

    /// Whether they are encoders of RISC-V processors.
    pub fn are_riscv(&self) -> bool {
        self.cpus.values().any(|unit| unit.mark == riscv_unit::MARK)
    }

    /// The CPU whose trace unit decodes the trace of any CPU, but for the trace ID: the only one,
    /// or the first where the units are equal. Unformatted trace has no trace ID.
    pub fn any_cpu(&self) -> Option<u32> {
        let mut units = self.cpus.iter();
        let (cpu, first) = units.next()?;
        units.all(|(_, unit)| unit.is_same_but_id(first)).then_some(*cpu)
    }

    /// The words.
    pub fn words(&self) -> Vec<u64> {
        let count = self.cpus.len() as u64;
        let mut words = vec![self.version, u64::from(self.pmu) << 32 | count, self.snapshot.into()];
        for (cpu, unit) in &self.cpus {
            words.extend([unit.mark, u64::from(*cpu)]);
            if self.version > 0 {
                words.push(unit.params.len() as u64);
            }
            words.extend(&unit.params);
        }
        words
    }
}

impl Unit {
    /// A unit with the registers of `source`, as perf records it.
    pub fn of(source: &Source) -> Option<Unit> {
        let kind = source.protocol().to_ascii_uppercase();
        let mark = match kind.as_str() {
            "ETM4" | "ETMV4" => ETMV4,
            "ETE" => ETE,
            "ETM3" | "ETMV3" | "PTM" | "PFT1" => ETMV3,
            _ => return None,
        };
        let names = names(mark)?.iter().filter(|name| **name != "TS_SOURCE");
        // The registers that a capture may omit: an ETMv4.0 and an ETE 1.0.
        let default = |name: &str| match (name, mark) {
            ("TRCIDR1", ETE) => 0x4100_fff0,
            ("TRCIDR1", _) => 0x4100_f403,
            ("TRCDEVARCH", _) => 0x4770_5a13,
            _ => 0,
        };
        let value = |name: &&str| source.register(name).unwrap_or_else(|| default(name));
        let params = names.map(value).collect();
        Some(Unit { mark, params })
    }

    /// The value of a parameter; `None` where the file does not record it.
    pub fn get(&self, name: &str) -> Option<u64> {
        let index = names(self.mark)?.iter().position(|known| *known == name)?;
        self.params.get(index).copied()
    }

    /// Whether both units are configured equally, whatever their trace IDs.
    fn is_same_but_id(&self, other: &Unit) -> bool {
        let without_id = |unit: &Unit| {
            let names = names(unit.mark).unwrap_or_default().iter();
            let all = names.zip(&unit.params);
            let known = all.filter(|(name, _)| !["TRCTRACEIDR", "ETMTRACEIDR"].contains(name));
            known.map(|(_, value)| *value).collect::<Vec<_>>()
        };
        self.mark == other.mark && without_id(self) == without_id(other)
    }

    /// The trace ID in the parameters.
    pub fn trace_id(&self) -> Option<u8> {
        let id = self.get("TRCTRACEIDR").or_else(|| self.get("ETMTRACEIDR"))?;
        Some((id & 0x7f) as u8)
    }

    /// The trace source of `cpu`. The protocol is that of the registers: TRCIDR1 of an ETE has 0xF
    /// as its major version, TRCDEVARCH has part number 0x5A13. The mark is that of the driver's
    /// files, which exist for other units, too.
    pub fn source(&self, cpu: u32, id: Option<u8>) -> Source {
        if self.mark == riscv_unit::MARK {
            return riscv_unit::source(&self.params, cpu, id);
        }
        let mut registers = Vec::new();
        for (name, value) in names(self.mark).unwrap_or_default().iter().zip(&self.params) {
            let of_id = *name == "TRCTRACEIDR" || *name == "ETMTRACEIDR";
            let value = id.filter(|_| of_id).map_or(*value, u64::from);
            if *name != "TS_SOURCE" {
                registers.push(Register {
                    name: (*name).to_owned(),
                    id: None,
                    size: None,
                    value: value.into(),
                });
            }
        }
        let device_type = match self.get("TRCIDR1") {
            Some(idr1) => {
                let part = self.get("TRCDEVARCH").map(|value| value & 0xffff);
                if idr1 >> 8 & 0xf == 0xf || part == Some(0x5a13) {
                    "ETE".to_owned()
                } else {
                    format!("ETM4.{}", idr1 >> 4 & 0xf)
                }
            }
            None if self.mark == ETE => "ETE".into(),
            None if self.mark == ETMV4 => "ETM4".into(),
            // ETMIDR, bits [11:8]: the major version minus 1. 3 is a PTM.
            None => match self.get("ETMIDR") {
                Some(idr) if idr >> 8 & 0xf == 3 => "PTM".into(),
                _ => "ETM3".into(),
            },
        };
        Source {
            name: format!("cpu{cpu}"),
            device_type,
            registers: Registers(registers),
            ..Source::default()
        }
    }

    /// Whether CONTEXTIDR_EL2 is traced in place of the VMID: VMIDs are traced (TRCCONFIGR, bit 7
    /// VMID), and are this register by choice (TRCCONFIGR, bit 15 VMIDOPT) or always (TRCIDR2,
    /// bits \[30:29\] VMIDOPT, 2).
    pub fn traces_el2(&self) -> bool {
        let config = self.get("TRCCONFIGR").unwrap_or(0);
        let always = self.get("TRCIDR2").is_some_and(|idr2| idr2 >> 29 & 3 == 2);
        config & 1 << 7 != 0 && (config & 1 << 15 != 0 || always)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etmv4(params: usize) -> Unit {
        let all = [0x40, 0x10, 1, 0x4100_f424, 3, 4, 0xcc, 1];
        Unit { mark: ETMV4, params: all[..params].to_vec() }
    }

    #[test]
    fn every_version_is_read_as_it_was_written() {
        for (version, unit, words) in [
            (0, etmv4(7), 3 + 9),
            (1, etmv4(7), 3 + 10),
            (2, etmv4(8), 3 + 11),
            (0, Unit { mark: ETMV3, params: vec![1, 2, 3, 4] }, 3 + 6),
            (1, Unit { mark: ETE, params: vec![1, 2, 3, 4, 5, 6, 7, 8] }, 3 + 11),
        ] {
            let cpus = BTreeMap::from([(5, unit)]);
            let units = Units { version, pmu: 8, snapshot: true, cpus };
            let written = units.words();
            assert_eq!(written.len(), words);
            assert_eq!(Units::read(&written), Ok(units));
            for len in 0..written.len() {
                assert!(Units::read(&written[..len]).is_err(), "{len} words");
            }
        }
    }

    #[test]
    fn later_parameters_are_skipped_and_later_versions_refused() {
        let mut unit = etmv4(8);
        unit.params.push(99);
        let units =
            Units { version: 2, pmu: 8, snapshot: false, cpus: BTreeMap::from([(0, unit)]) };
        assert_eq!(Units::read(&units.words()).unwrap().cpus[&0], etmv4(8));
        assert!(Units::read(&[3, 0, 0]).unwrap_err().to_string().contains("version 3"));
        assert!(Units::read(&[1, 1, 0, 0x1234, 0, 0]).unwrap_err().to_string().contains("0x1234"));
        // A count that the words cannot have.
        assert!(Units::read(&[1, 0xffff_ffff, 0]).is_err());
    }

    /// Version 0 states no number of parameters: it has the 7 and 4 of its time
    /// (Linux 6.1.192, tools/perf/util/cs-etm.h:77 and 60, `CS_ETMV4_NR_TRC_PARAMS_V0` and
    /// `CS_ETM_NR_TRC_PARAMS_V0`). A slot may have further registers, or zeros only.
    #[test]
    fn version_0_has_slots_of_any_length() {
        let slot = |unit: &Unit, cpu: u64| [&[unit.mark, cpu], &unit.params[..]].concat();
        let (v4, v3) = (etmv4(7), Unit { mark: ETMV3, params: vec![1, 2, 3, 4] });
        let units = |cpus: &[(u32, &Unit)]| {
            let cpus = cpus.iter().map(|(cpu, unit)| (*cpu, (*unit).clone())).collect();
            Units { version: 0, pmu: 8, snapshot: false, cpus }
        };
        let both = [(0, &v4), (3, &v4)];
        for (slots, want) in [
            (vec![slot(&v4, 0), slot(&v4, 3)], units(&both)),
            // One further register, which is no TS_SOURCE.
            (vec![slot(&v4, 0), vec![1], slot(&v4, 3), vec![1]], units(&both)),
            (vec![slot(&v4, 0), vec![0, 0], slot(&v4, 3), vec![0, 0]], units(&both)),
            (vec![slot(&v3, 0), vec![9; 3], slot(&v4, 1)], units(&[(0, &v3), (1, &v4)])),
        ] {
            let head = vec![0, 8 << 32 | 2, 0];
            assert_eq!(Units::read(&[&[head][..], &slots].concat().concat()), Ok(want));
        }
        for (slots, want) in [
            (vec![slot(&v4, 0), vec![0; 9], slot(&v4, 3)], Ok(units(&both))),
            (vec![vec![0; 9], slot(&v4, 0), slot(&v4, 3)], Ok(units(&both))),
            (vec![slot(&v4, 0), slot(&v4, 3), vec![0; 9]], Ok(units(&both))),
            (vec![slot(&v4, 0), slot(&v4, 3)], Err(())),
            (vec![slot(&v4, 0), slot(&v4, 3), vec![7; 9]], Err(())),
        ] {
            let words = [&[vec![0, 8 << 32 | 3, 0]][..], &slots].concat().concat();
            assert_eq!(Units::read(&words).map_err(|_| ()), want, "{words:x?}");
        }
    }

    /// Rows: the units of two CPUs, and the CPU whose unit decodes the trace of either.
    #[test]
    fn equal_units_decode_the_trace_of_any_cpu() {
        let with = |index: usize, value| {
            let mut unit = etmv4(8);
            unit.params[index] = value;
            unit
        };
        for (second, want) in [
            (etmv4(8), Some(2)),
            // Another trace ID; another configuration; fewer registers.
            (with(1, 0x12), Some(2)),
            (with(0, 0x41), None),
            (etmv4(7), None),
        ] {
            let cpus = BTreeMap::from([(2, etmv4(8)), (3, second)]);
            let units = Units { version: 1, pmu: 8, snapshot: false, cpus };
            assert_eq!(units.any_cpu(), want, "{units:?}");
        }
        assert_eq!(Units::default().any_cpu(), None);
    }

    /// Rows by the fields TRCIDR1.TRCARCHMAJ, bits \[11:8], and TRCDEVARCH.ARCHID, bits \[15:0].
    #[test]
    fn the_registers_determine_the_protocol() {
        let unit = |mark, idr1, devarch: Option<u64>| {
            let mut params = vec![0x40, 0x10, 0, idr1, 0, 0, 0];
            params.extend(devarch);
            Unit { mark, params }
        };
        for (mark, idr1, devarch, want) in [
            (ETMV4, 0x4100_f424, None, "ETM4.2"),
            (ETMV4, 0x4100_fff0, None, "ETE"),
            (ETE, 0x4100_f424, Some(0x4772_4a13), "ETM4.2"),
            (ETE, 0x4100_fff0, Some(0x4772_5a13), "ETE"),
        ] {
            assert_eq!(unit(mark, idr1, devarch).source(0, None).device_type, want);
        }
        for (idr, want) in [(0x4110_f310, "PTM"), (0x4110_f250, "ETM3")] {
            let unit = Unit { mark: ETMV3, params: vec![0, 0x10, 0, idr] };
            assert_eq!(unit.source(0, None).device_type, want);
        }
        let source = unit(ETMV4, 0x4100_f424, None).source(3, Some(0x33));
        assert_eq!(source.register("TRCTRACEIDR"), Some(0x33));
        assert_eq!(source.register("TRCIDR8"), Some(0));
    }

    /// Rows: TRCCONFIGR, TRCIDR2, and whether VMIDs are CONTEXTIDR_EL2.
    #[test]
    fn the_identifier_of_the_thread_may_be_that_of_el2() {
        for (config, idr2, want) in [
            (0x41, 0x488, false),
            (0x8081, 0x2000_1088, true),
            (0x80c1, 0x2000_1088, true),
            (0xc1, 0x2000_1088, false),
            (0x81, 0x4000_1088, true),
            (0x8001, 0x2000_1088, false),
        ] {
            let unit = Unit { mark: ETMV4, params: vec![config, 0x10, 1, 0x4100_f424, idr2] };
            assert_eq!(unit.traces_el2(), want, "{config:#x} {idr2:#x}");
        }
    }
}
