//! The lists of Propeller: the clusters of basic blocks that
//! `clang -fbasic-block-sections=list=FILE` reads, and the order of symbols that
//! `lld --symbol-ordering-file=FILE` reads. (llvm/lib/CodeGen/BasicBlockSectionsProfileReader.cpp
//! of LLVM)
//!
//! | line | meaning |
//! |---|---|
//! | `v1` | the version |
//! | `f name` | a function |
//! | `c0 2 1` | blocks of it that are placed one after another; the first list begins with block 0 |
//!
//! A block is listed where it was executed. The others are placed in a section of their own, whose
//! symbol is `name.cold`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use tracewright_analysis::{ModuleProfile, Profile, Target};
use tracewright_image::block_map::{self, FunctionBlocks};

use crate::layout::{self, Edge};
use crate::text::field;

/// The executions of a function.
struct Hot<'a> {
    name: &'a str,
    /// The numbers of its executed blocks, in the order of their layout.
    blocks: Vec<u64>,
    /// All blocks are in the order.
    whole: bool,
    /// The bytes of the executed blocks, and the sum of their counts.
    bytes: u64,
    count: u64,
}

/// The functions of a file that were executed, and the calls among them.
struct Found<'a> {
    functions: Vec<Hot<'a>>,
    /// Caller, callee, count.
    calls: Vec<(usize, usize, u64)>,
}

/// A name without the separators. lld takes what follows a `#` for a comment.
fn written(name: &str) -> Cow<'_, str> {
    field(name, &[' ', '#'])
}

/// The list of clusters.
///
/// # Errors
/// What a file lacks.
pub(crate) fn write(profile: &Profile) -> Result<String, String> {
    let mut out = String::from("v1\n");
    for module in profile.modules.values() {
        for function in find(module)?.functions {
            let blocks: Vec<String> = function.blocks.iter().map(u64::to_string).collect();
            let name = written(function.name);
            let _ = write!(out, "f {name}\nc{}\n", blocks.join(" "));
        }
    }
    Ok(out)
}

/// The order of the symbols.
///
/// # Errors
/// What a file lacks.
pub(crate) fn symbols(profile: &Profile) -> Result<String, String> {
    let (mut hot, mut cold) = (String::new(), String::new());
    for module in profile.modules.values() {
        let found = find(module)?;
        for n in clusters(&found) {
            let Some(function) = found.functions.get(n) else { continue };
            let name = written(function.name);
            let _ = writeln!(hot, "{name}");
            if !function.whole {
                let _ = writeln!(cold, "{name}.cold");
            }
        }
    }
    Ok(hot + &cold)
}

/// Counts the executions of each block, and of each edge between blocks.
fn find(module: &ModuleProfile) -> Result<Found<'_>, String> {
    let fail = |why: String| format!("{}: {why}", module.file.path);
    let content = module.file.content.as_ref();
    let content = content.ok_or_else(|| fail("the file was not found".into()))?;
    let mut functions = block_map::read(content).map_err(|why| fail(why.into()))?;
    functions.sort_by_key(|function| function.address);
    // Start, end, function and block.
    let mut places: Vec<(u64, u64, usize, usize)> = Vec::new();
    for (f, function) in functions.iter().enumerate() {
        for (b, block) in function.blocks.iter().enumerate() {
            if block.size > 0 {
                places.push((block.start, block.start.saturating_add(block.size), f, b));
            }
        }
    }
    places.sort_unstable();
    let at = |address: u64| {
        let n = places.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        places.get(n).filter(|(_, end, ..)| address < *end).map(|_| n)
    };
    let mut counts: HashMap<(usize, usize), u64> = HashMap::new();
    let mut edges: BTreeMap<usize, BTreeMap<(usize, usize), u64>> = BTreeMap::new();
    let mut calls: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (trace, &count) in &module.traces {
        let add = |sum: &mut u64| *sum = sum.saturating_add(count);
        let first = at(trace.start);
        if let (Target::Here(from), Some(first)) = (trace.from, first)
            && let Some(&(.., caller, block)) = at(from).and_then(|n| places.get(n))
            && let Some(&(start, _, callee, target)) = places.get(first)
            && start == trace.start
        {
            if caller == callee && target != 0 {
                add(edges.entry(caller).or_default().entry((block, target)).or_default());
            } else if target == 0 {
                add(calls.entry((caller, callee)).or_default());
            }
        }
        // The blocks that the sequence executes, without the one that a return enters.
        let first = places.partition_point(|(start, ..)| *start < trace.start);
        for n in first.. {
            let Some(&(start, _, function, block)) = places.get(n) else { break };
            if start > trace.last {
                break;
            }
            add(counts.entry((function, block)).or_default());
            let before = n.checked_sub(1).and_then(|n| places.get(n));
            if let Some(&(_, end, its, before)) = before
                && (end, its) == (start, function)
                && start > trace.start
            {
                add(edges.entry(function).or_default().entry((before, block)).or_default());
            }
        }
    }
    let mut found = Found { functions: Vec::new(), calls: Vec::new() };
    let mut index = HashMap::new();
    for (f, function) in functions.iter().enumerate() {
        let name = module.file.symbols.iter().find(|symbol| symbol.start == function.address);
        let Some(name) = name.map(|symbol| symbol.name).filter(|name| !name.is_empty()) else {
            continue;
        };
        let none = BTreeMap::new();
        let edges = edges.get(&f).unwrap_or(&none);
        if let Some(hot) = hot(function, f, name, &counts, edges) {
            index.insert(f, found.functions.len());
            found.functions.push(hot);
        }
    }
    let known = calls.into_iter().filter_map(|((caller, callee), count)| {
        Some((*index.get(&caller)?, *index.get(&callee)?, count))
    });
    found.calls = known.collect();
    Ok(found)
}

