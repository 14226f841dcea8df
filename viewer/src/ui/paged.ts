// Lists of the server that are read page by page.

import { useEffect, useState } from "preact/hooks";
import { Cancelled } from "../data/queue";
import { queue } from "../model/state";
import { message } from "./answer";

export interface Page<Row> {
  rows: Row[];
  more: boolean;
  next?: number | undefined;
}

export interface Paged<Row> {
  rows: Row[];
  more: boolean;
  isReading: boolean;
  error: string | null;
  readMore: () => void;
}

/** The pages of a list, the first one when `key` changes. */
export function usePages<Row>(
  slot: string,
  key: string | null,
  ask: (from: number, signal: AbortSignal) => Promise<Page<Row>>,
  identity: (row: Row) => string,
): Paged<Row> {
  const [state, setState] = useState<Page<Row> & { key: string | null; error: string | null }>({
    key: null,
    rows: [],
    more: false,
    error: null,
  });
  const read = (from: number, before: Row[]) => {
    if (key === null) return;
    queue.add(slot, 4, (signal) => ask(from, signal)).then(
      (page) => {
        const known = new Set(before.map(identity));
        const rows = [...before, ...page.rows.filter((row) => !known.has(identity(row)))];
        setState({ key, rows, more: page.more, next: page.next, error: null });
      },
      (error: unknown) => {
        if (!(error instanceof Cancelled)) {
          setState({ key, rows: before, more: false, error: message(error) });
        }
      },
    );
  };
  useEffect(() => read(0, []), [key]);
  const current = state.key === key;
  return {
    rows: current ? state.rows : [],
    more: current && state.more,
    isReading: !current && key !== null,
    error: current ? state.error : null,
    readMore: () => {
      if (state.next !== undefined) read(state.next, state.rows);
    },
  };
}
