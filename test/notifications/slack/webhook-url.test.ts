import test from 'ava';
import { isOverridden, isWebhookUrl } from '../../../notifications/slack/attempt.ts';

const REAL = 'https://slack.com/api';
const OWN = 'http://127.0.0.1:8080/api';

const CASES: readonly [url: string, apiUrl: string, isGood: boolean][] = [
  ['https://hooks.slack.com/services/T/B/x', REAL, true],
  ['https://hooks.slack.com:443/services/T/B/x', REAL, true],
  ['https://hooks.slack.com/services/T/B/x', OWN, true],
  ['http://127.0.0.1:8080/services/T/B/x', OWN, true],
  ['http://127.0.0.1:8081/services/T/B/x', OWN, true],
  ['http://127.0.0.2:8080/services/T/B/x', OWN, false],
  ['https://127.0.0.1:8080/services/T/B/x', OWN, false],
  ['http://user@127.0.0.1:8080/services/T/B/x', OWN, false],
  ['http://127.0.0.1:8080/services/T/B/x', REAL, false],
  ['https://slack.com/services/T/B/x', REAL, false],
  ['http://hooks.slack.com/services/T/B/x', REAL, false],
  ['https://hooks.slack.com:8443/services/T/B/x', REAL, false],
  ['https://hooks.slack.com.example/x', REAL, false],
  ['https://hooks.slack.com@example.com/x', REAL, false],
  ['javascript:alert(1)', REAL, false],
  ['', REAL, false],
];
for (const [url, apiUrl, isGood] of CASES) {
  test(`with the API at ${apiUrl}, "${url}" is ${isGood ? 'a' : 'no'} Slack webhook`, (t) => {
    t.is(isWebhookUrl(url, apiUrl), isGood);
  });
}

test('the API is overridden unless it is at https://slack.com', (t) => {
  t.false(isOverridden(REAL));
  t.true(isOverridden(OWN));
  t.true(isOverridden('http://slack.com/api'));
});
