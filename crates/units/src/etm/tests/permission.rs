//! IHI 0014, Tables 3-88 to 3-97. Columns of the conditions: power (debug, core), sticky state,
//! PowerDown, OS lock, CoreSight lock; `x` is any. Outcomes in the order of the heading.

use crate::etm::permission::{Conditions, Interface, Outcome, RegisterGroup, outcome};

/// Groups of the outcomes of a table.
const PLAIN: [RegisterGroup; 4] = [
    RegisterGroup::Trace,
    RegisterGroup::Lock,
    RegisterGroup::PowerStatus,
    RegisterGroup::OtherManagement,
];
const SAVE: [RegisterGroup; 3] =
    [RegisterGroup::OsLockStatus, RegisterGroup::OsLock, RegisterGroup::OsSave];
const COPROCESSOR: [RegisterGroup; 6] = [
    RegisterGroup::Trace,
    RegisterGroup::OsLockStatus,
    RegisterGroup::OsLock,
    RegisterGroup::OsSave,
    RegisterGroup::PowerStatus,
    RegisterGroup::OtherManagement,
];

struct Table {
    name: &'static str,
    interface: Interface,
    /// One power domain: the rows have one column for power.
    single: bool,
    groups: &'static [RegisterGroup],
    rows: &'static [(&'static str, &'static str)],
}

/// OKe of the tables: PDSR is not cleared. OKp: writes may be ignored as PowerDown is set.
const TABLES: &[Table] = &[
    Table {
        name: "3-88",
        interface: Interface::Debugger,
        single: false,
        groups: &PLAIN,
        rows: &[
            ("n x x x x x", "NP NP NP NP"),
            ("y n x x x x", "Er OK OK OK"),
            ("y y 0 0 0 x", "OK OK OK OK"),
            ("y y 0 x 1 x", "Er OK OK OK"),
            ("y y 0 1 0 x", "OKp OK OK OK"),
            ("y y 1 x x x", "Er OK OK OK"),
        ],
    },
    Table {
        name: "3-89",
        interface: Interface::Debugger,
        single: false,
        groups: &SAVE,
        rows: &[
            ("n x x x x x", "NP NP NP"),
            ("y n x x x x", "OK Un Un"),
            ("y y 0 0 0 x", "OK OK Un"),
            ("y y 0 x 1 x", "OK OK OK"),
            ("y y 0 1 0 x", "OK OK Un"),
            ("y y 1 x x x", "OK OK Un"),
        ],
    },
    Table {
        name: "3-90",
        interface: Interface::Software,
        single: false,
        groups: &PLAIN,
        rows: &[
            ("n x x x x x", "NP NP NP NP"),
            ("y n x x x 0", "Er OK OK OK"),
            ("y n x x x 1", "Er OK OKe WI"),
            ("y y 0 0 0 0", "OK OK OK OK"),
            ("y y 0 x 0 1", "WI OK OKe WI"),
            ("y y 0 x 1 0", "Er OK OK OK"),
            ("y y 0 x 1 1", "Er OK OKe WI"),
            ("y y 0 1 0 0", "OKp OK OK OK"),
            ("y y 1 x x 0", "Er OK OK OK"),
            ("y y 1 x x 1", "Er OK OKe WI"),
        ],
    },
    Table {
        name: "3-91",
        interface: Interface::Software,
        single: false,
        groups: &SAVE,
        rows: &[
            ("n x x x x x", "NP NP NP"),
            ("y n x x x x", "OK Un Un"),
            ("y y 0 x 0 0", "OK OK Un"),
            ("y y 0 x 0 1", "OK WI Un"),
            ("y y 0 x 1 0", "OK OK OK"),
            ("y y 0 x 1 1", "OK WI WI"),
            ("y y 1 x x 0", "OK OK Un"),
            ("y y 1 x x 1", "OK WI Un"),
        ],
    },
    Table {
        name: "3-92",
        interface: Interface::Debugger,
        single: true,
        groups: &PLAIN,
        rows: &[
            ("n x x x x", "NP NP NP NP"),
            ("y 0 0 0 x", "OK OK OK OK"),
            ("y 0 x 1 x", "Er OK OK OK"),
            ("y 0 1 0 x", "OKp OK OK OK"),
            ("y 1 x x x", "Er OK OK OK"),
        ],
    },
    Table {
        name: "3-93",
        interface: Interface::Debugger,
        single: true,
        groups: &SAVE,
        rows: &[
            ("n x x x x", "NP NP NP"),
            ("y 0 0 0 x", "OK OK Un"),
            ("y 0 x 1 x", "OK OK OK"),
            ("y 0 1 0 x", "OK OK Un"),
            ("y 1 x x x", "OK OK Un"),
        ],
    },
    Table {
        name: "3-94",
        interface: Interface::Software,
        single: true,
        groups: &PLAIN,
        rows: &[
            ("n x x x x", "NP NP NP NP"),
            ("y 0 0 0 0", "OK OK OK OK"),
            ("y 0 x 0 1", "WI OK OKe WI"),
            ("y 0 x 1 0", "Er OK OK OK"),
            ("y 0 x 1 1", "Er OK OKe WI"),
            ("y 0 1 0 0", "OKp OK OK OK"),
            ("y 1 x x 0", "Er OK OK OK"),
            // The table has OK for the last; Table 3-90 and 3.5.28 contradict it.
            ("y 1 x x 1", "Er OK OKe WI"),
        ],
    },
    Table {
        name: "3-95",
        interface: Interface::Software,
        single: true,
        groups: &SAVE,
        rows: &[
            ("n x x x x", "NP NP NP"),
            ("y 0 0 0 0", "OK OK Un"),
            ("y 0 x 0 1", "OK WI Un"),
            ("y 0 x 1 0", "OK OK OK"),
            ("y 0 x 1 1", "OK WI WI"),
            ("y 0 1 0 0", "OK OK Un"),
            ("y 1 x x 0", "OK OK Un"),
            // The table has OK for ETMOSLAR; Table 3-91 and 3.5.28 contradict it.
            ("y 1 x x 1", "OK WI Un"),
        ],
    },
    Table {
        name: "3-96",
        interface: Interface::Coprocessor,
        single: false,
        groups: &COPROCESSOR,
        rows: &[
            ("n x x x x x", "NP NP NP NP NP NP"),
            ("y n x x x x", "Er OK Un Un OK OK"),
            ("y y 0 0 0 x", "OK OK OK Un OK OK"),
            ("y y 0 x 1 x", "Er OK OK OK OK OK"),
            ("y y 0 1 0 x", "OKp OK OK Un OK OK"),
            ("y y 1 x x x", "Er OK OK Un OK OK"),
        ],
    },
    Table {
        name: "3-97",
        interface: Interface::Coprocessor,
        single: true,
        groups: &COPROCESSOR,
        rows: &[
            ("n x x x x", "NP NP NP NP NP NP"),
            ("y 0 0 0 x", "OK OK OK Un OK OK"),
            ("y 0 x 1 x", "Er OK OK OK OK OK"),
            ("y 0 1 0 x", "OKp OK OK Un OK OK"),
            ("y 1 x x x", "Er OK OK Un OK OK"),
        ],
    },
];

