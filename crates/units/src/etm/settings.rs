//! A unit with values of its registers, and the meaning of the values.

use super::event::{Event, Resource};
use super::registers::{self, KINDS};
use super::resources::Resources;
use super::version::Version;
use crate::values::Values;

/// Register numbers that the checks, the model and the explanations use.
pub mod number {
    #![allow(missing_docs)]
    pub const CONTROL: u16 = 0x000;
    pub const TRIGGER: u16 = 0x002;
    pub const STATUS: u16 = 0x004;
    pub const SYSTEM: u16 = 0x005;
    pub const START_STOP: u16 = 0x006;
    pub const TRACE_ENABLE_2: u16 = 0x007;
    pub const TRACE_ENABLE_EVENT: u16 = 0x008;
    pub const TRACE_ENABLE_1: u16 = 0x009;
    pub const FIFOFULL_REGION: u16 = 0x00a;
    pub const FIFOFULL_LEVEL: u16 = 0x00b;
    pub const VIEW_DATA_EVENT: u16 = 0x00c;
    pub const VIEW_DATA_1: u16 = 0x00d;
    pub const VIEW_DATA_2: u16 = 0x00e;
    pub const VIEW_DATA_3: u16 = 0x00f;
    pub const ADDRESS: u16 = 0x010;
    pub const ACCESS_TYPE: u16 = 0x020;
    pub const DATA_VALUE: u16 = 0x030;
    pub const DATA_MASK: u16 = 0x040;
    pub const RELOAD_VALUE: u16 = 0x050;
    pub const COUNT_ENABLE: u16 = 0x054;
    pub const RELOAD_EVENT: u16 = 0x058;
    pub const COUNT: u16 = 0x05c;
    pub const SEQUENCER: u16 = 0x060;
    pub const SEQUENCER_STATE: u16 = 0x067;
    pub const OUTPUT_EVENT: u16 = 0x068;
    pub const CONTEXT: u16 = 0x06c;
    pub const CONTEXT_MASK: u16 = 0x06f;
    pub const SYNC_FREQUENCY: u16 = 0x078;
    pub const INPUT_SELECTION: u16 = 0x07b;
    pub const START_STOP_ICE: u16 = 0x07c;
    pub const ICE_BEHAVIOUR: u16 = 0x07d;
    pub const TIMESTAMP_EVENT: u16 = 0x07e;
    pub const TRACE_ID: u16 = 0x080;
    pub const VMID: u16 = 0x090;
    pub const OS_LOCK_STATUS: u16 = 0x0c1;
    pub const AUTHENTICATION: u16 = 0x3ee;
}

/// Number of registers that hold settings.
const COUNT: usize = 0xc6;

/// A unit with values of its registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The resources.
    pub unit: Resources,
    values: [Option<u32>; COUNT],
    /// Instruction addresses that the DWT of an M-profile processor compares for the EmbeddedICE
    /// inputs 1 to 4.
    pub watchpoints: [Option<u32>; 4],
}

/// DWT_FUNCTION: the address of an executed instruction is compared, for the ETM. (Armv7-M ARM,
/// C1.8.17)
pub const DWT_EXECUTE: u32 = 0b1000;

impl Settings {
    /// A unit of which no register is known.
    pub const fn new(unit: Resources) -> Settings {
        Settings { unit, values: [None; COUNT], watchpoints: [None; 4] }
    }

    /// A unit with `values`.
    pub fn with(unit: Resources, values: &Values) -> Settings {
        let mut settings = Settings::new(unit);
        for number in 0..COUNT as u16 {
            let name = name(number);
            if let Some(value) = name.and_then(|name| values.get(&name)) {
                settings.set(number, value as u32);
            }
        }
        for (n, watchpoint) in settings.watchpoints.iter_mut().enumerate() {
            let function = values.get(&format!("DWT_FUNCTION{n}")).map(|f| f as u32 & 0xf);
            let mask = values.get(&format!("DWT_MASK{n}")).unwrap_or(0);
            if function == Some(DWT_EXECUTE) && mask == 0 {
                *watchpoint = values.get(&format!("DWT_COMP{n}")).map(|address| address as u32);
            }
        }
        settings
    }

