import { cleanText } from '../foreign-text.ts';
import { addProblem, kindOf, show, text, type Problem, type Read } from '../input.ts';
import { DAY_SECONDS } from '../time.ts';
import {
  AGENT_CAPABILITIES,
  MAX_INGEST_RESULTS,
  flag,
  listOf,
  looseText,
  readKnownFields,
  type AgentCapability,
} from './wire.ts';

/** A parsed result of an agent. */
export type Report = {
  monitorId: string;
  ok: boolean;
  degraded: boolean;
  cause: string | null;
  reason: string | null;
  /** Whole milliseconds. */
  latencyMs: number | null;
  httpStatus: number | null;
  /** Start of the probe, in Unix milliseconds. */
  startedAtMs: number;
  /** Expiry of the server's certificate, in Unix seconds. */
  expiresAt: number | null;
  /** The timings and the response as received: unvalidated foreign data. */
  timing: unknown;
  answer: unknown;
};

/** Limit of integer columns in result tables. */
const MAX_INTEGER = 2_147_483_647;

/** The latest expiry of a certificate: the end of the year 9999, which stands for "never". */
const MAX_SECONDS = 253_402_300_799;
const MAX_DAYS = MAX_SECONDS / DAY_SECONDS;

/** An agent's data on a certificate (its expiry, or how many days it has left) and on the exchange. */
type Detail = { notAfter?: number; daysRemaining?: number; timing?: unknown; answer?: unknown };

/** Maximum number of reported problems: a batch that is wrong throughout is not described a thousand times. */
const MAX_PROBLEMS = 10;

const RESULT_FIELDS = {
  monitorId: text(64),
  ok: flag,
  cause: looseText,
  latencyMs: latency,
  httpStatus: statusCode,
  degraded: flag,
  ts: moment,
  reason: looseText,
  detail: detailOf,
};

const REQUIRED = ['monitorId', 'ok', 'ts'] as const;

/**
 * Parses the body of an ingest, all or nothing: a bad result is named by its path, such as `results[3].ts`. Ignores
 * unknown fields.
 */
export function readIngest(body: unknown): Read<Report[]> {
  const problems: Problem[] = [];
  const results = readKnownFields({ results: listOfResults }, { value: body, field: '' }, problems);
  if (results !== undefined && results.results === undefined && problems.length === 0)
    problems.push({ field: 'results', message: 'results is required' });
  const reports: Report[] = [];
  for (const [index, value] of (results?.results ?? []).entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    const report = readReport(value, `results[${index}]`, problems);
    if (report !== undefined) reports.push(report);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: reports };
}

function readReport(value: unknown, field: string, problems: Problem[]): Report | undefined {
  const known = problems.length;
  const read = readKnownFields(RESULT_FIELDS, { value, field }, problems);
  if (read === undefined || problems.length > known) return undefined;
  const { monitorId, ok, ts } = read;
  if (monitorId === undefined || ok === undefined || ts === undefined) {
    for (const name of REQUIRED)
      if (read[name] === undefined)
        problems.push({ field: `${field}.${name}`, message: `${field}.${name} is required` });
    return undefined;
  }
  return {
    monitorId,
    ok,
    degraded: ok && read.degraded === true,
    cause: read.cause ?? null,
    reason: read.reason ?? null,
    latencyMs: read.latencyMs ?? null,
    // Some agents send 0 if there was no response.
    httpStatus: read.httpStatus || null,
    startedAtMs: ts,
    expiresAt: expiryOf(read.detail, ts),
    timing: read.detail?.timing ?? null,
    answer: read.detail?.answer ?? null,
  };
}

/** Days left give only the day of a certificate's expiry, so that all results of a day agree. */
function expiryOf(detail: Detail | undefined, startedAtMs: number): number | null {
  if (detail?.notAfter !== undefined) return detail.notAfter;
  if (detail?.daysRemaining === undefined) return null;
  return withinTime((Math.floor(startedAtMs / 1000 / DAY_SECONDS) + detail.daysRemaining) * DAY_SECONDS);
}

function listOfResults(value: unknown, field: string, problems: Problem[]): unknown[] | undefined {
  if (!Array.isArray(value)) return addProblem(problems, field, { expected: 'a list', got: kindOf(value) });
  if (value.length <= MAX_INGEST_RESULTS) return value;
  return addProblem(problems, field, {
    expected: `a list of at most ${MAX_INGEST_RESULTS} results: send the rest in the next request`,
    got: String(value.length),
  });
}