#[test]
fn tables() {
    let mut states = 0;
    for table in TABLES {
        for bits in 0..64u32 {
            let bit = |at: u32| bits >> at & 1 != 0;
            if table.single && bit(0) != bit(1) {
                continue;
            }
            let conditions = Conditions {
                interface: table.interface,
                debug_power: bit(0),
                core_power: bit(1),
                state_lost: bit(2),
                power_down: bit(3),
                os_lock: bit(4),
                software_lock: bit(5),
            };
            let columns: Vec<u32> =
                if table.single { vec![0, 2, 3, 4, 5] } else { vec![0, 1, 2, 3, 4, 5] };
            let fits = |row: &str| {
                row.split(' ').zip(&columns).all(|(want, at)| match want {
                    "x" => true,
                    want => matches!(want, "y" | "1") == bit(*at),
                })
            };
            let rows: Vec<_> = table.rows.iter().filter(|(row, _)| fits(row)).collect();
            assert_eq!(rows.len(), 1, "{} {conditions:?}", table.name);
            states += 1;
            for (group, want) in table.groups.iter().zip(rows[0].1.split(' ')) {
                let want = match want {
                    "OK" => Outcome::Ok,
                    "OKp" => Outcome::OkPoweredDown,
                    "OKe" => Outcome::OkNotCleared,
                    "WI" => Outcome::WriteIgnored,
                    "Er" => Outcome::Error,
                    "Un" => Outcome::Unpredictable,
                    "NP" => Outcome::NotPossible,
                    other => panic!("{other}"),
                };
                let got = outcome(*group, conditions);
                assert_eq!(got, want, "{} {group:?} {conditions:?}", table.name);
            }
        }
    }
    assert_eq!(states, 5 * 64 + 5 * 32);
}
