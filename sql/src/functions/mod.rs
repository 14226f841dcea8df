//! Functions of queries.

mod hex;
mod line;
mod symbol;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use crate::captures::Captures;

/// The functions.
pub fn all(captures: &Arc<Captures>) -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(hex::Hex::default()),
        ScalarUDF::from(line::Line::new(captures)),
        ScalarUDF::from(symbol::Symbol::new(captures)),
    ]
}

/// The arguments of a function: texts, and a number as the last one.
struct Arguments {
    texts: Vec<StringArray>,
    numbers: UInt64Array,
}

impl Arguments {
    /// The arguments of the function `name`.
    fn of(name: &str, args: &ScalarFunctionArgs) -> Result<Arguments> {
        let Some((last, before)) = args.args.split_last() else {
            return exec_err!("{name} has no arguments");
        };
        let number = last.to_array(args.number_rows)?;
        // The sum of an unsigned and a signed number is a decimal.
        let whole = matches!(number.data_type(), DataType::Decimal128(_, 0) | DataType::Null);
        if !whole && !number.data_type().is_integer() {
            let of = number.data_type();
            return exec_err!("the last argument of {name} is a whole number, not of type {of}");
        }
        let numbers = cast(&number, &DataType::UInt64)?.as_primitive::<UInt64Type>().clone();
        let text = |own: &ColumnarValue| -> Result<StringArray> {
            let own = own.to_array(args.number_rows)?;
            Ok(cast(&own, &DataType::Utf8)?.as_string::<i32>().clone())
        };
        let texts = before.iter().map(text).collect::<Result<_>>()?;
        Ok(Arguments { texts, numbers })
    }

    /// The texts and the number of row `n`; `None` where one of them is null.
    fn row(&self, n: usize) -> Option<(Vec<&str>, u64)> {
        let texts = self.texts.iter().map(|own| own.is_valid(n).then(|| own.value(n)));
        let texts = texts.collect::<Option<_>>()?;
        self.numbers.is_valid(n).then(|| (texts, self.numbers.value(n)))
    }

    /// The value of `each` row.
    fn map(&self, mut each: impl FnMut(&[&str], u64) -> Option<String>) -> ColumnarValue {
        let own = (0..self.numbers.len()).map(|n| {
            let (texts, number) = self.row(n)?;
            each(&texts, number)
        });
        ColumnarValue::Array(Arc::new(own.collect::<StringArray>()) as ArrayRef)
    }
}
