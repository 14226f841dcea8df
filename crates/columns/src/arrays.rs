//! Rows to arrays.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType, Int8Type, Int32Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType, Field};

use crate::dictionary::Dictionary;

/// Numbers that are all known.
pub(crate) fn numbers<T: ArrowPrimitiveType>(all: impl Iterator<Item = T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(all))
}

/// Numbers some of which may be unknown.
pub(crate) fn some_numbers<T: ArrowPrimitiveType>(
    all: impl Iterator<Item = Option<T::Native>>,
) -> ArrayRef {
    let mut built = PrimitiveBuilder::<T>::with_capacity(all.size_hint().0);
    all.for_each(|value| built.append_option(value));
    Arc::new(built.finish())
}

pub(crate) fn flags(all: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(all.map(Some).collect::<BooleanArray>())
}

pub(crate) fn some_flags(all: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(all.collect::<BooleanArray>())
}

pub(crate) fn some_texts(all: impl Iterator<Item = Option<impl AsRef<str>>>) -> ArrayRef {
    let mut built = StringBuilder::new();
    all.for_each(|text| built.append_option(text));
    Arc::new(built.finish())
}

pub(crate) fn some_bytes(all: impl Iterator<Item = Option<impl AsRef<[u8]>>>) -> ArrayRef {
    let mut built = BinaryBuilder::new();
    all.for_each(|bytes| built.append_option(bytes));
    Arc::new(built.finish())
}

/// Some of the texts `all`, by their names.
pub(crate) fn kinds(
    all: &'static [&'static str],
    own: impl Iterator<Item = Option<&'static str>>,
) -> ArrayRef {
    let number = |name: &str| all.iter().position(|known| *known == name);
    let keys = own.map(|name| name.and_then(number).and_then(|n| i8::try_from(n).ok()));
    dictionary::<Int8Type>(keys.collect(), Arc::new(StringArray::from_iter_values(all)))
}

/// Names by their numbers in `dictionary`.
pub(crate) fn names(
    dictionary: &mut Dictionary,
    numbers: impl Iterator<Item = Option<i32>>,
) -> ArrayRef {
    let numbers: PrimitiveArray<Int32Type> = numbers.collect();
    self::dictionary::<Int32Type>(numbers, dictionary.values())
}

fn dictionary<K: ArrowDictionaryKeyType>(keys: PrimitiveArray<K>, values: ArrayRef) -> ArrayRef {
    // Keys are numbers of the values.
    Arc::new(DictionaryArray::<K>::new(keys, values))
}

pub(crate) fn lists_of_texts(all: impl Iterator<Item = Vec<String>>) -> ArrayRef {
    let item = Field::new("item", DataType::Utf8, false);
    let mut built = ListBuilder::new(StringBuilder::new()).with_field(item);
    for list in all {
        list.iter().for_each(|text| built.values().append_value(text));
        built.append(true);
    }
    Arc::new(built.finish())
}

/// A column: its type and name, `!` where all values are known or `?`, what it is, and its value
/// for a row. The closure has what rows refer to, and a row, of the type `Own` where the macro is
/// used.
macro_rules! column {
    (Kind($all:expr) $name:literal $null:tt $about:literal, |$s:tt, $r:ident| $value:expr) => {
        $crate::output::Column {
            info: $crate::arrays::column!(@info Kind($all), $name, $null, $about),
            build: |$s: &mut $crate::rows::Shared, rows: &[Own]| $crate::arrays::kinds($all, rows.iter().map(|$r| $value)),
        }
    };
    (Name($dictionary:ident) $name:literal $null:tt $about:literal, |$s:ident, $r:ident| $value:expr) => {
        $crate::output::Column {
            info: $crate::arrays::column!(@info Name, $name, $null, $about),
            build: |$s: &mut $crate::rows::Shared, rows: &[Own]| {
                let numbers: Vec<Option<i32>> = rows.iter().map(|$r| $value).collect();
                $crate::arrays::names(&mut $s.$dictionary, numbers.into_iter())
            },
        }
    };
    ($of:ident $name:literal $null:tt $about:literal, |$s:tt, $r:ident| $value:expr) => {
        $crate::output::Column {
            info: $crate::arrays::column!(@info $of, $name, $null, $about),
            build: |$s: &mut $crate::rows::Shared, rows: &[Own]| $crate::arrays::column!(@ $of $null rows.iter().map(|$r| $value)),
        }
    };
    (@info $of:ident $(($all:expr))?, $name:literal, $null:tt, $about:literal) => {
        $crate::schema::ColumnInfo {
            name: $name,
            of: $crate::schema::Type::$of $(($all))?,
            nullable: $crate::arrays::column!(@null $null),
            on_request: false,
            about: $about,
        }
    };
    (@null !) => { false };
    (@null ?) => { true };
    (@ U8 ! $v:expr) => { $crate::arrays::numbers::<arrow_array::types::UInt8Type>($v) };
    (@ U8 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::UInt8Type>($v) };
    (@ U16 ! $v:expr) => { $crate::arrays::numbers::<arrow_array::types::UInt16Type>($v) };
    (@ U16 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::UInt16Type>($v) };
    (@ U32 ! $v:expr) => { $crate::arrays::numbers::<arrow_array::types::UInt32Type>($v) };
    (@ U32 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::UInt32Type>($v) };
    (@ Hex32 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::UInt32Type>($v) };
    (@ U64 ! $v:expr) => { $crate::arrays::numbers::<arrow_array::types::UInt64Type>($v) };
    (@ U64 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::UInt64Type>($v) };
    (@ Hex ! $v:expr) => { $crate::arrays::numbers::<arrow_array::types::UInt64Type>($v) };
    (@ Hex ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::UInt64Type>($v) };
    (@ I64 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::Int64Type>($v) };
    (@ F64 ? $v:expr) => { $crate::arrays::some_numbers::<arrow_array::types::Float64Type>($v) };
    (@ Bool ! $v:expr) => { $crate::arrays::flags($v) };
    (@ Bool ? $v:expr) => { $crate::arrays::some_flags($v) };
    (@ Text ! $v:expr) => { $crate::arrays::some_texts($v.map(Some)) };
    (@ Text ? $v:expr) => { $crate::arrays::some_texts($v) };
    (@ Bytes ? $v:expr) => { $crate::arrays::some_bytes($v) };
    (@ ListText ! $v:expr) => { $crate::arrays::lists_of_texts($v) };
}
pub(crate) use column;
