//! What the filters of a query select, at least.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};

use crate::spans::Spans;

/// The column with the time in nanoseconds.
pub const TS: &str = "ts";

/// The values that columns have in the rows that a filter selects. A row with another value is not
/// selected; a row with these values may not be, either. Columns that are not here have any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    numbers: BTreeMap<String, Spans>,
    texts: BTreeMap<String, BTreeSet<String>>,
}

impl Selection {
    /// What all of `filters` select in rows of `schema`.
    pub fn of(filters: &[Expr], schema: &Schema) -> Selection {
        let all = filters.iter().map(|filter| Selection::of_one(filter, schema));
        all.reduce(Selection::and).unwrap_or_default()
    }

    fn of_one(filter: &Expr, schema: &Schema) -> Selection {
        match filter {
            Expr::BinaryExpr(own) => {
                match own.op {
                    Operator::And => Selection::of_one(&own.left, schema)
                        .and(Selection::of_one(&own.right, schema)),
                    Operator::Or => Selection::of_one(&own.left, schema)
                        .or(Selection::of_one(&own.right, schema)),
                    op => Selection::compared(&own.left, op, &own.right, schema)
                        .or_else(|| Selection::compared(&own.right, op.swap()?, &own.left, schema))
                        .unwrap_or_default(),
                }
            }
            Expr::Between(own) if !own.negated => {
                let low = Selection::compared(&own.expr, Operator::GtEq, &own.low, schema);
                let high = Selection::compared(&own.expr, Operator::LtEq, &own.high, schema);
                low.unwrap_or_default().and(high.unwrap_or_default())
            }
            Expr::InList(own) if !own.negated => {
                let all = own.list.iter().map(|value| {
                    Selection::compared(&own.expr, Operator::Eq, value, schema).unwrap_or_default()
                });
                all.reduce(Selection::or).unwrap_or_default()
            }
            Expr::IsTrue(own) => Selection::of_one(own, schema),
            Expr::Alias(own) => Selection::of_one(&own.expr, schema),
            _ => Selection::default(),
        }
    }

    /// What `column op value` selects. `None` where that is no column, or no value.
    fn compared(column: &Expr, op: Operator, value: &Expr, schema: &Schema) -> Option<Selection> {
        let (name, of) = column_of(column, schema)?;
        let Expr::Literal(value, _) = value else { return None };
        let mut selection = Selection::default();
        if is_text(&of) {
            let text = text_of(value)?;
            if op != Operator::Eq {
                return None;
            }
            selection.texts.insert(name, BTreeSet::from([text]));
        } else {
            let spans = spans_of(op, number_of(value)?)?;
            selection.numbers.insert(name, spans);
        }
        Some(selection)
    }

    /// What both select.
    fn and(mut self, other: Selection) -> Selection {
        for (name, spans) in other.numbers {
            let both = self.numbers.get(&name).map_or(spans.clone(), |own| own.and(&spans));
            self.numbers.insert(name, both);
        }
        for (name, texts) in other.texts {
            let both = match self.texts.get(&name) {
                Some(own) => own.intersection(&texts).cloned().collect(),
                None => texts,
            };
            self.texts.insert(name, both);
        }
        self
    }

    /// What one of them selects.
    fn or(mut self, other: Selection) -> Selection {
        self.numbers.retain(|name, _| other.numbers.contains_key(name));
        self.texts.retain(|name, _| other.texts.contains_key(name));
        for (name, spans) in &mut self.numbers {
            if let Some(other) = other.numbers.get(name) {
                *spans = spans.or(other);
            }
        }
        for (name, texts) in &mut self.texts {
            texts.extend(other.texts.get(name).into_iter().flatten().cloned());
        }
        self
    }

    /// The numbers of column `name`; `None` for any, null included.
    pub fn numbers(&self, name: &str) -> Option<&Spans> {
        self.numbers.get(name)
    }

    /// The texts of column `name`; `None` for any, null included.
    pub fn texts(&self, name: &str) -> Option<&BTreeSet<String>> {
        self.texts.get(name)
    }
}

/// The column of an expression whose value is that of a column, as it is or with a wider type.
fn column_of(of: &Expr, schema: &Schema) -> Option<(String, DataType)> {
    let (own, to) = match of {
        Expr::Cast(cast) => (&*cast.expr, Some(cast.field.data_type())),
        Expr::TryCast(cast) => (&*cast.expr, Some(cast.field.data_type())),
        own => (own, None),
    };
    let Expr::Column(column) = own else { return None };
    let of = schema.field_with_name(&column.name).ok()?.data_type().clone();
    // Nanoseconds are not negative.
    let unsigned = column.name == TS && of == DataType::Int64
        || matches!(of, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64);
    let same = match to {
        None => true,
        Some(to) if is_text(&of) => is_text(to),
        Some(DataType::UInt64) => true,
        // 20 digits have all numbers of 64 bits.
        Some(DataType::Decimal128(digits, 0)) => *digits >= 20,
        Some(DataType::Int64) => of != DataType::UInt64,
        Some(_) => false,
    };
    (same && (unsigned || is_text(&of))).then(|| (column.name.clone(), of))
}

fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, of) => is_text(of),
        of => matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn text_of(value: &ScalarValue) -> Option<String> {
    match value {
        ScalarValue::Dictionary(_, own) => text_of(own),
        ScalarValue::Utf8(own) | ScalarValue::LargeUtf8(own) | ScalarValue::Utf8View(own) => {
            own.clone()
        }
        _ => None,
    }
}

fn number_of(value: &ScalarValue) -> Option<i128> {
    match *value {
        ScalarValue::Int8(own) => own.map(Into::into),
        ScalarValue::Int16(own) => own.map(Into::into),
        ScalarValue::Int32(own) => own.map(Into::into),
        ScalarValue::Int64(own) => own.map(Into::into),
        ScalarValue::UInt8(own) => own.map(Into::into),
        ScalarValue::UInt16(own) => own.map(Into::into),
        ScalarValue::UInt32(own) => own.map(Into::into),
        ScalarValue::UInt64(own) => own.map(Into::into),
        ScalarValue::Decimal128(own, _, 0) => own,
        _ => None,
    }
}

/// The unsigned numbers that are `op` `value`.
fn spans_of(op: Operator, value: i128) -> Option<Spans> {
    let (low, high) = match op {
        Operator::Eq => (value, value),
        Operator::Lt => (0, value.checked_sub(1)?),
        Operator::LtEq => (0, value),
        Operator::Gt => (value.checked_add(1)?, u64::MAX.into()),
        Operator::GtEq => (value, u64::MAX.into()),
        _ => return None,
    };
    let (low, high) = (low.max(0), high.min(u64::MAX.into()));
    Some(match (u64::try_from(low), u64::try_from(high)) {
        (Ok(low), Ok(high)) => Spans::new(low, high),
        _ => Spans::default(),
    })
}
