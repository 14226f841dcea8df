//! Identification: what the unit implements. Offsets 0x180 to 0x194, 0x1e0 to 0x1fc, 0xfbc.

use tracewright_base::{register, registers};

use super::{Row, YES, row};

/// Implemented trace features.
pub const TRCIDR0: Row = register! { row:
    TRCIDR0 0x1e0 RO "implemented trace features" "DDI 0601, TRCIDR0" {
        COMMTRANS[30] "Transaction Start is an element that is committed (ETE)" {0 "yes", 1 "no"};
        COMMOPT[29] "cycle counts commit elements" {0 "yes", 1 "no"};
        TSSIZE[28:24] "size of timestamps" {0 "none", 0b00110 "48 bits", 0b01000 "64 bits"};
        TSMARK[23] "a marker shows the position of a timestamp" YES;
        ITE[22] "instrumentation instruction (ETE 1.3)" YES;
        TRCEXDATA[17] "data of exceptions can be traced" YES;
        QSUPP[16:15] "Q elements" {
            0 "none", 1 "with a count", 2 "without a count", 3 "with or without",
        };
        QFILT[14] "Q elements can be filtered" YES;
        CONDTYPE[13:12] "result of a conditional instruction" {0 "pass or fail", 1 "flags of APSR"};
        NUMEVENT[11:10] "events that can be in the trace" {0 "1", 1 "2", 2 "3", 3 "4"};
        RETSTACK[9] "return stack" YES;
        TRCCCI[7] "cycle counting" YES;
        TRCCOND[6] "trace of conditional non-branch instructions" YES;
        TRCBB[5] "branch broadcasting" YES;
        TRCDATA[4:3] "trace of data" {0 "no", 3 "yes"};
        INSTP0[2:1] "loads and stores can be traced like branches" {0 "no", 3 "yes"};
    }
}
.ones(0x1);

/// Designer of the unit and version of ETMv4.
pub const TRCIDR1: Row = register! { row:
    TRCIDR1 0x1e4 RO "designer of the unit and version of ETMv4" "DDI 0601, TRCIDR1" {
        DESIGNER[31:24] "designer" {0x41 "Arm"};
        TRCARCHMAJ[11:8] "major version of the architecture" {4 "ETMv4", 0xf "see TRCDEVARCH"};
        TRCARCHMIN[7:4] "minor version of the architecture" {0xf "see TRCDEVARCH"};
        REVISION[3:0] "revision of the implementation";
    }
}
.ones(0xf000);

/// Sizes of traced values.
pub const TRCIDR2: Row = register! { row:
    TRCIDR2 0x1e8 RO "sizes of traced values" "DDI 0601, TRCIDR2" {
        WFXMODE[31] "WFI and WFE are traced like branches" YES;
        VMIDOPT[30:29] "possible virtual machine identifiers" {
            0 "VTTBR_EL2.VMID", 1 "selected by TRCCONFIGR.VMIDOPT", 2 "CONTEXTIDR_EL2",
        };
        CCSIZE[28:25] "bits of the cycle counter, less 12";
        DVSIZE[24:20] "size of data values" {0 "none", 4 "32 bits", 8 "64 bits"};
        DASIZE[19:15] "size of data addresses" {0 "none", 4 "32 bits", 8 "64 bits"};
        VMIDSIZE[14:10] "size of virtual machine identifiers" {
            0 "none", 1 "8 bits", 2 "16 bits", 4 "32 bits",
        };
        CIDSIZE[9:5] "size of context identifiers" {0 "none", 4 "32 bits"};
        IASIZE[4:0] "size of addresses" {4 "32 bits", 8 "64 bits"};
    }
};

/// Speculation.
pub const TRCIDR8: Row = register! { row:
    TRCIDR8 0x180 RO "speculation" "DDI 0601, TRCIDR8" {
        MAXSPEC[31:0] "maximum number of uncommitted elements";
    }
};

/// Keys of data trace.
pub const TRCIDR9: Row = register! { row:
    TRCIDR9 0x184 RO "keys of data trace" "DDI 0601, TRCIDR9" {
        NUMP0KEY[31:0] "right-hand keys of P0 elements";
    }
};

/// Keys of data trace.
pub const TRCIDR10: Row = register! { row:
    TRCIDR10 0x188 RO "keys of data trace" "DDI 0601, TRCIDR10" {
        NUMP1KEY[31:0] "right-hand keys of P1 elements";
    }
};

