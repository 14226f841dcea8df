//! Instruction sets, and configurations of trace units for each.

/// A processor that programs are compiled for.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// The compiler and its options.
    pub(super) compiler: &'static [&'static str],
    pub(super) qemu: &'static str,
    /// What Debian calls the packages.
    pub(super) packages: &'static str,
    pub(super) configs: &'static [Config],
    /// Programs that take too long there.
    pub(super) without: &'static [&'static str],
}

/// A program without an operating system, and the machine that it runs on: what user programs never
/// see.
pub(super) struct System {
    pub(super) name: &'static str,
    /// In `xtask/programs/system`.
    pub(super) source: &'static str,
    /// The compiler and its options.
    pub(super) compiler: &'static [&'static str],
    /// QEMU, and the machine.
    pub(super) machine: &'static [&'static str],
    /// What Debian calls the packages.
    pub(super) packages: &'static str,
    pub(super) configs: &'static [Config],
}

/// How a trace unit is programmed.
pub(super) struct Config {
    pub(super) name: &'static str,
    pub(super) protocol: &'static str,
    pub(super) options: &'static [&'static str],
    /// OpenCSD's lister is asked, too.
    pub(super) listed: bool,
}

const fn config(
    name: &'static str,
    protocol: &'static str,
    options: &'static [&'static str],
) -> Config {
    Config { name, protocol, options, listed: false }
}

const fn listed(config: Config) -> Config {
    Config { listed: true, ..config }
}

/// Return stack, context ids, timestamps.
const ETM4: Config = listed(config("ETM4", "ETM4", &[]));
/// No return stack; cycle counts with a threshold of 4.
const ETM4_CYCLES: Config = listed(config(
    "ETM4-cycles",
    "ETM4",
    &["--config", "TRCCONFIGR=0x8d1", "--config", "TRCCCCTLR=4", "--cycles", "3"],
));
/// Every branch has an address.
const ETM4_BROADCAST: Config = config(
    "ETM4-broadcast",
    "ETM4",
    &["--config", "TRCCONFIGR=0x8c9", "--config", "TRCBBCTLR=0", "--timestamps", "1000"],
);
const ETE: Config = listed(config("ETE", "ETE", &["--timestamps", "5000"]));
/// Speculation up to 4 deep, which is committed, cancelled and mispredicted; a short period.
const ETE_SPECULATION: Config = config(
    "ETE-speculation",
    "ETE",
    &["--config", "TRCIDR8=4", "--config", "speculation=16", "--config", "TRCSYNCPR=10"],
);
/// Some branches are given by their own address.
const ETE_SOURCES: Config = config(
    "ETE-sources",
    "ETE",
    &["--config", "source-addresses=64", "--cycles", "2", "--framing", "raw"],
);

/// On both sets of instructions of AArch32.
const ARM: &[Config] = &[
    ETM4,
    ETE,
    config("ETM3", "ETM3", &["--config", "ETMSYNCFR=512"]),
    // Every branch has an address: OpenCSD loses the instruction set without one.
    listed(config("ETM3-broadcast", "ETM3", &["--config", "ETMCR=0x10000900"])),
    config("ETM3-cycles", "ETM3", &["--config", "ETMCR=0x10001800", "--cycles", "3"]),
    config("ETM3-halves", "ETM3", &["--config", "ETMIDR=0x4108f250", "--timestamps", "2000"]),
    config("ETM3-alternative", "ETM3", &["--config", "ETMIDR=0x411cf250"]),
    listed(config("PTM", "PTM", &[])),
    listed(config("PTM-returns", "PTM", &["--config", "ETMCR=0x30000400", "--timestamps", "3000"])),
    listed(config("PTM-cycles", "PTM", &["--config", "ETMCR=0x10001400", "--cycles", "2"])),
    config("PTM-broadcast", "PTM", &["--config", "ETMCR=0x20000500", "--framing", "tpiu"]),
];

/// On cores before Thumb-2, with ports of each width: a FIFO that makes the processor wait, early
/// and late data, waits.
const CLASSIC: &[Config] = &[
    config("ETM1", "ETM1", &[]),
    config(
        "ETM1-4",
        "ETM1",
        &["--config", "ETMCR=0x1180", "--config", "noise=1", "--config", "fifo=9"],
    ),
    config(
        "ETM1-16",
        "ETM1",
        &["--config", "ETMCR=0xa0", "--config", "ETMCCR=0", "--config", "waits=20"],
    ),
    config("ETM2", "ETM2", &[]),
    config(
        "ETM2-4",
        "ETM2",
        &["--config", "ETMCR=0x80", "--config", "fold=120", "--config", "noise=1"],
    ),
    config(
        "ETM2-16",
        "ETM2",
        &["--config", "ETMCR=0x10a0", "--config", "ETMSYNCFR=300", "--config", "waits=20"],
    ),
];

