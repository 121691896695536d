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

/**
 * Whether a box that scrolls sideways hides something at its right end.
 *
 * @param content changes when what it holds does
 */
export function useMoreRight(ref: RefObject<HTMLElement | null>, content: unknown) {
  const [more, setMore] = useState(false);
  const look = () => {
    const box = ref.current;
    if (box) setMore(box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
  };
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => observer.disconnect();
  }, [ref, content]);
  return { more, look };
}
