/**
 * A directed graph in layers: every edge points downwards, crossings are few, nodes stand close to
 * the middle of their neighbours (Sugiyama, Tagawa, Toda 1981; separation within a layer by
 * isotonic regression).
 */

export interface Box {
  readonly width: number;
  readonly height: number;
}

export interface Arc {
  readonly from: number;
  readonly to: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  /** Middle of each box. */
  readonly places: readonly Point[];
  /** Through which points each arc runs, its ends included. */
  readonly bends: readonly (readonly Point[])[];
  readonly width: number;
  readonly height: number;
}

const GAP_X = 18;
const GAP_Y = 34;
/** Room that an edge takes where it passes a layer. */
const EDGE_ROOM = 8;
/**
 * Longer edges run straight, in large graphs: bending each around every layer that it passes would
 * cost more than all else.
 */
const LONGEST_BENT = 12;
const MOST_BENDS = 20_000;
const SWEEPS = 12;
const STRAIGHTENINGS = 8;

interface Vertex {
  readonly layer: number;
  readonly width: number;
  readonly height: number;
  readonly above: number[];
  readonly below: number[];
  x: number;
}

/** Places boxes and arcs; arcs that close a cycle and arcs to oneself do not shape it. */
export function layered(boxes: readonly Box[], arcs: readonly Arc[]): Layout {
  if (boxes.length === 0) return { places: [], bends: [], width: 0, height: 0 };
  const forward = withoutCycles(boxes.length, arcs);
  const layers = layersOf(boxes.length, forward);
  const vertices: Vertex[] = boxes.map(({ width, height }, i) => ({
    layer: layers[i] as number,
    width,
    height,
    above: [],
    below: [],
    x: 0,
  }));
  const longest = Math.max(LONGEST_BENT, Math.floor(MOST_BENDS / Math.max(1, arcs.length)));
  const chains = forward.map((arc) => chainOf(vertices, arc, longest));
  const rows = ordered(vertices);
  for (let pass = 0; pass < STRAIGHTENINGS; pass++) straighten(vertices, rows, pass % 2 === 0);
  return placed(vertices, rows, boxes.length, arcs, chains);
}

/** The arcs with those that close a cycle turned round, and no arc to oneself. */
function withoutCycles(count: number, arcs: readonly Arc[]): (Arc | null)[] {
  const outgoing: number[][] = Array.from({ length: count }, () => []);
  arcs.forEach((arc, i) => {
    if (arc.from !== arc.to) outgoing[arc.from]?.push(i);
  });
  const turned = new Set<number>();
  const state = new Uint8Array(count);
  const next = new Uint32Array(count);
  for (let start = 0; start < count; start++) {
    if (state[start]) continue;
    const path = [start];
    state[start] = 1;
    while (path.length > 0) {
      const at = path[path.length - 1] as number;
      const index = outgoing[at]?.[next[at] as number];
      if (index === undefined) {
        state[at] = 2;
        path.pop();
        continue;
      }
      next[at] = (next[at] as number) + 1;
      const to = (arcs[index] as Arc).to;
      if (state[to] === 1) turned.add(index);
      else if (!state[to]) {
        state[to] = 1;
        path.push(to);
      }
    }
  }
  return arcs.map((arc, i) => {
    if (arc.from === arc.to) return null;
    return turned.has(i) ? { from: arc.to, to: arc.from } : arc;
  });
}

/** Layer of each node: below all it depends on; sources directly above what first needs them. */
function layersOf(count: number, arcs: readonly (Arc | null)[]): Int32Array {
  const below: number[][] = Array.from({ length: count }, () => []);
  const waiting = new Int32Array(count);
  const incoming = new Int32Array(count);
  for (const arc of arcs) {
    if (!arc) continue;
    below[arc.from]?.push(arc.to);
    waiting[arc.to] = (waiting[arc.to] as number) + 1;
    incoming[arc.to] = waiting[arc.to] as number;
  }
  const layers = new Int32Array(count);
  const ready = Array.from({ length: count }, (_, i) => i).filter((i) => !waiting[i]);
  const order: number[] = [];
  for (let at = ready.pop(); at !== undefined; at = ready.pop()) {
    order.push(at);
    for (const to of below[at] ?? []) {
      layers[to] = Math.max(layers[to] as number, (layers[at] as number) + 1);
      waiting[to] = (waiting[to] as number) - 1;
      if (waiting[to] === 0) ready.push(to);
    }
  }
  for (let i = order.length - 1; i >= 0; i--) {
    const at = order[i] as number;
    const lowest = (below[at] ?? []).reduce(
      (least, to) => Math.min(least, layers[to] as number),
      1e9,
    );
    if (!incoming[at] && lowest < 1e9) layers[at] = lowest - 1;
  }
  return layers;
}

