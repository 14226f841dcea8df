//! The operator that decodes: rows of units to rows of a table.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, exec_datafusion_err, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::{Stream, StreamExt};
use tracewright::Trace;
use tracewright::decode::Jobs;
use tracewright::index::Index;
use tracewright_columns::{Decoded, Query, Stop};

use crate::narrow;
use crate::scan::Scan;
use crate::units::{self, Unit};

/// Batches that wait for who reads them.
const WAITING: usize = 2;

/// Decodes the units that its input has as rows, and passes on the rows of a table that its filter
/// selects. The rows of a partition are those of its units, in their order.
#[derive(Debug)]
pub struct TraceDecodeExec {
    input: Arc<dyn ExecutionPlan>,
    scan: Arc<Scan>,
    /// What is known of all rows.
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TraceDecodeExec {
    /// An operator that decodes the units of `input`.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        scan: Arc<Scan>,
        statistics: Arc<Statistics>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&scan.schema)),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        TraceDecodeExec { input, scan, statistics, properties, metrics }
    }
}

impl DisplayAs for TraceDecodeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scan { table, filter, limit, .. } = &*self.scan;
        write!(
            f,
            "TraceDecodeExec: table={}, columns=[{}]",
            table.name(),
            self.scan.columns().join(", ")
        )?;
        if let Some(filter) = filter {
            write!(f, ", filter={filter}")?;
        }
        limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for TraceDecodeExec {
    fn name(&self) -> &str {
        "TraceDecodeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// There are as many partitions as are wanted: a row is much work.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.scan.filter.as_ref().map_or(Ok(TreeNodeRecursion::Continue), f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = &children[..] else { return internal_err!("TraceDecodeExec has one input") };
        let (scan, statistics) = (Arc::clone(&self.scan), Arc::clone(&self.statistics));
        Ok(Arc::new(TraceDecodeExec::new(Arc::clone(input), scan, statistics)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        use datafusion::physical_plan::ChildrenPropertiesMode::Recompute;
        self.replace_children(children, ReplaceChildrenOptions::new(Recompute))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let units = self.input.execute(partition, Arc::clone(&context))?;
        let consumer = MemoryConsumer::new(format!("TraceDecodeExec[{partition}]"));
        let memory = Arc::new(consumer.register(context.memory_pool()));
        let cores = context.session_config().target_partitions();
        let partitions = self.properties.output_partitioning().partition_count();
        let (stop, decoded) = (Stop::default(), Decoded::default());
        let mut builder =
            RecordBatchReceiverStream::builder(Arc::clone(&self.scan.schema), WAITING);
        let worker = Worker {
            scan: Arc::clone(&self.scan),
            jobs: Jobs::new((cores / partitions.max(1)).max(1)),
            batch: context.session_config().batch_size(),
            left: self.scan.limit,
            stop: stop.clone(),
            decoded,
            counted: 0,
            bytes: MetricBuilder::new(&self.metrics).counter("bytes_decoded", partition),
            units: MetricBuilder::new(&self.metrics).counter("units", partition),
            sender: builder.tx(),
            memory: Arc::clone(&memory),
        };
        builder.spawn(worker.run(units));
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(Box::pin(Rows { inner: builder.build(), stop, memory, metrics }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match args.partition() {
            Some(_) => Ok(Arc::new(Statistics::new_unknown(&self.scan.schema))),
            None => Ok(Arc::clone(&self.statistics)),
        }
    }

    fn child_stats_requests(&self, _: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::Skip]
    }
}

/// The rows of a partition. Decoding ends with it.
struct Rows {
    inner: SendableRecordBatchStream,
    stop: Stop,
    memory: Arc<MemoryReservation>,
    metrics: BaselineMetrics,
}

impl Stream for Rows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(batch))) = &next {
            self.memory.shrink(batch.get_array_memory_size());
        }
        self.metrics.record_poll(next)
    }
}

