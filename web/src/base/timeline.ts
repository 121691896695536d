/** What the server says about a timeline (docs/timeline-format.md). Times are ps on its axis. */

export interface TimelineTrack {
  readonly id: number;
  readonly section: number;
  readonly kind: string;
  readonly name: string;
  /** Not in the file; computed from its events. */
  readonly derived: boolean;
  readonly lanes: number;
  readonly events: number;
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly unit: string;
  readonly least: number | null;
  readonly most: number | null;
}

export interface TimelineSection {
  readonly id: number;
  readonly host: number;
  readonly kind: string;
  readonly name: string;
  /** The name for people. */
  readonly label: string;
  readonly tracks: readonly number[];
}

export interface TimelineSteps {
  readonly host: number;
  readonly source: string;
  readonly num: readonly number[];
  readonly name: readonly string[];
  readonly begin_ps: readonly number[];
  readonly end_ps: readonly number[];
}

export interface TimelineMeta {
  readonly version: number;
  readonly fingerprint: string;
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly origin_ns: string;
  readonly aligned_by: string;
  readonly events: number;
  readonly hosts: readonly { readonly name: string; readonly shift_ps: number }[];
  readonly categories: readonly string[];
  readonly flow_kinds: readonly string[];
  /** What a range can be divided by, the first to begin with. */
  readonly groupings: readonly { readonly by: string; readonly label: string }[];
  readonly names: { readonly count: number; readonly per_page: number };
  readonly sections: readonly TimelineSection[];
  readonly tracks: readonly TimelineTrack[];
  readonly steps: readonly TimelineSteps[];
}

/** One event and where it is drawn. */
export interface Place {
  readonly event: number;
  readonly track: number;
  readonly lane: number;
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly name: string;
  readonly name_id: number;
  readonly category: number;
}

export interface LinkedPlace extends Place {
  readonly kind: string;
}

export interface Occurrences {
  readonly count: number;
  readonly total_ps: number;
  /** Least, 25 %, median, 75 %, 95 %, 99 %, most. */
  readonly quantiles_ps: readonly number[];
  readonly longer: number;
  readonly bin_edge_ps: readonly number[];
  readonly bin_count: readonly number[];
  readonly previous: number;
  readonly next: number;
  readonly longest: number;
}

export interface EventDetails extends Place {
  readonly full_name: string;
  readonly self_ps: number;
  readonly stats: readonly { readonly name: string; readonly value: unknown }[];
  readonly parent: Place | null;
  readonly children: { readonly count: number; readonly first: readonly Place[] };
  readonly into: readonly LinkedPlace[];
  readonly out_of: readonly LinkedPlace[];
  readonly occurrences: Occurrences;
}

export interface FlowArrow {
  readonly kind: number;
  readonly from: Place;
  readonly to: Place;
}

export interface Flows {
  readonly count: number;
  readonly arrows: readonly FlowArrow[];
}

export interface SearchAnswer {
  readonly count: number;
  readonly tracks: readonly { readonly track: number; readonly count: number }[];
  readonly columns: readonly number[];
  readonly first: readonly Place[];
  readonly previous: Place | null;
  readonly next: Place | null;
}

export interface RangeName {
  readonly name: string;
  readonly name_id: number;
  readonly count: number;
  readonly total_ps: number;
  readonly self_ps: number;
  readonly mean_ps: number;
  readonly longest_ps: number;
  readonly longest: number;
}

/** What a counter shows within a range. */
export interface RangeCounter {
  readonly track: number;
  readonly unit: string;
  readonly first: number;
  readonly last: number;
  readonly change: number;
  readonly least: number;
  readonly most: number;
  readonly most_at_ps: number;
  /** Over time. */
  readonly mean: number;
  readonly changes: number;
}

export interface Spread {
  readonly mean: number;
  readonly least: number;
  readonly median: number;
  readonly p95: number;
  readonly most: number;
}

export interface RangeAnswer {
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly events: number;
  readonly distinct_names: number;
  readonly tracks: readonly {
    readonly track: number;
    readonly events: number;
    readonly busy_ps: number;
    readonly busy_frac: number;
    readonly idle_frac: number;
  }[];
  readonly names: readonly RangeName[];
  readonly launches: number;
  readonly launch_delay_ps: Spread | null;
  readonly launch_gap_ps: Spread | null;
  readonly counters: readonly RangeCounter[];
}

/** The tree of a range as columns, one row per node; row 0 is the root. */
export interface FlameAnswer {
  readonly begin_ps: number;
  readonly end_ps: number;
  readonly name: readonly string[];
  /** Row of the parent; -1 for the root. */
  readonly parent: readonly number[];
  readonly total_ps: readonly number[];
  readonly self_ps: readonly number[];
  readonly count: readonly number[];
  /** Id of its longest event; -1 where it has none. */
  readonly example: readonly number[];
  /** What that event is, a place in the categories of the timeline; -1 where it has none. */
  readonly category: readonly number[];
  /** Nodes too small to be sent. */
  readonly left_out: number;
  /** Of the range it is compared with, where there is one. */
  readonly base_begin_ps?: number;
  readonly base_end_ps?: number;
  readonly base_total_ps?: readonly number[];
  readonly base_self_ps?: readonly number[];
  readonly base_count?: readonly number[];
}

/** The critical path of a stretch; its pieces as columns, in order of time. */
export interface PathAnswer {
  readonly begin_ps: number;
  readonly end_ps: number;
  /** Where the path ends. */
  readonly path_end_ps: number;
  readonly work_ps: number;
  readonly gap_ps: number;
  /** Pieces at the beginning that were not sent. */
  readonly left_out: number;
  readonly reasons: readonly string[];
  readonly pieces: {
    readonly event: readonly number[];
    readonly track: readonly number[];
    readonly lane: readonly number[];
    readonly begin_ps: readonly number[];
    readonly end_ps: readonly number[];
    readonly reason: readonly number[];
    readonly gap_ps: readonly number[];
  };
  readonly names: readonly {
    readonly name: string;
    readonly pieces: number;
    readonly time_ps: number;
    readonly gap_ps: number;
    readonly longest: number;
  }[];
  readonly categories: readonly { readonly category: number; readonly time_ps: number }[];
  /** Of the event asked for; null where it has no part in the stretch. */
  readonly slack_ps: number | null;
}

export interface Density {
  readonly begin_ps: number;
  readonly column_ps: number;
  readonly columns: number;
  readonly sections: readonly {
    readonly section: number;
    readonly tracks: number;
    readonly active: readonly number[];
    readonly starts: readonly number[];
  }[];
}

/** A stretch of time, `begin` < `end`, in ps. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}
