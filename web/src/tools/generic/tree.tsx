/** A table whose rows contain each other: a picture of their times, and rows that open by level. */

import { useMemo, useState } from "preact/hooks";
import { fieldLabel } from "../../base/fields.ts";
import { percent } from "../../base/format.ts";
import { fullText, headingText } from "../../engine/table/cell_text.ts";
import { type GridView, isShown, type Order } from "../../engine/table/grid_view.ts";
import {
  type Column,
  columnOf,
  type NumberColumn,
  type Table,
  wordAt,
} from "../../engine/table/table.ts";
import { type Tree, treeOfTable } from "../../engine/table/tree.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { Icicle } from "../../widgets/charts/icicle.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { TreeGrid } from "../../widgets/grid/tree_grid.tsx";
import { useFirst, useTable } from "../sections/tool_page.tsx";
import { firstColumns, type TableFieldProps } from "./table.tsx";

const FOCUS = "view.focus";
const UNKNOWN = "Unknown";

export function TreeField(props: TableFieldProps) {
  const { field, at, source, tool, result, params, onParams } = props;
  const names = useMemo(() => firstColumns(tool.id, field), [tool, field]);
  const binding = useFirst(useTable(props, field, source, at), names);
  const { view } = binding;
  const table = useMemo(() => withoutIndents(binding.table), [binding.table]);
  const tree = useMemo(() => treeOfTable(table), [table]);
  const columns = useMemo(() => shownColumns(table, tree, view), [table, tree, view]);
  const time = useMemo(() => timeOf(columns), [columns]);
  const [order, setOrder] = useState<Order | null>(null);
  const [query, setQuery] = useState("");
  const title = fieldLabel(tool.labels, field);
  const chosen = params[FOCUS] ? Number(params[FOCUS]) : -1;
  const focus = chosen >= 0 && chosen < tree.rows ? chosen : -1;
  const only = tree.roots.length === 1 ? (tree.roots[0] as number) : -1;
  const root = focus >= 0 ? focus : time ? largest(tree.roots, time) : -1;
  const onRoot = (row: number) =>
    onParams({ ...params, [FOCUS]: row < 0 || row === only ? "" : String(row) });
  const labels = useMemo(() => labelsOf(columns[0], table.rows), [columns, table]);
  const tones = useMemo(() => tonesOf(table, tree), [table, tree]);
  const use = useOf(columns);
  const colourOf = (row: number) => (use ? colourOfUse(use.values[row]) : (tones[row] ?? ""));
  return (
    <>
      {time && root >= 0 && (time.values[root] as number) > 0 && (
        <ChartFrame
          title={`${title} by ${time.meta.label.toLowerCase()}`}
          note="width is time; click to zoom in"
          file={`${result.session} ${tool.title.toLowerCase()}`}
          controls={
            focus >= 0 && (
              <button
                type="button"
                class="button"
                onClick={() => onRoot(tree.parents[focus] as number)}
              >
                Up from {labels[focus]?.slice(0, 40)}
              </button>
            )
          }
          table={() => <Grid {...binding} label={`All ${title.toLowerCase()}`} maxRows={12} />}
        >
          <Icicle
            label={`Time of ${labels[root]} by what it contains`}
            tree={tree}
            values={time.values as Float64Array}
            names={labels}
            isFaint={(row) => isIdle(table, row)}
            colourOf={(row) => (isIdle(table, row) ? "" : colourOf(row))}
            root={root}
            onRoot={onRoot}
            tip={(row) => (
              <TipFacts
                title={labels[row] ?? ""}
                facts={columns.slice(1).map((each) => [headingText(each), fullText(each, row)])}
              />
            )}
          />
          {use && <UseKey label={use.meta.help || use.meta.label} />}
        </ChartFrame>
      )}
      <section>
        <header class="section-head">
          <h2>{title}</h2>
          <p class="quiet">
            {focus >= 0 && `of ${labels[focus]}, as in the chart. `}
            Arrow keys expand and collapse; click a heading to sort siblings.
          </p>
          <div class="section-controls">
            <input
              class="field grid-query"
              type="search"
              data-focus="filter"
              aria-label="Filter the tree"
              placeholder="Filter: text or /regex/"
              value={query}
              onInput={(event) => setQuery(event.currentTarget.value)}
            />
          </div>
        </header>
        <TreeGrid
          table={table}
          tree={tree}
          shown={columns.map(({ meta }) => meta.name)}
          label={title}
          order={order ?? { column: time?.meta.name ?? "", descending: true }}
          onOrder={setOrder}
          query={query}
          {...(focus >= 0 ? { root: focus } : {})}
          details={binding.details}
        />
      </section>
    </>
  );
}

