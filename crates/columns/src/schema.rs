//! Types of columns, and the schema of a table.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema};

/// The version of the tables. It rises when a column is renamed, is removed or changes its meaning.
/// New columns and tables do not raise it.
pub const SCHEMA_VERSION: u32 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An unsigned number.
    U8,
    /// An unsigned number.
    U16,
    /// An unsigned number.
    U32,
    /// An unsigned number.
    U64,
    /// An address, opcode or value of 64 bits, which people read in hexadecimal.
    Hex,
    /// An opcode or value of 32 bits, which people read in hexadecimal.
    Hex32,
    /// Nanoseconds.
    I64,
    /// A floating-point number.
    F64,
    /// True or false.
    Bool,
    /// One of these texts: a dictionary with all of them, in this order.
    Kind(&'static [&'static str]),
    /// A text that occurs often, such as the name of a function: a dictionary.
    Name,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// A list of texts.
    ListText,
}

impl Type {
    /// The type in Arrow.
    pub fn data_type(self) -> DataType {
        let dictionary = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        let list = |of| DataType::List(std::sync::Arc::new(Field::new("item", of, false)));
        match self {
            Type::U8 => DataType::UInt8,
            Type::U16 => DataType::UInt16,
            Type::U32 | Type::Hex32 => DataType::UInt32,
            Type::U64 | Type::Hex => DataType::UInt64,
            Type::I64 => DataType::Int64,
            Type::F64 => DataType::Float64,
            Type::Bool => DataType::Boolean,
            Type::Kind(_) => dictionary(DataType::Int8),
            Type::Name => dictionary(DataType::Int32),
            Type::Text => DataType::Utf8,
            Type::Bytes => DataType::Binary,
            Type::ListText => list(DataType::Utf8),
        }
    }

    /// Whether people read the numbers in hexadecimal.
    pub const fn is_hex(self) -> bool {
        matches!(self, Type::Hex | Type::Hex32)
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub of: Type,
    /// Values may be unknown, or not apply.
    pub nullable: bool,
    /// The column is made only where a query names it, as it takes long.
    pub on_request: bool,
    /// What it is, in one line.
    pub about: &'static str,
}

/// How the values of a table are represented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Numbers of 64 bits are signed, with the same bits.
    pub(crate) signed: bool,
    /// Addresses are texts in hexadecimal.
    pub(crate) view: bool,
}

impl ColumnInfo {
    /// The field of the schema.
    pub(crate) fn field(&self, shape: Shape) -> Field {
        let of = match self.of.data_type() {
            _ if shape.view && self.of.is_hex() => DataType::Utf8,
            DataType::UInt64 if shape.signed => DataType::Int64,
            other => other,
        };
        let field = Field::new(self.name, of, self.nullable);
        let mut metadata = HashMap::new();
        if self.of.is_hex() && !shape.view {
            metadata.insert("tracewright:display".to_owned(), "hex".to_owned());
        }
        field.with_metadata(metadata)
    }
}

/// The schema of `columns` of the table `name`, with `about` the query in its metadata.
pub(crate) fn schema(
    name: &str,
    columns: &[ColumnInfo],
    shape: Shape,
    about: impl IntoIterator<Item = (&'static str, String)>,
) -> Schema {
    let own = [
        ("schema", SCHEMA_VERSION.to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("table", name.to_owned()),
    ];
    let metadata =
        own.into_iter().chain(about).map(|(key, value)| (format!("tracewright:{key}"), value));
    let fields: Vec<Field> = columns.iter().map(|column| column.field(shape)).collect();
    Schema::new_with_metadata(fields, metadata.collect())
}
