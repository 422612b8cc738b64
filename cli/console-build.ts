import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isConsoleBuilt } from '../console/build/stamp.ts';

const BUILDER = fileURLToPath(new URL('../tools/console.ts', import.meta.url));

/**
 * Builds the console where its sources changed since it was built last, in a process of its own: the bundler is larger
 * than the service. Monitoring does not wait for a page: where it cannot be built, that is said, and the service starts
 * without.
 */
export async function prepareConsole(say: (text: string) => void): Promise<void> {
  try {
    if (await isConsoleBuilt()) return;
    say('building the console');
    const builder = spawn(process.execPath, [BUILDER, '--if-needed'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const output: string[] = [];
    for (const stream of [builder.stdout, builder.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
    const [status] = await once(builder, 'close');
    if (status !== 0) say(`The console could not be built:\n${output.join('')}`);
  } catch (error) {
    say(`The console could not be built: ${error instanceof Error ? error.message : String(error)}`);
  }
}