    /// The value of the register `number`. `None` where it is unknown.
    pub fn get(&self, number: u16) -> Option<u32> {
        *self.values.get(usize::from(number))?
    }

    /// The value of the register `number`; 0 where it is unknown.
    pub fn value(&self, number: u16) -> u32 {
        self.get(number).unwrap_or(0)
    }

    /// Sets the register `number`. Registers that hold no settings are ignored.
    pub fn set(&mut self, number: u16, value: u32) {
        if let Some(at) = self.values.get_mut(usize::from(number)) {
            *at = Some(value);
        }
    }

    /// Forgets the register `number`.
    pub fn forget(&mut self, number: u16) {
        if let Some(at) = self.values.get_mut(usize::from(number)) {
            *at = None;
        }
    }

    /// The registers with known values: number and value.
    pub fn known(&self) -> impl Iterator<Item = (u16, u32)> {
        let all = self.values.iter().enumerate();
        all.filter_map(|(number, value)| Some((number as u16, (*value)?)))
    }

    /// ETMCR.
    pub fn control(&self) -> Control {
        Control(self.value(number::CONTROL), self.unit.version)
    }

    /// The event in the register `number`. `None` where it is unknown.
    pub fn event(&self, number: u16) -> Option<Event> {
        self.get(number).map(Event::of)
    }

    /// Address comparator `n`, from 1.
    pub fn comparator(&self, n: u8) -> Comparator {
        let at = u16::from(n.saturating_sub(1) & 0xf);
        let kind = AccessType(self.value(number::ACCESS_TYPE + at));
        let data = (n % 2 == 1 && n.div_ceil(2) <= self.unit.data_comparators).then(|| {
            let at = at & !1;
            (self.value(number::DATA_VALUE + at), self.value(number::DATA_MASK + at))
        });
        Comparator { address: self.value(number::ADDRESS + at), kind, data }
    }

    /// Whether the values and access types of the single address comparator `n` are known.
    pub fn knows_comparator(&self, n: u8) -> bool {
        let at = u16::from(n.saturating_sub(1) & 0xf);
        self.get(number::ADDRESS + at).is_some() && self.get(number::ACCESS_TYPE + at).is_some()
    }

    /// Whether the reload value and the events of counter `n` are known.
    pub fn knows_counter(&self, n: u8) -> bool {
        let at = u16::from(n.saturating_sub(1) & 0b11);
        let counts = n == 1 && self.unit.reduced_counter;
        [number::RELOAD_VALUE, number::COUNT_ENABLE, number::RELOAD_EVENT].iter().all(|number| {
            self.get(number + at).is_some() || counts && *number == number::COUNT_ENABLE
        })
    }

    /// The single address comparators, address range comparators and memory map decodes that
    /// TraceEnable includes or excludes.
    pub fn trace_enable(&self) -> Selection {
        let control = self.value(number::TRACE_ENABLE_1);
        let single = match self.unit.version >= Version::V1_2 {
            true => self.value(number::TRACE_ENABLE_2) & 0xffff,
            false => 0,
        };
        Selection {
            single: self.present(single),
            ranges: self.ranges(control & 0xff),
            memory_map: control >> 8 & 0xffff,
        }
    }

    /// The registers with what TraceEnable includes or excludes of which no value is known.
    pub fn unknown_trace_enable(&self) -> Vec<u16> {
        let second = self.unit.version >= Version::V1_2 && self.unit.pairs > 0;
        self.unknown(&[(number::TRACE_ENABLE_1, true), (number::TRACE_ENABLE_2, second)])
    }