/// A64, T32 and A32, also of Armv5TE.
pub(super) const TARGETS: [Target; 5] = [
    Target {
        name: "A64",
        compiler: &["aarch64-linux-gnu-gcc"],
        qemu: "qemu-aarch64",
        packages: "gcc-aarch64-linux-gnu, qemu-user",
        configs: &[ETM4, ETM4_CYCLES, ETM4_BROADCAST, ETE, ETE_SPECULATION, ETE_SOURCES],
        without: &[],
    },
    Target {
        name: "T32",
        compiler: &["arm-linux-gnueabihf-gcc", "-mthumb"],
        qemu: "qemu-arm",
        packages: "gcc-arm-linux-gnueabihf, qemu-user",
        configs: ARM,
        without: &[],
    },
    Target {
        name: "A32",
        compiler: &["arm-linux-gnueabihf-gcc", "-marm"],
        qemu: "qemu-arm",
        packages: "gcc-arm-linux-gnueabihf, qemu-user",
        configs: ARM,
        without: &[],
    },
    Target {
        name: "A32-v5",
        compiler: &["arm-none-eabi-gcc", "-marm", "-march=armv5te", "--specs=rdimon.specs"],
        qemu: "qemu-arm",
        packages: "gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-user",
        configs: CLASSIC,
        // There is no floating point unit: a hundred million instructions.
        without: &["floating"],
    },
    Target {
        name: "T32-v5",
        compiler: &["arm-none-eabi-gcc", "-mthumb", "-march=armv5te", "--specs=rdimon.specs"],
        qemu: "qemu-arm",
        packages: "gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-user",
        configs: CLASSIC,
        // There is no floating point unit: a hundred million instructions.
        without: &["floating"],
    },
];

/// With a return stack, and not listed: see below.
const ETE_RETURNS: Config = config("ETE", "ETE", &[]);
/// No return stack: OpenCSD takes a return off it where an exception's address is the branch's
/// target.
const ETE_NO_RETURNS: Config =
    listed(config("ETE-no-returns", "ETE", &["--config", "TRCCONFIGR=0x8c1"]));

const BARE: &[&str] =
    &["aarch64-linux-gnu-gcc", "-nostdlib", "-static", "-Wl,-Ttext=0x40080000,--build-id=none"];

const VIRT: &str = "gcc-aarch64-linux-gnu, qemu-system-arm";

const fn virt(name: &'static str, machine: &'static [&'static str]) -> System {
    System {
        name,
        source: "a64.s",
        compiler: BARE,
        machine,
        packages: VIRT,
        configs: &[ETM4, ETE_RETURNS, ETE_NO_RETURNS, ETM4_CYCLES],
    }
}

/// Levels of A64, modes of A32, and the M profile.
pub(super) const SYSTEMS: [System; 5] = [
    virt("A64-EL1", &["qemu-system-aarch64", "-cpu", "cortex-a57", "-M", "virt,gic-version=2"]),
    virt(
        "A64-EL2",
        &[
            "qemu-system-aarch64",
            "-cpu",
            "cortex-a57",
            "-M",
            "virt,gic-version=2,virtualization=on",
        ],
    ),
    virt(
        "A64-EL3",
        &[
            "qemu-system-aarch64",
            "-cpu",
            "cortex-a57",
            "-M",
            "virt,gic-version=2,secure=on,virtualization=on",
        ],
    ),
    System {
        name: "A32-modes",
        source: "a32.s",
        compiler: &[
            "arm-linux-gnueabihf-gcc",
            "-march=armv7-a",
            "-nostdlib",
            "-static",
            "-Wl,-Ttext=0x40010000,--build-id=none",
        ],
        machine: &["qemu-system-arm", "-cpu", "cortex-a15", "-M", "virt,gic-version=2"],
        packages: "gcc-arm-linux-gnueabihf, qemu-system-arm",
        configs: &[
            ETM4,
            ETE_RETURNS,
            ETE_NO_RETURNS,
            config("ETM3", "ETM3", &[]),
            listed(config("ETM3-broadcast", "ETM3", &["--config", "ETMCR=0x10000900"])),
            listed(config("PTM", "PTM", &[])),
            config("PTM-returns", "PTM", &["--config", "ETMCR=0x30000400"]),
        ],
    },
    System {
        name: "M-profile",
        source: "m.s",
        compiler: &["arm-none-eabi-gcc", "-nostdlib", "-Wl,-Ttext=0,-e,reset"],
        machine: &["qemu-system-arm", "-M", "mps2-an386"],
        packages: "gcc-arm-none-eabi, qemu-system-arm",
        configs: &[
            config("ETM4", "ETM4", &["--core", "Cortex-M33"]),
            listed(config(
                "ETM4-no-returns",
                "ETM4",
                &["--core", "Cortex-M33", "--config", "TRCCONFIGR=0x8c1"],
            )),
            config("ETM3", "ETM3", &["--core", "Cortex-M4"]),
        ],
    },
];
