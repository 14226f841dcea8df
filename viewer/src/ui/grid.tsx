// A table of rows of one height, of which only the visible ones are in the document. One row is
// the current one: arrows move it, Enter activates it.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<Row> {
  id: string;
  label: string;
  /** What the numbers mean, shown on hover and read by screen readers. */
  title?: string;
  /** A width of CSS grid. */
  width: string;
  numeric?: boolean;
  /** Without it the column cannot be sorted by. */
  sort?: (row: Row) => number | string;
  cell: (row: Row) => ComponentChildren;
}

export const ROW = 24;
const MARGIN = 8;

export interface Order {
  column: string;
  descending: boolean;
}

export function Grid<Row>(props: {
  label: string;
  id: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  /** Rows are in the order in which they are given where this is absent. */
  order?: Order;
  setOrder?: (order: Order) => void;
  current: number;
  setCurrent: (index: number) => void;
  activate?: (row: Row) => void;
  /** A click activates, too; else a double click does. */
  direct?: boolean;
  rowClass?: (row: Row) => string;
  /** A treegrid has levels, and rows that open and close. */
  tree?: { level: (row: Row) => number; expanded: (row: Row) => boolean | undefined; toggle: (row: Row, open: boolean) => void };
  end?: ComponentChildren;
}) {
  const { rows, columns, current, order } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [window, setWindow] = useState({ first: 0, last: 60 });

  const measure = () => {
    const element = scroller.current;
    if (element === null) return;
    const first = Math.max(0, Math.floor(element.scrollTop / ROW) - MARGIN);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / ROW) + MARGIN;
    setWindow((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  useLayoutEffect(measure, [rows.length]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || current < 0) return;
    const head = ROW + 2;
    const top = current * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW + head > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + ROW + head - element.clientHeight;
    }
  }, [current]);

  const keys = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? ROW) / ROW) - 2);
    const row = rows[current];
    let next = current;
    if (event.key === "ArrowDown") next = current + 1;
    else if (event.key === "ArrowUp") next = current - 1;
    else if (event.key === "PageDown") next = current + page;
    else if (event.key === "PageUp") next = current - page;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = rows.length - 1;
    else if (event.key === "Enter" && row !== undefined) props.activate?.(row);
    else if (event.key === "ArrowRight" && props.tree && row) props.tree.toggle(row, true);
    else if (event.key === "ArrowLeft" && props.tree && row) {
      if (props.tree.expanded(row)) props.tree.toggle(row, false);
      else {
        const level = props.tree.level(row);
        while (next > 0 && props.tree.level(rows[next] as Row) >= level) next -= 1;
      }
    } else return;
    event.preventDefault();
    event.stopPropagation();
    if (next !== current && rows.length > 0) {
      props.setCurrent(Math.min(rows.length - 1, Math.max(0, next)));
    }
  };

  const template = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
  const shown = rows.slice(window.first, window.last);
  const rowId = (index: number) => `${props.id}-${index}`;
  const inView = current >= window.first && current < window.last && current < rows.length;
  return (
    <div
      class="grid"
      role={props.tree ? "treegrid" : "grid"}
      id={props.id}
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={inView ? rowId(current) : undefined}
      tabIndex={0}
      ref={scroller}
      onScroll={measure}
      onKeyDown={keys}
    >
      <div class="gridhead" role="rowgroup">
        <div class="gridrow" role="row" aria-rowindex={1} style={template}>
          {columns.map((column) => {
            const active = order?.column === column.id;
            const sort = active ? (order.descending ? "descending" : "ascending") : undefined;
            return (
              <div
                key={column.id}
                role="columnheader"
                class={column.numeric ? "number" : ""}
                title={column.title}
                aria-sort={sort}
              >
                {column.sort !== undefined && props.setOrder !== undefined ? (
                  <button
                    type="button"
                    tabIndex={-1}
                    onClick={() =>
                      props.setOrder?.({
                        column: column.id,
                        descending: active ? !order.descending : column.numeric === true,
                      })
                    }
                  >
                    {column.label}
                    <span class="arrow" aria-hidden="true">
                      {active ? (order.descending ? "▾" : "▴") : ""}
                    </span>
                  </button>
                ) : (
                  column.label
                )}
              </div>
            );
          })}
        </div>
      </div>
      <div class="gridbody" role="rowgroup" style={{ height: `${rows.length * ROW}px` }}>
        {shown.map((row, i) => {
          const index = window.first + i;
          const open = props.tree?.expanded(row);
          return (
            <div
              key={index}
              id={rowId(index)}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={index === current}
              aria-level={props.tree ? props.tree.level(row) : undefined}
              aria-expanded={open}
              class={`gridrow ${index === current ? "current" : ""} ${props.rowClass?.(row) ?? ""}`}
              style={{ ...template, transform: `translateY(${index * ROW}px)` }}
              onClick={() => {
                props.setCurrent(index);
                if (props.direct) props.activate?.(row);
              }}
              onDblClick={() => {
                if (!props.direct) props.activate?.(row);
              }}
            >
              {columns.map((column) => (
                <div key={column.id} role="gridcell" class={column.numeric ? "number" : ""}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {props.end}
    </div>
  );
}

/** `rows` in the order of a column. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order,
): Row[] {
  const key = columns.find((column) => column.id === order.column)?.sort;
  if (key === undefined) return [...rows];
  const sign = order.descending ? -1 : 1;
  return rows
    .map((row) => ({ row, key: key(row) }))
    .sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : 0))
    .map(({ row }) => row);
}