    /// The registers with what ViewData includes and excludes of which no value is known.
    pub fn unknown_view_data(&self) -> Vec<u16> {
        self.unknown(&[
            (number::VIEW_DATA_1, self.unit.pairs > 0),
            (number::VIEW_DATA_2, self.unit.memory_map > 0),
            (number::VIEW_DATA_3, true),
        ])
    }

    fn unknown(&self, registers: &[(u16, bool)]) -> Vec<u16> {
        let unknown = registers.iter().filter(|(number, has)| *has && self.get(*number).is_none());
        unknown.map(|(number, _)| *number).collect()
    }

    /// TraceEnable excludes: ETMTECR1 bit \[24].
    pub fn trace_excludes(&self) -> bool {
        self.value(number::TRACE_ENABLE_1) >> 24 & 1 != 0
    }

    /// The start/stop block controls TraceEnable: ETMTECR1 bit \[25].
    pub fn start_stop_controls(&self) -> bool {
        self.unit.start_stop && self.value(number::TRACE_ENABLE_1) >> 25 & 1 != 0
    }

    /// The events that have an effect: number of the register, and event.
    pub fn events(&self) -> Vec<(u16, Event)> {
        let unit = &self.unit;
        let counters = (0..u16::from(unit.counters))
            .flat_map(|n| [number::COUNT_ENABLE + n, number::RELOAD_EVENT + n]);
        let sequencer = (0..6).filter(|_| unit.sequencer).map(|n| number::SEQUENCER + n);
        let outputs = (0..u16::from(unit.outputs)).map(|n| number::OUTPUT_EVENT + n);
        let control = self.control();
        let data = control.data() || control.coprocessor() && control.filter_coprocessor();
        let view = Some(number::VIEW_DATA_EVENT).filter(|_| data);
        let time = Some(number::TIMESTAMP_EVENT).filter(|_| unit.timestamps);
        let all = [number::TRIGGER, number::TRACE_ENABLE_EVENT].into_iter();
        let all = all.chain(view).chain(time).chain(counters).chain(sequencer).chain(outputs);
        all.filter_map(|number| Some((number, self.event(number)?))).collect()
    }

    /// Whether the start/stop block has an effect.
    pub fn uses_start_stop(&self) -> bool {
        let events = self.events();
        let mut resources = events.iter().flat_map(|(_, event)| event.resources());
        self.start_stop_controls()
            || self.unit.start_stop && resources.any(|used| used == Resource::StartStop)
    }

    /// The address range comparators and memory map decodes of the FIFOFULL region.
    pub fn fifofull_region(&self) -> Selection {
        let value = self.value(number::FIFOFULL_REGION);
        Selection { single: 0, ranges: self.ranges(value & 0xff), memory_map: value >> 8 & 0xffff }
    }

    /// What ViewData includes.
    pub fn view_includes(&self) -> Selection {
        Selection {
            single: self.present(self.value(number::VIEW_DATA_1) & 0xffff),
            ranges: self.ranges(self.value(number::VIEW_DATA_3) & 0xff),
            memory_map: self.value(number::VIEW_DATA_2) & 0xffff,
        }
    }

    /// What ViewData excludes.
    pub fn view_excludes(&self) -> Selection {
        Selection {
            single: self.present(self.value(number::VIEW_DATA_1) >> 16),
            ranges: self.ranges(self.value(number::VIEW_DATA_3) >> 8 & 0xff),
            memory_map: self.value(number::VIEW_DATA_2) >> 16,
        }
    }

    /// ViewData only excludes: ETMVDCR3 bit \[16].
    pub fn view_excludes_only(&self) -> bool {
        self.value(number::VIEW_DATA_3) >> 16 & 1 != 0
    }

    fn present(&self, single: u32) -> u32 {
        single & ((1u32 << self.unit.comparators()) - 1)
    }

