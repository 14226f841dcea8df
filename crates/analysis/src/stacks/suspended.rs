//! What is stored of threads that the trace does not name.

use std::collections::{HashMap, HashSet, VecDeque};

use super::FunctionId;

/// Functions of operating systems that switch tasks: FreeRTOS, Zephyr, ThreadX, Linux.
pub const SWITCHES: [&str; 9] = [
    "vPortRestoreTaskContext",
    "vPortYield",
    "arch_switch",
    "z_arm_pendsv",
    "z_riscv_switch",
    "z_arm_context_switch",
    "_tx_thread_schedule",
    "_tx_thread_system_return",
    "cpu_switch_to",
];

/// Coroutines that are stored.
pub(super) const MAX_SUSPENDED: usize = 64;
/// The most frames of a coroutine.
pub(super) const MAX_SUSPENDED_FRAMES: usize = 1 << 12;

/// How threads are switched.
#[derive(Debug, Default)]
pub(super) struct Switches {
    pub(super) functions: HashSet<u32>,
    /// The return address of the stub that each source executes.
    pub(super) returns: Vec<Option<u64>>,
    /// Frames that were unwound by function and return address, oldest first: the thread, where
    /// they continue.
    pub(super) suspended: VecDeque<(usize, u64, Vec<Suspended>)>,
    /// The number of `suspended` that continue at an address.
    pub(super) waiting: HashMap<u64, u32>,
}

/// What is known of the variable that names the running task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The value of the last store.
    pub(super) value: Option<u64>,
    /// Threads are known by a context ID.
    pub(super) by_context: bool,
}

/// What is stored of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspended {
    pub(super) function: FunctionId,
    pub(super) ret: Option<u64>,
}

impl Switches {
    /// The same state, with other functions that switch.
    pub(super) fn with_functions(self, functions: impl IntoIterator<Item = u32>) -> Switches {
        Switches { functions: functions.into_iter().collect(), ..self }
    }

    pub(super) fn set_return(&mut self, source: usize, ret: Option<u64>) {
        if source >= self.returns.len() {
            self.returns.resize(source + 1, None);
        }
        if let Some(own) = self.returns.get_mut(source) {
            *own = ret;
        }
    }
}

impl Switches {
    /// One coroutine less continues at `resume`.
    pub(super) fn forget(&mut self, resume: u64) {
        if let Some(count) = self.waiting.get_mut(&resume) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&resume);
            }
        }
    }
}
