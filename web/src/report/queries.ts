/** Questions over many events of a report: search, totals of a range, how busy tracks are. */

import type {
  Density,
  Place,
  RangeAnswer,
  RangeName,
  SearchAnswer,
  Spread,
} from "../base/timeline.ts";
import { counterTotals } from "./counter_totals.ts";
import { type Events, type TrackEvents, touching, trackOf } from "./events.ts";
import { arrowsIn, idAt, type Names, placeAt, quantile } from "./places.ts";

/** Kinds of tracks that tell of time which other tracks have already. */
const RETOLD = ["steps", "name_scope", "framework_ops", "modules", "source"];

export interface SearchQuestion {
  readonly matches: (name: string) => boolean;
  readonly tracks: ReadonlySet<number>;
  readonly begin: number;
  readonly end: number;
  readonly columns: number;
  readonly limit: number;
  /** The place from which the previous and the next hit are wanted. */
  readonly at: number;
  readonly atEvent: number;
  readonly from: number | null;
}

interface Hit {
  readonly events: TrackEvents;
  readonly position: number;
  readonly begin: number;
  readonly id: number;
}

const byPlace = (a: Hit, b: Hit) => a.begin - b.begin || a.id - b.id;

export function searchAnswer(all: Events, names: Names, asked: SearchQuestion): SearchAnswer {
  const good = new Set(names.flatMap((name, id) => (asked.matches(name) ? [id] : [])));
  const hits: Hit[] = [];
  const tracks: { track: number; count: number }[] = [];
  for (const events of all.tracks) {
    if (!asked.tracks.has(events.track.id)) continue;
    const before = hits.length;
    events.label.forEach((label, position) => {
      if (!good.has(all.labels.name[label] as number)) return;
      const begin = (events.start[position] as number) + events.shift;
      hits.push({ events, position, begin, id: idAt(events, position) });
    });
    const count = hits.length - before;
    if (count > 0) tracks.push({ track: events.track.id, count });
  }
  hits.sort(byPlace);
  const columns = new Array<number>(asked.columns).fill(0);
  const length = asked.end - asked.begin;
  for (const { begin } of hits) {
    // Columns begin at whole picoseconds: the last one that begins at or before the hit.
    const column = Math.ceil(((begin - asked.begin + 1) * asked.columns) / length) - 1;
    if (column >= 0 && column < asked.columns) columns[column] = (columns[column] as number) + 1;
  }
  const placed = (hit: Hit | undefined): Place | null =>
    hit ? placeAt(all, names, hit.events, hit.position) : null;
  const isAfter = (hit: Hit) =>
    hit.begin > asked.at || (hit.begin === asked.at && hit.id > asked.atEvent);
  const isBefore = (hit: Hit) =>
    hit.begin < asked.at || (hit.begin === asked.at && hit.id < Math.max(asked.atEvent, 0));
  const { from } = asked;
  const listed = from === null ? hits : hits.filter(({ begin }) => begin >= from);
  return {
    count: hits.length,
    tracks,
    columns,
    previous: placed(hits.findLast(isBefore)),
    next: placed(hits.find(isAfter)),
    first: listed.slice(0, asked.limit).flatMap((hit) => placed(hit) ?? []),
  };
}

interface Clipped {
  readonly start: number;
  readonly end: number;
  readonly position: number;
  own: number;
}

export function rangeAnswer(
  all: Events,
  names: Names,
  begin: number,
  end: number,
  tracks: ReadonlySet<number> | null,
  limit: number,
): RangeAnswer {
  const totals = new Map<number, { -readonly [Key in keyof RangeName]: RangeName[Key] }>();
  const rows: RangeAnswer["tracks"][number][] = [];
  let counted = 0;
  for (const events of all.tracks) {
    if (tracks && !tracks.has(events.track.id)) continue;
    const inside = clipped(events, begin - events.shift, end - events.shift);
    if (inside.length === 0) continue;
    const busy = busyTime(inside);
    const share = busy / (end - begin);
    rows.push({
      track: events.track.id,
      events: inside.length,
      busy_ps: busy,
      busy_frac: share,
      idle_frac: 1 - share,
    });
    if (!tracks && RETOLD.includes(events.track.kind)) continue;
    counted += inside.length;
    for (const one of inside) {
      const id = all.labels.name[events.label[one.position] as number] as number;
      const length = one.end - one.start;
      const sum = totals.get(id) ?? {
        name: names[id] ?? "",
        name_id: id,
        count: 0,
        total_ps: 0,
        self_ps: 0,
        mean_ps: 0,
        longest_ps: -1,
        longest: -1,
      };
      totals.set(id, sum);
      sum.count++;
      sum.total_ps += length;
      sum.self_ps += one.own;
      sum.mean_ps = Math.round(sum.total_ps / sum.count);
      const event = idAt(events, one.position);
      // Of equals the first: by track, then by place in the file.
      const isHere = trackOf(all, sum.longest) === events;
      const isEarlier = isHere && event < sum.longest;
      if (length > sum.longest_ps || (length === sum.longest_ps && isEarlier)) {
        sum.longest_ps = length;
        sum.longest = event;
      }
    }
  }
  const ranked = [...totals.values()].sort(
    (a, b) => b.self_ps - a.self_ps || b.total_ps - a.total_ps || a.name_id - b.name_id,
  );
  const shown = new Set(rows.map(({ track }) => track));
  const { delays, gaps } = launchesIn(all, begin, end, shown);
  return {
    begin_ps: begin,
    end_ps: end,
    events: counted,
    distinct_names: ranked.length,
    tracks: rows,
    names: ranked.slice(0, limit),
    launches: delays.length,
    launch_delay_ps: spread(delays),
    launch_gap_ps: spread(gaps),
    counters: counterTotals(all.series, begin, end, tracks),
  };
}