/// The layout of a function; `None` where it was not executed.
fn hot<'a>(
    function: &FunctionBlocks,
    f: usize,
    name: &'a str,
    counts: &HashMap<(usize, usize), u64>,
    edges: &BTreeMap<(usize, usize), u64>,
) -> Option<Hot<'a>> {
    let count = |block: usize| counts.get(&(f, block)).copied().unwrap_or(0);
    let all = function.blocks.iter().enumerate();
    // A block without code may be there for its label only.
    let executed: Vec<usize> =
        all.filter(|(n, _)| *n == 0 || count(*n) > 0).map(|(n, _)| n).collect();
    let sum = executed.iter().fold(0, |sum: u64, block| sum.saturating_add(count(*block)));
    if sum == 0 {
        return None;
    }
    let place = |block: &usize| executed.binary_search(block).ok();
    let inner: Vec<Edge> = edges
        .iter()
        .filter_map(|((from, to), count)| Some((place(from)?, place(to)?, *count)))
        .collect();
    let block = |n: usize| executed.get(n).and_then(|n| function.blocks.get(*n));
    let sizes: Vec<u64> =
        (0..executed.len()).map(|n| block(n).map_or(0, |block| block.size)).collect();
    let order = layout::order(&sizes, &inner);
    Some(Hot {
        name,
        blocks: order.into_iter().filter_map(|n| block(n).map(|block| block.id)).collect(),
        whole: executed.len() == function.blocks.len(),
        bytes: sizes.iter().sum(),
        count: sum,
    })
}

/// The functions in an order in which callees follow their most frequent callers.
/// (Ottoni and Maher, "Optimizing Function Placement for Large-Scale Data-Center Applications",
/// CGO 2017)
fn clusters(found: &Found<'_>) -> Vec<usize> {
    /// The greatest size of a cluster in bytes: a large page.
    const MAX_BYTES: u64 = 1 << 21;

    let density = |functions: &[usize]| {
        let all = functions.iter().filter_map(|n| found.functions.get(*n));
        let (count, bytes) = all.fold((0u64, 0u64), |(count, bytes), function| {
            (count.saturating_add(function.count), bytes.saturating_add(function.bytes))
        });
        (count as f64 / bytes.max(1) as f64, bytes)
    };
    let mut clusters: Vec<Vec<usize>> = (0..found.functions.len()).map(|n| vec![n]).collect();
    let mut order: Vec<usize> = (0..found.functions.len()).collect();
    order.sort_by(|a, b| density(&[*b]).0.total_cmp(&density(&[*a]).0).then(a.cmp(b)));
    for callee in order {
        let callers = found.calls.iter().filter(|call| call.1 == callee && call.0 != callee);
        let Some((caller, ..)) = callers.max_by_key(|call| call.2) else { continue };
        let cluster_of = |n: usize| clusters.iter().position(|cluster| cluster.contains(&n));
        let (Some(own), Some(its)) = (cluster_of(callee), cluster_of(*caller)) else { continue };
        let first = clusters.get(own).and_then(|cluster| cluster.first()) == Some(&callee);
        let bytes = [own, its].map(|n| clusters.get(n).map_or(0, |cluster| density(cluster).1));
        if own == its || !first || bytes.iter().sum::<u64>() > MAX_BYTES {
            continue;
        }
        let moved = clusters.get_mut(own).map(std::mem::take).unwrap_or_default();
        if let Some(cluster) = clusters.get_mut(its) {
            cluster.extend(moved);
        }
    }
    clusters.retain(|cluster| !cluster.is_empty());
    clusters.sort_by(|a, b| density(b).0.total_cmp(&density(a).0));
    clusters.concat()
}
