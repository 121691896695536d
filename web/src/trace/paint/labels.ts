/** Names on slices that have the room, shortened to it. */

import { shortName } from "../../base/short_name.ts";
import { psPerPx, type Row, type Screen } from "../../engine/timeline/screen.ts";
import {
  BEGINS_BEFORE,
  ENDS_BEHIND,
  firstEndingAt,
  rowKey,
  type Tile,
} from "../../engine/timeline/tile.ts";
import type { Drawn } from "../../engine/timeline/tile_store.ts";
import type { NameStore } from "../model/names.ts";
import type { Palette } from "./palette.ts";

const NARROWEST_PX = 22;
const PADDING_PX = 3;
// Text is the slowest thing on a canvas.
const MOST_LABELS = 500;
const KNOWN_WIDTHS = 20_000;
export const LABEL_FONT =
  "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/** An event on the screen; one that crosses tiles is met once per tile. */
interface Piece {
  readonly event: number;
  readonly name: number;
  readonly colour: number;
  readonly left: number;
  right: number;
  readonly open: boolean;
}

export class LabelPainter {
  private readonly widths = new Map<string, number>();
  private left = MOST_LABELS;
  /** Whether a name that belongs on the screen is still on its way. */
  waiting = false;

  constructor(private readonly names: NameStore) {}

  begin(context: CanvasRenderingContext2D): void {
    this.left = MOST_LABELS;
    this.waiting = false;
    context.font = LABEL_FONT;
    context.textBaseline = "middle";
    context.textAlign = "left";
    if (this.widths.size > KNOWN_WIDTHS) this.widths.clear();
  }

  row(
    context: CanvasRenderingContext2D,
    screen: Screen,
    row: Row,
    y: number,
    height: number,
    drawn: readonly Drawn[],
    palette: Palette,
    coloursOf: (tile: Tile) => Uint8Array,
  ): void {
    context.font = LABEL_FONT;
    context.textBaseline = "middle";
    for (const piece of pieces(screen, row, drawn, coloursOf)) {
      if (this.left === 0) return;
      const from = Math.max(0, piece.left) + PADDING_PX;
      const room = Math.min(screen.width, piece.right) - from - PADDING_PX;
      if (room < NARROWEST_PX - 2 * PADDING_PX) continue;
      const name = this.names.text(piece.name);
      if (name === null) this.waiting = true;
      if (!name) continue;
      const text = this.fitted(context, shortName(name), room);
      if (!text) continue;
      context.fillStyle = palette.ink[piece.colour] as string;
      context.fillText(text, from, y + height / 2 + 0.5);
      this.left -= 1;
    }
  }

  private width(context: CanvasRenderingContext2D, text: string): number {
    const known = this.widths.get(text);
    if (known !== undefined) return known;
    const width = context.measureText(text).width;
    this.widths.set(text, width);
    return width;
  }

  /** The text, or as much of its beginning as fits with an ellipsis; "" when nothing does. */
  private fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
    const full = this.width(context, text);
    if (full <= room) return text;
    let length = Math.floor((text.length * room) / full);
    while (length > 0) {
      const cut = `${text.slice(0, length)}…`;
      if (this.width(context, cut) <= room) return length < 2 ? "" : cut;
      length -= 1;
    }
    return "";
  }
}

/** Single events wide enough for a label, pieces of one event joined. */
function pieces(
  screen: Screen,
  row: Row,
  drawn: readonly Drawn[],
  coloursOf: (tile: Tile) => Uint8Array,
): Piece[] {
  const found: Piece[] = [];
  const perPx = psPerPx(screen);
  const { begin, end } = screen.view;
  for (const { tile, clip } of drawn) {
    const tileRow = tile.rowOf.get(rowKey(row.track, row.lane));
    if (tileRow === undefined) continue;
    const narrowest = (NARROWEST_PX * perPx) / tile.unit;
    const from = Math.max(clip.begin, begin);
    const to = Math.min(clip.end, end);
    const high = tile.rowBegin[tileRow + 1] as number;
    const low = tile.rowBegin[tileRow] as number;
    const colours = coloursOf(tile);
    let i = firstEndingAt(tile, low, high, (from - tile.begin) / tile.unit);
    for (; i < high; i++) {
      const x0 = tile.x0[i] as number;
      const start = tile.begin + x0 * tile.unit;
      if (start >= to) break;
      const wide = (tile.x1[i] as number) - x0 >= narrowest;
      const cut = ((tile.kind[i] as number) & (BEGINS_BEFORE | ENDS_BEHIND)) !== 0;
      if ((!wide && !cut) || tile.count[i] !== 1) continue;
      const stop = Math.min(tile.begin + (tile.x1[i] as number) * tile.unit, to);
      const right = (stop - begin) / perPx;
      const last = found[found.length - 1];
      if (last && last.event === tile.event[i]) {
        last.right = right;
        continue;
      }
      found.push({
        event: tile.event[i] as number,
        name: tile.names[tile.name[i] as number] as number,
        colour: colours[i] as number,
        left: (Math.max(start, from) - begin) / perPx,
        right,
        open: cut,
      });
    }
  }
  return found;
}
