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
 * The size of the file. A drawing whose key stands beside it on the page holds the key for files
 * only, marked `data-file-only`, and says how large it is with it.
 */
function fileSize(svg: SVGSVGElement): { width: number; height: number } {
  const { width, height } = svg.getBoundingClientRect();
  const { fileWidth, fileHeight } = svg.dataset;
  return { width: Number(fileWidth ?? width), height: Number(fileHeight ?? height) };
}

/** A copy of the drawing that needs no style sheet, on the page's background. */
function standalone(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, index) => {
    const twin = copies[index] as SVGElement;
    const style = getComputedStyle(original);
    for (const name of PAINT) {
      const value = style.getPropertyValue(name);
      if (value) twin.setAttribute(name, value);
    }
    twin.removeAttribute("class");
  });
  for (const extra of copy.querySelectorAll("[data-screen-only]")) extra.remove();
  const { width, height } = fileSize(svg);
  copy.setAttribute("xmlns", NAMESPACE);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const paper = document.createElementNS(NAMESPACE, "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  return copy;
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
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no PNG was made"))));
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
