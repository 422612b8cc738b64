import type { Authored } from '../../models/accounts/audit-log.ts';
import type { Database } from '../../models/database.ts';
import {
  countForeignSessions,
  countSealedValues,
  forgetPreviousSecrets,
  resealBatch,
  SEALED_KINDS,
  type SealedKind,
} from '../../models/secrets/sealed-values.ts';
import { print, Refusal } from '../output.ts';
import { withDatabase } from '../with-database.ts';

/** A value that no key of the ring opens; `id` is that of its row, `keyId` that of the key it names. */
type Unopened = { kind: SealedKind; id: string; keyId: string };

/**
 * Result of a rotation to `key`. It has how many values of each kind were `resealed`, how many are `sealed` with it
 * now, and which of the ring's other keys are still `needed`. It is incomplete if another process sealed with another
 * key until the end.
 */
type Rotation = {
  key: string;
  resealed: Record<SealedKind, number>;
  sealed: Record<SealedKind, number>;
  unopened: Unopened[];
  needed: string[];
  notNeeded: string[];
  isComplete: boolean;
};

type Pass = { resealed: Record<SealedKind, number>; unopened: Unopened[]; isQuiet: boolean };

type Options = { nowMs: number; onProgress: (text: string) => void } & Authored;

/**
 * Maximum passes. Each finds values that other processes sealed with an older key during the previous one; a process
 * that still does so after this many will not stop.
 */
const MAX_PASSES = 4;

/**
 * Seals everything with the first key of the ring, pass after pass until one finds nothing to do. No row stops it, and
 * it may be stopped at any point.
 */
export async function rotateKeys(database: Database, options: Options): Promise<Rotation> {
  await forgetPreviousSecrets(database, options.nowMs);
  const resealed = ofEachKind(() => 0);
  let pass: Pass;
  let passes = 0;
  do {
    pass = await makePass(database, options);
    for (const kind of SEALED_KINDS) resealed[kind] += pass.resealed[kind];
    passes += 1;
  } while (!pass.isQuiet && passes < MAX_PASSES);
  const counts = await countSealedValues(database);
  const [key, ...others] = database.secrets.keyIds;
  const isNeeded = (id: string) => SEALED_KINDS.some((kind) => counts[kind].has(id));
  return {
    key,
    resealed,
    sealed: ofEachKind(
      (kind) =>
        (counts[kind].get(key) ?? 0) -
        pass.unopened.filter((value) => value.kind === kind && value.keyId === key).length,
    ),
    unopened: pass.unopened,
    needed: others.filter(isNeeded),
    notNeeded: others.filter((id) => !isNeeded(id)),
    isComplete: pass.isQuiet,
  };
}

async function makePass(database: Database, { onProgress, author }: Options): Promise<Pass> {
  const pass: Pass = { resealed: ofEachKind(() => 0), unopened: [], isQuiet: true };
  const counts = await countSealedValues(database);
  for (const kind of SEALED_KINDS) {
    const total = [...counts[kind].values()].reduce((sum, values) => sum + values, 0);
    let read = 0;
    let after: string | null = null;
    do {
      const batch = await resealBatch(database, kind, { after, author });
      read += batch.read;
      after = batch.last;
      pass.resealed[kind] += batch.resealed;
      pass.unopened.push(...batch.unopened.map((value) => ({ kind, ...value })));
      pass.isQuiet &&= batch.resealed + batch.lost === 0;
      if (batch.read > 0) onProgress(`${kind}: ${read} of ${total} read, ${pass.resealed[kind]} encrypted again`);
    } while (after !== null);
  }
  return pass;
}

function ofEachKind<Value>(valueOf: (kind: SealedKind) => Value): Record<SealedKind, Value> {
  return {
    monitor_secrets: valueOf('monitor_secrets'),
    webhook_url: valueOf('webhook_url'),
    webhook_headers: valueOf('webhook_headers'),
    signing_secret: valueOf('signing_secret'),
    previous_secret: valueOf('previous_secret'),
    slack_webhook: valueOf('slack_webhook'),
    totp_secret: valueOf('totp_secret'),
    bulk_patch: valueOf('bulk_patch'),
    ping_key: valueOf('ping_key'),
  };
}

/** `keys rotate`: rotates the keys, with progress on standard error. */
export async function rotate(options: { json?: boolean }): Promise<void> {
  const rotation = await withDatabase(async ({ database, author, nowMs }) => {
    await refuseBesideOtherRings(database);
    return await rotateKeys(database, {
      nowMs,
      author: author('account.keys_rotated'),
      onProgress: (text) => void process.stderr.write(`${text}\n`),
    });
  });
  print(shown(rotation), options);
  const problem = problemOf(rotation);
  if (problem !== null) throw new Refusal(problem);
}

async function refuseBesideOtherRings(database: Database): Promise<void> {
  const [key] = database.secrets.keyIds;
  const { lackKey, sealWithOther } = await countForeignSessions(database);
  if (lackKey > 0)
    throw new Refusal(
      `A running process does not have the key "${key}" and could not decrypt secrets: add it to SECRET_KEYS of ` +
        'every process and restart them first',
    );
  if (sealWithOther > 0)
    throw new Refusal(
      `A running process has the key "${key}" but encrypts with another one: put it first in SECRET_KEYS of every ` +
        'process and restart them first',
    );
}

function shown({ key, resealed, sealed, unopened, needed, notNeeded }: Rotation): Record<string, unknown> {
  return {
    key,
    resealed,
    sealed,
    unopened: unopened.map(({ kind, id, keyId }) => ({ kind, id, key: keyId })),
    needed,
    not_needed: notNeeded,
  };
}

function problemOf({ key, isComplete, unopened }: Rotation): string | null {
  if (!isComplete)
    return (
      `Other processes kept encrypting with a key other than "${key}": put it first in SECRET_KEYS of every ` +
      'process, restart them and run this again'
    );
  if (unopened.length === 0) return null;
  const ids = [...new Set(unopened.map(({ keyId }) => `"${keyId}"`))].join(', ');
  return (
    `${unopened.length === 1 ? '1 secret was' : `${unopened.length} secrets were`} not encrypted again, because ` +
    `SECRET_KEYS lacks the key ${ids}: restore the key and run this again, or enter the secrets again`
  );
}