    fn ranges(&self, ranges: u32) -> u32 {
        ranges & ((1u32 << self.unit.pairs) - 1)
    }
}

/// The name of the register `number`.
pub fn name(number: u16) -> Option<String> {
    let (kind, index) = registers::numbered(number)?;
    Some(instance(kind, index))
}

/// The name of the register with index `index`, from 1, of a kind.
pub fn instance(kind: &registers::Kind, index: u8) -> String {
    match kind.count {
        1 => kind.register.name.to_owned(),
        _ => format!("{}{}", kind.register.name, index - 1 + kind.first_name),
    }
}

/// The number of the register `name`, in any letter case.
pub fn number_of(text: &str) -> Option<u16> {
    KINDS.iter().find_map(|kind| {
        if kind.count == 1 {
            return kind.register.is_named(text).then(|| kind.number());
        }
        let prefix = kind.register.name;
        let rest = text.get(prefix.len()..)?;
        let same = text.get(..prefix.len())?.eq_ignore_ascii_case(prefix);
        let n: u8 = rest.parse().ok().filter(|_| same && !rest.starts_with('0'))?;
        let index = n.checked_sub(kind.first_name).filter(|at| *at < kind.count)?;
        Some(kind.number() + u16::from(index) * u16::from(kind.stride))
    })
}

/// Comparators that a filter selects: bit n is the one with number n + 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Single address comparators.
    pub single: u32,
    /// Address range comparators.
    pub ranges: u32,
    /// Memory map decodes.
    pub memory_map: u32,
}

impl Selection {
    /// Whether nothing is selected.
    pub const fn is_empty(self) -> bool {
        self.single | self.ranges | self.memory_map == 0
    }

    /// The numbers, from 1, of the bits that are set.
    pub fn numbers(bits: u32) -> impl Iterator<Item = u8> {
        (0..32u8).filter(move |n| bits >> n & 1 != 0).map(|n| n + 1)
    }

    /// The single address comparators that are used alone or in ranges.
    pub fn comparators(self) -> u32 {
        let pairs = Selection::numbers(self.ranges).map(|n| 0b11 << (2 * (n - 1)));
        self.single | pairs.fold(0, |all, pair| all | pair)
    }
}

/// ETMCR in a version. Fields that the version does not have are `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(pub u32, pub Version);

