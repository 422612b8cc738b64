import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestAuthority } from '../../test/helpers/certificates.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';

/** A child process that answers each message with one. */
export type Child<Answer> = { pid: number; ready: Answer; ask: <Reply>(message: object) => Promise<Reply> };

/** Forks one of `bench/children`; its first message reports that it is ready. */
export async function forkChild<Answer>(harness: Harness, name: string, settings: object): Promise<Child<Answer>> {
  const child = fork(new URL(`../children/${name}.ts`, import.meta.url), [JSON.stringify(settings)]);
  const exited = once(child, 'exit');
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exited.then(([status]) => Promise.reject(new Error(`${name} ended with ${status}`))),
    ]);
    return message;
  };
  const ready: Answer = await answer();
  harness.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    pid: child.pid ?? 0,
    ready,
    async ask(message) {
      const reply = answer();
      child.send(message);
      return await reply;
    },
  };
}

/** Forks a child that serves https; its clients must trust `caFile`. */
export async function forkHttps(harness: Harness, name: string): Promise<{ child: Child<string>; caFile: string }> {
  const authority = await TestAuthority.create();
  const caFile = join(await temporaryFolder(harness), 'ca.pem');
  await writeFile(caFile, authority.pem);
  return { child: await forkChild<string>(harness, name, await authority.issue({ hosts: ['127.0.0.1'] })), caFile };
}
