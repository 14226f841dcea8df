//! Elements as objects.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tracewright::base::{Channel, Direction, Element};
use tracewright_columns::{Place, Query, Row};

use crate::element::{
    Context, DataAccess, DwtEvent, ExceptionTaken, Gap, Other, Range, SoftwareWrite, Timestamp,
};
use crate::shared::Shared;
use crate::stream::{self, Parts};

/// Elements of a batch: their objects stay in the nearest cache of a processor, which makes them
/// two to three times as fast as a batch of 8192.
const BATCH: usize = 512;

/// An element, and the name of its function.
type Named = (Row, Option<Arc<str>>);

/// Batches of elements.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Elements {
    parts: Parts<Vec<Named>>,
    sources: Vec<Py<PyString>>,
}

impl Elements {
    pub(crate) fn begin(
        py: Python<'_>,
        shared: &Arc<Shared>,
        mut query: Query,
        functions: bool,
    ) -> PyResult<Elements> {
        if query.batch == 0 {
            query.batch = BATCH;
        }
        let own = Arc::clone(shared);
        let parts = stream::begin(query, move |query, put| {
            let mut names: HashMap<String, Arc<str>> = HashMap::new();
            let mut take = |found: &tracewright_columns::Found<'_>| {
                let mut named = |row: &Row| {
                    let name = found.function(row)?;
                    if let Some(known) = names.get(name) {
                        return Some(Arc::clone(known));
                    }
                    let shared: Arc<str> = name.into();
                    names.insert(name.to_owned(), Arc::clone(&shared));
                    Some(shared)
                };
                put(found.rows.iter().map(|row| (*row, named(row))).collect())
            };
            let index = own.index();
            let (trace, index) = (&own.trace, index.as_deref());
            let done = tracewright_columns::elements(trace, query, index, functions, &mut take);
            done.map(|tally| own.add(&tally))
        })?;
        let sources = shared.trace.sources().iter();
        let sources = sources.map(|source| PyString::new(py, &source.name).unbind()).collect();
        Ok(Elements { parts, sources })
    }
}

#[pymethods]
impl Elements {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(rows) = self.parts.next(py)? else { return Ok(None) };
        let mut names = Names { sources: &self.sources, kinds: Vec::new(), functions: Vec::new() };
        let objects = rows.iter().map(|(row, name)| object(py, &mut names, row, name.as_ref()));
        PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?).map(Some)
    }
}

/// Texts that the objects of a batch share.
struct Names<'a> {
    sources: &'a [Py<PyString>],
    /// They are few, and the first one is that of most elements.
    kinds: Vec<(&'static str, Py<PyString>)>,
    functions: Vec<(*const u8, Py<PyString>)>,
}

impl Names<'_> {
    fn kind(&mut self, py: Python<'_>, kind: &'static str) -> Py<PyString> {
        if let Some((_, known)) = self.kinds.iter().find(|(name, _)| *name == kind) {
            return known.clone_ref(py);
        }
        let text = PyString::intern(py, kind).unbind();
        self.kinds.push((kind, text.clone_ref(py)));
        text
    }

    fn function(&mut self, py: Python<'_>, name: &Arc<str>) -> Py<PyString> {
        let address = name.as_ptr();
        if let Some((_, known)) = self.functions.iter().rev().find(|(own, _)| *own == address) {
            return known.clone_ref(py);
        }
        let text = PyString::new(py, name).unbind();
        self.functions.push((address, text.clone_ref(py)));
        text
    }
}

/// The object of an element.
fn object(
    py: Python<'_>,
    names: &mut Names<'_>,
    row: &Row,
    function: Option<&Arc<str>>,
) -> PyResult<Py<PyAny>> {
    let Place { buffer, element, offset, instruction, time, .. } = row.place;
    let source = names.sources.get(row.place.source as usize).map(|name| name.clone_ref(py));
    let kind = names.kind(py, row.element.kind());
    macro_rules! made {
        ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {
            $name { source, buffer, element, offset, instruction, time, kind, $($field: $value),* }
                .into_py_any(py)
        };
    }
    match &row.element {
        Element::Range(range) => made!(Range {
            start: range.start,
            end: range.end(),
            instructions: range.instructions,
            times: row.times,
            taken: range.taken(),
            cycles: range.cycles.get(),
            function: function.map(|name| names.function(py, name)),
        }),
        Element::Exception(exception) => made!(ExceptionTaken {
            number: exception.number,
            return_address: exception.return_address,
            function: function.map(|name| names.function(py, name)),
        }),
        Element::Context(context) => {
            made!(Context { context_id: context.context_id, vmid: context.vmid, el: context.el })
        }
        Element::Timestamp { value, cycles } => made!(Timestamp { value: *value, cycles: *cycles }),
        Element::GlobalTimestamp { value, .. } => made!(Timestamp { value: *value, cycles: None }),
        Element::SoftwareWrite(write) => {
            let (port, master, channel) = match write.channel {
                // A page has 32 ports. (IHI 0092, "Stimulus port page")
                Channel::Port { page, port } => {
                    (Some(u16::from(page.unwrap_or(0)) * 32 + u16::from(port)), None, None)
                }
                Channel::Master { master, channel } => (None, master.map(u16::from), channel),
            };
            let (bits, value) = (write.bits, write.value());
            made!(SoftwareWrite {
                port: port,
                master: master,
                channel: channel,
                bits: bits,
                value: value,
            })
        }
        Element::DataAccess(access) => made!(DataAccess {
            address: access.address(),
            value: access.value(),
            size: (access.size > 0).then_some(access.size),
            direction: direction(access.direction).map(|text| PyString::intern(py, text).unbind()),
            pc: access.by(),
        }),
        Element::DwtEvent(event) => made!(DwtEvent {
            discriminator: event.discriminator,
            value: event.value,
            text: event.meaning().to_string(),
        }),
        Element::NoCode { address, .. } => {
            made!(Gap { text: text(&row.element), address: Some(*address) })
        }
        Element::Inconsistency(reason) => {
            made!(Gap { text: reason.to_string(), address: reason.address() })
        }
        Element::Gap(_) | Element::TraceOn(_) | Element::Undecodable { .. } => {
            made!(Gap { text: text(&row.element), address: None })
        }
        other => made!(Other { value: number(other) }),
    }
}

/// What is wrong, without the name of the kind before it.
fn text(element: &Element) -> String {
    let text = element.to_string();
    text.strip_prefix(element.kind()).unwrap_or(&text).trim_start().to_owned()
}

fn direction(direction: Direction) -> Option<&'static str> {
    match direction {
        Direction::Unknown => None,
        Direction::Read => Some("read"),
        Direction::Write => Some("write"),
    }
}

/// The number of a rare element, if it has one.
fn number(element: &Element) -> Option<u64> {
    match element {
        Element::TrapValue(value) | Element::Instrumentation { value, .. } => Some(*value),
        Element::Cycles(cycles) => cycles.map(u64::from),
        Element::Events(bits) => Some(u64::from(*bits)),
        Element::LocalTimestamp(time) => Some(time.total),
        _ => None,
    }
}