impl Control {
    fn bit(self, at: u32, first: Version) -> bool {
        self.1 >= first && self.0 >> at & 1 != 0
    }
    /// PowerDown, bit \[0].
    pub fn power_down(self) -> bool {
        self.bit(0, Version::V1_0)
    }
    /// MonitorCPRT, bit \[1].
    pub fn coprocessor(self) -> bool {
        self.bit(1, Version::V1_0)
    }
    /// DataAccess, bit \[2]: values.
    pub fn values(self) -> bool {
        self.bit(2, Version::V1_0)
    }
    /// DataAccess, bit \[3]: addresses.
    pub fn addresses(self) -> bool {
        self.bit(3, Version::V1_0)
    }
    /// Some part of data accesses is traced.
    pub fn data(self) -> bool {
        self.0 & 0b1100 != 0
    }
    /// Stall, bit \[7].
    pub fn stall(self) -> bool {
        self.bit(7, Version::V1_0)
    }
    /// BranchOutput, bit \[8].
    pub fn branch_output(self) -> bool {
        self.bit(8, Version::V1_0)
    }
    /// DebugRequest, bit \[9].
    pub fn debug_request(self) -> bool {
        self.bit(9, Version::V1_0)
    }
    /// Programming, bit \[10].
    pub fn programming(self) -> bool {
        self.bit(10, Version::V1_0)
    }
    /// ETMEN, bit \[11].
    pub fn port_enabled(self) -> bool {
        self.bit(11, Version::V1_0)
    }
    /// CycleAccurate, bit \[12].
    pub fn cycles(self) -> bool {
        self.bit(12, Version::V1_0)
    }
    /// ContextIDSize, bits \[15:14], in bytes.
    pub fn context_bytes(self) -> u8 {
        if self.1 < Version::V1_2 {
            return 0;
        }
        match self.0 >> 14 & 0b11 {
            3 => 4,
            size => size as u8,
        }
    }
    /// SuppressData, bit \[18].
    pub fn suppress(self) -> bool {
        self.bit(18, Version::V3_0)
    }
    /// FilterCPRT, bit \[19].
    pub fn filter_coprocessor(self) -> bool {
        self.bit(19, Version::V3_0)
    }
    /// DataOnly, bit \[20].
    pub fn data_only(self) -> bool {
        self.bit(20, Version::V3_1)
    }
    /// InstrResPriv, bit \[24].
    pub fn privileged_instrumentation(self) -> bool {
        self.bit(24, Version::V3_3)
    }
    /// CoreSelect, bits \[27:25].
    pub fn core(self) -> u8 {
        if self.1 >= Version::V3_2 { (self.0 >> 25 & 0b111) as u8 } else { 0 }
    }
    /// TimestampEn, bit \[28].
    pub fn timestamps(self) -> bool {
        self.bit(28, Version::V3_5)
    }
    /// VMIDEn, bit \[30].
    pub fn vmid(self) -> bool {
        self.bit(30, Version::V3_5)
    }
    /// Code of the port size: bits \[21, 6:4]. (IHI 0014, Table 3-6)
    pub fn port_size(self) -> u8 {
        let high = if self.1 >= Version::V3_0 { self.0 >> 21 & 1 } else { 0 };
        (high << 3 | self.0 >> 4 & 0b111) as u8
    }
}

/// What an address comparator compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// An instruction that is fetched.
    Fetch,
    /// An instruction that is executed.
    Execute,
    /// An instruction that passes its condition.
    Passed,
    /// An instruction that fails its condition.
    Failed,
    /// A load or a store.
    LoadStore,
    /// A load.
    Load,
    /// A store.
    Store,
    /// The reserved code.
    Reserved,
}

/// Data value comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataMatch {
    /// None.
    Off,
    /// The value is equal.
    Equal,
    /// The value is different.
    NotEqual,
    /// The reserved code.
    Reserved,
}

/// ETMACTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessType(pub u32);

impl AccessType {
    /// Bits \[2:0].
    pub const fn kind(self) -> AccessKind {
        match self.0 & 0b111 {
            0 => AccessKind::Fetch,
            1 => AccessKind::Execute,
            2 => AccessKind::Passed,
            3 => AccessKind::Failed,
            4 => AccessKind::LoadStore,
            5 => AccessKind::Load,
            6 => AccessKind::Store,
            _ => AccessKind::Reserved,
        }
    }
    /// Data addresses are compared: bit \[2].
    pub const fn is_data(self) -> bool {
        self.0 >> 2 & 1 != 0
    }
    /// Size in bytes, bits \[4:3]. `None` for the reserved code.
    pub const fn size(self) -> Option<u8> {
        match self.0 >> 3 & 0b11 {
            0 => Some(1),
            1 => Some(2),
            3 => Some(4),
            _ => None,
        }
    }
    /// Bits \[6:5].
    pub const fn data(self) -> DataMatch {
        match self.0 >> 5 & 0b11 {
            0 => DataMatch::Off,
            1 => DataMatch::Equal,
            3 => DataMatch::NotEqual,
            _ => DataMatch::Reserved,
        }
    }
    /// Bit \[7], from ETMv2.0.
    pub fn exact(self, version: Version) -> bool {
        version >= Version::V2_0 && self.0 >> 7 & 1 != 0
    }
    /// Number of the context ID comparator that must match, bits \[9:8], from ETMv2.0.
    pub fn context(self, version: Version) -> Option<u8> {
        let number = (self.0 >> 8 & 0b11) as u8;
        (version >= Version::V2_0 && number != 0).then_some(number)
    }
    /// The virtual machine ID comparator must match: bit \[15], from ETMv3.5.
    pub const fn vmid(self, version: Version) -> bool {
        version.since(Version::V3_5) && self.0 >> 15 & 1 != 0
    }
    /// Whether Hyp mode matches: bit \[14], from ETMv3.5. `None` before.
    pub fn hyp(self, version: Version) -> Option<bool> {
        version.since(Version::V3_5).then_some(self.0 >> 14 & 1 != 0)
    }
    /// The modes that match in Non-secure or in Secure state. From ETMv3.5 the code is in bits
    /// \[13, 11] and \[12, 10]; ETMv3.2 to ETMv3.4 have bits \[11:10] alone, and with them no or
    /// all modes.
    pub const fn modes(self, non_secure: bool, version: Version) -> Modes {
        if !version.since(Version::V3_2) {
            return Modes::All;
        }
        let low = if non_secure { 11 } else { 10 };
        let high = version.since(Version::V3_5) && self.0 >> (low + 2) & 1 != 0;
        match (high, self.0 >> low & 1) {
            (false, 0) => Modes::All,
            (false, _) => Modes::None,
            (true, 0) => Modes::Privileged,
            (true, _) => Modes::User,
        }
    }
}