/** The vertices an arc runs through: its ends, and one of no size in each layer between. */
function chainOf(vertices: Vertex[], arc: Arc | null, longest: number): number[] {
  if (!arc) return [];
  const from = vertices[arc.from] as Vertex;
  const to = vertices[arc.to] as Vertex;
  const chain = [arc.from];
  if (to.layer - from.layer <= longest) {
    for (let layer = from.layer + 1; layer < to.layer; layer++) {
      vertices.push({ layer, width: EDGE_ROOM, height: 0, above: [], below: [], x: 0 });
      chain.push(vertices.length - 1);
    }
  }
  chain.push(arc.to);
  for (let i = 1; i < chain.length; i++) {
    const [a, b] = [chain[i - 1] as number, chain[i] as number];
    vertices[a]?.below.push(b);
    vertices[b]?.above.push(a);
  }
  return chain;
}

/** Vertices of each layer from left to right, by sweeps of medians; the best order seen is kept. */
function ordered(vertices: readonly Vertex[]): number[][] {
  const last = vertices.reduce((most, { layer }) => Math.max(most, layer), 0);
  let rows: number[][] = Array.from({ length: last + 1 }, () => []);
  for (const index of depthFirst(vertices)) rows[vertices[index]?.layer ?? 0]?.push(index);
  const place = new Float64Array(vertices.length);
  const note = () => {
    for (const row of rows)
      row.forEach((index, at) => {
        place[index] = at;
      });
  };
  note();
  let best = rows.map((row) => [...row]);
  let fewest = crossings(vertices, rows, place);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const down = sweep % 2 === 0;
    for (let i = 1; i <= last; i++) {
      const row = rows[down ? i : last - i] as number[];
      const wanted = new Map(
        row.map((index) => {
          const vertex = vertices[index] as Vertex;
          return [index, medianOf(down ? vertex.above : vertex.below, place) ?? place[index]];
        }),
      );
      row.sort((a, b) => (wanted.get(a) as number) - (wanted.get(b) as number));
      row.forEach((index, at) => {
        place[index] = at;
      });
    }
    const count = crossings(vertices, rows, place);
    if (count < fewest) {
      fewest = count;
      best = rows.map((row) => [...row]);
    }
  }
  rows = best;
  return rows;
}

function depthFirst(vertices: readonly Vertex[]): number[] {
  const seen = new Uint8Array(vertices.length);
  const order: number[] = [];
  const starts = vertices.flatMap(({ above }, i) => (above.length === 0 ? [i] : []));
  for (const start of starts) {
    const waiting = [start];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (seen[at]) continue;
      seen[at] = 1;
      order.push(at);
      const { above, below } = vertices[at] as Vertex;
      for (const next of above) if (!seen[next]) waiting.push(next);
      for (const next of below.toReversed()) if (!seen[next]) waiting.push(next);
    }
  }
  return order;
}

function medianOf(neighbours: readonly number[], place: Float64Array): number | null {
  if (neighbours.length === 0) return null;
  const places = neighbours.map((index) => place[index] as number).sort((a, b) => a - b);
  const middle = places.length >> 1;
  if (places.length % 2 === 1) return places[middle] as number;
  return ((places[middle - 1] as number) + (places[middle] as number)) / 2;
}

/** Pairs of edges between neighbouring layers that cross, counted with a binary indexed tree. */
function crossings(
  vertices: readonly Vertex[],
  rows: readonly (readonly number[])[],
  place: Float64Array,
): number {
  let count = 0;
  for (const row of rows) {
    const ends = row.flatMap((index) => {
      const { below, layer } = vertices[index] as Vertex;
      const next = below.filter((to) => (vertices[to] as Vertex).layer === layer + 1);
      return next.map((to) => place[to] as number).sort((a, b) => a - b);
    });
    const size = Math.max(1, ...ends.map((end) => end + 2));
    const tree = new Uint32Array(size + 1);
    ends.forEach((end, seen) => {
      let before = 0;
      for (let i = end + 1; i > 0; i -= i & -i) before += tree[i] as number;
      count += seen - before;
      for (let i = end + 1; i <= size; i += i & -i) tree[i] = (tree[i] as number) + 1;
    });
  }
  return count;
}

