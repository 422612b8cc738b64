import test from 'ava';
import { describeFailure } from '../../config/failures.ts';

test('an error is described by its message, or without one by its inner errors or its name', (t) => {
  const refused = new AggregateError(
    [new Error('connect ECONNREFUSED ::1:5432'), new Error('connect ECONNREFUSED 127.0.0.1:5432')],
    '',
  );
  const table: [unknown, string][] = [
    [new Error('no space left'), 'no space left'],
    [refused, 'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432'],
    [
      Object.assign(new Error(''), { original: refused }),
      'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
    ],
    [new RangeError(''), 'RangeError'],
    ['thrown text', 'thrown text'],
  ];
  for (const [error, text] of table) t.is(describeFailure(error), text);
});
