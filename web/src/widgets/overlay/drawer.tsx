/** Details at the right edge of the page, beside what they are about; Escape closes. */

import type { ComponentChildren } from "preact";

export interface DrawerProps {
  readonly label: string;
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Drawer({ label, title, onClose, children }: DrawerProps) {
  return (
    <section
      class="drawer"
      aria-label={label}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </header>
      {children}
    </section>
  );
}
