import test from 'ava';
import type { LogLevel } from '../../config/formats.ts';
import { createLogger } from '../../config/logger.ts';

/** Returns a logger and the lines that it wrote, parsed. */
function record(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({ process: 'web', level }, { write: (line) => void lines.push(JSON.parse(line)) });
  return { logger, lines };
}

test('a line has the process, a readable level and time, and nothing about the machine', (t) => {
  const { logger, lines } = record();
  logger.info({ duration_ms: 3 }, 'request.completed');
  t.deepEqual(Object.keys(lines[0] ?? {}).toSorted(), ['duration_ms', 'level', 'msg', 'process', 'time']);
  t.like(lines[0], { level: 'info', process: 'web', msg: 'request.completed' });
  t.false(Number.isNaN(Date.parse(String(lines[0]?.['time']))));
});

test('secrets are redacted at the top level and in nested objects', (t) => {
  const { logger, lines } = record();
  const secrets = { token: 'hunter2', authorization: 'hunter2', signing_secret: 'hunter2', databaseUrl: 'hunter2' };
  logger.info({
    ...secrets,
    channel: { url: 'https://hunter2.example', secret: 'hunter2' },
    req: { headers: { authorization: 'hunter2', cookie: 'hunter2' } },
  });
  t.notRegex(JSON.stringify(lines), /hunter2/);
  t.like(lines[0], { token: '[redacted]' });
});

test('an error keeps its type, message, code and cause, and loses properties added by a driver', (t) => {
  const { logger, lines } = record();
  const error = Object.assign(new RangeError('too much', { cause: new Error('below') }), {
    code: 'E_MUCH',
    parameters: ['hunter2'],
  });
  logger.error({ err: error }, 'failed');
  t.like(lines[0], { err: { type: 'RangeError', message: 'too much', code: 'E_MUCH', cause: { message: 'below' } } });
  t.notRegex(JSON.stringify(lines), /hunter2/);
});

test('lines below the level are not written, and none at the level silent', (t) => {
  const warn = record('warn');
  warn.logger.info('no');
  warn.logger.warn('yes');
  t.deepEqual(
    warn.lines.map(({ msg }) => msg),
    ['yes'],
  );
  const silent = record('silent');
  silent.logger.fatal('no');
  t.is(silent.lines.length, 0);
});
