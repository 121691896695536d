/** Tiles that were loaded, the least recently used dropped first; coarser ones are in. */

import type { Span } from "../../base/timeline.ts";
import type { Tile } from "./tile.ts";
import { parentOf, type TileAddress, tileKey, tileSpan } from "./tile_grid.ts";

const MOST_TILES = 600;
const MOST_BYTES = 96 * 2 ** 20;
const HIGHEST_LEVEL = 62;

/** A tile, and the part of the time axis it is to be drawn on. */
export interface Drawn {
  readonly tile: Tile;
  readonly clip: Span;
  /** Whether it has the detail that was asked for. */
  readonly exact: boolean;
}

export class TileStore {
  private readonly tiles = new Map<string, Tile>();
  private bytes = 0;

  put(address: TileAddress, tile: Tile): void {
    const key = tileKey(address);
    this.drop(key);
    this.tiles.set(key, tile);
    this.bytes += tile.bytes;
    for (const oldest of this.tiles.keys()) {
      if (this.tiles.size <= MOST_TILES && this.bytes <= MOST_BYTES) break;
      this.drop(oldest);
    }
  }

  has(address: TileAddress): boolean {
    return this.tiles.has(tileKey(address));
  }

  get(address: TileAddress): Tile | null {
    const key = tileKey(address);
    const tile = this.tiles.get(key);
    if (!tile) return null;
    this.tiles.delete(key);
    this.tiles.set(key, tile);
    return tile;
  }

  /** What to draw where this tile belongs: itself, else a coarser one, else finer ones. */
  standIns(address: TileAddress): readonly Drawn[] {
    const clip = tileSpan(address);
    const own = this.get(address);
    if (own) return [{ tile: own, clip, exact: true }];
    for (let up = parentOf(address); up.level <= HIGHEST_LEVEL; up = parentOf(up)) {
      const tile = this.get(up);
      if (tile) return [{ tile, clip, exact: false }];
    }
    return this.children(address, 2);
  }

  private children(address: TileAddress, depth: number): Drawn[] {
    if (depth === 0 || address.level < 2) return [];
    return [0, 1, 2, 3].flatMap((part) => {
      const child = { ...address, level: address.level - 2, index: address.index * 4 + part };
      const tile = this.get(child);
      if (tile) return [{ tile, clip: tileSpan(child), exact: false }];
      return this.children(child, depth - 1);
    });
  }

  private drop(key: string): void {
    const tile = this.tiles.get(key);
    if (!tile) return;
    this.tiles.delete(key);
    this.bytes -= tile.bytes;
  }
}
