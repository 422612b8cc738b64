import { cleanText } from '../foreign-text.ts';
import { addProblem, kindOf, type Check, type Problem, type Read } from '../monitors/input/checks.ts';
import { AGENT_CAPABILITIES, type AgentCapability } from './capability.ts';
import { listOf, looseText, readKnownFields } from './wire.ts';

/** A check-in that was read: what of the agent's abilities we know, and the rest null where it was not said. */
export type CheckIn = {
  capabilities: AgentCapability[];
  version: string | null;
  arch: string | null;
  publicKey: string | null;
};

/** The most capabilities that a check-in may name, known or not. */
const MAX_CAPABILITIES = 1000;

/** Longest version and architecture, in characters. */
const MAX_WORD = 64;

/** 32 bytes in base64, in the one form that they have: the last digit's spare bits are zero. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

const FIELDS = {
  capabilities: listOf(looseText, MAX_CAPABILITIES),
  version: looseText,
  arch: looseText,
  publicKey: keyText,
};

/** Reads the body of a pull; fields that we do not know are ignored. */
export function readPull(body: unknown): Read<CheckIn> {
  const problems: Problem[] = [];
  const read = readKnownFields(FIELDS, { value: body, field: '' }, problems);
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

function keyText(...[value, field, problems]: Parameters<Check<string>>): string | undefined {
  if (typeof value === 'string' && KEY.test(value)) return value;
  const got = typeof value === 'string' ? `${value.length} characters` : kindOf(value);
  return addProblem(problems, field, {
    expected: 'an X25519 public key, 32 bytes in base64 (44 characters with the padding)',
    got,
  });
}

function wordOf(given: string | undefined): string | null {
  return (given !== undefined && cleanText(given, MAX_WORD)) || null;
}
