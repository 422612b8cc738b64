import { addProblem, isRecord, kindOf, show, type Check, type Problem } from '../input.ts';
import type { Assertion, MonitorType } from '../monitors/monitor.ts';

/** What an agent says when it checks in: `POST /agent/v1/pull`. */
export type PullRequest = {
  capabilities?: string[];
  version?: string;
  arch?: string;
  /** X25519, 32 bytes in base64: what secrets are sealed to. */
  publicKey?: string;
};

/** The answer to it. `work` is complete each time: what is not in it is not to be checked any more. */
export type PullAnswer = {
  agentId: string;
  agentKind: 'tenant' | 'first_party';
  capabilities: AgentCapability[];
  work: WorkItem[];
};

export type WorkType = 'http' | 'tcp' | 'icmp' | 'udp';

/** One monitor to be checked. */
export type WorkItem = {
  monitorId: string;
  /** The source that the results are counted under: the agent's id. */
  sourceKey: string;
  type: WorkType;
  target: string;
  intervalSeconds: number;
  timeoutMs: number;
  method: string | null;
  expectedStatus: string | null;
  followRedirects: boolean;
  checkSpec: WorkCheckSpec;
  /**
   * When a recheck was last requested, Unix seconds; absent = never. An item that differs is checked at once, so that
   * an agent need not read this.
   */
  askedAt?: number;
  /**
   * `WorkSecrets` as JSON in a libsodium sealed box for the agent's key, base64; absent where the monitor has none, or
   * they are withheld.
   */
  sealedSecrets?: string;
  /**
   * Why the monitor's secrets are not in the item: no key to seal them to, or another key than the one that was pinned.
   * A result without them is no vote.
   */
  secretsWithheld?: Withholding;
};

/**
 * The settings of an item; only the keys of its type. A monitor's body match is the first assertion, on `text_body`.
 */
export type WorkCheckSpec = {
  request?: {
    headers?: Record<string, string>;
    secretHeaderNames?: string[];
    auth?: { type: 'bearer' | 'basic' };
    body?: string;
    bodySecret?: boolean;
    contentType?: string;
    /** Whether requests carry a `traceparent`, whose ids follow from the check (docs/agents.md). */
    traceparent?: true;
  };
  assertions?: Assertion[];
  /**
   * Escapes of a `utf8` payload are resolved already: it is sent as it stands here. Bytes that are no text come as
   * `hex`. Beside `hex`, also that of a sealed payload, `expect` with `contains` is hex.
   */
  transport?: {
    payload?: string;
    payloadEncoding?: 'utf8' | 'hex';
    expect?: string;
    expectMode?: 'contains' | 'regex';
    payloadSecret?: boolean;
  };
  ping?: { count?: number; lossDegradedPct?: number; rttDegradedMs?: number };
};

/** What the sealed box of an item holds. The payload is as in `WorkCheckSpec`. */
export type WorkSecrets = {
  secretHeaders?: Record<string, string>;
  auth?: { token?: string; username?: string; password?: string };
  body?: string;
  payload?: string;
  payloadEncoding?: 'utf8' | 'hex';
};

/** One result: `POST /agent/v1/ingest` takes up to 1,000 of them. */
export type AgentResult = {
  monitorId: string;
  ok: boolean;
  /** Null when all is well; any text where not. `unsupported_by_agent` is no vote. */
  cause: string | null;
  latencyMs: number | null;
  httpStatus: number | null;
  /** Works, but not well; with `ok` only. */
  degraded?: boolean;
  /**
   * The start of the probe in Unix seconds, decimals allowed: the identity of the result, so that a repeated one counts
   * once.
   */
  ts: number;
  /** The cause in a sentence for people. */
  reason?: string | null;
  detail?: AgentResultDetail;
};

/**
 * Milliseconds in `timing`; `notAfter` is Unix seconds or an ISO date. `answer` is the one that made the check fail,
 * with the first failure of a monitor.
 */
export type AgentResultDetail = {
  daysRemaining?: number;
  notAfter?: number | string;
  timing?: Record<string, number | null>;
  ping?: Record<string, number | null>;
  answer?: AgentAnswer;
};

/** The start of an answer, as text: without what the check's secrets may be in (core/incidents/evidence.ts). */
export type AgentAnswer = {
  headers?: Record<string, string>;
  body?: string | null;
  bodyWithheld?: 'secrets' | 'not_text';
};

