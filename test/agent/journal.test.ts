import {
  appendFile,
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Journal, type Entry } from '../../agent/journal.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

function entry(number: number): Entry {
  const line = JSON.stringify({
    monitorId: `mon_${number}`,
    ok: true,
    cause: null,
    latencyMs: 1,
    httpStatus: 200,
    ts: 1_800_000_000 + number,
  });
  return {
    line,
    monitorId: `mon_${number}`,
    atMs: (1_800_000_000 + number) * 1000,
    isBad: false,
    segment: null,
    isDone: false,
  };
}

const entries = (count: number, from = 0): Entry[] => Array.from({ length: count }, (_, index) => entry(from + index));

async function openJournal(t: ExecutionContext, folder?: string) {
  const journalFolder = folder ?? (await temporaryFolder(t));
  const failures: unknown[] = [];
  const opened = await Journal.open({
    folder: journalFolder,
    now: Date.now,
    onDisk: (error) => void failures.push(error),
  });
  t.teardown(() => opened.journal.close());
  return { ...opened, folder: journalFolder, failures };
}

const idsOf = (found: readonly Entry[]): string[] => found.map(({ monitorId }) => monitorId);

test('results on disk are restored by the next run in the order of measurement', async (t) => {
  const first = await openJournal(t);
  const written = entries(1200);
  await first.journal.append(written.slice(0, 700));
  await first.journal.append(written);
  await first.journal.close();
  t.true((await readdir(first.folder)).length >= 2);
  const second = await openJournal(t, first.folder);
  t.deepEqual(idsOf(second.waiting), idsOf(written));
  t.deepEqual(
    second.waiting.map(({ line, atMs, isBad }) => ({ line, atMs, isBad })),
    written.map(({ line, atMs, isBad }) => ({ line, atMs, isBad })),
  );
  t.is(second.torn, 0);
});

/** Collects the inode numbers of the files that are forced to disk from now on. */
async function watchSyncs(t: ExecutionContext): Promise<ReadonlySet<number>> {
  const synced = new Set<number>();
  const anyFile = await open(await temporaryFolder(t));
  const handles = Object.getPrototypeOf(anyFile);
  await anyFile.close();
  const { datasync } = handles;
  handles.datasync = async function (this: FileHandle) {
    const { ino } = await this.stat();
    await datasync.call(this);
    synced.add(ino);
  };
  t.teardown(() => (handles.datasync = datasync));
  return synced;
}

test.serial('a full segment is synced before the next one starts, and the last one on close', async (t) => {
  const synced = await watchSyncs(t);
  const { journal, folder } = await openJournal(t);
  const written = entries(1200);
  for (const count of [500, 1000, 1200]) await journal.append(written.slice(0, count));
  const segments = await Promise.all(
    (await readdir(folder)).toSorted().map(async (name) => (await stat(join(folder, name))).ino),
  );
  const areSynced = () => segments.map((number) => synced.has(number));
  t.deepEqual(areSynced(), [true, true, false]);
  await journal.close();
  t.deepEqual(areSynced(), [true, true, true]);
});

test('a segment is deleted with its last result, and a later run appends after the results it found', async (t) => {
  const first = await openJournal(t);
  const written = entries(3);
  await first.journal.append(written);
  await first.journal.settle(written.slice(0, 2));
  t.is((await readdir(first.folder)).length, 1);
  await first.journal.close();
  const second = await openJournal(t, first.folder);
  await second.journal.append(entries(1, 10));
  const third = await openJournal(t, first.folder);
  t.deepEqual(idsOf(third.waiting), ['mon_0', 'mon_1', 'mon_2', 'mon_10']);
  await third.journal.settle(third.waiting);
  t.deepEqual(await readdir(first.folder), []);
});

test('a result sent before it was journaled is never written to disk', async (t) => {
  const { journal, folder } = await openJournal(t);
  const written = entries(5);
  await journal.settle(written);
  await journal.append(written);
  t.deepEqual(await readdir(folder), []);
});

test('segments are readable only by their owner', async (t) => {
  const { journal, folder } = await openJournal(t);
  await journal.append(entries(1));
  const [name = ''] = await readdir(folder);
  t.is((await stat(join(folder, name))).mode & 0o777, 0o600);
});

test("a killed process's torn line is skipped and counted, and the results around it are restored", async (t) => {
  const first = await openJournal(t);
  await first.journal.append(entries(2));
  await first.journal.close();
  const [name = ''] = await readdir(first.folder);
  await appendFile(join(first.folder, name), entry(7).line.slice(0, 30));
  const second = await openJournal(t, first.folder);
  t.deepEqual(idsOf(second.waiting), ['mon_0', 'mon_1']);
  t.is(second.torn, 1);
  await second.journal.append(entries(1, 3));
  const third = await openJournal(t, first.folder);
  t.deepEqual(idsOf(third.waiting), ['mon_0', 'mon_1', 'mon_3']);
});

const STRANGE = [
  '',
  '\n\n',
  'not json\n',
  '[]\n',
  'null\n',
  '{"monitorId":7,"ts":1,"ok":true}\n',
  '{"monitorId":"mon_1","ts":"1","ok":true}\n',
  '\u0000\u0000\u0000',
];
for (const text of STRANGE) {
  test(`a segment containing only ${JSON.stringify(text)} is removed without an error`, async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'results-000000000007.jsonl'), text);
    const { waiting, journal } = await openJournal(t, folder);
    t.deepEqual(waiting, []);
    await journal.append(entries(1));
    t.deepEqual(await readdir(folder), ['results-000000000008.jsonl']);
  });
}

test('unrelated files in the folder are left alone', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'key.json'), '{}');
  await writeFile(join(folder, 'results-1.jsonl'), 'mine');
  const { journal } = await openJournal(t, folder);
  const written = entries(1);
  await journal.append(written);
  await journal.settle(written);
  t.deepEqual((await readdir(folder)).toSorted(), ['key.json', 'results-1.jsonl']);
});

test('a failing disk is reported once; after recovery pending results are written, and that is reported', async (t) => {
  const folder = join(await temporaryFolder(t), 'inner');
  await mkdir(folder);
  const { journal, failures } = await openJournal(t, folder);
  await rm(folder, { recursive: true });
  const written = entries(3);
  await journal.append(written);
  await journal.append(written);
  t.is(failures.length, 1);
  t.regex(String(failures[0]), /ENOENT/);
  await mkdir(folder);
  await journal.append(written);
  t.is(failures.length, 2);
  t.is(failures[1], null);
  const { waiting } = await openJournal(t, folder);
  t.deepEqual(idsOf(waiting), idsOf(written));
});

test('results sent while the disk failed are not written after it recovers', async (t) => {
  const folder = join(await temporaryFolder(t), 'inner');
  await mkdir(folder);
  const { journal } = await openJournal(t, folder);
  await rm(folder, { recursive: true });
  const written = entries(3);
  await journal.append(written);
  await journal.settle(written.slice(0, 2));
  await mkdir(folder);
  await journal.append(written);
  const [name = ''] = await readdir(folder);
  t.is(await readFile(join(folder, name), 'utf8'), `${written.at(-1)?.line}\n`);
});

test('a read-only folder does not stop the program', async (t) => {
  const folder = await temporaryFolder(t);
  await chmod(folder, 0o500);
  const { journal, failures } = await openJournal(t, folder);
  await journal.append(entries(1));
  await journal.close();
  // Root can write everywhere.
  t.is(failures.length, process.getuid?.() === 0 ? 0 : 1);
  await chmod(folder, 0o700);
});
