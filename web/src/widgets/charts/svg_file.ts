/** Charts as files: the drawing with its computed colours written into it, as SVG or PNG. */

const PAINT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
] as const;

const NAMESPACE = "http://www.w3.org/2000/svg";
const PNG_SCALE = 2;

/**
 * The size of the file. A drawing whose key is beside it on the page holds the key for files
 * only, marked `data-file-only`, and says how large it is with it.
 */
function fileSize(svg: SVGSVGElement): { width: number; height: number } {
  const { width, height } = svg.getBoundingClientRect();
  const { fileWidth, fileHeight } = svg.dataset;
  return { width: Number(fileWidth ?? width), height: Number(fileHeight ?? height) };
}

/** Writes the computed colours and type of each element of one tree into its twin in another. */
function paint(originals: Element, copies: Element): void {
  const from = [originals, ...originals.querySelectorAll("*")];
  const to = [copies, ...copies.querySelectorAll("*")];
  from.forEach((original, index) => {
    const twin = to[index] as Element;
    const style = getComputedStyle(original);
    for (const name of PAINT) {
      const value = style.getPropertyValue(name);
      if (value) twin.setAttribute(name, plainColour(value));
    }
    twin.removeAttribute("class");
    twin.removeAttribute("style");
  });
}

const MIXED = /^(color|oklch|oklab|lab|lch)\(/;
const plain = new Map<string, string>();

/** A mixed colour as red, green and blue, which every program that draws SVG reads. */
function plainColour(value: string): string {
  if (!MIXED.test(value)) return value;
  const known = plain.get(value);
  if (known) return known;
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = 1;
  const pen = canvas.getContext("2d");
  if (!pen) return value;
  pen.fillStyle = value;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  const found = alpha === 255 ? `rgb(${red}, ${green}, ${blue})` : value;
  plain.set(value, found);
  return found;
}

/** A copy of the drawing that needs no style sheet, on the page's background, with its key. */
function standalone(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  paint(svg, copy);
  for (const extra of copy.querySelectorAll("[data-screen-only]")) extra.remove();
  const size = fileSize(svg);
  const key = keyOf(svg);
  copy.append(...key.parts);
  const height = Math.max(size.height, key.bottom);
  copy.setAttribute("xmlns", NAMESPACE);
  copy.setAttribute("width", String(size.width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("viewBox", `0 0 ${size.width} ${height}`);
  const paper = document.createElementNS(NAMESPACE, "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.documentElement).backgroundColor);
  copy.prepend(paper);
  return copy;
}

const KEY_MARGIN = 8;

/** The lists of colours beside a drawing, as they are on the page, in the drawing's px. */
function keyOf(svg: SVGSVGElement): { parts: SVGElement[]; bottom: number } {
  const origin = svg.getBoundingClientRect();
  const parts: SVGElement[] = [];
  let bottom = 0;
  for (const list of svg.closest(".chart")?.querySelectorAll("ul.part-key, ul.legend") ?? []) {
    bottom = Math.max(bottom, list.getBoundingClientRect().bottom - origin.top + KEY_MARGIN);
    for (const swatch of list.querySelectorAll<SVGSVGElement>("svg.swatch")) {
      const copy = swatch.cloneNode(true) as SVGSVGElement;
      paint(swatch, copy);
      const place = swatch.getBoundingClientRect();
      copy.setAttribute("x", String(place.left - origin.left));
      copy.setAttribute("y", String(place.top - origin.top));
      parts.push(copy);
    }
    const walker = document.createTreeWalker(list, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      if (text.textContent?.trim()) parts.push(textAt(text, origin));
    }
  }
  return { parts, bottom };
}

/** A text of the page as one of the drawing. */
function textAt(text: Node, origin: DOMRect): SVGTextElement {
  const range = document.createRange();
  range.selectNodeContents(text);
  const place = range.getBoundingClientRect();
  const style = getComputedStyle(text.parentElement ?? document.body);
  const made = document.createElementNS(NAMESPACE, "text");
  made.textContent = text.textContent;
  made.setAttribute("x", String(place.left - origin.left));
  made.setAttribute("y", String((place.top + place.bottom) / 2 - origin.top));
  made.setAttribute("dominant-baseline", "central");
  made.setAttribute("fill", style.color);
  made.setAttribute("font-family", style.fontFamily);
  made.setAttribute("font-size", style.fontSize);
  made.setAttribute("font-weight", style.fontWeight);
  return made;
}

function svgBlob(svg: SVGSVGElement): Blob {
  const text = new XMLSerializer().serializeToString(standalone(svg));
  return new Blob([text], { type: "image/svg+xml" });
}

async function pngBlob(svg: SVGSVGElement): Promise<Blob> {
  const url = URL.createObjectURL(svgBlob(svg));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * PNG_SCALE;
    canvas.height = image.height * PNG_SCALE;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("could not make a PNG"))));
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Offers the drawing as a download named `<name>.svg` or `<name>.png`. */
export async function saveDrawing(
  svg: SVGSVGElement,
  name: string,
  format: "svg" | "png",
): Promise<void> {
  const blob = format === "svg" ? svgBlob(svg) : await pngBlob(svg);
  saveBlob(blob, `${name}.${format}`);
}

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  // The download reads the URL after this turn of the event loop.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
