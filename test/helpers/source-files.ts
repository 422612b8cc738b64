import { readFile, readdir } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';

/** A project file: its path from the root with `/`, its code without comments, and all its imports. */
export type SourceFile = { path: string; code: string; imports: readonly Import[] };

/**
 * `path` is set for a project file, `package` for a package or a `node:` module; neither for an import with a computed
 * name. `isType` = the import is erased at run time.
 */
export type Import = { specifier: string; path: string | null; package: string | null; isType: boolean };

const COMMENT_OR_STRING = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
/**
 * Static imports and exports, including type-only ones; side-effect imports; `import()`, as a value or as a type; and
 * `require`.
 */
const IMPORTS = [
  /(?:^|[;}\s])(?:import|export)\s[^'"`;]*?\bfrom\s*(['"])(?<specifier>[^'"]+)\1/g,
  /(?:^|[;}\s])import\s*(['"])(?<specifier>[^'"]+)\1/g,
  /\b(?:import|require|import\.meta\.resolve)\s*\(\s*(?:(['"])(?<specifier>[^'"]+)\1|(?=[^'"\s)]))/g,
];
const TYPES_ONLY = /^\W*(?:import|export)\s+type\b/;
const SKIPPED = new Set(['node_modules', 'coverage']);

/** Reads every TypeScript file below the root, except in hidden folders and installed packages. */
export async function readSourceFiles(root: string): Promise<readonly SourceFile[]> {
  const paths = await listFiles(root);
  return Promise.all(
    paths.map(async (path) => sourceFile(relative(root, path).split(sep).join('/'), await readFile(path, 'utf8'))),
  );
}

/** Creates a source file from its text, as if it were in the tree. */
export function sourceFile(path: string, text: string): SourceFile {
  const code = text.replaceAll(COMMENT_OR_STRING, (_, string: string | undefined) => string ?? ' ');
  const imports = IMPORTS.flatMap((pattern) =>
    [...code.matchAll(pattern)].map(({ 0: statement, groups }) => ({
      ...importFrom(path, groups?.['specifier'] ?? ''),
      isType: TYPES_ONLY.test(statement),
    })),
  );
  return { path, code, imports };
}

function importFrom(path: string, specifier: string): Omit<Import, 'isType'> {
  if (specifier === '') return { specifier: 'a computed name', path: null, package: null };
  if (specifier.startsWith('.')) return { specifier, path: posix.join(posix.dirname(path), specifier), package: null };
  const [scope = '', name] = specifier.split('/');
  return { specifier, path: null, package: scope.startsWith('@') ? `${scope}/${name}` : scope };
}

async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const nested = entries.map(async (entry) => {
    const path = join(directory, entry.name);
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return [];
    if (entry.isDirectory()) return listFiles(path);
    return /\.[cm]?tsx?$/.test(entry.name) ? [path] : [];
  });
  return (await Promise.all(nested)).flat();
}
