import { availableParallelism } from 'node:os';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import type { Cell } from './cell.ts';
import { simulateCells } from './crew.ts';
import { DEFAULT_SETTING, INTERVALS, SETTINGS, type Setting } from './setting.ts';
import { printFlapping, printTable, TABLES, type Row } from './table.ts';
import { WORLDS, type World, type WorldName } from './world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    scale: { type: 'string', default: '1' },
    defaults: { type: 'boolean', default: false },
  },
});
const [seed, scale] = [Number(values.seed), Number(values.scale)];
if (!Number.isSafeInteger(seed) || !(scale > 0)) {
  process.stderr.write(
    'npm run truth -- --seed <whole number> --scale <so many times the usual hours, such as 0.1> --defaults ' +
      '(these only)\n',
  );
  process.exit(2);
}

const WORLD_NAMES = Object.keys(WORLDS).filter((name): name is WorldName => name in WORLDS);

/** How many successes end a down, held against flapping. */
const UP_AFTER = [1, 2, 3, 5] as const;
const FLAPPING: readonly Setting[] = UP_AFTER.map((upAfterSuccesses) => ({ ...DEFAULT_SETTING, upAfterSuccesses }));

const measured = SETTINGS.filter((setting) => !values.defaults || isDeepStrictEqual(setting, DEFAULT_SETTING));

const planned: readonly { setting: Setting; worlds: readonly WorldName[] }[] = [
  ...measured.map((setting) => ({ setting, worlds: WORLD_NAMES.filter((world) => parseArguments(world, setting)) })),
  ...FLAPPING.map((setting) => ({ setting, worlds: ['flapping'] as const })),
];
const cells: Cell[] = planned.flatMap(({ setting, worlds }, stream) =>
  worlds.map((world) => ({ seed, world, setting, stream, scale })),
);

const startedAtMs = Date.now();
const scores = await simulateCells(cells, (done) => {
  if (done % 100 === 0) process.stderr.write(`${done} of ${cells.length}\n`);
});

const rows: Row[] = planned.map(({ setting, worlds }, stream) => ({
  setting,
  scores: Object.fromEntries(
    worlds.map((world) => [world, scores[cells.findIndex((cell) => cell.stream === stream && cell.world === world)]]),
  ),
}));

const print = (text: string): void => void process.stdout.write(`${text}\n\n`);
const hours = scores.reduce((sum, score) => sum + score.hours, 0);
const minutes = (Date.now() - startedAtMs) / 60_000;
print(
  `Seed ${seed}, scale ${scale}: ${(hours / 1e6).toFixed(1)} million monitor-hours in ${minutes.toFixed(1)} ` +
    `minutes on ${availableParallelism()} processors.`,
);
const worlds: [string, World][] = Object.entries(WORLDS);
print(
  [
    '| world | what is assumed | hours a setting |',
    '| --- | --- | --- |',
    ...worlds.map(
      ([, world]) => `| ${world.name} | ${world.assumes} | ${(world.hours * scale).toLocaleString('en')} |`,
    ),
  ].join('\n'),
);
for (const intervalSeconds of INTERVALS) {
  const ofInterval = rows
    .slice(0, measured.length)
    .filter(({ setting }) => setting.intervalSeconds === intervalSeconds);
  if (ofInterval.length === 0) continue;
  print(`## ${intervalSeconds} s`);
  for (const { title, columns } of TABLES) {
    print(`### ${title}`);
    print(printTable(columns, ofInterval));
  }
}
print('## Flapping and successes');
print(printFlapping(rows.slice(measured.length)));

/** With one location nobody is blind, away or apart beside the others. */
function parseArguments(world: WorldName, { sources }: Setting): boolean {
  return sources > 1 || !['blind', 'one-away', 'apart', 'in-turn', 'partial'].includes(world);
}
