import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/**
 * A value that stands still from `hold`, a button or finger that goes down, until that is up again: what is drawn anew
 * under a drag loses it.
 */
export function useHeld<Value>(value: Value): { held: Value; hold: () => void } {
  const [isHeld, setIsHeld] = useState(false);
  const held = useRef(value);
  if (!isHeld) held.current = value;
  useLayoutEffect(() => {
    if (!isHeld) return undefined;
    // A drag ends by the mouse's own event, which comes right after the pointer's.
    const letGo = () => void setTimeout(() => setIsHeld(false));
    const ends = ['pointerup', 'pointercancel', 'blur'];
    for (const name of ends) window.addEventListener(name, letGo);
    return () => {
      for (const name of ends) window.removeEventListener(name, letGo);
    };
  }, [isHeld]);
  return { held: held.current, hold: () => setIsHeld(true) };
}