/** Names in a terminal are indented by their depth, which the picture and the grid show. */
function withoutIndents(table: Table): Table {
  const trimmed = (words: readonly string[]) => words.map((word) => word.trim());
  const columns = table.columns.map((column) =>
    column.type === "text" && column.meta.kind === "name"
      ? { ...column, words: trimmed(column.words), shortWords: trimmed(column.shortWords) }
      : column,
  );
  return { rows: table.rows, columns };
}

/** The name first, then what says something of the whole; idle time alone is wasted anywhere. */
function shownColumns(table: Table, tree: Tree, view: GridView): readonly Column[] {
  const isKnown = (column: Column) =>
    column.type === "number"
      ? tree.roots.some((row) => !Number.isNaN(column.values[row]))
      : column.words.some((word) => word !== UNKNOWN);
  const said = table.columns.filter((column) => isShown(column, view) && isKnown(column));
  const name = said.find(({ meta }) => meta.kind === "name");
  return name ? [name, ...said.filter((column) => column !== name)] : said;
}

/** The time that divides the picture: the first that any row has. */
function timeOf(columns: readonly Column[]): NumberColumn | undefined {
  const times = columns.filter((column) => column.meta.kind === "time");
  return times.find((column) => column.type === "number" && column.max > 0) as
    | NumberColumn
    | undefined;
}

function largest(rows: readonly number[], { values }: NumberColumn): number {
  const time = (row: number) => values[row] || 0;
  return rows.reduce((most, row) => (time(row) > time(most) ? row : most), rows[0] ?? -1);
}

/** Short names that still tell rows of one name apart. */
function labelsOf(column: Column | undefined, rows: number): readonly string[] {
  if (column?.type !== "text") return Array.from({ length: rows }, () => "");
  return Array.from(column.codes, (code) => column.shortWords[code] as string);
}

function isIdle(table: Table, row: number): boolean {
  const kind = columnOf(table, "kind");
  return kind?.type === "text" && wordAt(kind, row) === "idle";
}

/** How well a row uses what limits it, if that is known. */
function useOf(columns: readonly Column[]): NumberColumn | undefined {
  return columns.find(
    (column): column is NumberColumn =>
      column.type === "number" && column.meta.kind === "ratio" && column.meta.is_share !== true,
  );
}

/** Where use is not known: each part of the whole in a colour of its own, and what it contains. */
const PART_COLOURS = ["device", "collectives", "host", "output", "launch", "compile", "input"].map(
  (part) => `var(--part-${part})`,
);

function tonesOf(table: Table, tree: Tree): readonly string[] {
  const tones: string[] = [];
  let parts = 0;
  // Parents come before what they contain.
  for (let row = 0; row < tree.rows; row++) {
    const isPart = tree.depths[row] === 1 && !isIdle(table, row);
    if (isPart) tones[row] = PART_COLOURS[parts++ % PART_COLOURS.length] as string;
    else tones[row] = tones[tree.parents[row] as number] ?? "";
  }
  return tones;
}

/** From little to full use; grey where it is not known. */
function colourOfUse(used: number | undefined): string {
  if (used === undefined || Number.isNaN(used)) return "var(--tone-other)";
  return `color-mix(in oklch, var(--part-host) ${Math.round(100 * Math.min(1, used))}%, var(--part-input))`;
}

const KEY_STOPS = [0, 0.5, 1, Number.NaN];

function UseKey({ label }: { label: string }) {
  return (
    <ul class="part-key quiet">
      <li>{label}</li>
      {KEY_STOPS.map((stop) => (
        <li key={stop}>
          <svg class="swatch" width="12" height="12" aria-hidden="true">
            <rect
              width="12"
              height="12"
              rx="2"
              style={{ fill: `color-mix(in srgb, ${colourOfUse(stop)} 40%, var(--bg))` }}
            />
          </svg>
          {Number.isNaN(stop) ? "not known" : percent(stop)}
        </li>
      ))}
    </ul>
  );
}
