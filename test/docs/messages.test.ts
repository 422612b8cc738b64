import { readFile } from 'node:fs/promises';
import test from 'ava';
import { buildEmail } from '../../notifications/email/alert.ts';
import { renderSlackMessage } from '../../notifications/slack/attempt.ts';
import { renderTelegramMessage } from '../../notifications/telegram/sending.ts';
import { CHAT_EXAMPLES } from './chat-examples.ts';

const page = await readFile(new URL('../../docs/messages.md', import.meta.url), 'utf8');
const sections = new Map(
  [...page.matchAll(/^## `(.+?)`\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)].map(([, name = '', content = '']) => [
    name,
    content,
  ]),
);

test('docs/messages.md has a section for every kind of message, and for no other', (t) => {
  t.deepEqual([...sections.keys()], Object.keys(CHAT_EXAMPLES));
});

for (const [kind, message] of Object.entries(CHAT_EXAMPLES)) {
  test(`docs/messages.md shows ${kind} exactly as sent to Telegram`, (t) => {
    t.is(blockOf(kind, 'html'), renderTelegramMessage('1', message).text);
  });

  test(`docs/messages.md shows ${kind} exactly as sent to Slack`, (t) => {
    t.is(blockOf(kind, 'json'), JSON.stringify(renderSlackMessage(message), null, 2));
  });
}

test('docs/messages.md shows the first kind exactly as sent by email', (t) => {
  const message = CHAT_EXAMPLES['monitor.down'];
  if (message === undefined) throw new Error('There is no such example');
  const [, content = ''] = /^## Emails\n([\s\S]*?)(?=^## )/m.exec(page) ?? [];
  const { subject, text } = buildEmail({
    account: 'ten_1',
    to: 'oncall@example.com',
    message,
    messageId: 'dlv_1',
    threadId: null,
    unsubscribeUrl: 'https://spotcheck.example/connect/email/unsubscribe?token=v1.k1.…',
  });
  t.true(content.includes(`whose subject is *${subject}*`));
  t.is(/^```text\n([\s\S]*?)\n```$/m.exec(content)?.[1], text.trimEnd());
});

function blockOf(kind: string, language: string): string | undefined {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'm').exec(sections.get(kind) ?? '')?.[1];
}