/// The modes of a security state in which an address comparator matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// All.
    All,
    /// None.
    None,
    /// Privileged modes.
    Privileged,
    /// User mode.
    User,
}

impl Modes {
    /// Whether a privileged mode, or User mode, is one of them.
    pub const fn has(self, privileged: bool) -> bool {
        match self {
            Modes::All => true,
            Modes::None => false,
            Modes::Privileged => privileged,
            Modes::User => !privileged,
        }
    }
}

/// One single address comparator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparator {
    /// ETMACVR.
    pub address: u32,
    /// ETMACTR.
    pub kind: AccessType,
    /// ETMDCVR and ETMDCMR of its data value comparator, where it has one.
    pub data: Option<(u32, u32)>,
}

/// Width in pins of a port size, as coded in ETMCR bits \[21, 6:4]. (IHI 0014, Table 3-6) `None`
/// for reserved and user-defined sizes.
pub const fn port_width(code: u8, version: Version) -> Option<u8> {
    let later = version.since(Version::V3_0);
    Some(match code {
        0b0000 => 4,
        0b0001 => 8,
        0b0010 => 16,
        0b0011 if later => 24,
        0b0100 if later => 32,
        0b0101 if later => 48,
        0b0110 if later => 64,
        0b1000 if later => 1,
        0b1001 if later => 2,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for number in 0..0x400 {
            let Some(name) = name(number) else { continue };
            assert_eq!(number_of(&name), Some(number), "{name}");
        }
        for (text, number) in [
            ("etmacvr16", Some(0x1f)),
            ("ETMACVR17", None),
            ("ETMACVR0", None),
            ("ETMACVR01", None),
            ("ETMDCVR2", Some(0x32)),
            ("ETMPIDR6", Some(0x3f6)),
            ("ETMIMPSPEC7", Some(0x77)),
            ("ETMASICCTLR", Some(0x03)),
            ("TRCCONFIGR", None),
        ] {
            assert_eq!(number_of(text), number, "{text}");
        }
    }

    /// IHI 0014, Table 3-6.
    #[test]
    fn port_sizes() {
        let rows = [4, 8, 16, 24, 32, 48, 64, 0, 1, 2, 0, 0, 0, 0, 0, 0];
        for (code, width) in rows.into_iter().enumerate() {
            let width = Some(width).filter(|width| *width != 0);
            assert_eq!(port_width(code as u8, Version::V3_4), width, "{code:04b}");
            assert_eq!(port_width(code as u8, Version::V2_1), width.filter(|_| code < 3));
        }
    }
}
