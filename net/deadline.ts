/**
 * Calls `pass` once the given milliseconds are over, and what had arrived by then has been read. After a stand-still of
 * the event loop its timers come before its sockets, and what lay there all the while would be late. Gives back how to
 * call it off.
 */
export function startDeadline(ms: number, pass: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    immediate = setImmediate(pass);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}
