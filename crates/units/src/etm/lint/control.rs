//! Rules on ETMCR, the FIFO, the trace port, locks, synchronisation and the trace ID.

use super::Lint;
use crate::etm::resources::DataTracing;
use crate::etm::settings::{number, port_width};
use crate::etm::version::Version;

impl Lint<'_> {
    pub(super) fn control(&mut self) {
        self.locks();
        self.synchronisation();
        if self.settings.get(number::CONTROL).is_none() {
            return;
        }
        self.modes();
        self.fifo();
        self.port();
        self.features();
    }

    /// What prevents tracing whatever ETMCR has, and the trace ID.
    fn locks(&mut self) {
        let settings = self.settings;
        if let Some(value) = settings.get(0x0c1)
            && value & 0b11 == 0b11
        {
            self.find(
                "os-locked",
                0x0c1,
                "the OS lock is set: the unit does not trace, and its trace registers cannot be \
                 accessed",
                "write 0 to ETMOSLAR",
                "IHI 0014, 3.8.2",
            );
        }
        if settings.get(0x0c5).is_some_and(|value| value & 0b10 != 0) {
            self.find(
                "state-lost",
                0x0c5,
                "the trace registers lost their values at a power-down, and cannot be accessed",
                "read ETMPDSR, then write all registers",
                "IHI 0014, 3.5.25",
            );
        }
        if let Some(id) = settings.get(number::TRACE_ID)
            && !(1..=0x6f).contains(&(id & 0x7f))
        {
            self.find(
                "trace-id",
                number::TRACE_ID,
                format!("{:#04x} is not an ID of a source on a trace bus", id & 0x7f),
                "write an ID from 0x01 to 0x6f that no other source has",
                "IHI 0014, 3.5.23",
            );
        }
    }

    /// Bits of ETMCR that turn the unit, its port or a filter off.
    fn modes(&mut self) {
        let settings = self.settings;
        let (unit, control) = (settings.unit, settings.control());
        if control.power_down() {
            self.find(
                "powered-down",
                number::CONTROL,
                "PowerDown is set: the unit is off, and writes of other registers may be ignored",
                "clear bit 0 before anything else is written",
                "IHI 0014, 3.5.1",
            );
        }
        if control.programming() {
            self.find(
                "programming",
                number::CONTROL,
                "Programming is set: nothing is traced",
                "clear bit 10 when all registers are written",
                "IHI 0014, 3.4.4",
            );
        }
        if !control.port_enabled() && !unit.memory_mapped {
            self.find(
                "port-disabled",
                number::CONTROL,
                "ETMEN is clear: the pins of the trace port may belong to something else",
                "set bit 11",
                "IHI 0014, 3.5.1",
            );
        }
        if control.filter_coprocessor() && !control.coprocessor() {
            self.find(
                "coprocessor-filter",
                number::CONTROL,
                "FilterCPRT without MonitorCPRT is UNPREDICTABLE",
                "set bit 1 as well, or clear bit 19",
                "IHI 0014, 2.6.5",
            );
        }
    }

    /// Bits of ETMCR for what the unit does not have.
    fn features(&mut self) {
        let settings = self.settings;
        let (unit, control) = (settings.unit, settings.control());
        let version = unit.version;
        let missing = [
            (control.branch_output() && !unit.branch_output, 8, "branch output"),
            (control.cycles() && !unit.cycles, 12, "cycle-accurate tracing"),
            (control.context_bytes() > 0 && !unit.context_ids, 14, "tracing of context IDs"),
            (control.suppress() && !unit.suppression, 18, "data suppression"),
            (control.data_only() && unit.data != DataTracing::Full, 20, "data-only mode"),
            (
                control.coprocessor()
                    && matches!(unit.data, DataTracing::None | DataTracing::Addresses),
                1,
                "tracing of coprocessor register transfers",
            ),
            (
                control.values() && matches!(unit.data, DataTracing::None | DataTracing::Addresses),
                2,
                "tracing of data values",
            ),
            (
                control.addresses() && matches!(unit.data, DataTracing::None | DataTracing::Values),
                3,
                "tracing of data addresses",
            ),
            (control.timestamps() && !unit.timestamps, 28, "timestamps"),
            (control.vmid() && !unit.virtualization, 30, "virtual machine IDs"),
        ];
        for (_, bit, what) in missing.into_iter().filter(|row| row.0) {
            self.find(
                "control-missing",
                number::CONTROL,
                format!("the unit does not have {what}, and bit {bit} reads as 0"),
                format!("clear bit {bit}"),
                "IHI 0014, 3.5.1",
            );
        }
        if version >= Version::V3_2 && control.core() >= unit.cores {
            self.find(
                "core-select",
                number::CONTROL,
                format!("core {} is selected, and {} share the unit", control.core(), unit.cores),
                format!("write 0 to {} to bits 27:25", unit.cores.saturating_sub(1)),
                "IHI 0014, 3.5.1",
            );
        }
    }

    fn fifo(&mut self) {
        let settings = self.settings;
        let (unit, control) = (settings.unit, settings.control());
        if control.stall() && control.suppress() {
            self.find(
                "stall-and-suppress",
                number::CONTROL,
                "Stall together with SuppressData is UNPREDICTABLE",
                "clear bit 7 or bit 18",
                "IHI 0014, 3.5.8, Table 3-21",
            );
        }
        if control.stall() && !unit.stalls() {
            let lacks = if unit.fifofull { "the system" } else { "the unit" };
            self.find(
                "stall-missing",
                number::CONTROL,
                format!("Stall is set, but {lacks} does not support FIFOFULL"),
                "clear bit 7",
                "IHI 0014, 3.5.8",
            );
        }
        if !control.stall() && !control.suppress() {
            return;
        }
        let Some(level) = settings.get(number::FIFOFULL_LEVEL).map(|level| level & 0xff) else {
            return;
        };
        if level == 0 {
            self.find(
                "fifo-level-zero",
                number::FIFOFULL_LEVEL,
                "level 0 with Stall or SuppressData is UNPREDICTABLE",
                "write the number of free bytes below which the FIFO is nearly full",
                "IHI 0014, 3.5.8",
            );
        }
        if let Some(size) = unit.fifo
            && unit.version < Version::V2_0
            && level > u32::from(size)
        {
            self.find(
                "fifo-level-large",
                number::FIFOFULL_LEVEL,
                format!("level {level} is above the size of the FIFO, {size} bytes"),
                format!("write {size} or less"),
                "IHI 0014, 3.5.8",
            );
        }
    }

    fn port(&mut self) {
        let settings = self.settings;
        let (unit, control) = (settings.unit, settings.control());
        let (version, code) = (unit.version, control.port_size());
        let width = port_width(code, version);
        let user = version >= Version::V3_0 && matches!(code, 0b1110 | 0b1111);
        if width.is_none() && !user {
            self.find(
                "reserved-value",
                number::CONTROL,
                format!("port size {code:#06b} is reserved"),
                "select a port size that the unit has",
                "IHI 0014, 3.5.1, Table 3-6",
            );
        }
        let mode = control.0 >> 16 & 0b11 | (control.0 >> 13 & 1) << 2;
        let reserved = match version {
            v if v >= Version::V3_0 => mode == 0b010,
            v if v >= Version::V1_2 => matches!(mode, 0b011 | 0b101 | 0b111),
            _ => false,
        };
        if reserved {
            self.find(
                "reserved-value",
                number::CONTROL,
                "the port mode in bits 17:16 and 13 is reserved",
                "select a port mode of the table",
                "IHI 0014, 2.10, Tables 2-17 and 2-18",
            );
        }
        let max = unit.max_port.and_then(|max| port_width(max, version));
        // ETMv1 and ETMv2 select the nearest size that they support.
        if let (Some(width), Some(max)) = (width, max)
            && version >= Version::V3_0
            && width > max
        {
            self.find(
                "port-size",
                number::CONTROL,
                format!("{width} pins are selected, and the largest port has {max}: the trace is invalid"),
                "select a supported size, and check ETMSCR bit 10",
                "IHI 0014, 3.5.1",
            );
        }
        if let Some(system) = settings.get(0x005).filter(|_| version >= Version::V3_0) {
            for (bit, what) in [(10, "port size"), (11, "port mode")] {
                if system >> bit & 1 == 0 {
                    self.find(
                        "port-size",
                        number::CONTROL,
                        format!("ETMSCR bit {bit} is clear: the {what} is not supported"),
                        format!("select another {what}"),
                        "IHI 0014, 3.5.6",
                    );
                }
            }
        }
    }

    fn synchronisation(&mut self) {
        let unit = self.settings.unit;
        let Some(value) = self.settings.get(number::SYNC_FREQUENCY).map(|v| v & 0xfff) else {
            return;
        };
        if unit.fixed_sync && value != 1024 {
            self.find(
                "sync-fixed",
                number::SYNC_FREQUENCY,
                "the unit synchronises every 1024 bytes, and the register is read-only",
                "write 0x400 or nothing",
                "IHI 0014, 3.5.17",
            );
        } else if value <= u32::from(unit.fifo.unwrap_or(0)) {
            self.find(
                "sync-frequency",
                number::SYNC_FREQUENCY,
                format!("{value} is not above the size of the FIFO"),
                "write a larger value, such as 1024",
                "IHI 0014, 3.5.17",
            );
        }
    }
}
