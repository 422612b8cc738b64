import { addProblem, isRecord, kindOf, show, type Check, type Problem } from '../input.ts';
import type { Assertion, MonitorType } from '../monitors/monitor.ts';

/** Body of an agent's check-in: `POST /agent/v1/pull`. */
export type PullRequest = {
  capabilities?: string[];
  version?: string;
  arch?: string;
  /** X25519, 32 bytes in base64, to which secrets are sealed. */
  publicKey?: string;
};

/** Response to it. `work` is always complete: other monitors are no longer to be checked. */
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
  /** Source of the results: the agent's id. */
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
   * When a recheck was last requested, in Unix seconds; absent = never. An item that differs is checked at once, so
   * agents need not read this.
   */
  askedAt?: number;
  /**
   * `WorkSecrets` as JSON in a libsodium sealed box for the agent's key, base64; absent if the monitor has none, or
   * they are withheld.
   */
  sealedSecrets?: string;
  /**
   * Why the monitor's secrets are missing: no key to seal them to, or another key than the pinned one. A result without
   * them is no vote.
   */
  secretsWithheld?: Withholding;
};

/** Settings of an item; only the keys of its type. A monitor's body match is the first assertion, on `text_body`. */
export type WorkCheckSpec = {
  request?: {
    headers?: Record<string, string>;
    secretHeaderNames?: string[];
    auth?: { type: 'bearer' | 'basic' };
    body?: string;
    bodySecret?: boolean;
    contentType?: string;
    /** Whether requests contain a `traceparent`, whose ids derive from the check (docs/agents.md). */
    traceparent?: true;
  };
  assertions?: Assertion[];
  /**
   * Escapes of a `utf8` payload are already resolved: it is sent as it is. Bytes that are not text are `hex`. With
   * `hex`, even of a sealed payload, `expect` with `contains` is hex.
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

/** Contents of an item's sealed box. The payload is as in `WorkCheckSpec`. */
export type WorkSecrets = {
  secretHeaders?: Record<string, string>;
  auth?: { token?: string; username?: string; password?: string };
  body?: string;
  payload?: string;
  payloadEncoding?: 'utf8' | 'hex';
};

/** One result; `POST /agent/v1/ingest` accepts up to 1,000 of them. */
export type AgentResult = {
  monitorId: string;
  ok: boolean;
  /** Null if all is well; otherwise any text. `unsupported_by_agent` is no vote. */
  cause: string | null;
  latencyMs: number | null;
  httpStatus: number | null;
  /** The target works, but not well; only with `ok`. */
  degraded?: boolean;
  /**
   * Start of the probe in Unix seconds, decimals allowed: the identity of the result, so that a repeated one counts
   * once.
   */
  ts: number;
  /** The cause in a sentence for people. */
  reason?: string | null;
  detail?: AgentResultDetail;
};

/**
 * Milliseconds in `timing`; `notAfter` is Unix seconds or an ISO date. `answer` is the response that made the check
 * fail, with the first failure of a monitor.
 */
export type AgentResultDetail = {
  daysRemaining?: number;
  notAfter?: number | string;
  timing?: Record<string, number | null>;
  ping?: Record<string, number | null>;
  answer?: AgentAnswer;
};

/** Start of a response, as text, without parts that may contain the check's secrets (core/incidents/evidence.ts). */
export type AgentAnswer = {
  headers?: Record<string, string>;
  body?: string | null;
  bodyWithheld?: 'secrets' | 'not_text';
};

/** Outcome of the results. Dropped ones would be dropped again. */
export type IngestAnswer = {
  accepted: number;
  dropped: number;
  droppedBecause: { notAssigned: number; future: number; tooOld: number; tooMany: number };
  /**
   * Monitors that need a recheck before their next tick (D-47). It is due this many milliseconds after the failing
   * probe's start, and ignored if that is past.
   */
  recheck: { monitorId: string; afterMs: number }[];
};

/** Maximum number of results per ingest. */
export const MAX_INGEST_RESULTS = 1000;

/** A cause that means that the agent could not measure, which is no vote. */
export const UNSUPPORTED_BY_AGENT = 'unsupported_by_agent';

/** Result of reading an object with these checks; every key may be missing. */
type Shape<Checks extends Record<string, Check<unknown>>> = {
  [Key in keyof Checks]?: Checks[Key] extends Check<infer Value> ? Value : never;
};

/**
 * Reads the known fields of an object and ignores all others, which third-party agents may send. Null is the same as
 * absent. An empty field stands for the request's body itself; undefined if the value is not an object.
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
  // Each value was returned by the check of its own key.
  return read as Shape<Checks>;
}

/** Accepts a text of any length and content, which is cleaned before it is stored. */
export const looseText: Check<string> = (value, field, problems) =>
  typeof value === 'string' ? value : addProblem(problems, field, { expected: 'a string', got: kindOf(value) });

/** Accepts exactly true or false. */
export const flag: Check<boolean> = (value, field, problems) =>
  typeof value === 'boolean' ? value : addProblem(problems, field, { expected: 'true or false', got: show(value) });

/** Accepts a list of at most `max` items; a bad item is named by its index. */
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

/** Capabilities that an agent can report at its check-in. `cert` is the certificate of an http exchange. */
export const AGENT_CAPABILITIES = ['http', 'cert', 'tcp', 'icmp', 'udp'] as const;
export type AgentCapability = (typeof AGENT_CAPABILITIES)[number];

/**
 * Why a source cannot run a monitor. The agent lacks the capability, sent no key to seal the secrets to, or another key
 * than at first.
 */
export type Inability = 'capability' | 'no_key' | 'other_key';

/** Why no secrets are sealed to an agent. */
export type Withholding = Exclude<Inability, 'capability'>;

/** A private agent as it last checked in; shared agents run everything that agents check. */
type AbleAgent = {
  /** Null = it has not checked in yet. */
  capabilities: readonly string[] | null;
  secretsWithheld: Withholding | null;
};

/** Returns why an agent cannot run a monitor; null if it can, or has not reported its capabilities yet. */
export function findInability(agent: AbleAgent, monitor: { type: MonitorType; hasSecrets: boolean }): Inability | null {
  if (agent.capabilities === null) return null;
  if (!agent.capabilities.includes(monitor.type)) return 'capability';
  return monitor.hasSecrets ? agent.secretsWithheld : null;
}
