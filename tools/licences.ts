import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUsable, listLicences, type LicensedPackage } from './licence-list.ts';

/** Prints the licences of all packages in a folder's lock file (default: this one), and fails for a forbidden one. */
const folder = process.argv[2] ?? '.';

function readJson(path: string): ReturnType<typeof JSON.parse> | null {
  try {
    return JSON.parse(readFileSync(join(folder, path), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

const describe = ({ name, version }: LicensedPackage): string => `${name}@${version}`;

const packages = listLicences(readJson('package-lock.json'), (path) => readJson(join(path, 'package.json')));
for (const [licence, held] of [...Map.groupBy(packages, (each) => each.licence ?? 'none')].toSorted(([a], [b]) =>
  a < b ? -1 : 1,
)) {
  const used = held.filter(({ isForProduction }) => isForProduction);
  process.stdout.write(
    `${licence}: ${held.length} ${held.length === 1 ? 'package' : 'packages'}, ${used.length} of them in ` +
      `production${used.length === 0 ? '' : `: ${used.map(describe).join(', ')}`}\n`,
  );
}
const refused = packages.filter((each) => !isUsable(each));
for (const each of refused)
  process.stdout.write(
    `${describe(each)} has ${each.licence ?? 'no licence'}, which is not among those that we may use ` +
      `(tools/licence-list.ts)\n`,
  );
process.exitCode = refused.length > 0 || packages.length === 0 ? 1 : 0;
