// The batches of a table: a head in JSON, and arrays.

const NUMBERS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
  bool: Uint8Array,
};

/** The rows of one batch, by the names of columns. `bytes` begins at a multiple of 8 in its buffer. */
export function batch(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const first = bytes.byteOffset + 4 + length;
  const rows = head.rows;
  const array = (Kind, at, count) => new Kind(bytes.buffer, first + at, count);
  const pieces = (column, piece) => {
    const ends = array(Uint32Array, column.ends, rows);
    const all = array(Uint8Array, column.at, rows === 0 ? 0 : ends[rows - 1]);
    return Array.from(ends, (end, row) => piece(all.subarray(row === 0 ? 0 : ends[row - 1], end)));
  };
  const values = (column) => {
    const Kind = NUMBERS[column.type];
    if (Kind !== undefined) return array(Kind, column.at, rows);
    switch (column.type) {
      case "name":
        return array(Int32Array, column.at, rows);
      case "list":
        return column.lists;
      case "bytes":
        return pieces(column, (piece) => piece);
      default: {
        const decoder = new TextDecoder();
        return pieces(column, (piece) => decoder.decode(piece));
      }
    }
  };
  const columns = {};
  for (const column of head.columns) {
    const known = column.known === undefined ? null : array(Uint8Array, column.known, rows);
    columns[column.name] = { type: column.type, values: values(column), known, names: column.names ?? null };
  }
  return { rows, columns };
}
