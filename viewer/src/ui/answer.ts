// The answer to a panel's question: the last one stays until the next is there.

import { useEffect, useState } from "preact/hooks";
import { Cancelled } from "../data/queue";
import { queue } from "../model/state";

export interface Answer<T> {
  value: T | null;
  /** The value is that of an earlier question. */
  isOld: boolean;
  error: string | null;
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Asks when `key` changes; with `null` nothing is asked. A newer question cancels the older one. */
export function useAnswer<T>(
  slot: string,
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
): Answer<T> {
  const [state, setState] = useState<{ key: string | null; value: T | null; error: string | null }>({
    key: null,
    value: null,
    error: null,
  });
  useEffect(() => {
    if (key === null) return;
    let current = true;
    queue.add(slot, 4, ask).then(
      (value) => {
        if (current) setState({ key, value, error: null });
      },
      (error: unknown) => {
        if (current && !(error instanceof Cancelled)) {
          setState({ key, value: null, error: message(error) });
        }
      },
    );
    return () => {
      current = false;
    };
  }, [key]);
  return {
    value: key === null ? null : state.value,
    isOld: state.key !== key,
    error: state.key === key ? state.error : null,
  };
}
