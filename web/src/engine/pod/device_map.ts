/** The map of a pod's devices: its texts from differences, its cells in as many bins as fit. */

/** The byte of a cell without a device or value. */
export const NOTHING = 255;
/** The byte of the median of all devices; 0 and 250 are as far as colours reach. */
export const MIDDLE = 125;

/** Numbers, each given as the difference from the one before. */
export function fromSteps(steps: readonly (number | null)[]): Int32Array {
  const found = new Int32Array(steps.length);
  let sum = 0;
  for (let i = 0; i < steps.length; i++) {
    sum += steps[i] ?? 0;
    found[i] = sum;
  }
  return found;
}

/** Bytes that came as text. */
export function fromBase64(text: string): Uint8Array {
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) found[i] = letters.charCodeAt(i);
  return found;
}

/** By cell, its device; -1 where there is none. */
export function deviceByCell(cells: Int32Array, size: number): Int32Array {
  const found = new Int32Array(size).fill(-1);
  for (let device = 0; device < cells.length; device++) found[cells[device] as number] = device;
  return found;
}

export interface Bins {
  readonly rows: number;
  readonly columns: number;
  /** Cells of the map that one bin has, down and across. */
  readonly down: number;
  readonly across: number;
  /** By bin, the byte of its worst cell, the one farthest from the median; never a mean. */
  readonly level: Uint8Array;
  /** By bin, that cell; -1 where no cell of it has a value. */
  readonly cell: Int32Array;
}

/** Puts the cells of a map into no more bins than fit, each as bad as its worst cell. */
export function binned(
  levels: Uint8Array,
  rows: number,
  columns: number,
  mostRows: number,
  mostColumns: number,
): Bins {
  const down = Math.max(1, Math.ceil(rows / mostRows));
  const across = Math.max(1, Math.ceil(columns / mostColumns));
  const [high, wide] = [Math.ceil(rows / down), Math.ceil(columns / across)];
  const level = new Uint8Array(high * wide).fill(NOTHING);
  const cell = new Int32Array(high * wide).fill(-1);
  for (let row = 0; row < rows; row++) {
    const base = Math.floor(row / down) * wide;
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      const value = levels[at] as number;
      if (value === NOTHING) continue;
      const bin = base + Math.floor(column / across);
      const known = level[bin] as number;
      if (known === NOTHING || Math.abs(value - MIDDLE) > Math.abs(known - MIDDLE)) {
        level[bin] = value;
        cell[bin] = at;
      }
    }
  }
  return { rows: high, columns: wide, down, across, level, cell };
}

export type Rgb = readonly [number, number, number];

/** Colours by byte, four numbers each, from below the median over it to above it. */
export function ramp(low: Rgb, middle: Rgb, high: Rgb): Uint8ClampedArray {
  const found = new Uint8ClampedArray(256 * 4);
  for (let byte = 0; byte < NOTHING; byte++) {
    const far = Math.min(1, Math.abs(byte - MIDDLE) / MIDDLE);
    const end = byte < MIDDLE ? low : high;
    for (let part = 0; part < 3; part++) {
      const from = middle[part] as number;
      found[4 * byte + part] = Math.round(from + far * ((end[part] as number) - from));
    }
    found[4 * byte + 3] = 255;
  }
  return found; // what has no value stays transparent: the ground is hatched
}

/** The value that a byte stands for; of the first and the last, the least it can be. */
export function valueOfByte(byte: number, middle: number, reach: number): number {
  return byte === NOTHING ? Number.NaN : middle + ((byte - MIDDLE) / MIDDLE) * reach;
}

/** The bin that a key leads to from another; null for keys that do not move. */
export function binByKey(key: string, at: number, { rows, columns }: Bins): number | null {
  const [row, column] = [Math.floor(at / columns), at % columns];
  const to = (r: number, c: number) =>
    Math.min(rows - 1, Math.max(0, r)) * columns + Math.min(columns - 1, Math.max(0, c));
  if (at < 0) return key.startsWith("Arrow") || key === "Home" ? 0 : null;
  if (key === "ArrowRight") return to(row, column + 1);
  if (key === "ArrowLeft") return to(row, column - 1);
  if (key === "ArrowDown") return to(row + 1, column);
  if (key === "ArrowUp") return to(row - 1, column);
  if (key === "Home") return to(row, 0);
  if (key === "End") return to(row, columns - 1);
  return null;
}
