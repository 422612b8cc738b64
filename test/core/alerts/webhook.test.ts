import test from 'ava';
import { findUrlProblem } from '../../../core/alerts/webhook.ts';

for (const good of [
  'https://hooks.example/in',
  'https://hooks.example:8443/',
  'HTTPS://127.0.0.1:9/?key=1#x',
  'https://[2001:db8::1]/',
]) {
  test(`${good} can be a webhook's URL`, (t) => {
    t.is(findUrlProblem(good), null);
  });
}

const BAD: readonly [string, RegExp][] = [
  ['', /absolute https URL/],
  ['hooks.example/in', /absolute https URL/],
  ['https://', /absolute https URL/],
  ['http://hooks.example/', /not http$/],
  ['ftp://hooks.example/', /not ftp$/],
  ['javascript:alert(1)', /not javascript$/],
  ['https://user:pass@hooks.example/', /username or password/],
  ['https://user@hooks.example/', /username or password/],
];
for (const [bad, problem] of BAD) {
  test(`"${bad}" cannot be a webhook's URL`, (t) => {
    t.regex(findUrlProblem(bad) ?? '', problem);
  });
}
