/** A package of the lock file with its path in `node_modules` and its declared licence; null if it declares none. */
export type LicensedPackage = {
  path: string;
  name: string;
  version: string;
  licence: string | null;
  isForProduction: boolean;
};

/** Licences that let us use and distribute a package without terms for our own code. */
const PERMITTED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** Licences that cover only a package's own files, and only when they are distributed: fine for development tools. */
const PERMITTED_FOR_TOOLS: ReadonlySet<string> = new Set(['MPL-2.0']);

/** Reports whether a package's licence permits its use. */
export function isUsable({ licence, isForProduction }: Pick<LicensedPackage, 'licence' | 'isForProduction'>): boolean {
  return licence !== null && (isPermitted(licence) || (!isForProduction && PERMITTED_FOR_TOOLS.has(licence)));
}

/** Reports whether an SPDX expression of names, AND, OR and brackets permits the use; false for invalid ones. */
export function isPermitted(expression: string): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? [];
  let position = 0;
  const unit = (): boolean => {
    const token = tokens[position++] ?? '';
    if (token !== '(') return PERMITTED.has(token);
    const inner = either();
    return tokens[position++] === ')' && inner;
  };
  const both = (): boolean => {
    let holds = unit();
    while (tokens[position] === 'AND') {
      position += 1;
      holds = unit() && holds;
    }
    return holds;
  };
  const either = (): boolean => {
    let holds = both();
    while (tokens[position] === 'OR') {
      position += 1;
      holds = both() || holds;
    }
    return holds;
  };
  return either() && position === tokens.length;
}

type LockFile = { packages: Record<string, { version?: string; license?: string; dev?: boolean; link?: boolean }> };
type Manifest = { license?: string | { type: string }; licenses?: { type: string }[] };

/**
 * Lists the packages of a lock file, except our own. Data missing from the lock file come from the package's manifest,
 * old forms included; `readManifest` returns null if it is not installed.
 */
export function listLicences(lock: LockFile, readManifest: (path: string) => Manifest | null): LicensedPackage[] {
  const entries = Object.entries(lock.packages).filter(([path, { link }]) => path !== '' && link !== true);
  return entries.map(([path, { version = '', license, dev = false }]) => ({
    path,
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version,
    licence: license ?? licenceOf(readManifest(path)),
    isForProduction: !dev,
  }));
}

function licenceOf(manifest: Manifest | null): string | null {
  const { license, licenses = [] } = manifest ?? {};
  if (typeof license === 'string') return license;
  if (license !== undefined) return license.type;
  return licenses.length === 0 ? null : licenses.map(({ type }) => type).join(' OR ');
}
