import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';

/** How long a file may go on by itself after its last test, in milliseconds. */
const AFTER_TESTS_MS = 10_000;

// A file whose tests are over but which still holds a socket or a timer would keep the whole run from ending, and nobody would know which it was.
registerCompletionHandler(() => {
  setTimeout(() => {
    process.stderr.write(`${fileURLToPath(test.meta.file)} still held ${process.getActiveResourcesInfo().join(', ')} ${AFTER_TESTS_MS / 1000} s after its tests; it was ended\n`);
    process.exit();
  }, AFTER_TESTS_MS).unref();
});
