/** A button that opens a small panel; Escape or a press elsewhere closes it. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface PopoverProps {
  readonly label: ComponentChildren;
  /** Name for assistive technology when the label alone does not say it. */
  readonly name?: string;
  readonly align?: "left" | "right";
  readonly class?: string;
  readonly children: (close: () => void) => ComponentChildren;
}

export function Popover({
  label,
  name,
  align = "left",
  class: extra = "",
  children,
}: PopoverProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside, true);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      document.removeEventListener("focusin", outside);
    };
  }, [open]);

  // Before it is drawn: later, what a quick person types elsewhere would land in this field.
  useLayoutEffect(() => {
    if (!open) return;
    const field = root.current?.querySelector<HTMLElement>(
      ".popover-panel input:not([type=radio], [type=checkbox])",
    );
    field?.focus();
  }, [open]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (open && event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  };

  return (
    <div class={`popover ${extra}`} ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="button"
        ref={button}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={name}
        onClick={() => setOpen(!open)}
      >
        {label}
        <span class="caret" aria-hidden="true" />
      </button>
      {open && (
        <div class={`popover-panel ${align}`} id={id}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
