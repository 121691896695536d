/** Rows that contain each other: which are shown, in which order, and how they divide their parents. */

import { type Column, columnOf, sortRows, type Table } from "./table.ts";

export interface Tree {
  readonly rows: number;
  /** Row of the parent; -1 for roots. */
  readonly parents: Int32Array;
  readonly depths: Int32Array;
  /** Rows below each row, in the order they came in. */
  readonly children: readonly (readonly number[])[];
  readonly roots: readonly number[];
}

/**
 * @param ids the name of each row among `parentIds`; parents are before their children
 * @param parentIds the parent's id; an unknown id makes the row a root
 */
export function treeOf(ids: ArrayLike<number>, parentIds: ArrayLike<number>): Tree {
  const rows = ids.length;
  const rowOf = new Map<number, number>();
  const parents = new Int32Array(rows);
  const depths = new Int32Array(rows);
  const children: number[][] = Array.from({ length: rows }, () => []);
  const roots: number[] = [];
  for (let row = 0; row < rows; row++) {
    const parent = rowOf.get(parentIds[row] as number) ?? -1;
    rowOf.set(ids[row] as number, row);
    parents[row] = parent;
    depths[row] = parent < 0 ? 0 : (depths[parent] as number) + 1;
    (parent < 0 ? roots : (children[parent] as number[])).push(row);
  }
  return { rows, parents, depths, children, roots };
}

/** The tree of a table whose rows name their parents, or else come in reading order with depths. */
export function treeOfTable(table: Table): Tree {
  const numbers = (name: string) => {
    const column = columnOf(table, name);
    return column?.type === "number" ? column.values : null;
  };
  const [ids, parents] = [numbers("id"), numbers("parent")];
  if (ids && parents) return treeOf(ids, parents);
  const depths = numbers("depth") ?? new Float64Array(table.rows);
  const above: number[] = [];
  const parentRows = Array.from(depths, (depth, row) => {
    above[depth] = row;
    return depth > 0 ? (above[depth - 1] ?? -1) : -1;
  });
  return treeOf(Array.from(depths.keys()), parentRows);
}

/** Rows in sight, parents before children, siblings by a column. */
export function shownRows(
  tree: Tree,
  isOpen: (row: number) => boolean,
  order: { readonly column: Column; readonly descending: boolean } | null,
  passes: Uint8Array | null = null,
): Uint32Array {
  const sorted = (rows: readonly number[]) => {
    const kept = passes ? rows.filter((row) => passes[row]) : rows;
    return order ? sortRows(Uint32Array.from(kept), order.column, order.descending) : kept;
  };
  const shown: number[] = [];
  const stack: number[] = [...sorted(tree.roots)].reverse();
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    shown.push(row);
    if (!isOpen(row)) continue;
    const below = sorted(tree.children[row] ?? []);
    for (let i = below.length - 1; i >= 0; i--) stack.push(below[i] as number);
  }
  return Uint32Array.from(shown);
}

/** Marks rows that match and, so that they can be reached, all rows that contain them. */
export function withAncestors(tree: Tree, matches: (row: number) => boolean): Uint8Array {
  const marks = new Uint8Array(tree.rows);
  for (let row = tree.rows - 1; row >= 0; row--) {
    if (!marks[row] && !matches(row)) continue;
    marks[row] = 1;
    const parent = tree.parents[row] as number;
    if (parent >= 0) marks[parent] = 1;
  }
  return marks;
}

export interface Slice {
  readonly row: number;
  /** Levels below the row that the picture is of. */
  readonly level: number;
  /** Begin and end as fractions of the picture's width. */
  readonly from: number;
  readonly to: number;
}

/**
 * Divides the width of `root` among its children by their values, these among theirs, and so on.
 *
 * @param levels how many levels, the root's own included
 * @param least slices narrower than this fraction are left out, with what they contain
 */
export function slicesOf(
  tree: Tree,
  values: ArrayLike<number>,
  root: number,
  levels: number,
  least: number,
): Slice[] {
  const whole = values[root] as number;
  if (!(whole > 0)) return [];
  const slices: Slice[] = [];
  const waiting: Slice[] = [{ row: root, level: 0, from: 0, to: 1 }];
  for (let slice = waiting.pop(); slice; slice = waiting.pop()) {
    slices.push(slice);
    if (slice.level + 1 >= levels) continue;
    let from = slice.from;
    const below = [...(tree.children[slice.row] ?? [])];
    below.sort((a, b) => (values[b] || 0) - (values[a] || 0));
    for (const row of below) {
      const share = (values[row] || 0) / whole;
      // Children of rounded times may add up to a little more than their parent.
      const to = Math.min(slice.to, from + share);
      if (to - from >= least) waiting.push({ row, level: slice.level + 1, from, to });
      from = to;
    }
  }
  return slices;
}
