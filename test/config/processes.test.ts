import { readFile } from 'node:fs/promises';
import test from 'ava';
import { FLEET } from '../../config/processes.ts';
import packageJson from '../../package.json' with { type: 'json' };

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
