import test from 'ava';
import { listAll, nextCursor } from '../../console/client/answer.ts';

test('the next cursor comes only from a Link header with rel="next"', (t) => {
  t.is(
    nextCursor('<https://status.example/v1/incidents?status=open&limit=1000&cursor=MTcuaW5j>; rel="next"'),
    'MTcuaW5j',
  );
  t.is(nextCursor('</v1/incidents?cursor=a%2Bb>;rel=next'), 'a+b');
  for (const none of [null, '', '</v1/incidents?cursor=a>; rel="prev"', '</v1/incidents>; rel="next"', 'nonsense'])
    t.is(nextCursor(none), null, String(none));
});

test('a paginated list is read to its end, each page once', async (t) => {
  const pages = [[1, 2], [3], []];
  const cursors: (string | undefined)[] = [];
  const rows = await listAll(
    async ({ limit, cursor }) => {
      t.is(limit, 1000);
      cursors.push(cursor);
      const at = Number(cursor ?? 0);
      return { answer: { rows: pages[at] ?? [] }, next: at < pages.length - 1 ? String(at + 1) : null };
    },
    (answer) => answer.rows,
  );
  t.deepEqual(rows, [1, 2, 3]);
  t.deepEqual(cursors, [undefined, '1', '2']);
});
