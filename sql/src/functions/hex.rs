//! `hex(number)`

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::Arguments;

/// A number in hexadecimal: `0x1f4`. Null for a negative number.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Hex(Signature);

impl Default for Hex {
    fn default() -> Self {
        Hex(Signature::any(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Hex {
    fn name(&self) -> &str {
        "hex"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = Arguments::of("hex", &args)?;
        Ok(arguments.map(|_, number| Some(format!("{number:#x}"))))
    }
}
