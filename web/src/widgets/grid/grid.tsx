/**
 * A table of any length: sorted, filtered and drawn row by row as it scrolls. It knows kinds of
 * columns, not tools.
 */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../base/format.ts";
import { toTsv } from "../../engine/table/cell_text.ts";
import { columnWidth } from "../../engine/table/column_widths.ts";
import {
  arrange,
  defaultOrder,
  type GridView,
  isShown,
  nameOfRow,
  nextOrder,
  numbersFirst,
  placeOfRow,
} from "../../engine/table/grid_view.ts";
import {
  followed,
  NONE_PICKED,
  pickAll,
  pickByKey,
  pickedRows,
  pickPlace,
} from "../../engine/table/row_selection.ts";
import { rowWindow, scrollToRow } from "../../engine/table/row_window.ts";
import type { Column, Table } from "../../engine/table/table.ts";
import { useMoreRight, useWidth } from "../element_width.ts";
import type { GridProps } from "./props.ts";
import { RowDetails } from "./row_details.tsx";
import { GridFoot, GridHead, GridRow, innerClass, measureCell } from "./rows.tsx";
import { GridToolbar } from "./toolbar.tsx";

const ROW_PX = 24;
const HEAD_AND_FOOT_PX = 70;
const OVERSCAN = 8;
/** Below this only a name and a few numbers are in sight. */
const NARROW_PX = 480;
const NARROW_NAME_PX = 150;

export function Grid(props: GridProps) {
  const { table, view, onView, label, plain = false, maxRows = 22 } = props;
  const { sums = !isTree(table) } = props;
  const arrangement = JSON.stringify([view.query, view.conditions, view.order]);
  const { rows, problem } = useMemo(() => arrange(table, view), [table, arrangement]);
  const columns = useMemo(
    () => table.columns.filter((column) => isShown(column, view)),
    [table, view],
  );
  const [picked, setPicked] = usePicked(props, rows);
  const copied = () => toTsv(columns, pickedRows(picked, rows));
  const activeRow = rows[picked.active];

  return (
    <div class="grid-frame">
      {!plain && (
        <GridToolbar
          {...props}
          shownRows={rows.length}
          pickedRows={picked.places.size}
          copyText={copied}
        />
      )}
      {problem && (
        <p class="grid-problem" role="alert">
          Not applied: {problem}
        </p>
      )}
      <GridBody
        label={label}
        columns={columns}
        rows={rows}
        viewportPx={Math.min(maxRows, Math.max(1, rows.length)) * ROW_PX}
        picked={picked}
        onPicked={setPicked}
        copyText={copied}
        order={view.order ?? defaultOrder(table)}
        onSort={(name) => {
          onView({ ...view, order: nextOrder(table, view.order ?? defaultOrder(table), name) });
        }}
        sums={!plain && sums}
      />
      {activeRow !== undefined && picked.places.size === 1 && (
        <RowDetails table={table} row={activeRow} onClose={() => setPicked(NONE_PICKED)}>
          {props.details?.(activeRow)}
        </RowDetails>
      )}
    </div>
  );
}

/** A person who walks through rows with the arrow keys passes most of them. */
const SETTLED_MS = 250;

/**
 * What is picked; a table that was asked for again keeps it, so that open details stay open. The
 * address names a single row, so that a link opens its details.
 */
function usePicked({ table, view, onView }: GridProps, rows: Uint32Array) {
  const [, redraw] = useState(NONE_PICKED);
  const held = useRef({ table, rows, named: "", picked: NONE_PICKED });
  const latest = useRef({ view, onView });
  latest.current = { view, onView };
  const before = held.current;
  if (before.rows !== rows || before.named !== view.row) {
    const after = { table, rows };
    const kept = before.rows === rows ? before.picked : followed(before.picked, before, after);
    const isKept = kept.active >= 0 && nameOfRow(table, rows[kept.active]) === view.row;
    const place = isKept ? -1 : placeOfRow(table, rows, view.row);
    const picked = place < 0 ? kept : pickPlace(kept, place, "alone");
    held.current = { ...after, named: view.row, picked };
  }
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const setPicked = (picked: typeof NONE_PICKED) => {
    const row = picked.places.size === 1 ? rows[picked.active] : undefined;
    const name = nameOfRow(table, row);
    held.current = { ...held.current, picked };
    redraw(picked);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      const { view: now, onView: put } = latest.current;
      if (now.row !== name) put({ ...now, row: name });
    }, SETTLED_MS);
  };
  return [held.current.picked, setPicked] as const;
}

/** Whether rows contain each other, so that adding them counts time twice. */
function isTree(table: Table): boolean {
  return table.columns.some(({ meta }) => meta.name === "depth" || meta.name === "parent");
}

