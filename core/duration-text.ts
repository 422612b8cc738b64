const UNITS = [
  { name: 'day', seconds: 86_400 },
  { name: 'hour', seconds: 3600 },
  { name: 'minute', seconds: 60 },
  { name: 'second', seconds: 1 },
] as const;

/**
 * A length of time in words, in its greatest unit and the one below it, rounded down: `3 minutes 20 seconds`, `1 day`.
 * Below a second, negative ones included, `less than a second`.
 */
export function formatDuration(seconds: number): string {
  const first = UNITS.findIndex((unit) => seconds >= unit.seconds);
  if (first === -1) return 'less than a second';
  let left = Math.floor(seconds);
  const parts = UNITS.slice(first, first + 2).map(({ name, seconds: size }) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : `${count} ${name}${count === 1 ? '' : 's'}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}
