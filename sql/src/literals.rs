//! Numbers in hexadecimal: SQL has none, and addresses are read as such.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Value, visit_expressions_mut};

/// Makes numbers of what is written `0x1f4` in `query`, from which `statement` was read. `X'1f4'`
/// stays a sequence of bytes.
pub fn numbers(statement: &mut Statement, query: &str) {
    match statement {
        Statement::Statement(own) => replace(own, query),
        Statement::Explain(own) => numbers(&mut own.statement, query),
        _ => {}
    }
}

fn replace(statement: &mut ast::Statement, query: &str) {
    let _ = visit_expressions_mut(statement, |expr| {
        if let ast::Expr::Value(own) = expr
            && let Value::HexStringLiteral(digits) = &own.value
            && is_prefixed(query, own.span.start.line, own.span.start.column)
            && let Ok(number) = u64::from_str_radix(digits, 16)
        {
            own.value = Value::Number(number.to_string(), false);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Whether the literal at a line and a column, counted from 1, begins with a digit.
fn is_prefixed(query: &str, line: u64, column: u64) -> bool {
    let at = |n: u64| usize::try_from(n).ok()?.checked_sub(1);
    let begin = || query.lines().nth(at(line)?)?.chars().nth(at(column)?);
    begin() == Some('0')
}
