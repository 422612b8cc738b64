import test from 'ava';
import { buildTelegramLinks } from '../../../notifications/telegram/bot-api.ts';

test("the links open the installation's own bot with the code", (t) => {
  t.deepEqual(buildTelegramLinks('C0de_-', 'acme_alerts_bot'), {
    deepLink: 'https://t.me/acme_alerts_bot?start=C0de_-',
    groupDeepLink: 'https://t.me/acme_alerts_bot?startgroup=C0de_-',
  });
});

test('without a bot the links name the placeholder', (t) => {
  t.is(buildTelegramLinks('C0de', null).deepLink, 'https://t.me/spotcheck_bot?start=C0de');
});

test('a bot name configured with its @ gives the same links', (t) => {
  t.deepEqual(buildTelegramLinks('code', '@our_bot'), buildTelegramLinks('code', 'our_bot'));
});
