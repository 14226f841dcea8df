//! The classes of elements.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// The fields that people read in hexadecimal.
const HEX: [&str; 6] = ["start", "end", "return_address", "address", "pc", "value"];

/// `Name(field=value, ...)`, with addresses in hexadecimal.
fn shown(own: &Bound<'_, PyAny>, name: &str, fields: &[&str]) -> PyResult<String> {
    let mut parts = Vec::with_capacity(fields.len());
    for field in fields {
        let value = own.getattr(*field)?;
        parts.push(match value.extract::<u64>() {
            Ok(number) if HEX.contains(field) => format!("{field}={number:#x}"),
            _ => format!("{field}={}", value.repr()?),
        });
    }
    Ok(format!("{name}({})", parts.join(", ")))
}

/// The values of all fields, in the order of the constructor.
fn values<'py>(own: &Bound<'py, PyAny>, fields: &[&str]) -> PyResult<Bound<'py, PyTuple>> {
    let all = fields.iter().map(|field| own.getattr(*field));
    PyTuple::new(own.py(), all.collect::<PyResult<Vec<_>>>()?)
}

/// A class of elements: the position of an element, and fields of its kind.
macro_rules! element {
    ($(#[doc = $about:literal])+ $name:ident, ($($match_args:literal),* $(,)?), $($(#[doc = $field_about:literal])+ $field:ident: $of:ty,)*) => {
        $(#[doc = $about])+
        #[pyclass(frozen, get_all, module = "tracewright")]
        pub struct $name {
            /// Name of the source.
            pub(crate) source: Option<Py<PyString>>,
            /// Number of the buffer.
            pub(crate) buffer: u32,
            /// Number of the element in the buffer.
            pub(crate) element: u64,
            /// Offset in the buffer of the packet that made it.
            pub(crate) offset: u64,
            /// Number of instructions of the buffer before it.
            pub(crate) instruction: u64,
            /// Last timestamp of the source up to it, in ticks.
            pub(crate) time: Option<u64>,
            /// Name of the kind.
            pub(crate) kind: Py<PyString>,
            $($(#[doc = $field_about])+ pub(crate) $field: $of,)*
        }

        impl $name {
            const OWN: &[&str] = &[$(stringify!($field)),*];
            const ALL: &[&str] = &[
                "source", "buffer", "element", "offset", "instruction", "time", "kind",
                $(stringify!($field)),*
            ];
        }

        #[pymethods]
        impl $name {
            #[new]
            #[allow(clippy::too_many_arguments, reason = "called to copy an element")]
            fn new(
                source: Option<Py<PyString>>,
                buffer: u32,
                element: u64,
                offset: u64,
                instruction: u64,
                time: Option<u64>,
                kind: Py<PyString>,
                $($field: $of,)*
            ) -> Self {
                $name { source, buffer, element, offset, instruction, time, kind, $($field,)* }
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                let names: &[&str] = &[$($match_args),*];
                Ok(PyTuple::new(py, names)?.unbind())
            }

            fn __repr__(own: &Bound<'_, Self>) -> PyResult<String> {
                shown(own.as_any(), stringify!($name), Self::OWN)
            }

            fn __eq__(own: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
                if !other.is_instance_of::<Self>() {
                    return Ok(false);
                }
                values(own.as_any(), Self::ALL)?.eq(values(other, Self::ALL)?)
            }

            fn __hash__(own: &Bound<'_, Self>) -> PyResult<isize> {
                values(own.as_any(), Self::ALL)?.hash()
            }

            fn __reduce__<'py>(
                own: &Bound<'py, Self>,
            ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
                Ok((own.get_type().into_any(), values(own.as_any(), Self::ALL)?))
            }
        }
    };
}

element! {
    /// Instructions that were executed one after another, up to the next branch.
    Range, ("start", "end"),
    /// Address of the first instruction.
    start: u64,
    /// Address after the last instruction.
    end: u64,
    /// Number of instructions.
    instructions: u32,
    /// How often they were executed: 1 but in loops whose turns are not listed.
    times: u64,
    /// Whether the last instruction took effect.
    taken: bool,
    /// Processor cycles.
    cycles: Option<u32>,
    /// Name of the function, where functions were asked for.
    function: Option<Py<PyString>>,
}

element! {
    /// An exception was taken.
    ExceptionTaken, ("number", "return_address"),
    /// Its number in the architecture.
    number: u16,
    /// Preferred return address.
    return_address: Option<u64>,
    /// Name of the function that was interrupted, where functions were asked for.
    function: Option<Py<PyString>>,
}

element! {
    /// The context from here on.
    Context, ("context_id", "el"),
    /// Context ID.
    context_id: Option<u32>,
    /// Virtual context ID.
    vmid: Option<u32>,
    /// Exception level, or RISC-V privilege.
    el: Option<u8>,
}

element! {
    /// A timestamp.
    Timestamp, ("value",),
    /// Ticks.
    value: u64,
    /// Processor cycles since the last cycle count.
    cycles: Option<u32>,
}

element! {
    /// A write of software to a port or channel.
    SoftwareWrite, ("port", "value"),
    /// Port of an ITM.
    port: Option<u16>,
    /// Master of an STM.
    master: Option<u16>,
    /// Channel of an STM.
    channel: Option<u16>,
    /// Size of the value in bits.
    bits: u8,
    /// The value.
    value: u64,
}

element! {
    /// An access to memory.
    DataAccess, ("address", "value"),
    /// Address of the data.
    address: Option<u64>,
    /// The value.
    value: Option<u64>,
    /// Size in bytes.
    size: Option<u8>,
    /// `read` or `write`.
    direction: Option<Py<PyString>>,
    /// Address of the instruction.
    pc: Option<u64>,
}

element! {
    /// An event of the DWT.
    DwtEvent, ("discriminator", "value"),
    /// Discriminator of the packet.
    discriminator: u8,
    /// Value of the packet.
    value: u32,
    /// What it means, for people.
    text: String,
}

element! {
    /// Trace was lost, bytes are undecodable, packets contradict, or program memory is missing.
    Gap, ("kind", "text"),
    /// What is wrong, for people.
    text: String,
    /// Address of the memory that is missing, or of the code that is wrong.
    address: Option<u64>,
}

element! {
    /// An element of another kind.
    Other, ("kind",),
    /// The number that it has, if any.
    value: Option<u64>,
}
