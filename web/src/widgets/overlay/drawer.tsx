/** Details at the right edge of the page, beside what they are about; Escape closes. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface DrawerProps {
  readonly label: string;
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Drawer({ label, title, onClose, children }: DrawerProps) {
  const latest = useRef(onClose);
  latest.current = onClose;
  // Wherever the focus is: on the row or the chart that it is about, as a rule.
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const menu = document.querySelector("dialog[open], .popover-panel");
      if (event.key === "Escape" && !menu) latest.current();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <section class="drawer" aria-label={label}>
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
