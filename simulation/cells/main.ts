import { parseArgs } from 'node:util';
import type { CellFigures } from './cell.ts';
import { simulateCells, type SimulationFigures } from './simulation.ts';

/** Bytes of a stored result with its indexes (docs/performance.md). */
const STORED_BYTES = 7;

const { values } = parseArgs({
  options: {
    monitors: { type: 'string', default: '1000000' },
    cells: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '150' },
    real: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
  },
});
const [monitors, cells, seconds, realEvery, seed] = [
  values.monitors,
  values.cells,
  values.seconds,
  values.real,
  values.seed,
].map(Number) as [number, number, number, number, number];
const isInBounds = [
  [monitors, 1000, 2_000_000],
  [cells, 2, 50],
  [seconds, 120, 600],
  [realEvery, 10, 1_000_000],
  [seed, 0, Number.MAX_SAFE_INTEGER],
].every(([value = Number.NaN, least = 0, most = 0]) => Number.isSafeInteger(value) && value >= least && value <= most);
if (!isInBounds) {
  process.stderr.write(
    'npm run cells -- --monitors <1000 to 2000000> --cells <2 to 50> --seconds <120 to 600> ' +
      '--real <one probe in so many is made, 10 or more> --seed <whole number>\n',
  );
  process.exit(2);
}

const INTERVAL_SECONDS = 60;

const figures = await simulateCells({ monitors, cells, seconds, realEvery, seed, intervalSeconds: INTERVAL_SECONDS });
process.stdout.write(`${describe(figures)}\n`);
process.exitCode = figures.move.missed + figures.move.lostResults + figures.move.differing > 0 ? 1 : 0;

function describeFailures(all: readonly CellFigures[]): string {
  const byCause = Map.groupBy(
    all.flatMap(({ failures }) => [...failures]),
    ([cause]) => cause,
  );
  const causes = [...byCause].map(
    ([cause, counts]) => `${counts.reduce((total, [, count]) => total + count, 0)} (${cause})`,
  );
  return causes.length === 0 ? 'none' : causes.join(', ');
}

function describe({ cells: all, move, requests }: SimulationFigures): string {
  const sum = (figureOf: (cell: CellFigures) => number) => all.reduce((total, cell) => total + figureOf(cell), 0);
  const perDay = (sum(({ checks }) => checks) / seconds) * 86_400;
  return [
    `${sum((cell) => cell.monitors).toLocaleString('en')} monitors at ${INTERVAL_SECONDS} s in ${cells} cells for ` +
      `${seconds} s, seed ${seed}: ${sum(({ checks }) => checks).toLocaleString('en')} checks, ` +
      `${sum(({ real }) => real).toLocaleString('en')} of them probes; ` +
      `${requests.toLocaleString('en')} of these reached the target and ${describeFailures(all)} were not up; ` +
      `${sum(({ dropped }) => dropped)} left out.`,
    '',
    '| cell | accounts | monitors | slots in use, monitors in each | checks/s, busiest second | ' +
      'starts late p50, p99, most | CPU | batches/s, results in each | bytes of a result on its way |',
    '|---|---|---|---|---|---|---|---|---|',
    ...all.map(
      ({ name, accounts, slots, lateness, cpuSeconds, ...cell }) =>
        `| ${name} | ${accounts.toLocaleString('en')} | ${cell.monitors.toLocaleString('en')} | ` +
        `${slots.used}, ${slots.fewest} to ${slots.most} | ${Math.round(cell.checks / seconds)}, ` +
        `${Math.max(...cell.bySecond)} | ${lateness.p50}, ${lateness.p99}, ${lateness.most} ms | ` +
        `${((cpuSeconds / seconds) * 100).toFixed(1)} % | ${(cell.batches / seconds).toFixed(1)}, ` +
        `${Math.round(cell.results / cell.batches)} | ${Math.round(cell.bytes / cell.results)} |`,
    ),
    '',
    `At ${STORED_BYTES} bytes a stored result that is ${((perDay * STORED_BYTES) / 1e9).toFixed(0)} GB a day in all ` +
      `cells, ${((perDay * STORED_BYTES) / 1e9 / cells).toFixed(1)} GB in each.`,
    `An account of ${move.monitors.toLocaleString('en')} monitors moved from ${move.from} to ${move.to}, frozen for ` +
      `${move.frozenSeconds} s: ${move.checks.toLocaleString('en')} checks, ${move.rechecks.toLocaleString('en')} of ` +
      `them rechecks at the flip; ${move.missed} intervals missed, ${(move.longestGapMs / 1000).toFixed(1)} s the ` +
      `longest time without a check; ${move.lostResults} results lost; ${move.decisions} decisions, ` +
      `${move.differing} other than those of an account that stays.`,
  ].join('\n');
}
