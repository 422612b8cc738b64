import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';

/** How long a file may hold something after its last test, in milliseconds. */
const AFTER_TESTS_MS = 10_000;

const LOOK_EVERY_MS = 50;

/** What this process has before the file is loaded: its way to the runner. */
const own = process.getActiveResourcesInfo();

/** What the file holds beyond that; timers keep nothing open for others. */
function listHeld(): string[] {
  const held = process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'Immediate');
  for (const name of own) if (held.includes(name)) held.splice(held.indexOf(name), 1);
  return held;
}

// A file whose tests are over is ended: one that still holds a socket would keep the whole run from ending, and nobody would know which it was. It does not
// wait for its loop to run dry either, for Node.js now and then goes round for ever in what comes after that (nodejs/node#47748).
registerCompletionHandler(() => {
  const overAtMs = performance.now() + AFTER_TESTS_MS;
  setInterval(() => {
    const held = listHeld();
    if (held.length > 0 && performance.now() < overAtMs) return;
    if (held.length > 0) process.stderr.write(`${fileURLToPath(test.meta.file)} still held ${held.join(', ')} ${AFTER_TESTS_MS / 1000} s after its tests; it was ended\n`);
    process.exit();
  }, LOOK_EVERY_MS);
});
