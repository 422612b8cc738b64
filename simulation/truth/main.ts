import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { createHarnesses, type Harness } from '../../test/helpers/harness.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
import type { Cell } from './cell.ts';
import { FAMILY_NAMES, simulateFamilies } from './families.ts';
import { printFamilies } from './family-score.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from './scenario.ts';
import { DEFAULT_SETTING, INTERVALS, SETTINGS, type Setting } from './setting.ts';
import { printFlapping, printTable, TABLES, type Row } from './table.ts';
import { simulateCells } from './worker-pool.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    scale: { type: 'string', default: '1' },
    defaults: { type: 'boolean', default: false },
    families: { type: 'string', default: '20' },
  },
});
const [seed, scale, families] = [Number(values.seed), Number(values.scale), Number(values.families)];
if (!Number.isSafeInteger(seed) || !(scale > 0) || !Number.isSafeInteger(families) || families < 0) {
  process.stderr.write(
    'npm run truth -- --seed <whole number> --scale <factor of the usual hours, such as 0.1> --defaults ' +
      '(these only) --families <of each scenario with dependencies, 0 = none>\n',
  );
  process.exit(2);
}

const SCENARIO_NAMES = Object.keys(SCENARIOS).filter((name): name is ScenarioName => name in SCENARIOS);

/** Numbers of successes that end a down, compared for flapping. */
const UP_AFTER = [1, 2, 3, 5] as const;
const FLAPPING: readonly Setting[] = UP_AFTER.map((upAfterSuccesses) => ({ ...DEFAULT_SETTING, upAfterSuccesses }));

const measured = SETTINGS.filter((setting) => !values.defaults || isDeepStrictEqual(setting, DEFAULT_SETTING));

const planned: readonly { setting: Setting; scenarios: readonly ScenarioName[] }[] = [
  ...measured.map((setting) => ({
    setting,
    scenarios: SCENARIO_NAMES.filter((scenario) => appliesTo(scenario, setting)),
  })),
  ...FLAPPING.map((setting) => ({ setting, scenarios: ['flapping'] as const })),
];
const cells: Cell[] = planned.flatMap(({ setting, scenarios }, stream) =>
  scenarios.map((scenario) => ({ seed, scenario, setting, stream, scale })),
);

const startedAtMs = Date.now();
const scores = await simulateCells(cells, (done) => {
  if (done % 100 === 0) process.stderr.write(`${done} of ${cells.length}\n`);
});

const rows: Row[] = planned.map(({ setting, scenarios }, stream) => ({
  setting,
  scores: Object.fromEntries(
    scenarios.map((scenario) => [
      scenario,
      scores[cells.findIndex((cell) => cell.stream === stream && cell.scenario === scenario)],
    ]),
  ),
}));

const print = (text: string): void => void process.stdout.write(`${text}\n\n`);
const hours = scores.reduce((sum, score) => sum + score.hours, 0);
const minutes = (Date.now() - startedAtMs) / 60_000;
print(
  `Seed ${seed}, scale ${scale}: ${(hours / 1e6).toFixed(1)} million monitor-hours in ${minutes.toFixed(1)} ` +
    `minutes on ${availableParallelism()} processors.`,
);
const scenarios: [string, Scenario][] = Object.entries(SCENARIOS);
print(
  [
    '| scenario | what is assumed | hours a setting |',
    '| --- | --- | --- |',
    ...scenarios.map(
      ([, scenario]) => `| ${scenario.name} | ${scenario.assumes} | ${(scenario.hours * scale).toLocaleString('en')} |`,
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
if (families > 0) await createHarnesses().withHarness(playFamilies);

/** Plays families of dependent monitors by the code of the service, over a PostgreSQL of their own. */
async function playFamilies(harness: Harness): Promise<void> {
  const dataDir = join(await temporaryFolder(harness), 'data');
  const postgres = await startEmbeddedPostgres({ dataDir, onProgress: () => undefined, isDurable: false });
  harness.teardown(postgres.stop);
  process.env['SPOTCHECK_TEST_DATABASE_URL'] = postgres.databaseUrl;
  const played = await simulateFamilies(harness, { seed, families, names: FAMILY_NAMES });
  print('## Dependencies');
  print(printFamilies(played));
}

/** Reports whether a scenario applies to a setting: a single location has no other to disagree with. */
function appliesTo(scenario: ScenarioName, { sources }: Setting): boolean {
  return sources > 1 || !['blind', 'one-away', 'apart', 'in-turn', 'partial'].includes(scenario);
}
