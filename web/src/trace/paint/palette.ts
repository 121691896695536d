/** Colours of slices, resolved from the page's tokens for its present theme. */

import { categoryToken } from "../../base/category_tokens.ts";
import type { Span, TimelineMeta } from "../../base/timeline.ts";
import type { ColourMode } from "../../engine/timeline/address.ts";
import { SHADES, type Shading } from "../../engine/timeline/raster.ts";
import type { Tile } from "../../engine/timeline/tile.ts";

const NAME_COLOURS = 12;

type Rgb = readonly [number, number, number];

export interface Palette {
  readonly shading: Shading;
  /** CSS colour of the text on each colour. */
  readonly ink: readonly string[];
  readonly css: readonly string[];
  readonly theme: Readonly<Record<"bg" | "panel" | "fg" | "line" | "strong" | "picked", string>>;
  readonly counter: string;
  readonly mark: string;
  readonly found: string;
  readonly flow: string;
  readonly quiet: string;
}

/** Reads a token as it looks now: light-dark() is only resolved in a computed colour. */
function resolver(host: HTMLElement): (token: string) => Rgb {
  const probe = document.createElement("span");
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  return (token) => {
    host.append(probe);
    probe.style.color = `var(${token})`;
    const text = getComputedStyle(probe).color;
    probe.remove();
    if (!context) return [128, 128, 128];
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b];
  };
}

const css = ([r, g, b]: Rgb) => `rgb(${r} ${g} ${b})`;

function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2) => Math.round(a[i] * share + b[i] * (1 - share));
  return [at(0), at(1), at(2)];
}

const packed = ([r, g, b]: Rgb) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Even an almost idle slice must be seen.
const FAINTEST = 0.3;

function shadingOf(colours: readonly Rgb[], background: Rgb): Shading {
  const all = new Uint32Array(colours.length * SHADES);
  const edges = new Uint32Array(colours.length * SHADES);
  colours.forEach((colour, place) => {
    for (let shade = 0; shade < SHADES; shade++) {
      const share = FAINTEST + (1 - FAINTEST) * (shade / (SHADES - 1));
      const drawn = mixed(colour, background, share);
      all[place * SHADES + shade] = packed(drawn);
      edges[place * SHADES + shade] = packed(mixed(drawn, background, 0.55));
    }
  });
  return { colours: all, edges };
}

/** First come the colours of names, then those of categories in the recording's order. */
export function readPalette(host: HTMLElement, meta: TimelineMeta): Palette {
  const read = resolver(host);
  const names = Array.from({ length: NAME_COLOURS }, (_, i) => read(`--slice-${i + 1}`));
  const categories = meta.categories.map((name) => read(categoryToken(name)));
  const colours = [...names, ...categories];
  const background = read("--bg");
  return {
    shading: shadingOf(colours, background),
    ink: colours.map((colour) => (luminance(colour) > 0.2 ? "#111111" : "#ffffff")),
    css: colours.map(css),
    theme: {
      bg: css(background),
      fg: css(read("--fg")),
      panel: css(read("--panel")),
      line: css(read("--line")),
      strong: css(read("--line-strong")),
      picked: css(read("--link")),
    },
    counter: css(read("--part-host")),
    mark: css(read("--warning")),
    found: css(read("--found")),
    flow: css(read("--link")),
    quiet: css(read("--quiet")),
  };
}

export function categoryColour(category: number): number {
  return NAME_COLOURS + category;
}

/** Neighbouring ids get colours far apart. */
export function nameColour(name: number): number {
  return (Math.imul(name + 1, 0x9e3779b1) >>> 8) % NAME_COLOURS;
}

/** Step that `time` lies in, as its place among the host's steps, or −1. */
function stepAt(steps: readonly Span[], time: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as Span).begin <= time) low = middle + 1;
    else high = middle;
  }
  const step = steps[low - 1];
  return step && time < step.end ? low - 1 : -1;
}

/** The colour of each slice of a tile, computed once per tile and mode. */
export class Colouring {
  private readonly known = new WeakMap<Tile, { mode: ColourMode; colours: Uint8Array }>();
  private readonly steps: readonly (readonly Span[])[];
  private readonly hostOf: readonly number[];

  constructor(meta: TimelineMeta) {
    this.hostOf = meta.tracks.map((track) => meta.sections[track.section]?.host ?? 0);
    this.steps = meta.hosts.map((_, host) => {
      const found = meta.steps.find((each) => each.host === host);
      return (found?.begin_ps ?? []).map((begin, i) => ({
        begin,
        end: found?.end_ps[i] as number,
      }));
    });
  }

  of(tile: Tile, mode: ColourMode): Uint8Array {
    const known = this.known.get(tile);
    if (known?.mode === mode) return known.colours;
    const colours = this.compute(tile, mode);
    this.known.set(tile, { mode, colours });
    return colours;
  }

  private compute(tile: Tile, mode: ColourMode): Uint8Array {
    const colours = new Uint8Array(tile.event.length);
    if (mode === "category") {
      return colours.map((_, i) => categoryColour((tile.kind[i] as number) & 63));
    }
    if (mode === "name") {
      const byName = Uint8Array.from(tile.names, nameColour);
      return colours.map((_, i) => byName[tile.name[i] as number] as number);
    }
    for (let row = 0; row < tile.rowTrack.length; row++) {
      const steps = this.steps[this.hostOf[tile.rowTrack[row] as number] as number] ?? [];
      const end = tile.rowBegin[row + 1] as number;
      for (let i = tile.rowBegin[row] as number; i < end; i++) {
        const step = stepAt(steps, tile.begin + (tile.x0[i] as number) * tile.unit);
        colours[i] = step < 0 ? categoryColour(0) : step % NAME_COLOURS;
      }
    }
    return colours;
  }
}
