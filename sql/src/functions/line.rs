//! `line([capture,] address)`

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use tracewright::capture::plain;
use tracewright::views::LineTable;

use super::Arguments;
use crate::captures::Captures;

/// The source file and the line of code at an address: `main.c:12`. Null where it is not known, and
/// where captures have different ones and none is named.
#[derive(Debug)]
pub struct Line {
    signature: Signature,
    captures: Arc<Captures>,
    /// In the order of the captures.
    tables: OnceLock<Vec<LineTable>>,
}

impl Line {
    pub(super) fn new(captures: &Arc<Captures>) -> Line {
        let all = vec![TypeSignature::Any(1), TypeSignature::Any(2)];
        let signature = Signature::one_of(all, Volatility::Stable);
        Line { signature, captures: Arc::clone(captures), tables: OnceLock::new() }
    }

    fn at(&self, capture: Option<&str>, address: u64) -> Option<String> {
        let tables = self.tables.get_or_init(|| {
            let captures = self.captures.iter();
            captures.map(|own| LineTable::of_capture(own.trace.capture())).collect()
        });
        let own = self.captures.iter().zip(tables);
        let own = own.filter(|(own, _)| capture.is_none_or(|name| name == own.name));
        let mut own = own.map(|(_, table)| table.at(address));
        let first = own.next()??;
        let (file, line) = own.all(|other| other == Some(first)).then_some(first)?;
        Some(format!("{}:{line}", plain::line(file)))
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Line) -> bool {
        Arc::ptr_eq(&self.captures, &other.captures)
    }
}

impl Eq for Line {}

impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.captures).hash(state);
    }
}

impl ScalarUDFImpl for Line {
    fn name(&self) -> &str {
        "line"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = Arguments::of("line", &args)?;
        Ok(arguments.map(|texts, address| self.at(texts.first().copied(), address)))
    }
}
