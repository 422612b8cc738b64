import { buildConsole, isConsoleBuilt } from '../console/build/build.ts';

/**
 * Builds the console. With `--if-needed` it does so only if the sources changed, and skips it if the bundler is not
 * installed, as in production.
 */
const isOptional = process.argv.includes('--if-needed');
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;

if (!isOptional || !(await isConsoleBuilt())) {
  const startedAt = performance.now();
  const built = await buildConsole();
  if (built === null) {
    print(
      'The console is not built: its bundler is a development dependency. Build it in a full install (npm ci) ' +
        'and bring console/dist along',
    );
    process.exitCode = isOptional ? 0 : 1;
  } else {
    for (const { path, bytes, gzip, brotli } of built.files.toSorted((a, b) => b.gzip - a.gzip))
      print(`${path}  ${kilobytes(bytes)}, gzip ${kilobytes(gzip)}, br ${kilobytes(brotli)}`);
    const sum = (size: 'gzip' | 'brotli') => kilobytes(built.firstLoad.reduce((total, file) => total + file[size], 0));
    print(
      `The console is built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s; a first visit loads ` +
        `gzip ${sum('gzip')}, br ${sum('brotli')}`,
    );
  }
}
