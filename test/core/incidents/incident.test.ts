import test from 'ava';
import { cleanNote } from '../../../core/incidents/incident.ts';

const NOTES: readonly [written: string, kept: string][] = [
  ['  rebooted\r\nthe switch\u2028twice ', 'rebooted\nthe switch\ntwice'],
  ['a\u0000b\u001bc', 'a b c'],
  ['half \ud83d', 'half \ufffd'],
  ['👩‍🚒 on it', '👩‍🚒 on it'],
  [' \n\t ', ''],
  ['\u200b', ''],
  ['\u200b \u2060\ufeff', ''],
];
for (const [written, kept] of NOTES) {
  test(`a note ${JSON.stringify(written)} is stored as ${JSON.stringify(kept)}`, (t) => {
    t.is(cleanNote(written), kept);
  });
}
