import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { findRoadFaults, readRoads } from '../../tools/roads.ts';
import { readSourceFiles, sourceFile } from '../helpers/source-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the roads in docs/architecture.md match the code', async (t) => {
  const roads = readRoads(await readFile(`${ROOT}docs/architecture.md`, 'utf8'));
  const files = await readSourceFiles(ROOT);
  t.deepEqual(
    roads.map(({ name }) => name),
    ['The road of a check', 'The road of a request'],
  );
  for (const road of roads) {
    t.true(road.stops.length > 10, road.name);
    t.deepEqual(findRoadFaults(road, files), [], road.name);
  }
});

const FILES = [
  sourceFile('a.ts', "import { b } from './b.ts';\nimport { far } from './between.ts';"),
  sourceFile('between.ts', "import { d } from './d.ts';"),
  sourceFile('b.ts', "import { JOB } from './queues/payloads.ts';"),
  sourceFile('c.ts', "import { JOB } from './queues/payloads.ts';"),
  sourceFile('d.ts', ''),
  sourceFile('alone.ts', ''),
];

function faultsOf(rows: readonly string[], climbs = '') {
  const [road] = readRoads(`## The road of a test\n\n| | file |\n|---|---|\n${rows.join('\n')}\n\n${climbs}\n`);
  return road === undefined ? ['no road'] : findRoadFaults(road, FILES);
}

test('a road follows imports, even through one file in between, and queues that both sides use', (t) => {
  t.deepEqual(
    faultsOf([
      '| 1 | `a.ts` | does | `b.ts`, `d.ts` |',
      '| 2 | `b.ts` | does | |',
      '| 3 | `c.ts` | does | |',
      '| 4 | `d.ts` | does | |',
    ]),
    [],
  );
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | |', '| 2 | `b.ts` | does | |'], 'Climbs: 2 to 1.'), []);
});

test('a missing, unconnected, repeated or misnumbered file is a fault of a road', (t) => {
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | |', '| 2 | `gone.ts` | does | |']), [
    'gone.ts does not exist',
    'no file before gone.ts leads to it',
  ]);
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | |', '| 2 | `alone.ts` | does | |']), [
    'no file before alone.ts leads to it',
  ]);
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | |', '| 3 | `b.ts` | does | |']), [
    'b.ts has the number 3 in place of 2',
  ]);
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | |', '| 2 | `b.ts` | does | |', '| 3 | `b.ts` | does | |']), [
    'b.ts is listed twice',
  ]);
});

test('a listed import that does not exist and a climb that leads forward are faults', (t) => {
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | `alone.ts` |']), ['a.ts asks no alone.ts']);
  t.deepEqual(faultsOf(['| 1 | `a.ts` | does | |', '| 2 | `b.ts` | does | |'], 'Climbs: 1 to 2.'), [
    '1 to 2 is no way back',
  ]);
});
