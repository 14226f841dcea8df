//! What is known of an operating system.

use std::collections::BTreeMap;

use crate::running::RunningEvents;

/// An operating system: `systems.toml` describes the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The key in the table.
    pub key: String,
    /// The name.
    pub title: String,
    /// Variables of which a program with this system has one.
    pub detect: Vec<String>,
    /// Functions of which a program with this system has one.
    pub detect_functions: Vec<String>,
    /// The variable that names the running task.
    pub current: Option<Current>,
    /// Where a control block has the name of its task.
    pub name: Option<NameAt>,
    /// What is left out at the beginning of the name of a control block's variable.
    pub strip: Vec<String>,
    /// Functions beneath the function of a task.
    pub wrappers: Vec<String>,
    /// Functions that switch tasks by a return.
    pub switch_at: Vec<String>,
    /// Functions that run where no task does.
    pub idle: Vec<String>,
    /// Names of the idle task; `*` stands for any characters.
    pub idle_tasks: Vec<String>,
    /// Events that name the running task.
    pub events: Option<RunningEvents>,
    /// Functions in which a task waits.
    pub blocking: Vec<String>,
    /// The versions and processors with which the entry was tried.
    pub tried: Vec<String>,
}

/// The variable that names the running task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// Where it is.
    pub place: Place,
    /// The variables of further cores.
    pub others: Vec<Place>,
    /// The size in bytes; by default that of a pointer, or of the variable for a number.
    pub size: Option<u64>,
    /// The number of elements, one for each core.
    pub cores: u64,
    /// The value is a number, and not the address of a control block.
    pub is_number: bool,
}

impl Current {
    /// A pointer of one core.
    pub fn of(place: Place) -> Current {
        Current { place, others: Vec::new(), size: None, cores: 1, is_number: false }
    }
}

/// The place of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A variable of the symbol table, and an offset in it.
    Symbol(String, Offset),
    /// A path in DWARF, such as `OS_Global.pCurrentTask`.
    Variable(String),
}

/// An offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offset {
    /// This one.
    At(u64),
    /// An element of an array of the program.
    Element {
        /// The array.
        array: String,
        /// The number of the element.
        index: u64,
        /// The variable that has the size of its elements.
        size: String,
    },
}

/// Where a control block has the name of its task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameAt {
    /// A type and its member in DWARF.
    pub member: Option<(String, String)>,
    /// The offset where DWARF does not have it.
    pub offset: Option<Offset>,
    /// The control block has the address of the name.
    pub is_pointer: bool,
    /// The most bytes of a name.
    pub length: usize,
}

/// A file of operating systems and of names of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFile {
    /// Operating systems.
    pub systems: Vec<System>,
    /// Names of tasks by the value that identifies them: an address, or a number.
    pub names: BTreeMap<u64, String>,
    /// Events that name the running task, whichever the system is.
    pub events: Option<RunningEvents>,
    /// Names of tasks by an expression of the program, such as `&(OsTask[3])`.
    pub expressions: Vec<(String, String)>,
}

/// A number, decimal or hexadecimal.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The text of the table.
pub(super) const TABLE: &str = include_str!("systems.toml");

/// The values of a list of the table, which is in one line.
pub(super) fn listed(key: &str) -> impl Iterator<Item = &'static str> {
    let lines = TABLE.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(" = ["));
    lines.flat_map(|list| list.split('"').skip(1).step_by(2))
}