/** A track's events inside a range, cut to it, in nesting order, with their self time. */
function clipped(events: TrackEvents, begin: number, end: number): Clipped[] {
  const found: Clipped[] = [];
  for (let lane = 0; lane < events.track.lanes; lane++) {
    const [low, high] = touching(events, lane, begin, end);
    for (let position = low; position < high; position++) {
      const start = Math.max(events.start[position] as number, begin);
      const stop = Math.min(events.end[position] as number, end);
      found.push({ start, end: stop, position, own: stop - start });
    }
  }
  const file = (one: Clipped) => events.index[one.position] as number;
  found.sort((a, b) => a.start - b.start || b.end - a.end || file(a) - file(b));
  // What is open, and up to where each is covered by what it contains.
  const open: { event: Clipped; covered: number }[] = [];
  for (const one of found) {
    while (open.length > 0 && (open.at(-1)?.event.end as number) < one.end) open.pop();
    const parent = open.at(-1);
    if (parent && one.end > parent.covered) {
      parent.event.own -= one.end - Math.max(one.start, parent.covered);
      parent.covered = one.end;
    }
    open.push({ event: one, covered: one.start });
  }
  return found;
}

function busyTime(sorted: readonly Clipped[]): number {
  let busy = 0;
  let reach = Number.NEGATIVE_INFINITY;
  for (const { start, end } of sorted) {
    if (end <= reach) continue;
    busy += end - Math.max(start, reach);
    reach = end;
  }
  return busy;
}

/** From the begin, and from the end, of each launch to the begin of its kernel; ascending. */
function launchesIn(all: Events, begin: number, end: number, tracks: ReadonlySet<number>) {
  const launch = all.meta.flow_kinds.indexOf("launch");
  const rows = arrowsIn(all, begin, end, tracks).filter((row) => all.arrows.kind[row] === launch);
  const wanted = new Set(
    rows.flatMap((row) => [all.arrows.source[row], all.arrows.target[row]] as number[]),
  );
  const times = new Map<number, readonly [number, number]>();
  for (const events of all.tracks) {
    events.index.forEach((_, at) => {
      const id = idAt(events, at);
      if (!wanted.has(id)) return;
      const { start, end: stop, shift } = events;
      times.set(id, [(start[at] as number) + shift, (stop[at] as number) + shift]);
    });
  }
  const delays: number[] = [];
  const gaps: number[] = [];
  for (const row of rows) {
    const from = times.get(all.arrows.source[row] as number);
    const to = times.get(all.arrows.target[row] as number);
    if (!from || !to) continue;
    delays.push(to[0] - from[0]);
    gaps.push(to[0] - from[1]);
  }
  return { delays: Float64Array.from(delays).sort(), gaps: Float64Array.from(gaps).sort() };
}

function spread(sorted: Float64Array): Spread | null {
  if (sorted.length === 0) return null;
  return {
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    least: quantile(sorted, 0),
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    most: quantile(sorted, 1),
  };
}

/** Per section and column: how many of its tracks were busy on average. */
export function densityAnswer(all: Events, begin: number, end: number, columns: number): Density {
  const column = Math.ceil((end - begin) / columns);
  const sections = all.meta.sections.map((section) => {
    const busy = new Float64Array(columns);
    const starts = new Array<number>(columns).fill(0);
    const members = section.tracks.flatMap((id) => all.byTrack.get(id) ?? []);
    for (const events of members) addDensity(events, begin, column, busy, starts);
    const active = Array.from(busy, (time) => Math.round((time / column) * 1000) / 1000);
    return { section: section.id, tracks: members.length, active, starts };
  });
  return { begin_ps: begin, column_ps: column, columns, sections };
}

/** Adds the busy time of a track's top lane to each column, and counts what starts there. */
function addDensity(
  events: TrackEvents,
  from: number,
  column: number,
  busy: Float64Array,
  starts: number[],
): void {
  const begin = from - events.shift;
  const columns = busy.length;
  if (events.track.lanes === 0) return;
  const [low, high] = touching(events, 0, begin, begin + column * columns);
  for (let at = low; at < high; at++) {
    const start = events.start[at] as number;
    const stop = events.end[at] as number;
    let now = Math.max(start, begin);
    let place = Math.floor((now - begin) / column);
    if (start >= begin) starts[place] = (starts[place] as number) + 1;
    for (; place < columns && now < stop; place++) {
      const edge = begin + (place + 1) * column;
      busy[place] = (busy[place] as number) + Math.min(stop, edge) - now;
      now = edge;
    }
  }
}