/** What became of the results. Dropped ones would be dropped again. */
export type IngestAnswer = {
  accepted: number;
  dropped: number;
  droppedBecause: { notAssigned: number; future: number; tooOld: number; tooMany: number };
  /**
   * Monitors that are worth a recheck before their next tick (D-47). It is due this many milliseconds after the failing
   * probe's start, and to be ignored where that is past.
   */
  recheck: { monitorId: string; afterMs: number }[];
};

/** Results of one ingest at the most. */
export const MAX_INGEST_RESULTS = 1000;

/** A cause that says that the agent could not measure, which is no vote. */
export const UNSUPPORTED_BY_AGENT = 'unsupported_by_agent';

/** What an object with these checks reads as; every key may be missing. */
type Shape<Checks extends Record<string, Check<unknown>>> = {
  [Key in keyof Checks]?: Checks[Key] extends Check<infer Value> ? Value : never;
};

/**
 * Reads the fields of an object that we know and ignores all others: agents of other makers send more. Null is as good
 * as absent. An empty field stands for the request's body itself; undefined where the value is no object.
 */
export function readKnownFields<Checks extends Record<string, Check<unknown>>>(
  checks: Checks,
  { value, field }: { value: unknown; field: string },
  problems: Problem[],
): Shape<Checks> | undefined {
  if (!isRecord(value))
    return addProblem(problems, field === '' ? 'the body' : field, { expected: 'an object', got: kindOf(value) });
  const read: Record<string, unknown> = {};
  for (const [key, check] of Object.entries(checks)) {
    const entry = Object.hasOwn(value, key) ? value[key] : undefined;
    if (entry !== undefined && entry !== null)
      read[key] = check(entry, field === '' ? key : `${field}.${key}`, problems);
  }
  // Each value came out of the check of its own key.
  return read as Shape<Checks>;
}

/** A text of any length and content, which is cleaned before it is stored. */
export const looseText: Check<string> = (value, field, problems) =>
  typeof value === 'string' ? value : addProblem(problems, field, { expected: 'a string', got: kindOf(value) });

/** Exactly true or false. */
export const flag: Check<boolean> = (value, field, problems) =>
  typeof value === 'boolean' ? value : addProblem(problems, field, { expected: 'true or false', got: show(value) });

/** A list of at most `max` items; a bad item is named by its index. */
export function listOf<T>(item: Check<T>, max: number): Check<T[]> {
  return (value, field, problems) => {
    if (!Array.isArray(value)) return addProblem(problems, field, { expected: 'a list', got: kindOf(value) });
    if (value.length > max)
      return addProblem(problems, field, { expected: `a list of at most ${max} items`, got: String(value.length) });
    return value
      .map((entry, index) => item(entry, `${field}[${index}]`, problems))
      .filter((entry) => entry !== undefined);
  };
}

/** What an agent can measure, as it names it at its check-in. `cert` is the certificate of an http exchange. */
export const AGENT_CAPABILITIES = ['http', 'cert', 'tcp', 'icmp', 'udp'] as const;
export type AgentCapability = (typeof AGENT_CAPABILITIES)[number];

/**
 * Why a source cannot run a monitor. The agent lacks the capability, showed no key to seal the secrets to, or another
 * key than at first.
 */
export type Inability = 'capability' | 'no_key' | 'other_key';

/** Why no secrets are sealed to an agent. */
export type Withholding = Exclude<Inability, 'capability'>;

/** A customer's agent as it last checked in; shared agents run everything that agents check. */
type AbleAgent = {
  /** Null = it has not checked in yet. */
  capabilities: readonly string[] | null;
  secretsWithheld: Withholding | null;
};

/** Why an agent cannot run a monitor; null where it can, or where it has not said yet what it can. */
export function findInability(agent: AbleAgent, monitor: { type: MonitorType; hasSecrets: boolean }): Inability | null {
  if (agent.capabilities === null) return null;
  if (!agent.capabilities.includes(monitor.type)) return 'capability';
  return monitor.hasSecrets ? agent.secretsWithheld : null;
}

/**
 * Finds why an agent gets no secrets, by the key that it shows and the one that was pinned. Null = no key was shown;
 * none is pinned yet, and then the shown one is. Null where it gets them.
 */
export function findWithholding(shownKey: string | null, pinnedKey: string | null): Withholding | null {
  if (shownKey === null) return 'no_key';
  return pinnedKey === null || pinnedKey === shownKey ? null : 'other_key';
}
