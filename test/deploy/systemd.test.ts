import { cp, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { PROCESSES } from '../../cli/commands/processes.ts';
import { isInstalled, runCommand } from '../helpers/command.ts';
import { ROOT } from '../helpers/program.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const FOLDER = join(ROOT, 'deploy', 'systemd');
const AGENT = join(ROOT, 'agent', 'spotcheck-agent.service');

/** Settings that confine a unit; those that loosen it, such as its capabilities, are left out. */
const HARDENING =
  /^(?:(?:NoNew|Protect|Private|Restrict(?!Address)|Lock|RemoveIPC|SystemCall|DynamicUser|UMask)\w*)=.+$/gm;

/** Returns the units by name, with one instance of each template for each of its roles. */
async function readUnits(): Promise<Map<string, string>> {
  const units = new Map<string, string>();
  for (const name of await readdir(FOLDER)) {
    const text = await readFile(join(FOLDER, name), 'utf8');
    for (const instance of instancesOf(name)) units.set(name.replace('@', `@${instance}`), text);
  }
  return units;
}

function instancesOf(name: string): readonly string[] {
  if (name === 'spotcheck@.service') return Object.keys(PROCESSES).filter((role) => role !== 'check');
  return [name === 'spotcheck-check@.service' ? 'paris' : ''];
}

test('each role has a unit that starts it by name', async (t) => {
  const units = await readUnits();
  const started = [...units].flatMap(([name, text]) => {
    const [, command, role] = /^ExecStart=(.* (\S+))$/m.exec(text) ?? [];
    return command === undefined ? [] : [role === '%i' ? /@(.*)\.service$/.exec(name)?.[1] : role];
  });
  t.deepEqual(started.toSorted(), ['migrate', 'start', ...Object.keys(PROCESSES)].toSorted());
});

test('every unit is hardened like that of the private agent, and only probing units have CAP_NET_RAW', async (t) => {
  const hardening = [...(await readFile(AGENT, 'utf8')).matchAll(HARDENING)].map(([line]) => line);
  t.true(hardening.length > 18);
  for (const [name, text] of await readUnits()) {
    if (name.endsWith('.target')) continue;
    t.deepEqual([...text.matchAll(HARDENING)].map(([line]) => line).toSorted(), hardening.toSorted(), name);
    const probes = name === 'spotcheck.service' || name.startsWith('spotcheck-check@');
    t.is(/^CapabilityBoundingSet=(.*)$/m.exec(text)?.[1], probes ? 'CAP_NET_RAW' : '', name);
  }
});

if (isInstalled('systemd-analyze'))
  test('systemd-analyze accepts every unit', async (t) => {
    const folder = await temporaryFolder(t);
    const paths: string[] = [];
    for (const [name] of await readUnits()) {
      const source = name.replace(/@.*\./, '@.');
      await cp(join(FOLDER, source), join(folder, source));
      paths.push(join(folder, name));
    }
    await cp(AGENT, join(folder, 'spotcheck-agent.service'));
    // The unit names an absolute path of node, which differs on some machines.
    await runCommand(['sed', '-i', `s#/usr/bin/node#${process.execPath}#`, ...(await readdir(folder))], {}, folder);
    const { status, stdout, stderr } = await runCommand(['systemd-analyze', 'verify', ...paths], {}, folder);
    const ours = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('spotcheck'));
    t.deepEqual({ status, ours }, { status: 0, ours: [] });
  });
