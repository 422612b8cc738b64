// Tests are TypeScript that Node runs as it is; each file is a process of its own.
export default {
  files: ['test/**/*.test.ts'],
  extensions: ['ts'],
  workerThreads: false,
  timeout: '60s',
};
