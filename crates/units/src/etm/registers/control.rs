//! Control, status and identification. (IHI 0014, 3.5.1 to 3.5.6, 3.5.18 and 3.5.19)

use super::{Access, AccessRule, Kind, State, VersionedField, YES, row, since};
use crate::etm::version::Version;

/// ETMCR. (Table 3-5) An ETM reset sets Programming and PowerDown, and clears all other fields but
/// the port size, which is the smallest that the unit supports.
pub const CONTROL: Kind = kind! {
    ETMCR | ETMControl 0x000 RW V1_0 "main control register" "IHI 0014, 3.5.1" {
        V3_5: VMIDEn[30] "virtual machine IDs are traced (3.5)" YES;
        V3_5: TimestampEn[28] "timestamps are traced (3.5)" YES;
        V3_2: CoreSelect[27:25] "the core that a shared unit traces";
        V3_3: InstrResPriv[24] "instrumentation resources obey privileged code only" YES;
        V3_2: NoSoftwareWrite[23] "software cannot write the registers" YES;
        V3_1: NoDebugWrite[22] "the debugger cannot write the registers" YES;
        V3_0: PortSize3[21] "top bit of the port size";
        V3_1: DataOnly[20] "no instructions are traced, only data" YES;
        V3_0: FilterCPRT[19] "ViewData decides which coprocessor transfers are traced" YES;
        V3_0: SuppressData[18] "data is dropped when the FIFO is nearly full" YES;
        V1_2-V2_1: PortMode[17:16] "mapping of the signals to the pins (1.2)" {
            0 "normal", 1 "multiplexed", 2 "demultiplexed",
        };
        V3_0: PortMode[17:16] "clocking of the trace port, low bits";
        V1_2: ContextIDSize[15:14] "bytes of a context ID that are traced" {
            0 "none", 1 "1 byte", 2 "2 bytes", 3 "4 bytes",
        };
        V1_2-V2_1: HalfRate[13] "the port uses both clock edges" YES;
        V3_0: PortMode2[13] "clocking of the trace port, top bit";
        V1_0: CycleAccurate[12] "every cycle is traced" YES;
        V1_0: ETMEN[11] "the trace port belongs to this unit" YES;
        V1_0: Programming[10] "the unit is being programmed" YES;
        V1_0: DebugRequest[9] "the trigger stops the processor" YES;
        V1_0: BranchOutput[8] "direct branches have an address as well" YES;
        V1_0: Stall[7] "the processor waits when the FIFO is nearly full" YES;
        V1_0-V2_1: PortSize[6:4] "width of the trace port" {0 "4 bits", 1 "8 bits", 2 "16 bits"};
        V3_0: PortSize[6:4] "width of the trace port, low bits";
        V1_0: DataAccess[3:2] "traced parts of a data access" {
            0 "nothing", 1 "value", 2 "address", 3 "address and value",
        };
        V1_0: MonitorCPRT[1] "coprocessor register transfers are traced" YES;
        V1_0: PowerDown[0] "the unit is powered down" YES;
    }
}
.reset_to(0xffff_ff8f, 0x401);

/// ETMCCR. (Table 3-10)
pub const CONFIGURATION: Kind = kind! {
    ETMCCR | ETMConfigCode 0x004 RO V1_0 "implemented features" "IHI 0014, 3.5.2" {
        V1_0: IDRegister[31] "ETMIDR is present" YES;
        V1_0-V1_3: Protocol[30:28] "version of the protocol (ETMv1)" {
            0 "ETMv1.0", 1 "ETMv1.1", 2 "ETMv1.2", 3 "ETMv1.3", 4 "ETMv1.2", 5 "ETMv1.3",
            7 "ETMv1.3",
        };
        V3_1: CoprocessorAccess[27] "registers are reached as coprocessor or memory" YES;
        V2_0: StartStop[26] "the start/stop block is present" YES;
        V2_0: ContextComparators[25:24] "context ID comparators";
        V1_0: FIFOFULL[23] "the processor can be stalled" YES;
        V1_0: ExternalOut[22:20] "external outputs";
        V1_0: ExternalIn[19:17] "external inputs";
        V1_0: Sequencer[16] "the sequencer is present" YES;
        V1_0: Counters[15:13] "counters";
        V1_0: MemoryMap[12:8] "memory map decoders";
        V1_0: DataComparators[7:4] "data value comparators";
        V1_0: AddressPairs[3:0] "pairs of address comparators";
    }
};

/// The field of a register that holds one event.
pub(super) const EVENT: VersionedField =
    since(Version::V1_0, tracewright_base::field! { Event[16:0] "event" });

pub(super) const TRIGGER: Kind = kind! {
    ETMTRIGGER | ETMTriggerEvent 0x008 Readable V1_0 "trigger event" "IHI 0014, 3.5.3" { EVENT; }
};

/// The width is IMPLEMENTATION DEFINED, usually 8 bits.
pub(super) const ASIC: Kind = kind! {
    ETMASICCR | ETMASICCTLR | ETMASICCONTROL 0x00c Readable V1_0
        "control of the logic around the unit"
        "IHI 0014, 3.5.4" {
        V1_0: Control[31:0] "value on the ASIC control bus";
    }
};

