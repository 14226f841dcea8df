//! What is read of a table, and which rows and columns of it are passed on.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray,
};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::{conjunction, expr_to_columns};
use datafusion::physical_expr::PhysicalExpr;
use tracewright_columns::{Query, Table};

use crate::captures::Captures;
use crate::selection::Selection;

/// The column with the name of the capture.
pub const CAPTURE: &str = "capture";

/// What a query reads of a table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The captures.
    pub captures: Arc<Captures>,
    /// The table.
    pub table: Table,
    /// What the filters select, at least.
    pub selection: Selection,
    /// The condition of each row; `None` for all rows.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// The most rows of a partition.
    pub limit: Option<usize>,
    /// The columns that are passed on.
    pub schema: SchemaRef,
    /// These columns, and those of the filter.
    read: SchemaRef,
    /// Where in `read` those of `schema` are.
    passed: Vec<usize>,
}

/// The schema of a table, with the column `capture` before the others.
///
/// # Errors
/// Where the table has none.
pub fn schema(table: &Table, captures: &Captures) -> Result<SchemaRef> {
    let name = Field::new(
        CAPTURE,
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        false,
    );
    let mut fields = vec![Arc::new(name)];
    let opened = captures.iter().next();
    let opened = opened.ok_or_else(|| exec_datafusion_err!("there is no capture"))?;
    let columns = table.columns().iter().map(|column| column.name.to_owned()).collect();
    let query = Query { columns: Some(columns), ..Query::default() };
    let own = table.schema(&opened.trace, &query).map_err(|why| exec_datafusion_err!("{why}"))?;
    fields.extend(own.fields().iter().filter(|field| field.name() != CAPTURE).cloned());
    Ok(Arc::new(Schema::new(fields)))
}

impl Scan {
    /// A scan of the columns `projection` of `table`, whose schema is `all`.
    ///
    /// # Errors
    /// Where a filter is no condition of these columns.
    pub fn new(
        (captures, table, all): (Arc<Captures>, Table, &SchemaRef),
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Scan> {
        let schema = match projection {
            Some(columns) => Arc::new(all.project(columns)?),
            None => Arc::clone(all),
        };
        let mut used = std::collections::HashSet::new();
        filters.iter().try_for_each(|filter| expr_to_columns(filter, &mut used))?;
        let reads = |field: &Arc<Field>| {
            schema.column_with_name(field.name()).is_some()
                || used.iter().any(|column| column.name == *field.name())
        };
        let fields: Vec<_> = all.fields().iter().filter(|field| reads(field)).cloned().collect();
        let read = Arc::new(Schema::new(fields));
        let passed = schema.fields().iter().map(|field| read.index_of(field.name()));
        let passed = passed.collect::<Result<_, _>>()?;
        let filter = match conjunction(filters.iter().cloned()) {
            Some(filter) => {
                let columns = DFSchema::try_from(Arc::clone(&read))?;
                Some(state.create_physical_expr(filter, &columns)?)
            }
            None => None,
        };
        let selection = Selection::of(filters, all);
        Ok(Scan { captures, table, selection, filter, limit, schema, read, passed })
    }

    /// The names of the columns that the table makes.
    pub fn columns(&self) -> Vec<String> {
        let fields = self.read.fields().iter();
        fields.map(|field| field.name().clone()).filter(|name| name != CAPTURE).collect()
    }

    /// The rows of `batch`, of the capture `name`, that are passed on.
    ///
    /// # Errors
    /// Where the filter cannot be evaluated.
    pub fn rows(&self, batch: &RecordBatch, name: &Arc<StringArray>) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let column = |field: &Arc<Field>| -> Result<ArrayRef> {
            if field.name() == CAPTURE {
                let keys = Int32Array::from_value(0, rows);
                return Ok(Arc::new(DictionaryArray::try_new(keys, Arc::clone(name) as ArrayRef)?));
            }
            let own = batch.column_by_name(field.name());
            own.cloned().ok_or_else(|| internal_datafusion_err!("no column {}", field.name()))
        };
        let columns = self.read.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        let with = |rows| RecordBatchOptions::new().with_row_count(Some(rows));
        let mut batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.read), columns, &with(rows))?;
        if let Some(filter) = &self.filter {
            let selected = filter.evaluate(&batch)?.into_array(rows)?;
            let selected = selected.as_boolean_opt();
            let selected =
                selected.ok_or_else(|| internal_datafusion_err!("a filter is no condition"))?;
            batch = filter_record_batch(&batch, selected)?;
        }
        let rows = batch.num_rows();
        let columns = self.passed.iter().map(|n| Arc::clone(batch.column(*n))).collect();
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns, &with(rows))?)
    }
}
