import { DAY_SECONDS } from '../../time.ts';
import { MAX_TIMEOUT_MS } from '../defaults.ts';
import { HTTP_METHODS, MONITOR_TYPES } from '../monitor.ts';
import { MAX_TARGET_LENGTH } from '../targets.ts';
import { checkSpecInput, dependencyIds } from './check-spec.ts';
import { addProblem, integer, listOf, nullable, oneOf, shape, show, text, type Check, type Checked } from './checks.ts';
import { graceSeconds, MAX_WARN_DAYS } from './type-settings.ts';

/** The longest interval, in seconds (D-15). */
const MAX_INTERVAL_SECONDS = DAY_SECONDS;

const id = text({ max: 64 });

/** The name of a monitor without the blanks around it: 1 to 255 characters, not blanks alone (D-15, D-68). */
const name: Check<string> = (value, field, problems) => {
  const read = text({ min: 1, max: 255 })(value, field, problems);
  return read?.trim() === ''
    ? addProblem(problems, field, { expected: 'a text with more than blanks', got: show(read) })
    : read?.trim();
};

const method: Check<(typeof HTTP_METHODS)[number]> = (value, field, problems) => {
  const upper = typeof value === 'string' ? value.toUpperCase() : value;
  return (
    HTTP_METHODS.find((known) => known === upper) ??
    addProblem(problems, field, { expected: `one of ${HTTP_METHODS.join(', ')}`, got: show(value) })
  );
};

/** A number says it as programs do: everything but 0 is true. */
const followRedirects: Check<boolean> = (value, field, problems) => {
  if (typeof value === 'boolean') return value;
  return typeof value === 'number'
    ? value !== 0
    : addProblem(problems, field, { expected: 'true, false or a number', got: show(value) });
};

const slaTarget: Check<number> = (value, field, problems) =>
  typeof value === 'number' && value > 0 && value <= 100
    ? value
    : addProblem(problems, field, { expected: 'a percentage above 0 and at most 100, or null', got: show(value) });

/** Every field of a creation or a PATCH by itself; what depends on other fields is judged afterwards. */
export const monitorInput = shape({
  name,
  type: oneOf(MONITOR_TYPES),
  target: text({ max: MAX_TARGET_LENGTH }),
  interval_seconds: integer({ min: 1, max: MAX_INTERVAL_SECONDS }),
  timeout_ms: integer({ min: 1, max: MAX_TIMEOUT_MS }),
  method: nullable(method),
  expected_status: nullable(text({ max: 128 })),
  body_match: nullable(text({ max: 1024 })),
  follow_redirects: followRedirects,
  down_after_failures: integer({ min: 1, max: 5 }),
  up_after_successes: integer({ min: 1, max: 5 }),
  down_min_sources: nullable(integer({ min: 1, max: Infinity })),
  sla_target: nullable(slaTarget),
  grace_seconds: graceSeconds,
  agent_sources: listOf(id, 100),
  check_spec: checkSpecInput,
  warn_days: integer({ min: 0, max: MAX_WARN_DAYS }),
  components: listOf(text({ min: 1, max: 255 }), 100),
  dependencies: dependencyIds,
});

/** A creation or a PATCH whose fields are each good by themselves. */
export type MonitorInput = Checked<typeof monitorInput>;

/** Fields of a read that no write can set (D-06). */
export const READ_ONLY_FIELDS: readonly string[] = [
  'id',
  'status',
  'enabled',
  'state_since',
  'created_at',
  'updated_at',
  'heartbeat_grace_seconds',
  'agent_sources_unable',
];
