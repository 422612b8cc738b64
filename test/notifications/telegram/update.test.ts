import test from 'ava';
import type { ChatUpdate } from '../../../core/alerts/channel.ts';
import { fingerprintOf } from '../../../models/secrets/secret-box.ts';
import { readUpdate } from '../../../notifications/telegram/update.ts';

const ADA = { id: 5_000_000_001, first_name: 'Ada', type: 'private' };
const GROUP = { id: -1_001_234_567_890, title: 'On call', type: 'supergroup' };
const CODE = 'q8Zk_3-v';

const messages: readonly [text: string, update: ChatUpdate][] = [
  [`/start ${CODE}`, { kind: 'start', chatId: '5000000001', fingerprint: fingerprintOf(CODE) }],
  [`/start@spotcheck_bot ${CODE}`, { kind: 'start', chatId: '5000000001', fingerprint: fingerprintOf(CODE) }],
  [`/START@SpotCheck_Bot  ${CODE} `, { kind: 'start', chatId: '5000000001', fingerprint: fingerprintOf(CODE) }],
  [`/start@other_bot ${CODE}`, { kind: 'other' }],
  ['/start', { kind: 'start', chatId: '5000000001', fingerprint: null }],
  ['/stop', { kind: 'stop', chatId: '5000000001' }],
  ['/\u2060stop', { kind: 'stop', chatId: '5000000001' }],
  ['/stop@spotcheck_bot', { kind: 'stop', chatId: '5000000001' }],
  ['/stop@other_bot', { kind: 'other' }],
  ['please /stop', { kind: 'other' }],
  ['/starting', { kind: 'other' }],
  ['/start two words', { kind: 'other' }],
  [`/start ${'x'.repeat(65)}`, { kind: 'other' }],
  ['hello', { kind: 'other' }],
  ['', { kind: 'other' }],
];
for (const [text, update] of messages) {
  test(`the message "${text.slice(0, 40)}" is ${update.kind}`, (t) => {
    t.deepEqual(readUpdate({ update_id: 7, message: { message_id: 1, date: 1, chat: ADA, text } }, 'spotcheck_bot'), {
      id: 7,
      update,
    });
  });
}

test('without a configured bot name a command to any bot counts', (t) => {
  t.is(readUpdate({ update_id: 7, message: { chat: ADA, text: '/stop@whoever' } }, null).update.kind, 'stop');
});

for (const status of ['kicked', 'left']) {
  test(`the status ${status} means that the bot was removed from the chat`, (t) => {
    t.deepEqual(
      readUpdate({ update_id: 8, my_chat_member: { chat: GROUP, new_chat_member: { status } } }, null).update,
      { kind: 'removed', chatId: '-1001234567890' },
    );
  });
}

test('a restricted bot was removed from the chat only if it is not a member', (t) => {
  const kindOf = (isMember: boolean) =>
    readUpdate(
      { update_id: 8, my_chat_member: { chat: GROUP, new_chat_member: { status: 'restricted', is_member: isMember } } },
      null,
    ).update.kind;
  t.deepEqual([kindOf(false), kindOf(true)], ['removed', 'other']);
});

test('a bot that joins or gets other rights changes nothing', (t) => {
  for (const status of ['member', 'administrator', 'restricted']) {
    t.deepEqual(readUpdate({ update_id: 8, my_chat_member: { chat: GROUP, new_chat_member: { status } } }, null), {
      id: 8,
      update: { kind: 'other' },
    });
  }
});

test('a group that was upgraded to a supergroup is followed', (t) => {
  t.deepEqual(
    readUpdate({ update_id: 9, message: { chat: { id: -5, type: 'group' }, migrate_to_chat_id: GROUP.id } }, null)
      .update,
    { kind: 'moved', chatId: '-5', to: '-1001234567890' },
  );
});

test('other updates are ignored but keep their id, and invalid ones have none', (t) => {
  t.deepEqual(readUpdate({ update_id: 10, poll: { id: '1' } }, null), { id: 10, update: { kind: 'other' } });
  t.deepEqual(readUpdate({ update_id: 11, message: { chat: 'nobody', text: 5 } }, null), {
    id: 11,
    update: { kind: 'other' },
  });
  for (const nonsense of [null, 7, 'x', [], {}, { update_id: 'seven' }, undefined])
    t.deepEqual(readUpdate(nonsense, null), { id: null, update: { kind: 'other' } });
});