impl RecordBatchStream for Rows {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// Decodes the units of a partition.
struct Worker {
    scan: Arc<Scan>,
    /// The threads for each unit.
    jobs: Jobs,
    /// The most rows of a batch.
    batch: usize,
    /// The rows that are still wanted.
    left: Option<usize>,
    stop: Stop,
    decoded: Decoded,
    /// The bytes that the metric has.
    counted: u64,
    bytes: Count,
    units: Count,
    sender: tokio::sync::mpsc::Sender<Result<RecordBatch>>,
    memory: Arc<MemoryReservation>,
}

impl Worker {
    /// Decodes `units`. What is decoded waits for who reads it, on a thread of its own.
    async fn run(mut self, mut units: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = units.next().await {
            let all = units::read(&batch?)?;
            let work = move || {
                let more = self.decode(&all)?;
                Ok::<_, DataFusionError>((self, more))
            };
            let done = tokio::task::spawn_blocking(work).await;
            let (worker, more) =
                done.map_err(|error| DataFusionError::External(error.into()))??;
            self = worker;
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Decodes `all`. Returns whether more is wanted.
    fn decode(&mut self, all: &[Unit]) -> Result<bool> {
        // Segments of a buffer are decoded by one session.
        let same = |a: &Unit, b: &Unit| {
            (&a.capture, a.buffer) == (&b.capture, b.buffer)
                && a.segments.is_some()
                && b.segments.is_some()
        };
        for units in all.chunk_by(same) {
            self.units.add(units.len());
            if !self.group(units)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn group(&mut self, units: &[Unit]) -> Result<bool> {
        let scan = Arc::clone(&self.scan);
        let Some(first) = units.first() else { return Ok(true) };
        let Some(opened) = scan.captures.named(&first.capture) else {
            return Err(exec_datafusion_err!("{}: the capture is not open", first.capture));
        };
        let Some(query) = narrow::query(&scan.table, opened, &scan.selection) else {
            return Ok(true);
        };
        let segments = units.iter().map(|unit| {
            let (first, end) = unit.segments?;
            Some(usize::try_from(first).ok()?..usize::try_from(end).ok()?)
        });
        let segments: Option<Vec<_>> = segments.collect();
        let index = opened.index.as_ref();
        let index = index.filter(|_| segments.is_some() || scan.table.name() == "segments");
        let query = Query {
            columns: Some(scan.columns()),
            buffers: first.buffer.map(|buffer| vec![buffer as usize]),
            segments,
            limit: self.left.filter(|_| scan.filter.is_none()).map(|left| left as u64),
            batch: self.batch,
            stop: self.stop.clone(),
            decoded: self.decoded.clone(),
            ..query
        };
        let trace = opened.trace.clone().with_jobs(self.jobs.clone());
        let name = Arc::new(StringArray::from_iter_values([&opened.name]));
        self.read(&trace, &query, index, &name)
            .map_err(|error| error.context(format!("{}: table {}", opened.name, scan.table.name())))
    }

    /// Reads the table. Returns whether more is wanted.
    fn read(
        &mut self,
        trace: &Trace,
        query: &Query,
        index: Option<&Index>,
        name: &Arc<StringArray>,
    ) -> Result<bool> {
        let scan = Arc::clone(&self.scan);
        let mut more = Ok(self.left != Some(0));
        let read = scan.table.read(trace, query, index, &mut |batch| {
            more = self.put(&batch, name);
            matches!(more, Ok(true))
        });
        self.count();
        // Where sending ended, the error is that of the reader.
        let more = more?;
        read.map_err(|error| exec_datafusion_err!("{error}"))?;
        Ok(more && !self.stop.is_set())
    }

    /// Passes the rows of a batch on that are selected. Returns whether more are wanted.
    fn put(&mut self, batch: &RecordBatch, name: &Arc<StringArray>) -> Result<bool> {
        self.count();
        let mut rows = self.scan.rows(batch, name)?;
        if let Some(left) = &mut self.left {
            rows = rows.slice(0, rows.num_rows().min(*left));
            *left -= rows.num_rows();
        }
        if rows.num_rows() > 0 {
            self.memory.try_grow(rows.get_array_memory_size())?;
            if self.sender.blocking_send(Ok(rows)).is_err() {
                return Ok(false);
            }
        }
        Ok(self.left != Some(0))
    }

    /// Adds to the metric what was decoded.
    fn count(&mut self) {
        let bytes = self.decoded.bytes();
        self.bytes.add(usize::try_from(bytes - self.counted).unwrap_or(usize::MAX));
        self.counted = bytes;
    }
}
