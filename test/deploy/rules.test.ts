import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { load } from 'js-yaml';
import { isInstalled, runCommand } from '../helpers/command.ts';
import { ROOT } from '../helpers/program.ts';

type Rules = { groups: { rules: { alert: string; expr: string }[] }[] };

const { groups } = load(await readFile(join(ROOT, 'deploy', 'prometheus', 'rules.yaml'), 'utf8')) as Rules;
const rules = groups.flatMap((group) => group.rules);
const page = await readFile(join(ROOT, 'docs', 'operations.md'), 'utf8');

test('each alert uses existing metrics, and docs/operations.md has a row for it', (t) => {
  const metrics = new Set([...page.matchAll(/^\| `(spotcheck_\w+)`/gm)].map(([, name]) => name));
  t.true(rules.length > 10);
  for (const { alert, expr } of rules) {
    const used = [...expr.matchAll(/\bspotcheck_\w+/g)].map(([name]) => name.replace(/_(?:bucket|count)$/, ''));
    t.true(used.length > 0, alert);
    for (const name of used) t.true(metrics.has(name), `${alert}: ${name}`);
  }
  const rows = [...page.matchAll(/^\| `(Spotcheck\w+)` \|/gm)].map(([, name]) => name ?? '');
  t.deepEqual(rows.toSorted(), rules.map(({ alert }) => alert).toSorted());
});

if (isInstalled('promtool'))
  test('promtool accepts the rules, and they fire when they should', async (t) => {
    const { status, stdout, stderr } = await runCommand(
      ['promtool', 'test', 'rules', join(ROOT, 'test', 'deploy', 'rules.yaml')],
      {},
    );
    t.is(status, 0, stdout + stderr);
  });
