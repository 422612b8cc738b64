// What takes longest begins first: at the end nobody waits for one long file.
const LONGEST_FIRST = ['/test/e2e/', '/test/chaos/', '/test/cli/', '/test/attackers/', '/test/fuzz/', '/test/tools/', '/test/workers/', '/test/'];
const placeOf = (path) => LONGEST_FIRST.findIndex((folder) => path.includes(folder));

// Tests are TypeScript that Node runs as it is; each file is a process of its own.
export default {
  files: ['test/**/*.test.ts'],
  extensions: ['ts'],
  workerThreads: false,
  require: ['./test/helpers/no-source-maps.ts', './test/helpers/end-with-tests.ts'],
  // Of silence in the whole run, in which several long tests may be under way.
  timeout: '240s',
  sortTestFiles: (a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1),
};
