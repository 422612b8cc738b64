import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Harness } from '../../test/helpers/harness.ts';

/** A child that is spoken to: it answers each message with one. */
export type Child<Answer> = { pid: number; ready: Answer; ask: <Reply>(message: object) => Promise<Reply> };

/** Forks one of `bench/children`; its first message says that it is ready. */
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
