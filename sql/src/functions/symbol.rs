//! `symbol([[capture,] source,] address)`

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use tracewright::decode::Program;

use super::Arguments;
use crate::captures::Captures;

/// The symbol of an address in the program of a source: `main+0x14`. Null where it is not known,
/// where the program depends on the process or on time, and where the sources of this name, or all
/// sources if none is named, have different ones.
#[derive(Debug)]
pub struct Symbol {
    signature: Signature,
    captures: Arc<Captures>,
}

impl Symbol {
    pub(super) fn new(captures: &Arc<Captures>) -> Symbol {
        let all = [1, 2, 3].map(TypeSignature::Any).to_vec();
        let signature = Signature::one_of(all, Volatility::Stable);
        Symbol { signature, captures: Arc::clone(captures) }
    }

    fn at(&self, capture: Option<&str>, source: Option<&str>, address: u64) -> Option<String> {
        let captures = self.captures.iter();
        let captures = captures.filter(|own| capture.is_none_or(|name| name == own.name));
        let sources = captures.flat_map(|own| own.trace.sources());
        let sources = sources.filter(|own| source.is_none_or(|name| name == own.name));
        let mut names = sources.map(|own| match own.program {
            Program::Image(_) => own.symbol_name(address),
            Program::Spaces(_) => None,
        });
        let first = names.next()??;
        names.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Symbol) -> bool {
        Arc::ptr_eq(&self.captures, &other.captures)
    }
}

impl Eq for Symbol {}

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.captures).hash(state);
    }
}

impl ScalarUDFImpl for Symbol {
    fn name(&self) -> &str {
        "symbol"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = Arguments::of("symbol", &args)?;
        Ok(arguments.map(|texts, address| match *texts {
            [capture, source] => self.at(Some(capture), Some(source), address),
            [source] => self.at(None, Some(source), address),
            _ => self.at(None, None, address),
        }))
    }
}
