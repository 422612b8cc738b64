import test from 'ava';
import { buildEmail } from '../../../notifications/email/alert.ts';
import { openMailSending } from '../../../notifications/email/sending.ts';
import { TestAuthority } from '../../helpers/certificates.ts';
import { canStartPostfix, startPostfix } from '../../helpers/postfix.ts';
import { until } from '../../helpers/until.ts';

if (canStartPostfix()) {
  test("Debian's Postfix delivers a message over TLS, and its rejections are classified", async (t) => {
    const authority = await TestAuthority.create();
    const postfix = await startPostfix(t, await authority.issue({ hosts: ['elsewhere.example'] }));
    const troubles: string[] = [];
    const sending = openMailSending({
      settings: {
        host: '127.0.0.1',
        port: postfix.port,
        isSecure: false,
        signIn: null,
        from: { name: 'Spotcheck', address: 'alerts@spotcheck.example' },
      },
      onTrouble: (trouble) => void troubles.push(trouble),
    });
    t.teardown(() => sending.close());
    const send = (to: string) =>
      sending.send(
        buildEmail({
          account: 'ten_1',
          to,
          message: { tone: 'bad', title: 'Down: Café', text: 'Connection refused', facts: [], link: null },
          messageId: 'dlv_1',
          threadId: 'inc_1',
          unsubscribeUrl: 'https://spotcheck.example/connect/email/unsubscribe?token=v1.k.abc',
        }),
      );
    // Postfix listens before its other processes are ready.
    const first = await until(async () => {
      const attempt = await send('oncall@customer.example');
      return attempt.outcome === 'delivered' && attempt;
    });
    t.regex(first.response ?? '', /^250 2\.0\.0 Ok: queued as /);
    const mail = await until(() => postfix.mails()[0]);
    t.regex(mail, /^Message-ID: <dlv_1@spotcheck\.example>$/m);
    t.regex(mail, /^References: <inc_1@spotcheck\.example>$/m);
    t.regex(mail, /^Subject: =\?UTF-8\?/m);
    t.regex(mail, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
    t.regex(mail, /^\tby mx\.customer\.example \(Postfix\) with ESMTPS id /m);

    const unknown = await send('nobody@customer.example');
    t.like(unknown, { outcome: 'failed', statusCode: 550 });
    t.regex(unknown.response ?? '', /5\.1\.1 .*User unknown/);
    t.truthy(unknown.channelProblem);
    t.like(await send('somebody@elsewhere.example'), { outcome: 'retry', channelProblem: null, response: null });
    t.is(troubles.at(-1), 'refused');
  });
} else {
  test("Debian's Postfix is not installed here, or this is not root, so it is not tested", (t) => t.pass());
}