/// ETMSR. (Table 3-13)
pub const STATUS: Kind = kind! {
    ETMSR | ETMStatus 0x010 WritableFrom31 V1_1 "status" "IHI 0014, 3.5.5" {
        V3_1: Trigger[3] "the trigger has occurred" YES;
        V1_2: StartStop[2] "the start/stop resource is on" YES;
        V1_2: Programming[1] "the Programming bit has taken effect" YES;
        V1_1: Overflow[0] "an overflow has not yet been traced" YES;
    }
}
.holds(State::Status);

/// ETMSCR. (Table 3-14)
pub const SYSTEM: Kind = kind! {
    ETMSCR | ETMSYSCONF | ETMSystemConfig 0x014 RO V1_2 "limits of the system around the unit"
        "IHI 0014, 3.5.6" {
        V2_1: NoFetchCompare[17] "fetch comparisons are missing" YES;
        V3_2: Cores[14:12] "cores that share the unit, less 1";
        V3_0: PortModeOk[11] "the port mode that is set is supported" YES;
        V3_0: PortSizeOk[10] "the port size that is set is supported" YES;
        V3_0: MaxPortSize3[9] "largest port size, top bit";
        V1_3: FIFOFULL[8] "the system supports stalling" YES;
        V1_2-V2_1: Demultiplexed[7] "demultiplexed port" YES;
        V1_2-V2_1: Multiplexed[6] "multiplexed port" YES;
        V1_2-V2_1: Normal[5] "normal port" YES;
        V1_2-V2_1: FullRate[4] "full-rate clocking" YES;
        V1_2: HalfRate[3] "half-rate clocking; always set from ETMv3.0" YES;
        V1_2: MaxPortSize[2:0] "largest port size, low bits";
    }
};

/// ETMIDR. (Table 3-46)
pub const IDENTIFICATION: Kind = kind! {
    ETMIDR | ETMID 0x1e4 RO V2_0 "identification of the trace unit" "IHI 0014, 3.5.18" {
        V2_0: Implementer[31:24] "designer of the unit" {
            0x41 "Arm", 0x44 "DEC", 0x4d "Motorola, Freescale or NXP", 0x51 "Qualcomm",
            0x56 "Marvell", 0x69 "Intel",
        };
        V3_4: BranchEncoding[20] "encoding of branch addresses (3.4)" {
            0 "original", 1 "alternative",
        };
        V3_2: Security[19] "the Security Extensions are supported (3.2)" YES;
        V3_2: Thumb32[18] "a 32-bit T32 instruction is traced as (3.2)" {
            0 "two instructions", 1 "one instruction",
        };
        V2_1: PCFirst[16] "a load multiple reads the new PC first" YES;
        V2_0: Core[15:12] "core series" {
            0 "Arm7", 1 "Arm9", 2 "Arm10", 3 "Arm11", 15 "see elsewhere",
        };
        V2_0: Major[11:8] "architecture" {0 "ETMv1", 1 "ETMv2", 2 "ETMv3", 3 "PFTv1"};
        V2_0: Minor[7:4] "minor version of the architecture";
        V2_0: Revision[3:0] "revision of the implementation";
    }
};

/// ETMCCER. (Table 3-48)
pub const CONFIGURATION_EXTENSION: Kind = kind! {
    ETMCCER | ETMConfigCodeExt 0x1e8 RO V3_1 "further features" "IHI 0014, 3.5.19" {
        V3_5: TimestampSize[29] "width of timestamps (3.5)" {0 "48 bits", 1 "64 bits"};
        V3_5: TimestampCode[28] "code of timestamps (3.5)" {0 "Gray", 1 "natural binary"};
        V3_5: ReducedCounter[27] "counter 1 has a reduced function (3.5)" YES;
        V3_5: Virtualization[26] "the Virtualization Extensions are supported" YES;
        V3_5: Timestamps[22] "timestamps are implemented (3.5)" YES;
        V3_4: EIBCR[21] "the EmbeddedICE behaviour register is implemented" YES;
        V3_4: EICEStartStop[20] "EmbeddedICE inputs can drive start/stop" YES;
        V3_4: EICEInputs[19:16] "EmbeddedICE watchpoint comparator inputs";
        V3_3: InstrRes[15:13] "instrumentation resources";
        V3_3: NoDataCompare[12] "data address comparisons are missing" YES;
        V3_1: Readable[11] "all registers can be read" YES;
        V3_1: ExtBus[10:3] "size of the extended external input bus";
        V3_1: ExtSelectors[2:0] "extended external input selectors";
    }
};

pub(super) const AUXILIARY: Kind = kind! {
    ETMAUXCR 0x1fc RW V3_5 "IMPLEMENTATION DEFINED control" "IHI 0014Q, 3.5" {
        V3_5: Control[31:0] "IMPLEMENTATION DEFINED";
    }
}
.of_later_issue();

pub(super) const IDENTIFICATION_2: Kind = kind! {
    ETMIDR2 0x208 RO V3_5 "order of the transfers of some instructions" "IHI 0014Q, 3.5" {
        V3_5: SWP[1] "SWP: 1 if the store is traced before the load";
        V3_5: RFE[0] "RFE: 1 if CPSR is traced before the PC";
    }
}
.of_later_issue();
