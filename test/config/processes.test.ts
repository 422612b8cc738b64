import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { FLEET } from '../../config/processes.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { hasScript } from '../helpers/program.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const COMMANDS = Object.fromEntries(Object.entries(FLEET).map(([name, args]) => [name, `node ${args.join(' ')}`]));

test('the Procfile starts exactly the processes of a fleet', async (t) => {
  const text = await readFile(new URL('../../Procfile', import.meta.url), 'utf8');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => /^(?<name>\w+): (?<command>.+)$/.exec(line)?.groups ?? {});
  t.deepEqual(Object.fromEntries(lines.map(({ name, command }) => [name, command])), COMMANDS);
});

test('npm runs each process of a fleet as the Procfile does', (t) => {
  const scripts: Record<string, string> = packageJson.scripts;
  for (const [name, command] of Object.entries(COMMANDS)) t.is(scripts[name], `exec ${command}`);
});

test('docs/operations.md starts each process as the Procfile does', async (t) => {
  const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const started = page.matchAll(/^(?:\w+=\S+ )*(node (?:--\S+ )*(?:cli|api|workers)\/\S+(?: \w+)?)(?= +#|$)/gm);
  t.deepEqual(new Set([...started].map(([, command]) => command)), new Set(Object.values(COMMANDS)));
});

/** Sends SIGHUP to itself, and prints whether it would stop. */
const HUNG_UP = `
import { awaitStopSignal } from '${import.meta.resolve('../../config/processes.ts')}';
let effect = 'goes on';
void awaitStopSignal(() => undefined).then(() => (effect = 'stops'));
process.on('SIGHUP', () => setImmediate(() => process.stdout.write(effect + '\\n', () => process.exit())));
setInterval(() => undefined, 1000);
process.kill(process.pid, 'SIGHUP');
`;

if (hasScript())
  test('SIGHUP stops a process in a terminal, also if its output is piped, but not under nohup', async (t) => {
    const file = join(await temporaryFolder(t), 'hung-up.ts');
    await writeFile(file, HUNG_UP);
    const node = `'${process.execPath}' '${file}'`;
    const run = (command: string) =>
      spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8', input: '' })
        .stdout.trim()
        .split('\r\n')
        .at(-1);
    t.is(run(node), 'stops');
    // Only Linux has a `nohup` that redirects the input.
    t.is(run(`${node} 2>&1 | cat`), process.platform === 'linux' ? 'stops' : 'goes on');
    t.is(run(`nohup ${node} 2>&1 | cat`), 'goes on');
    t.is(spawnSync('sh', ['-c', node], { encoding: 'utf8' }).stdout, 'goes on\n');
  });
else test('script of util-linux is not installed here, so no SIGHUP in a terminal was tried', (t) => t.pass());
