/**
 * Rows that contain each other, with columns. Arrow keys move, open and close; only rows in view
 * are elements.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../base/format.ts";
import { columnWidth } from "../../engine/table/column_widths.ts";
import { wordMatcher } from "../../engine/table/filter.ts";
import type { Order } from "../../engine/table/grid_view.ts";
import { rowWindow, scrollToRow } from "../../engine/table/row_window.ts";
import { type Column, columnOf, type Table, wordAt } from "../../engine/table/table.ts";
import { shownRows, type Tree, withAncestors } from "../../engine/table/tree.ts";
import { useMoreRight } from "../element_width.ts";
import { LongName } from "../long_name.tsx";
import { RowDetails } from "./row_details.tsx";
import { cellClass, GridCell, GridHead, innerClass, measureCell } from "./rows.tsx";

export interface TreeGridProps {
  readonly table: Table;
  readonly tree: Tree;
  /** Names of the columns, the one of names first. */
  readonly shown: readonly string[];
  readonly label: string;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  /** Rows whose names match, and what contains them, are shown; "" for all. */
  readonly query: string;
  /** The row that the grid is of; all of the tree where absent. */
  readonly root?: number;
  readonly maxRows?: number;
  /** Where a row leads, shown in its details. */
  readonly details: (row: number) => ComponentChildren;
}

const ROW_PX = 24;
const HEAD_PX = 44;
const OVERSCAN = 8;
const INDENT_PX = 16;
const OPEN_LEVELS = 2;
const DEEPEST_INDENT = 24;

export function TreeGrid(props: TreeGridProps) {
  const { table, order, query, root, maxRows = 26 } = props;
  const tree = useMemo(
    () => (root === undefined ? props.tree : { ...props.tree, roots: [root] }),
    [props.tree, root],
  );
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [active, setActive] = useState(-1);
  useEffect(() => {
    setOpen(new Set(firstLevels(tree)));
    setActive(-1);
  }, [tree]);
  const columns = useMemo(
    () => props.shown.flatMap((name) => columnOf(table, name) ?? []),
    [table, props.shown],
  );
  const passes = useMemo(() => matching(table, tree, columns[0], query), [table, tree, query]);
  const rows = useMemo(() => {
    const column = columnOf(table, order.column);
    const isOpen = passes ? () => true : (row: number) => open.has(row);
    return shownRows(
      tree,
      isOpen,
      column ? { column, descending: order.descending } : null,
      passes,
    );
  }, [table, tree, open, order.column, order.descending, passes]);
  const activeRow = rows[active];
  const toggle = (row: number, wanted = !open.has(row)) => {
    const next = new Set(open);
    if (wanted) next.add(row);
    else next.delete(row);
    setOpen(next);
  };
  return (
    <div class="grid-frame">
      <TreeBody
        {...props}
        tree={tree}
        columns={columns}
        rows={rows}
        open={passes ? null : open}
        active={active}
        onActive={setActive}
        onToggle={toggle}
        viewportPx={Math.min(maxRows, Math.max(1, rows.length)) * ROW_PX}
      />
      {activeRow !== undefined && (
        <RowDetails table={table} row={activeRow} onClose={() => setActive(-1)}>
          {props.details(activeRow)}
        </RowDetails>
      )}
    </div>
  );
}

/** How deep the rows are that are shown first. */
function topDepth(tree: Tree): number {
  return tree.depths[tree.roots[0] ?? 0] ?? 0;
}

function* firstLevels(tree: Tree): Generator<number> {
  const top = topDepth(tree);
  for (let row = 0; row < tree.rows; row++) {
    if ((tree.depths[row] as number) < top + OPEN_LEVELS) yield row;
  }
}

function matching(table: Table, tree: Tree, column: Column | undefined, query: string) {
  if (query.trim() === "" || column?.type !== "text") return null;
  const matches = wordMatcher(query.trim());
  // An expression that is not finished yet shows all.
  if (typeof matches === "string" || table.rows === 0) return null;
  return withAncestors(tree, (row) => matches(wordAt(column, row)));
}

interface TreeBodyProps extends TreeGridProps {
  readonly columns: readonly Column[];
  readonly rows: Uint32Array;
  /** Open rows; null when all are. */
  readonly open: ReadonlySet<number> | null;
  readonly active: number;
  readonly onActive: (place: number) => void;
  readonly onToggle: (row: number, open?: boolean) => void;
  readonly viewportPx: number;
}

