/** How wide a text is on this machine, whatever font it has. */

const widths = new Map<string, number>();
let canvas: CanvasRenderingContext2D | null | undefined;
let family = "";

export type Weight = "normal" | "bold";

/** Width in px at 12 or 13 px type; measured once per text. */
export function textWidth(text: string, weight: Weight = "normal", size: 12 | 13 = 13): number {
  const key = `${size}${weight}${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (canvas === undefined) {
    canvas = document.createElement("canvas").getContext("2d");
    family = getComputedStyle(document.documentElement).fontFamily;
  }
  if (!canvas) return text.length * size * 0.6;
  canvas.font = `${weight === "bold" ? 600 : 400} ${size}px ${family}`;
  const width = canvas.measureText(text).width;
  widths.set(key, width);
  return width;
}
