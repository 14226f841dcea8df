//! The functions of a trace.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::{c_char, CString};
use std::sync::Arc;

use tracewright::analysis::functions::{by_thread, together, FunctionTotals};
use tracewright::analysis::stacks::{FunctionId, Part, Stacks};
use tracewright::analysis::{Code, Paths, Transfers};
use tracewright::base::Waypoints;
use tracewright::image::CacheOptions;

use crate::element::{TW_KNOWN_ADDRESS, TW_KNOWN_CYCLES, TW_KNOWN_TIME};
use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, shared, used, Kind};
use crate::opened::{text, Opened, Shared, TwCapture};
use crate::plain::{self, Plain};
use crate::run;
use crate::select::{Selected, TwDecodeOptions};
use crate::status::{Failure, TwStatus, TW_OK};

/// The functions that a trace executed.
pub struct TwFunctions(());

/// The sums of one function, over all threads.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwFunction {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_KNOWN_ADDRESS`; `TW_KNOWN_CYCLES` where the trace counts cycles, `TW_KNOWN_TIME` where
    /// it has timestamps.
    pub known: u32,
    /// Its name; `[unknown]` for code without a symbol.
    pub name: *const c_char,
    /// The program file, where processes have mapped it; else NULL.
    pub module: *const c_char,
    /// The address of its first instruction, in the file where processes have mapped one.
    pub address: u64,
    /// Calls and exceptions.
    pub calls: u64,
    /// Instructions in the function itself.
    pub instructions: u64,
    /// The same with the functions that it calls. Recursive calls count once.
    pub inclusive_instructions: u64,
    /// Processor cycles in the function itself, in parts of 2^-16.
    pub cycles: u64,
    /// The same with the functions that it calls.
    pub inclusive_cycles: u64,
    /// Timestamp ticks in the function itself, in parts of 2^-16.
    pub ticks: u64,
    /// The same with the functions that it calls.
    pub inclusive_ticks: u64,
    /// Frames in which trace was lost.
    pub uncertain: u64,
}

// SAFETY: integers and raw pointers, and the size is first.
unsafe impl Plain for TwFunction {}

/// One function with its texts.
struct Row {
    name: CString,
    module: Option<CString>,
    address: Option<u64>,
    totals: FunctionTotals,
}

/// What the handle refers to.
struct Table {
    rows: Vec<Row>,
    /// `TW_KNOWN_CYCLES`, `TW_KNOWN_TIME`: what any function has.
    known: u32,
}

impl Kind for Table {
    type Opaque = TwFunctions;
    const NAME: &'static str = "functions";
}

impl Table {
    /// The functions of the selected buffers, those with the most instructions first.
    fn of(opened: &Opened, selected: &Selected) -> Result<Table, Failure> {
        let mut all: BTreeMap<FunctionId, FunctionTotals> = BTreeMap::new();
        let mut names = Code::default();
        for (plan, first) in run::plans(opened, selected)? {
            let sources = opened.sources_of(plan, first);
            let code = opened.code(sources);
            let caches = sources.iter().map(|source| {
                let riscv = source.config.riscv();
                let options = CacheOptions { riscv, ..CacheOptions::default() };
                source.program.cache(Waypoints::default(), options)
            });
            let transfers = Transfers::new(code.clone(), caches.collect()).with_frames();
            let mut stacks =
                Stacks::new(sources.len(), Paths::new()).with_unwind_targets(code.unwind_targets());
            run::run(opened, plan, selected, transfers, |part: Part| {
                stacks.part(&part);
                true
            })?;
            stacks.finish();
            for (function, totals) in together(&by_thread(&stacks.visitor)) {
                all.entry(function).or_default().add(&totals);
            }
            names = code;
        }
        let mut rows: Vec<Row> =
            all.iter().map(|(function, totals)| Row::new(&names, *function, totals)).collect();
        let order = |row: &Row| (Reverse(row.totals.instructions), row.name.clone(), row.address);
        rows.sort_by_cached_key(order);
        let mut known = 0;
        for Row { totals, .. } in &rows {
            known |= if totals.cycles > 0 { TW_KNOWN_CYCLES } else { 0 };
            known |= if totals.ticks > 0 { TW_KNOWN_TIME } else { 0 };
        }
        Ok(Table { rows, known })
    }
}

impl Row {
    fn new(code: &Code, function: FunctionId, totals: &FunctionTotals) -> Row {
        let known = match function {
            FunctionId::Known(number) => code.get(number),
            _ => None,
        };
        let address = match function {
            FunctionId::At(address) => Some(address),
            _ => known.map(|known| known.function.start),
        };
        let module = known.and_then(|known| known.module.as_deref()).map(text);
        Row { name: text(&code.name(function)), module, address, totals: *totals }
    }
}

/// Finds the functions that a capture executed, with the call stacks of all threads. They are
/// sorted by the instructions in the function itself. `options` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_functions_new(
    capture: *const TwCapture,
    options: *const TwDecodeOptions,
    functions: *mut *mut TwFunctions,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(functions, "functions")?;
            plain::give(functions, std::ptr::null_mut());
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let opened = Arc::clone(opened);
            let selected = plain::read_or_zero(options, "options")?.selected(&opened)?;
            plain::give(functions, make(Table::of(&opened, &selected)?));
            Ok(TW_OK)
        })
    }
}

/// Frees the functions and their texts.
#[no_mangle]
pub unsafe extern "C" fn tw_functions_free(
    functions: *mut *mut TwFunctions,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Table>(functions)) }
}

/// The number of functions.
#[no_mangle]
pub unsafe extern "C" fn tw_functions_count(
    functions: *mut TwFunctions,
    count: *mut usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(count, "count")?;
            plain::give(count, used::<Table>(functions)?.rows.len());
            Ok(TW_OK)
        })
    }
}

/// Function `number`, from 0.
#[no_mangle]
pub unsafe extern "C" fn tw_functions_get(
    functions: *mut TwFunctions,
    number: usize,
    function: *mut TwFunction,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let table = used::<Table>(functions)?;
            let count = table.rows.len();
            let row =
                table.rows.get(number).ok_or_else(|| Failure::range("function", number, count))?;
            let totals = row.totals;
            let own = TwFunction {
                known: table.known | if row.address.is_some() { TW_KNOWN_ADDRESS } else { 0 },
                name: row.name.as_ptr(),
                module: row.module.as_ref().map_or(std::ptr::null(), |module| module.as_ptr()),
                address: row.address.unwrap_or(0),
                calls: totals.calls,
                instructions: totals.instructions,
                inclusive_instructions: totals.inclusive_instructions,
                cycles: totals.cycles,
                inclusive_cycles: totals.inclusive_cycles,
                ticks: totals.ticks,
                inclusive_ticks: totals.inclusive_ticks,
                uncertain: totals.uncertain,
                ..plain::zeroed()
            };
            plain::write(function, own, "function")?;
            Ok(TW_OK)
        })
    }
}