/** What a key does to the tree, or null for keys that are not its own. */
function onTreeKey(props: TreeBodyProps, key: string): number | null {
  const { tree, rows, open, active, onToggle, viewportPx } = props;
  const row = rows[active] ?? -1;
  const children = tree.children[row]?.length ?? 0;
  const isOpen = children > 0 && (open?.has(row) ?? true);
  const page = Math.max(1, Math.floor(viewportPx / ROW_PX) - 1);
  const last = rows.length - 1;
  switch (key) {
    case "ArrowDown":
      return Math.min(last, active + 1);
    case "ArrowUp":
      return Math.max(0, active - 1);
    case "PageDown":
      return Math.min(last, active + page);
    case "PageUp":
      return Math.max(0, active - page);
    case "Home":
      return 0;
    case "End":
      return last;
    case "ArrowRight":
      if (isOpen) return Math.min(last, active + 1);
      if (children > 0) onToggle(row, true);
      return active;
    case "ArrowLeft":
      if (!isOpen || !open) return Math.max(0, rows.indexOf(tree.parents[row] ?? -1));
      onToggle(row, false);
      return active;
    case "Enter":
    case " ":
      if (children > 0 && open) onToggle(row);
      return active;
    default:
      return null;
  }
}

function TreeBody(props: TreeBodyProps) {
  const { columns, rows, active, viewportPx, order } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const id = useId();
  const { needed, layout } = useMemo(() => tracksOf(columns), [columns]);
  const right = useMoreRight(scroller, layout);
  const span = rowWindow(scrollTop, viewportPx, rows.length, ROW_PX, OVERSCAN);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!scroller.current || event.target !== scroller.current) return;
    const next = onTreeKey(props, event.key);
    if (next === null || rows.length === 0) return;
    event.preventDefault();
    props.onActive(next);
    const seenPx = Math.min(viewportPx, scroller.current.clientHeight - HEAD_PX);
    const goal = scrollToRow(next, scrollTop, seenPx, rows.length, ROW_PX);
    if (goal !== null) scroller.current.scrollTop = goal;
  };
  return (
    <div
      ref={scroller}
      class={right.more ? "grid tree more-right" : "grid tree"}
      role="treegrid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={active < 0 ? undefined : `${id}-${active}`}
      style={{ "--viewport": `${viewportPx}px` }}
      onScroll={(event) => {
        setScrollTop(event.currentTarget.scrollTop);
        right.look();
      }}
      onKeyDown={onKeyDown}
    >
      <div class={innerClass(needed)} role="presentation" style={layout}>
        <GridHead
          columns={columns}
          order={order}
          onSort={(column) => {
            const same = order.column === column;
            const natural = columns.find((each) => each.meta.name === column)?.type === "number";
            props.onOrder({ column, descending: same ? !order.descending : natural });
          }}
        />
        <div role="rowgroup" class="grid-rows" style={{ "--height": `${span.height}px` }}>
          <div role="presentation" style={{ "--top": `${span.top}px` }}>
            {Array.from(rows.subarray(span.first, span.end), (row, offset) => (
              <TreeRow
                key={row}
                {...props}
                id={`${id}-${span.first + offset}`}
                row={row}
                place={span.first + offset}
              />
            ))}
          </div>
        </div>
        {rows.length === 0 && <p class="grid-none quiet">No rows match.</p>}
        {rows.length > span.end - span.first && (
          <p class="paper-only quiet">
            {`Rows ${count(span.first + 1)} to ${count(span.end)} of ${count(rows.length)}.`}
          </p>
        )}
      </div>
    </div>
  );
}

interface TreeRowProps extends TreeBodyProps {
  readonly id: string;
  readonly row: number;
  readonly place: number;
}

function TreeRow({
  id,
  row,
  place,
  columns,
  tree,
  open,
  active,
  onActive,
  onToggle,
}: TreeRowProps) {
  const children = tree.children[row]?.length ?? 0;
  const isOpen = open?.has(row) ?? true;
  const [name, ...rest] = columns;
  const depth = (tree.depths[row] as number) - topDepth(tree);
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={place + 2}
      aria-level={depth + 1}
      aria-expanded={children > 0 ? isOpen : undefined}
      aria-selected={place === active}
      class={`grid-row${place === active ? " active" : ""}`}
      onClick={() => onActive(place)}
    >
      {name?.type === "text" && (
        <div
          role="gridcell"
          aria-colindex={1}
          class={`${cellClass(columns, name)} tree-name`}
          title={wordAt(name, row)}
          style={{ paddingLeft: `${6 + Math.min(depth, DEEPEST_INDENT) * INDENT_PX}px` }}
        >
          <span
            class={children === 0 ? "twist none" : isOpen ? "twist open" : "twist"}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              if (children > 0 && open) onToggle(row);
            }}
          />
          <LongName name={name.shortWords[name.codes[row] as number] as string} />
        </div>
      )}
      {rest.map((column, index) => (
        <GridCell
          key={column.meta.name}
          column={column}
          row={row}
          index={index + 1}
          className={cellClass(columns, column)}
        />
      ))}
    </div>
  );
}

const NAME_PX = 300;

function tracksOf(columns: readonly Column[]) {
  const [, ...rest] = columns.map((column) => columnWidth(column, measureCell));
  const needed = rest.reduce((sum, width) => sum + width, NAME_PX);
  const tracks = `minmax(${NAME_PX}px, 1fr) ${rest.map((width) => `${width}px`).join(" ")}`;
  return { needed, layout: { "--least": `${needed}px`, "--tracks": tracks } };
}
