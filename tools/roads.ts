import type { SourceFile } from '../test/helpers/source-files.ts';

/** A file on a road, and the further files that it calls on the way. */
type Stop = { no: number; path: string; asks: readonly string[] };

/** A step back up the road: the stop `from` calls a function that the earlier stop `to` passed down. */
type Climb = { from: number; to: number };

/** The files that a check or a request passes through, in order. */
export type Road = { name: string; stops: readonly Stop[]; climbs: readonly Climb[] };

const ROW = /^\| (?<no>\d+) \| `(?<path>[^`]+)` \| .*? \| ?(?<asks>.*?) ?\|$/gm;
const CLIMBS = /^Climbs: (?<climbs>\d+ to \d+(?:, \d+ to \d+)*)\./m;
const NAMED_FILE = /`(?<path>[^`]+\.\w+)`/g;

/** Reads the roads of docs/architecture.md: a heading, a table, and a line that lists the climbs, if there are any. */
export function readRoads(page: string): Road[] {
  return page
    .split(/^## /m)
    .filter((part) => part.startsWith('The road of '))
    .map((part) => ({ name: part.slice(0, part.indexOf('\n')), stops: readStops(part), climbs: readClimbs(part) }));
}

/** Returns how a road differs from the code, one sentence per difference. */
export function findRoadFaults({ stops, climbs }: Road, files: readonly SourceFile[]): string[] {
  const importsOf = new Map(
    files.map(({ path, imports }) => [path, new Set(imports.flatMap((one) => one.path ?? []))]),
  );
  const reaches = (from: string, to: string): boolean => {
    const imported = importsOf.get(from) ?? new Set();
    return imported.has(to) || [...imported].some((between) => importsOf.get(between)?.has(to) === true);
  };
  // A job passes from one process to another: both import its queue.
  const sharesQueue = (a: string, b: string): boolean =>
    [...(importsOf.get(a) ?? [])].some((one) => one.startsWith('queues/') && importsOf.get(b)?.has(one) === true);
  const stopFaults = stops.flatMap(({ no, path, asks }, index) => {
    const before = stops.slice(0, index).map((stop) => stop.path);
    const isReached = before.some((earlier) => reaches(earlier, path) || sharesQueue(earlier, path));
    return [
      ...(no === index + 1 ? [] : [`${path} has the number ${no} in place of ${index + 1}`]),
      ...(importsOf.has(path) ? [] : [`${path} does not exist`]),
      ...(before.includes(path) ? [`${path} is listed twice`] : []),
      ...(index === 0 || isReached ? [] : [`no file before ${path} leads to it`]),
      ...asks.filter((asked) => asked.endsWith('.ts') && !reaches(path, asked)).map((one) => `${path} asks no ${one}`),
    ];
  });
  const climbFaults = climbs
    .filter(({ from, to }) => to >= from || from > stops.length || to < 1)
    .map(({ from, to }) => `${from} to ${to} is no way back`);
  return [...stopFaults, ...climbFaults];
}

function readStops(part: string): Stop[] {
  return [...part.matchAll(ROW)].map(({ groups }) => ({
    no: Number(groups?.['no']),
    path: groups?.['path'] ?? '',
    asks: [...(groups?.['asks'] ?? '').matchAll(NAMED_FILE)].map((asked) => asked.groups?.['path'] ?? ''),
  }));
}

function readClimbs(part: string): Climb[] {
  const listed = CLIMBS.exec(part)?.groups?.['climbs'] ?? '';
  return [...listed.matchAll(/(\d+) to (\d+)/g)].map(([, from, to]) => ({ from: Number(from), to: Number(to) }));
}
