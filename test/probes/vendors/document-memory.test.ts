import test from 'ava';
import type { VendorDocumentRecord } from '../../../core/checks/vendor/document.ts';
import { DocumentMemory } from '../../../probes/vendor.ts';

const recordOf = (no: number, nameLength: number): VendorDocumentRecord => ({
  url: `https://status.example/${no}`,
  snapshot: { name: 'x'.repeat(nameLength), overall: 'operational', components: [], listsAll: true, events: [] },
  etag: null,
  lastModified: null,
  fetchedAtMs: 1,
  requestedAtMs: 1,
  latencyMs: 1,
  failure: null,
  failures: 0,
  retryAtMs: null,
});

test('documents are bounded in bytes: the oldest is evicted, and an oversized one is not stored', (t) => {
  const memory = new DocumentMemory({ most: 100, mostBytes: 10_000 });
  for (let no = 0; no < 50; no += 1) {
    memory.set(recordOf(no, 1000));
    t.true(memory.bytes() <= 10_000);
  }
  t.is(memory.get('https://status.example/0'), undefined);
  t.is(memory.get('https://status.example/49')?.url, 'https://status.example/49');
  memory.set(recordOf(50, 20_000));
  t.is(memory.get('https://status.example/50'), undefined);
  t.is(memory.bytes(), 0);
});

test('a document that is stored again counts once, and the number of documents is bounded', (t) => {
  const memory = new DocumentMemory({ most: 3, mostBytes: 100_000 });
  for (let turn = 0; turn < 10; turn += 1) memory.set(recordOf(1, 1000 + turn));
  const once = memory.bytes();
  t.true(once < 2000);
  for (let no = 2; no < 6; no += 1) memory.set(recordOf(no, 10));
  t.deepEqual(
    [1, 2, 3, 4, 5].map((no) => memory.get(`https://status.example/${no}`) !== undefined),
    [false, false, true, true, true],
  );
});
