import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createHarnesses } from '../../test/helpers/harness.ts';
import { findFaketime, NO_FAKETIME } from '../../test/helpers/set-clock.ts';
import { KINDS, type FaultKind, type RedisKind } from './faults.ts';
import { FINDINGS } from './findings.ts';
import { WHOLE_FLEET } from './fleet.ts';
import type { Sheet } from './judge.ts';
import { runChaos } from './run.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: `${Math.floor(Math.random() * 1_000_000)}` },
    runs: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '90' },
    monitors: { type: 'string', default: '200' },
    apart: { type: 'string', default: '2-11' },
    redis: { type: 'string', default: 'server' },
    kinds: { type: 'string' },
  },
});
const [firstSeed, runs, seconds, monitors] = [values.seed, values.runs, values.seconds, values.monitors].map(Number);
if (![firstSeed, runs, seconds, monitors].every((number) => Number.isSafeInteger(number) && Number(number) >= 0)) {
  process.stderr.write('--seed, --runs, --seconds and --monitors are whole numbers\n');
  process.exit(2);
}
const [, from, to] = /^(\d{1,4})-(\d{1,4})$/.exec(values.apart) ?? [];
if (from === undefined || to === undefined || Number(from) < 1 || Number(to) < Number(from)) {
  process.stderr.write('--apart says the seconds between two faults: from-to, such as 20-40\n');
  process.exit(2);
}
const kinds = values.kinds?.split(',') ?? KINDS;
if (!kinds.every((kind): kind is FaultKind => KINDS.some((known) => known === kind))) {
  process.stderr.write(`--kinds are some of ${KINDS.join(',')}\n`);
  process.exit(2);
}
const possible = findFaketime() === null ? kinds.filter((kind) => kind !== 'clock') : kinds;
if (possible.length < kinds.length) process.stdout.write(`${NO_FAKETIME}\n`);
const { redis } = values;
if (redis !== 'server' && redis !== 'cluster') {
  process.stderr.write('--redis is server or cluster\n');
  process.exit(2);
}
const apartMs = [Number(from) * 1000, Number(to) * 1000] as const;

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const { withHarness, closeAll } = createHarnesses();
const compiled = mkdtempSync(join(tmpdir(), 'spotcheck-chaos-compiled-'));
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));
process.env['NODE_COMPILE_CACHE'] ??= compiled;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void closeAll().finally(() => process.exit(1));
  });
}

type Outcome = 'clean' | 'unclean' | 'inconclusive';

/** Runs one seed; inconclusive if the machine was too slow to decide, or the run broke off. */
async function runSeed(seed: number, kind: RedisKind): Promise<Outcome> {
  write(`seed ${seed}`);
  const folder = await mkdtemp(join(tmpdir(), `spotcheck-chaos-${seed}-`));
  const lines: string[] = [];
  const log = (line: string): void => {
    lines.push(line);
    write(`  ${line}`);
  };
  const sheet = await withHarness((harness) =>
    runChaos(harness, {
      seed,
      seconds: seconds ?? 0,
      monitors: monitors ?? 0,
      size: WHOLE_FLEET,
      redis: kind,
      kinds: possible,
      longestMs: 30_000,
      apartMs,
      quietMs: 10_000,
      folder,
      log,
    }),
  ).catch((error: Error) => log(`broke off: ${error.stack ?? error.message}`));
  if (sheet === undefined) {
    log(`kept in ${folder}: logs/`);
    return 'inconclusive';
  }
  showSheet(sheet);
  if (sheet.isClean) {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    return 'clean';
  }
  await writeFile(join(folder, 'sheet.json'), JSON.stringify({ seed, faults: lines, ...sheet }, null, 2));
  const outcome = sheet.isConclusive ? 'unclean' : 'inconclusive';
  write(`  ${outcome}; kept in ${folder}: sheet.json, facts.json, logs/`);
  return outcome;
}

function showSheet({ counts, found, figures }: Sheet): void {
  write(
    `  ${Object.entries(figures)
      .map(([name, figure]) => `${figure} ${name}`)
      .join(', ')}`,
  );
  for (const finding of FINDINGS) write(`  ${String(counts[finding]).padStart(4)} ${finding}`);
  for (const { finding, text } of found.slice(0, 30)) write(`  ${finding}: ${text}`);
}

const seeds: Record<Outcome, number[]> = { clean: [], unclean: [], inconclusive: [] };
for (let seed = firstSeed ?? 0; seed < (firstSeed ?? 0) + (runs ?? 0); seed += 1)
  seeds[await runSeed(seed, redis)].push(seed);
const tally = (outcome: Outcome): string => {
  const count = seeds[outcome].length;
  const named = outcome !== 'clean' && count > 0 ? ` (seeds ${seeds[outcome].join(', ')})` : '';
  return `${count} ${outcome}${named}`;
};
write(`${runs} ${runs === 1 ? 'run' : 'runs'}: ${tally('clean')}, ${tally('unclean')}, ${tally('inconclusive')}`);
process.exit(seeds.clean.length === runs ? 0 : 1);
