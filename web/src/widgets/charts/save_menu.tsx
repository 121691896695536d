/** Offers a drawing as a file. */

import { Popover } from "../overlay/popover.tsx";
import { saveDrawing } from "./svg_file.ts";

export interface SaveMenuProps {
  /** What is saved, for assistive technology. */
  readonly title: string;
  /** Name of the file. */
  readonly file: string;
  /** The drawing at the moment it is asked for. */
  readonly drawing: () => SVGSVGElement | null | undefined;
}

const FORMATS = [
  ["svg", "SVG drawing"],
  ["png", "PNG image, double size"],
] as const;

export function SaveMenu({ title, file, drawing }: SaveMenuProps) {
  return (
    <Popover label="Save" name={`Save chart “${title}”`} align="right">
      {(close) => (
        <div class="menu">
          {FORMATS.map(([format, text]) => (
            <button
              key={format}
              type="button"
              class="menu-item"
              onClick={() => {
                const svg = drawing();
                if (svg) void saveDrawing(svg, file, format);
                close();
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}