interface GridBodyProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: Uint32Array;
  readonly viewportPx: number;
  readonly picked: typeof NONE_PICKED;
  readonly onPicked: (picked: typeof NONE_PICKED) => void;
  readonly copyText: () => string;
  readonly order: GridView["order"];
  readonly onSort: (column: string) => void;
  readonly sums: boolean;
}

function GridBody(props: GridBodyProps) {
  const { rows, viewportPx, picked } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const isNarrow = useWidth(scroller, NARROW_PX) < NARROW_PX;
  const columns = useMemo(
    () => (isNarrow ? numbersFirst(props.columns) : props.columns),
    [isNarrow, props.columns],
  );
  const [scrollTop, setScrollTop] = useState(0);
  const id = useId();
  const bring = (place: number, from: number) => {
    if (!scroller.current) return;
    // A horizontal scroll bar takes its room from the rows.
    const seenPx = Math.min(viewportPx, scroller.current.clientHeight - HEAD_AND_FOOT_PX);
    const goal = scrollToRow(place, from, seenPx, rows.length, ROW_PX);
    if (goal !== null) scroller.current.scrollTop = goal;
  };
  useEffect(() => {
    if (scroller.current) scroller.current.scrollTop = 0;
    setScrollTop(0);
    if (picked.active >= 0) bring(picked.active, 0);
  }, [rows]);
  const sums = props.sums && columns.some((column) => column.meta.adds_up);
  const { needed, layout } = useMemo(() => tracksOf(columns, isNarrow), [columns, isNarrow]);
  const right = useMoreRight(scroller, layout);
  const span = rowWindow(scrollTop, viewportPx, rows.length, ROW_PX, OVERSCAN);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!scroller.current || event.target !== scroller.current) return;
    const all = event.key === "a" && (event.ctrlKey || event.metaKey);
    const page = Math.max(1, Math.floor(viewportPx / ROW_PX) - 1);
    const next = all
      ? pickAll(rows.length)
      : event.key === "Escape" && picked.active >= 0
        ? NONE_PICKED
        : pickByKey(picked, event.key, event.shiftKey, rows.length, page);
    if (!next) return;
    event.preventDefault();
    props.onPicked(next);
    if (all || next.active < 0) return;
    bring(next.active, scrollTop);
  };
  return (
    <div
      ref={scroller}
      class={right.more ? "grid more-right" : "grid"}
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-multiselectable="true"
      aria-activedescendant={picked.active < 0 ? undefined : `${id}-${picked.active}`}
      style={{ "--viewport": `${viewportPx}px` }}
      onScroll={(event) => {
        setScrollTop(event.currentTarget.scrollTop);
        right.look();
      }}
      onKeyDown={onKeyDown}
      onCopy={(event) => {
        if (picked.active < 0 || window.getSelection()?.toString()) return;
        event.clipboardData?.setData("text/plain", props.copyText());
        event.preventDefault();
      }}
    >
      <div class={innerClass(needed)} role="presentation" style={layout}>
        <GridHead columns={columns} order={props.order} onSort={props.onSort} />
        <div role="rowgroup" class="grid-rows" style={{ "--height": `${span.height}px` }}>
          <div role="presentation" style={{ "--top": `${span.top}px` }}>
            {Array.from(rows.subarray(span.first, span.end), (row, offset) => {
              const place = span.first + offset;
              return (
                <GridRow
                  key={place}
                  id={`${id}-${place}`}
                  columns={columns}
                  row={row}
                  place={place}
                  picked={picked.places.has(place)}
                  active={place === picked.active}
                  onPick={(mode) => props.onPicked(pickPlace(picked, place, mode))}
                />
              );
            })}
          </div>
        </div>
        {rows.length === 0 && <p class="grid-none quiet">No rows match.</p>}
        {rows.length > span.end - span.first && (
          <p class="paper-only quiet">
            {`Rows ${count(span.first + 1)} to ${count(span.end)} of ${count(rows.length)}.`}
          </p>
        )}
        {sums && rows.length > 0 && <GridFoot columns={columns} rows={rows} />}
      </div>
    </div>
  );
}

/** Widths of the columns: names and the bars of shares take what is left, else an empty track. */
function tracksOf(columns: readonly Column[], isNarrow: boolean) {
  const widths = columns.map((column) => {
    const width = columnWidth(column, measureCell);
    return isNarrow && column.meta.kind === "name" ? Math.min(width, NARROW_NAME_PX) : width;
  });
  const needed = widths.reduce((sum, width) => sum + width, 0);
  const named = columns.some((column) => column.meta.kind === "name");
  const tracks = columns.map(({ meta }, i) => {
    const share = meta.kind === "name" ? "1fr" : named && meta.is_share ? "0.5fr" : "";
    return share ? `minmax(${widths[i]}px, ${share})` : `${widths[i]}px`;
  });
  const text = named ? tracks.join(" ") : `${tracks.join(" ")} 1fr`;
  return { needed, layout: { "--least": `${needed}px`, "--tracks": text } };
}
