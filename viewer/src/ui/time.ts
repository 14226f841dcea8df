// Times of the trace for people.

import { buffer } from "../model/state";
import { seconds } from "../format";

/** A timestamp: since the first one where the frequency is known, else in ticks. */
export function timeText(time: string | undefined): string {
  const info = buffer.value;
  if (time === undefined || !/^\d+$/.test(time)) return "–";
  if (info?.frequency !== undefined && info.times !== undefined) {
    const since = Number(BigInt(time) - BigInt(info.times.first));
    return since === 0 ? "0 s" : seconds(since / info.frequency);
  }
  return time.replace(/\B(?=(\d{3})+$)/g, ",");
}
