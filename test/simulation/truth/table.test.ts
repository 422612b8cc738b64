import test from 'ava';
import type { Score } from '../../../simulation/truth/score.ts';
import { DEFAULT_SETTING } from '../../../simulation/truth/setting.ts';
import { printTable, TABLES, type Row } from '../../../simulation/truth/table.ts';

/** One thousand years. */
const HOURS = 8_766_000;

function cellOf(head: string, scores: Row['scores'], setting = DEFAULT_SETTING): string {
  const column = TABLES.flatMap(({ columns }) => columns).find((candidate) => candidate.head === head);
  return column?.cell({ setting, scores }) ?? `no column is named ${head}`;
}

function falseDowns(count: number, hours = HOURS): Row['scores'] {
  return { 'loss-1': { hours, falseDowns: count, unknownMs: 0, kinds: {} } };
}

function outages(found: number): Score {
  return {
    hours: HOURS,
    falseDowns: 0,
    unknownMs: 0,
    kinds: { '30 s': { count: 10_000, found, alerts: found, delaysMs: null } },
  };
}

test('a rate is shown with its count, and a count of zero as less than three', (t) => {
  t.is(cellOf('loss 1 %', falseDowns(35)), '35 (35)');
  t.is(cellOf('loss 1 %', falseDowns(1234, HOURS / 1000)), '1.2M (1,234)');
  t.is(cellOf('loss 1 %', falseDowns(0)), '< 3 (0)');
  t.is(cellOf('loss 1 %', {}), '-');
});

test('a single miss is not rounded to 100 %, nor a single find to 0 %', (t) => {
  t.is(cellOf('30 s', { refused: outages(10_000) }), '100');
  t.is(cellOf('30 s', { refused: outages(9999) }), '> 99.9');
  t.is(cellOf('30 s', { refused: outages(1534) }), '15.3');
  t.is(cellOf('30 s', { refused: outages(1) }), '< 0.1');
  t.is(cellOf('30 s', { refused: outages(0) }), '0');
});

test('with a quorum of one, a single lying location makes the monitor always down', (t) => {
  t.is(cellOf('a liar', {}, { ...DEFAULT_SETTING, quorum: 1 }), 'always down');
});

test('a table has a line for each setting', (t) => {
  const lines = printTable([], [{ setting: DEFAULT_SETTING, scores: {} }]).split('\n');
  t.deepEqual(lines, ['| locations | failures |', '| --- | --- |', '| 2 of 3 | 2 |']);
});