function latency(value: unknown, field: string, problems: Problem[]): number | undefined {
  if (typeof value === 'number' && value >= 0) return Math.min(Math.round(value), MAX_INTEGER);
  return addProblem(problems, field, { expected: 'milliseconds of 0 or more, or null', got: show(value) });
}

function statusCode(value: unknown, field: string, problems: Problem[]): number | undefined {
  if (typeof value === 'number' && Number.isInteger(value) && (value === 0 || (value >= 100 && value <= 999)))
    return value;
  return addProblem(problems, field, { expected: 'a status code of three digits, or null', got: show(value) });
}

function moment(value: unknown, field: string, problems: Problem[]): number | undefined {
  if (typeof value === 'number' && value > 0) return Math.round(value * 1000);
  return addProblem(problems, field, { expected: 'the start of the probe in Unix seconds', got: show(value) });
}

/**
 * Reads the known fields of `detail`. Data for display never invalidates a result: invalid parts are left out later.
 */
function detailOf(value: unknown, field: string, problems: Problem[]): Detail | undefined {
  return readKnownFields(
    { notAfter: certificateDate, daysRemaining: days, timing: anything, answer: anything },
    { value, field },
    problems,
  );
}

function anything(value: unknown): unknown {
  return value;
}

function days(value: unknown, field: string, problems: Problem[]): number | undefined {
  if (typeof value === 'number' && Math.abs(value) <= MAX_DAYS) return Math.floor(value);
  return addProblem(problems, field, { expected: 'days', got: show(value) });
}

function certificateDate(value: unknown, field: string, problems: Problem[]): number | undefined {
  // Some agents send an empty text if there was no certificate.
  if (value === '') return undefined;
  const seconds = typeof value === 'string' ? Date.parse(value) / 1000 : value;
  // No certificate ends after the year 9999: a larger number is in milliseconds.
  if (typeof seconds === 'number' && Math.abs(seconds) <= MAX_SECONDS * 1000)
    return withinTime(Math.abs(seconds) <= MAX_SECONDS ? seconds : seconds / 1000);
  return addProblem(problems, field, { expected: 'Unix seconds or an ISO date', got: show(value) });
}

/** Clamps nonsensical certificate dates: they count as expired in 1970, or as never expiring. */
function withinTime(seconds: number): number {
  return Math.min(Math.max(0, Math.floor(seconds)), MAX_SECONDS);
}

/** A parsed check-in: the agent's known capabilities, and further fields, null if absent. */
export type CheckIn = {
  capabilities: AgentCapability[];
  version: string | null;
  arch: string | null;
  publicKey: string | null;
};

/** Maximum number of capabilities in a check-in, known or not. */
const MAX_CAPABILITIES = 1000;

/** Maximum length of version and architecture, in characters. */
const MAX_WORD = 64;

/** 32 bytes in canonical base64: the last digit's spare bits are zero. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

const PULL_FIELDS = {
  capabilities: listOf(looseText, MAX_CAPABILITIES),
  version: looseText,
  arch: looseText,
  publicKey: keyText,
};

/** Parses the body of a pull, ignoring unknown fields. */
export function readPull(body: unknown): Read<CheckIn> {
  const problems: Problem[] = [];
  const read = readKnownFields(PULL_FIELDS, { value: body, field: '' }, problems);
  const offered = read?.capabilities ?? [];
  const capabilities = AGENT_CAPABILITIES.filter((known) => offered.includes(known));
  if (problems.length === 0 && offered.length > 0 && capabilities.length === 0) {
    addProblem(problems, 'capabilities', {
      expected: `a list with at least one of ${AGENT_CAPABILITIES.join(', ')}`,
      got: 'others only',
    });
  }
  if (read === undefined || problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    value: { capabilities, version: wordOf(read.version), arch: wordOf(read.arch), publicKey: read.publicKey ?? null },
  };
}

function keyText(value: unknown, field: string, problems: Problem[]): string | undefined {
  if (typeof value === 'string' && KEY.test(value)) return value;
  const got = typeof value === 'string' ? `${value.length} characters` : kindOf(value);
  return addProblem(problems, field, {
    expected: 'an X25519 public key, 32 bytes in base64 (44 characters with the padding)',
    got,
  });
}

function wordOf(given: string | undefined): string | null {
  return cleanText(given ?? '', MAX_WORD) || null;
}
