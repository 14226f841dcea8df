//! A table of captures, for queries.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use tracewright_columns::Table;

use crate::captures::Captures;
use crate::decode::TraceDecodeExec;
use crate::scan::{self, Scan};
use crate::{statistics, units};

/// A table of all captures.
#[derive(Debug)]
pub struct TraceTable {
    captures: Arc<Captures>,
    table: Table,
    schema: SchemaRef,
    /// The least bytes of a unit.
    least: u64,
}

impl TraceTable {
    /// `table` of `captures`, in units of `least` bytes or more.
    ///
    /// # Errors
    /// Where there is no capture.
    pub fn new(captures: &Arc<Captures>, table: Table, least: u64) -> Result<TraceTable> {
        let schema = scan::schema(&table, captures)?;
        Ok(TraceTable { captures: Arc::clone(captures), table, schema, least })
    }
}

#[async_trait]
impl TableProvider for TraceTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// The operator evaluates each filter, so that none is evaluated after it.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match is_of_a_row(filter)? {
            true => Ok(TableProviderFilterPushDown::Exact),
            false => Ok(TableProviderFilterPushDown::Unsupported),
        };
        filters.iter().map(support).collect()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of = (Arc::clone(&self.captures), self.table, &self.schema);
        let scan = Scan::new(of, state, projection, filters, limit)?;
        let cut = (state.config().target_partitions(), self.least);
        let units = units::plan(&self.table, &self.captures, &scan.selection, cut);
        let statistics = statistics::of(&scan, &units);
        let batches = units.iter().map(|share| Ok(vec![units::batch(share)?]));
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let input = MemorySourceConfig::try_new_exec(&batches, units::schema(), None)?;
        Ok(Arc::new(TraceDecodeExec::new(input, Arc::new(scan), Arc::new(statistics))))
    }
}

/// Whether an expression has a value for each row alone.
fn is_of_a_row(expr: &Expr) -> Result<bool> {
    let mut own = !expr.is_volatile();
    expr.apply(|part| {
        let other = matches!(
            part,
            Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
                | Expr::ScalarSubquery(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
        );
        own &= !other;
        Ok(if other { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(own)
}
