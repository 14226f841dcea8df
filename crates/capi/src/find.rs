//! Searches.

use std::ffi::c_char;
use std::sync::Arc;

use tracewright::index::{Answer, Finder, Found, Query};

use crate::element::{TwElement, TW_KNOWN_CONTEXT_ID, TW_KNOWN_TIME};
use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, shared, used, Kind};
use crate::index::{Indexed, TwIndex};
use crate::opened::{Opened, Shared, TwCapture};
use crate::plain::{self, Plain};
use crate::push::TW_NO_SOURCE;
use crate::status::{Failure, TwStatus, TW_ERR_INDEX, TW_ERR_QUERY, TW_OK};

/// The result of a search.
pub struct TwMatches(());

/// An element that was found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwMatch {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_KNOWN_TIME`, `TW_KNOWN_CONTEXT_ID`.
    pub known: u32,
    /// Number of the trace buffer.
    pub buffer: u32,
    /// Context identifier of the source there.
    pub context_id: u32,
    /// Number of the element in the buffer, from 0, over all sources in the order of the output.
    pub number: u64,
    /// Number of instructions before it, of all sources.
    pub instruction: u64,
    /// The last timestamp of its source, up to and including it.
    pub time: u64,
}

// SAFETY: integers only, and the size is first.
unsafe impl Plain for TwMatch {}

/// What the handle refers to.
#[derive(Default)]
struct Matches {
    count: u64,
    found: Vec<(TwMatch, TwElement)>,
}

impl Kind for Matches {
    type Opaque = TwMatches;
    const NAME: &'static str = "matches";
}

impl Matches {
    /// The answer of all buffers to `query`, with at most `limit` elements of each.
    fn of(
        opened: &Opened,
        indexed: Option<&Indexed>,
        query: &Query,
        limit: usize,
    ) -> Result<Matches, Failure> {
        opened.decodable(true)?;
        let mut all = Matches::default();
        for (plan, first) in opened.plans() {
            if plan.sources.is_empty() {
                continue;
            }
            let index = indexed.map(|indexed| &*indexed.index);
            let Some(mut finder) = Finder::new(opened.trace.subject(), plan, index) else {
                continue;
            };
            finder.limit = limit;
            let answer = finder.find(query);
            match answer.map_err(|error| Failure::new(TW_ERR_QUERY, error))? {
                Answer::Count(count) => all.count = all.count.saturating_add(count),
                Answer::Elements(found) => {
                    let found = found.iter().map(|found| matched(plan.buffer, first, found));
                    all.found.extend(found);
                }
            }
        }
        all.count = all.count.saturating_add(all.found.len() as u64);
        Ok(all)
    }
}

/// What the client receives of a result.
fn matched(buffer: usize, first: usize, found: &Found) -> (TwMatch, TwElement) {
    let mut own = TwMatch {
        buffer: buffer as u32,
        number: found.number,
        instruction: found.instruction,
        ..plain::zeroed()
    };
    if let Some(time) = found.time {
        own.time = time;
        own.known |= TW_KNOWN_TIME;
    }
    if let Some(id) = found.context.and_then(|context| context.context_id) {
        own.context_id = id;
        own.known |= TW_KNOWN_CONTEXT_ID;
    }
    let source = first.wrapping_add(found.source) as u32;
    let source = if found.link.is_some() { TW_NO_SOURCE } else { source };
    (own, TwElement::new(source, found.at, &found.element))
}

/// Searches a capture: `query` is what `tracewright find` takes, such as `first function main` or
/// `count exception`. With `index`, only parts of the trace are decoded; it may be NULL. `limit` is
/// the most results of each buffer for queries with `all`; 0 stands for no limit.
#[no_mangle]
pub unsafe extern "C" fn tw_find(
    capture: *const TwCapture,
    index: *const TwIndex,
    query: *const c_char,
    limit: usize,
    matches: *mut *mut TwMatches,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(matches, "matches")?;
            plain::give(matches, std::ptr::null_mut());
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let indexed = if index.is_null() { None } else { Some(shared::<Indexed>(index)?) };
            let indexed = indexed.as_deref();
            if indexed.is_some_and(|indexed| !Arc::ptr_eq(&indexed.opened, opened)) {
                return Err(Failure::new(TW_ERR_INDEX, "the index is that of another capture"));
            }
            let query = Query::parse(&[plain::string(query, "query")?]);
            let query = query.map_err(|error| Failure::new(TW_ERR_QUERY, error))?;
            let limit = if limit == 0 { usize::MAX } else { limit };
            plain::give(matches, make(Matches::of(opened, indexed, &query, limit)?));
            Ok(TW_OK)
        })
    }
}

/// Frees the result of a search.
#[no_mangle]
pub unsafe extern "C" fn tw_matches_free(
    matches: *mut *mut TwMatches,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Matches>(matches)) }
}

/// The number of elements that were found; for a query with `count`, the number of matches, whose
/// elements are not there.
#[no_mangle]
pub unsafe extern "C" fn tw_matches_count(
    matches: *mut TwMatches,
    count: *mut u64,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(count, "count")?;
            plain::give(count, used::<Matches>(matches)?.count);
            Ok(TW_OK)
        })
    }
}

/// Result `number`, from 0: where it is, and the element. `element` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_matches_get(
    matches: *mut TwMatches,
    number: usize,
    found: *mut TwMatch,
    element: *mut TwElement,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let matches = used::<Matches>(matches)?;
            let count = matches.found.len();
            let own =
                matches.found.get(number).ok_or_else(|| Failure::range("result", number, count))?;
            if !element.is_null() {
                plain::write(element, own.1, "element")?;
            }
            plain::write(found, own.0, "found")?;
            Ok(TW_OK)
        })
    }
}
