import { destination, levels, type DestinationStream } from 'pino';

const WARN = levels.values['warn'] ?? 0;

/**
 * A line waits this long at most for others to be written with it, in milliseconds: the write costs more than the line.
 */
const GATHER_MS = 25;

/** Bytes of lines that wait while none can be written; those beyond are lost. */
const MOST_WAITING_BYTES = 1024 * 1024;

/**
 * Writes lines to standard output, in their order, those of a moment together. What is a warning or worse is written at
 * once, with all that wait before it, and the rest when the process ends, so that only a process that is killed
 * outright can lose the lines of its last moment. Where nothing can be written, as on a full disk, lines wait for the
 * next one that can, and the process goes on.
 */
export function gatherLines(): DestinationStream {
  const output = destination({ fd: process.stdout.fd, sync: true, maxLength: MOST_WAITING_BYTES });
  // The log itself is what cannot be written.
  output.on('error', () => undefined);
  let waiting = '';
  let timer: NodeJS.Timeout | null = null;
  const write = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting !== '') output.write(waiting);
    waiting = '';
  };
  process.once('exit', write);
  const gathering = {
    // Asks pino to say the level of each line in `lastLevel`.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      waiting += line;
      if (gathering.lastLevel >= WARN) write();
      else timer ??= setTimeout(write, GATHER_MS).unref();
    },
  };
  return gathering;
}
