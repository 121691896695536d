/** The width of an element, kept up to date. */

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** Content width of `ref` in whole px; `initial` until it has been laid out. */
export function useWidth(ref: RefObject<Element | null>, initial: number): number {
  const [width, setWidth] = useState(initial);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setWidth(Math.floor(element.clientWidth) || initial);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref, initial]);
  return width;
}
