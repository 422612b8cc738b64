import test from 'ava';
import { compareFields, goneWith, madeWith } from '../../../core/accounts/audit-entry.ts';

test('nested settings are compared as separate fields, lists as a whole, and unchanged fields are left out', (t) => {
  const before = {
    fields: {
      name: 'a',
      spec: { ping: { count: 4, loss: 1 }, headers: { A: '1', B: '2' } },
      ids: ['x', 'y'],
      same: [1],
    },
  };
  const after = {
    fields: { name: 'b', spec: { ping: { count: 5, loss: 1 }, headers: { B: '2', C: '3' } }, ids: ['y'], same: [1] },
  };
  t.deepEqual(compareFields(before, after), {
    name: ['a', 'b'],
    'spec.ping.count': [4, 5],
    'spec.headers.A': ['1', null],
    ids: [['x', 'y'], ['y']],
    'spec.headers.C': [null, '3'],
  });
  t.deepEqual(compareFields(before, before), {});
});

test('the order of keys is no change, in lists as well, but that of a list is one', (t) => {
  const [one, other] = [
    { source: 'status', op: 'eq', value: { a: 1, b: [2] } },
    { value: { b: [2], a: 1 }, op: 'eq', source: 'status' },
  ];
  t.deepEqual(compareFields({ fields: { rules: [one, 1] } }, { fields: { rules: [other, 1] } }), {});
  const odd = { value: { toString: 1, valueOf: 1 }, source: 'status' };
  t.deepEqual(compareFields({ fields: { rules: [odd] } }, { fields: { rules: [odd] } }), {});
  t.deepEqual(Object.keys(compareFields({ fields: { rules: [one, 1] } }, { fields: { rules: [1, one] } })), ['rules']);
});

test('a secret that is added, changed or removed is only reported as changed', (t) => {
  const [none, one, two] = [
    { fields: {}, secrets: { key: undefined } },
    { fields: {}, secrets: { key: 'hush' } },
    { fields: {}, secrets: { key: 'shush' } },
  ];
  t.deepEqual(
    [compareFields(none, one), compareFields(one, two), compareFields(one, none)],
    [{ key: 'changed' }, { key: 'changed' }, { key: 'changed' }],
  );
  t.deepEqual(compareFields(one, { ...one }), {});
});

test('creation and deletion report every field that has a value; null and empty text are omitted', (t) => {
  const fields = { name: 'a', target: '', region: null, enabled: false, count: 0 };
  t.deepEqual(madeWith(fields, { token: 'hush' }), {
    name: [null, 'a'],
    enabled: [null, false],
    count: [null, 0],
    token: 'changed',
  });
  t.deepEqual(goneWith(fields), { name: ['a', null], enabled: [false, null], count: [0, null] });
});

test('a long value is truncated, and still reported if only the part cut off has changed', (t) => {
  const long = 'x'.repeat(1000);
  t.deepEqual(madeWith({ body: long }), { body: [null, long] });
  t.deepEqual(compareFields({ fields: { body: `${long}a` } }, { fields: { body: `${long}b` } }), {
    body: [`${long}…`, `${long}…`],
  });
  const list = Array.from({ length: 300 }, (_, index) => `mon_${index}`);
  t.is(String(madeWith({ list })['list']?.[1]).length, 1001);
});
