/** Paints the stage: strips of slices, counters, labels, and what lies over them. */

import type { ColourMode } from "../../engine/timeline/address.ts";
import type { Hit } from "../../engine/timeline/hit_test.ts";
import { sliceAt } from "../../engine/timeline/hit_test.ts";
import { rasterRow } from "../../engine/timeline/raster.ts";
import {
  type GroupIndex,
  psPerPx,
  type Row,
  type Screen,
  wantedTiles,
} from "../../engine/timeline/screen.ts";
import { rowKey } from "../../engine/timeline/tile.ts";
import type { TileAddress } from "../../engine/timeline/tile_grid.ts";
import type { Drawn, TileStore } from "../../engine/timeline/tile_store.ts";
import type { NameStore } from "../model/names.ts";
import { paintCounter, paintScale } from "./counter.ts";
import { LabelPainter } from "./labels.ts";
import type { Colouring, Palette } from "./palette.ts";

/** Least height of a lane whose label can be read, px. */
const LABEL_LANE_PX = 11;
const LANE_GAP_PX = 1;

/** Tiles to draw for the rows of one group. */
interface GroupTiles {
  readonly rows: readonly number[];
  readonly drawn: readonly Drawn[];
}

export interface Painted {
  readonly wanted: readonly TileAddress[];
  /** Whether everything had the detail it should have, labels their names. */
  readonly whole: boolean;
}

export class Painter {
  private readonly strips = document.createElement("canvas");
  private readonly stripContext = this.strips.getContext("2d");
  private readonly labels: LabelPainter;
  private image: ImageData | null = null;
  private last: ReadonlyMap<number, GroupTiles> = new Map();
  private lastScreen: Screen | null = null;

  /** Whether counters are drawn on logarithmic axes. */
  logCounters = false;

  constructor(
    private readonly store: TileStore,
    private readonly index: GroupIndex,
    private readonly colouring: Colouring,
    names: NameStore,
    /** Unit of each track's counter. */
    private readonly units: readonly string[],
  ) {
    this.labels = new LabelPainter(names);
  }

  /** Draws the tracks on the ground that is there; what lies over them is the caller's. */
  paint(
    context: CanvasRenderingContext2D,
    screen: Screen,
    dpr: number,
    palette: Palette,
    mode: ColourMode,
  ): Painted {
    const groups = this.index.byGroup(screen.rows);
    const wanted = wantedTiles(screen, groups.keys());
    this.last = this.collect(groups, wanted);
    this.lastScreen = screen;
    this.paintStrips(context, screen, dpr, palette, mode);
    this.paintCounters(context, screen, palette);
    this.paintLabels(context, screen, palette, mode);
    const exact = [...this.last.values()].every(({ drawn }) => drawn.every((each) => each.exact));
    const arrived = wanted.every((address) => this.store.has(address));
    return { wanted, whole: exact && arrived && !this.labels.waiting };
  }

  /** The slice under a point of the last painted screen. */
  hit(row: Row, time: number): Hit | null {
    const screen = this.lastScreen;
    const tiles = this.last.get(this.index.groupOf(row.track, row.lane));
    if (!screen || !tiles) return null;
    return sliceAt(tiles.drawn, row.track, row.lane, time, psPerPx(screen) * 2);
  }

  /** Slices of the last screen that stand for the event alone, by the row they are on. */
  drawnFor(row: Row): readonly Drawn[] {
    return this.last.get(this.index.groupOf(row.track, row.lane))?.drawn ?? [];
  }

  private collect(
    groups: ReadonlyMap<number, readonly number[]>,
    wanted: readonly TileAddress[],
  ): Map<number, GroupTiles> {
    const inOrder = [...wanted].sort((a, b) => a.index - b.index);
    const found = new Map<number, GroupTiles>();
    for (const [group, rows] of groups) {
      const drawn = inOrder
        .filter((address) => address.group === group)
        .flatMap((address) => this.store.standIns(address));
      found.set(group, { rows, drawn });
    }
    return found;
  }

  private pixels(width: number, height: number): Uint32Array {
    if (this.image?.width !== width || this.image.height < height) {
      this.image = new ImageData(width, Math.max(height, 64));
      this.strips.width = this.image.width;
      this.strips.height = this.image.height;
    }
    const all = new Uint32Array((this.image as ImageData).data.buffer);
    all.fill(0, 0, width * height);
    return all;
  }

  private paintStrips(
    context: CanvasRenderingContext2D,
    screen: Screen,
    dpr: number,
    palette: Palette,
    mode: ColourMode,
  ): void {
    const width = Math.round(screen.width * dpr);
    const lines = screen.rows.length;
    if (width < 1 || lines < 1 || !this.stripContext) return;
    const strip = { pixels: this.pixels(width, lines), width, view: screen.view };
    for (const { rows, drawn } of this.last.values()) {
      for (const { tile, clip } of drawn) {
        const colours = this.colouring.of(tile, mode);
        for (const place of rows) {
          const row = screen.rows[place] as Row;
          const tileRow = tile.rowOf.get(rowKey(row.track, row.lane));
          if (tileRow === undefined || row.counter) continue;
          rasterRow(strip, place, tile, tileRow, clip, colours, palette.shading);
        }
      }
    }
    this.stripContext.putImageData(this.image as ImageData, 0, 0, 0, 0, width, lines);
    context.imageSmoothingEnabled = false;
    clipped(context, screen, (place, y, height) => {
      context.drawImage(this.strips, 0, place, width, 1, 0, y, screen.width, height);
    });
  }

  private paintCounters(context: CanvasRenderingContext2D, screen: Screen, palette: Palette): void {
    clipped(context, screen, (place, y, height) => {
      const row = screen.rows[place] as Row;
      if (!row.counter) return;
      const { most } = paintCounter(
        context,
        screen,
        row,
        y,
        height,
        this.drawnFor(row),
        palette,
        this.logCounters,
      );
      paintScale(context, most, this.units[row.track] ?? "", y, height, palette);
    });
  }

  private paintLabels(
    context: CanvasRenderingContext2D,
    screen: Screen,
    palette: Palette,
    mode: ColourMode,
  ): void {
    this.labels.begin(context);
    clipped(context, screen, (place, y, height) => {
      const row = screen.rows[place] as Row;
      if (row.counter || height < LABEL_LANE_PX) return;
      const colourOf = (tile: Drawn["tile"]) => this.colouring.of(tile, mode);
      this.labels.row(context, screen, row, y, height, this.drawnFor(row), palette, colourOf);
    });
  }
}

/** Runs `draw` for each row, those that scroll cut at the pinned ones. */
export function clipped(
  context: CanvasRenderingContext2D,
  screen: Screen,
  draw: (place: number, y: number, height: number) => void,
): void {
  for (const pinned of [true, false]) {
    context.save();
    context.beginPath();
    if (pinned) context.rect(0, 0, screen.width, screen.pinnedHeight);
    else context.rect(0, screen.pinnedHeight, screen.width, screen.height - screen.pinnedHeight);
    context.clip();
    screen.rows.forEach((row, place) => {
      if (row.pinned === pinned) draw(place, row.y + 2, Math.max(1, row.height - LANE_GAP_PX));
    });
    context.restore();
  }
}