/// Keys of data trace.
pub const TRCIDR11: Row = register! { row:
    TRCIDR11 0x18c RO "keys of data trace" "DDI 0601, TRCIDR11" {
        NUMP1SPC[31:0] "special right-hand keys of P1 elements";
    }
};

/// Keys of conditional trace.
pub const TRCIDR12: Row = register! { row:
    TRCIDR12 0x190 RO "keys of conditional trace" "DDI 0601, TRCIDR12" {
        NUMCONDKEY[31:0] "right-hand keys of conditional instructions";
    }
};

/// Keys of conditional trace.
pub const TRCIDR13: Row = register! { row:
    TRCIDR13 0x194 RO "keys of conditional trace" "DDI 0601, TRCIDR13" {
        NUMCONDSPC[31:0] "special right-hand keys of conditional instructions";
    }
};

/// Version of ETE.
pub const TRCDEVARCH: Row = register! { row:
    TRCDEVARCH 0xfbc RO "version of ETE" "DDI 0601, TRCDEVARCH" {
        ARCHITECT[31:21] "owner of the architecture" {0x23b "Arm"};
        PRESENT[20] "the register is present" YES;
        REVISION[19:16] "revision of the architecture" {
            0 "ETE 1.0", 1 "ETE 1.1", 2 "ETE 1.2", 3 "ETE 1.3",
        };
        ARCHVER[15:12] "version of the architecture" {4 "ETMv4", 5 "ETE"};
        ARCHPART[11:0] "architecture" {0xa13 "trace unit of a processor"};
    }
};

const LEVELS: &str = "exception levels whose instructions can be traced, bit n: ELn";

pub(super) const ROWS: &[Row] = registers! { row:
    TRCIDR8,
    TRCIDR9,
    TRCIDR10,
    TRCIDR11,
    TRCIDR12,
    TRCIDR13,
    TRCIDR0,
    TRCIDR1,
    TRCIDR2,
    TRCIDR3 0x1ec RO "implemented control of trace" "DDI 0601, TRCIDR3" {
        NOOVERFLOW[31] "overflows can be prevented" YES;
        NUMPROC_LO[30:28] "traced processors, less 1, bits [2:0]";
        SYSSTALL[27] "the system permits stalls" YES;
        STALLCTL[26] "TRCSTALLCTLR is implemented" YES;
        SYNCPR[25] "TRCSYNCPR is read-only" YES;
        TRCERR[24] "TRCVICTLR.TRCERR is implemented" YES;
        EXLEVEL_NS[23:20] LEVELS;
        EXLEVEL_S[19:16] LEVELS;
        NUMPROC_HI[13:12] "traced processors, less 1, bits [4:3]";
        CCITMIN[11:0] "lowest value of TRCCCCTLR.THRESHOLD";
    },
    TRCIDR4 0x1f0 RO "numbers of comparators and selectors" "DDI 0601, TRCIDR4" {
        NUMVMIDC[31:28] "virtual machine identifier comparators";
        NUMCIDC[27:24] "context identifier comparators";
        NUMSSCC[23:20] "single-shot comparators";
        NUMRSPAIR[19:16] "pairs of resource selectors, less 1";
        NUMPC[15:12] "PE comparator inputs";
        SUPPDAC[8] "data addresses can be compared" YES;
        NUMDVC[7:4] "data value comparators";
        NUMACPAIRS[3:0] "pairs of address comparators";
    },
    TRCIDR5 0x1f4 RO "numbers of counters, states and inputs" "DDI 0601, TRCIDR5" {
        REDFUNCNTR[31] "counter 0 has a reduced function" YES;
        NUMCNTR[30:28] "counters";
        NUMSEQSTATE[27:25] "states of the sequencer" {0 "no sequencer"};
        LPOVERRIDE[23] "TRCEVENTCTL1R.LPOVERRIDE is implemented" YES;
        ATBTRIG[22] "ATB triggers" YES;
        TRACEIDSIZE[21:16] "bits of the trace ID" {0 "no trace ID"};
        NUMEXTINSEL[11:9] "external input selectors";
        NUMEXTIN[8:0] "external inputs" {0x1ff "PMU events (ETE)"};
    },
    TRCIDR6 0x1f8 RO "exception levels in Realm state" "DDI 0601, TRCIDR6" {
        EXLEVEL_RL_EL2[2] "EL2 in Realm state can be traced" YES;
        EXLEVEL_RL_EL1[1] "EL1 in Realm state can be traced" YES;
        EXLEVEL_RL_EL0[0] "EL0 in Realm state can be traced" YES;
    },
    TRCIDR7 0x1fc RO "reserved" "DDI 0601, TRCIDR7",
};