/** Moves each layer's vertices as near to their neighbours' middle as their order allows. */
function straighten(vertices: Vertex[], rows: readonly (readonly number[])[], down: boolean): void {
  const order = down ? rows : rows.toReversed();
  for (const row of order) {
    const wanted = row.map((index) => {
      const vertex = vertices[index] as Vertex;
      const near = down ? vertex.above : vertex.below;
      const sides = near.length > 0 ? near : down ? vertex.below : vertex.above;
      if (sides.length === 0) return vertex.x;
      return sides.reduce((sum, other) => sum + (vertices[other] as Vertex).x, 0) / sides.length;
    });
    const room = row.map((index) => (vertices[index] as Vertex).width);
    separated(wanted, room).forEach((x, at) => {
      (vertices[row[at] as number] as Vertex).x = x;
    });
  }
}

/**
 * The places nearest to those wanted (least squares) at which boxes keep their order and distance:
 * distances are taken off, the rest is an isotonic regression (pool adjacent violators).
 */
export function separated(wanted: readonly number[], widths: readonly number[]): number[] {
  const offsets: number[] = [];
  let offset = 0;
  widths.forEach((width, i) => {
    if (i > 0) offset += ((widths[i - 1] as number) + width) / 2 + GAP_X;
    offsets.push(offset);
  });
  const pools: { sum: number; count: number }[] = [];
  wanted.forEach((x, i) => {
    let pool = { sum: x - (offsets[i] as number), count: 1 };
    for (
      let last = pools.at(-1);
      last && last.sum / last.count > pool.sum / pool.count;
      last = pools.at(-1)
    ) {
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
      pools.pop();
    }
    pools.push(pool);
  });
  const places = pools.flatMap(({ sum, count }) => Array<number>(count).fill(sum / count));
  return places.map((place, i) => place + (offsets[i] as number));
}

/** Coordinates from 0, layers as high as their highest box. */
function placed(
  vertices: readonly Vertex[],
  rows: readonly (readonly number[])[],
  boxes: number,
  arcs: readonly Arc[],
  chains: readonly (readonly number[])[],
): Layout {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const { x, width } of vertices) {
    least = Math.min(least, x - width / 2);
    most = Math.max(most, x + width / 2);
  }
  const middles: number[] = [];
  const heights: number[] = [];
  let y = 0;
  for (const row of rows) {
    const high = row.reduce((top, index) => Math.max(top, (vertices[index] as Vertex).height), 0);
    middles.push(y + high / 2);
    heights.push(high);
    y += high + GAP_Y;
  }
  const at = (index: number): Point => {
    const vertex = vertices[index] as Vertex;
    return { x: vertex.x - least, y: middles[vertex.layer] as number };
  };
  return {
    places: Array.from({ length: boxes }, (_, i) => at(i)),
    bends: chains.map((chain, i) => endsAtBoxes(chain, arcs[i] as Arc, vertices, at, heights)),
    width: most - least,
    height: y - GAP_Y,
  };
}

/**
 * The points of an arc in its own direction, from the edge of its first box to that of its last.
 * Where it passes a layer it runs straight down for as long as the layer's boxes are high.
 */
function endsAtBoxes(
  chain: readonly number[],
  arc: Arc,
  vertices: readonly Vertex[],
  at: (index: number) => Point,
  heights: readonly number[],
): Point[] {
  const last = chain.length - 1;
  const points = chain.flatMap((index, i): Point[] => {
    const { x, y } = at(index);
    const { height, layer } = vertices[index] as Vertex;
    if (i === 0) return [{ x, y: y + height / 2 }];
    if (i === last) return [{ x, y: y - height / 2 }];
    const half = (heights[layer] as number) / 2;
    return [
      { x, y: y - half },
      { x, y: y + half },
    ];
  });
  return chain[0] === arc.from ? points : points.reverse();
}

/** An arc as a path of gentle curves, vertical where it meets its points. */
export function arcPath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x.toFixed(1)} ${first.y.toFixed(1)}`;
  let before = first;
  for (const point of rest) {
    const half = (point.y - before.y) / 2;
    path += `C${before.x.toFixed(1)} ${(before.y + half).toFixed(1)} ${point.x.toFixed(1)} ${(point.y - half).toFixed(1)} ${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
    before = point;
  }
  return path;
}
