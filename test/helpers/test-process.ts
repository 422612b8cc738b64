import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';

// Ava has Node read the map of every source that names one. Ours run as they are written, and reading those of all
// packages takes a test file longer than many a test.
process.setSourceMapsEnabled(false);

// A test that hangs is found by the name of its process, and says what it waits for when the runner asks.
const file = relative(process.cwd(), fileURLToPath(test.meta.file));
process.title = file;
process.on('SIGUSR2', () => {
  const { libuv } = process.report.getReport() as { libuv: { is_active?: boolean; is_referenced?: boolean }[] };
  const busy = libuv.filter((handle) => handle.is_active === true && handle.is_referenced === true);
  process.stderr.write(`${file} waits for ${process.getActiveResourcesInfo().join(', ')}: ${JSON.stringify(busy)}\n`);
});

// The runner prints the slowest files.
const times = process.env['SPOTCHECK_TEST_TIMES'];
if (times !== undefined)
  process.once('exit', () => appendFileSync(times, `${(performance.now() / 1000).toFixed(1)} ${file}\n`));

// A file ends when its tests and hooks are over: what it still holds by then (sockets that nock never closes, idle
// connections) would keep the whole run from ending, and waiting for the loop to run dry leads into a spin of Node.js
// now and then (nodejs/node#47748).
registerCompletionHandler(() => process.exit());
