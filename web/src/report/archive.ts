/**
 * What a report holds instead of a server: packed members behind the page, each unpacked when asked.
 *
 * They are in an inert script element as base64, so that no name of a recording can end it.
 */

const ELEMENT = "stepscope-report";
/** Characters decoded at a time: a multiple of four, so that each piece is whole bytes. */
const PIECE = 1 << 20;

/** What a report says of itself; `members` gives begin and length in characters. */
export interface Manifest {
  readonly format: number;
  /** What was left out or replaced, in sentences. */
  readonly notes: readonly string[];
  readonly members: Readonly<Record<string, readonly [number, number]>>;
}

export class Archive {
  constructor(
    readonly manifest: Manifest,
    private readonly packed: string,
  ) {}

  has(name: string): boolean {
    return Object.hasOwn(this.manifest.members, name);
  }

  /** The bytes of a member as they were before packing. */
  async bytes(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const place = this.manifest.members[name];
    if (!place) throw new Error(`The report has no member ${name}.`);
    const packed = decoded(this.packed, ...place);
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(plain).arrayBuffer());
  }

  async json<T>(name: string): Promise<T> {
    return JSON.parse(new TextDecoder().decode(await this.bytes(name))) as T;
  }
}

function decoded(text: string, begin: number, length: number): Uint8Array<ArrayBuffer> {
  const padding = text.endsWith("==", begin + length)
    ? 2
    : text[begin + length - 1] === "="
      ? 1
      : 0;
  const bytes = new Uint8Array((length / 4) * 3 - padding);
  let at = 0;
  for (let from = begin; from < begin + length; from += PIECE) {
    const piece = atob(text.slice(from, Math.min(from + PIECE, begin + length)));
    for (let i = 0; i < piece.length; i++) bytes[at++] = piece.charCodeAt(i);
  }
  return bytes;
}

/** The archive behind this page, which is taken out of the document; null where a server answers. */
export function takeArchive(): Archive | null {
  const element = typeof document === "undefined" ? null : document.getElementById(ELEMENT);
  if (!element) return null;
  const manifest = JSON.parse(atob(element.dataset.manifest ?? "")) as Manifest;
  const packed = element.textContent ?? "";
  element.remove();
  return new Archive(manifest, packed);
}
