import type { Database } from '../models/database.ts';
import {
  countSealedValues,
  forgetPreviousSecrets,
  resealBatch,
  SEALED_KINDS,
  type SealedKind,
} from '../models/sealed-values.ts';

/** A value that no key of the ring opens; `id` is that of its row, `keyId` that of the key that it names. */
export type Unopened = { kind: SealedKind; id: string; keyId: string };

/**
 * What came of a rotation to `key`. Of each kind, how many values were `resealed` and how many are `sealed` with it
 * now. Of the ring's other keys some are still `needed`. Not complete: another process sealed with another key until
 * the end.
 */
export type Rotation = {
  key: string;
  resealed: Record<SealedKind, number>;
  sealed: Record<SealedKind, number>;
  unopened: Unopened[];
  needed: string[];
  notNeeded: string[];
  isComplete: boolean;
};

type Pass = { resealed: Record<SealedKind, number>; unopened: Unopened[]; isQuiet: boolean };

type Options = { nowMs: number; onProgress: (text: string) => void };

/**
 * What others seal with an older key during a pass is found by the next one; a process that still does so after this
 * many does not stop.
 */
const MOST_PASSES = 4;

/**
 * Seals everything with the first key of the ring, pass after pass until one finds nothing to do. Stops at no row, and
 * may itself be stopped anywhere.
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
  } while (!pass.isQuiet && passes < MOST_PASSES);
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

async function makePass(database: Database, { onProgress }: Options): Promise<Pass> {
  const pass: Pass = { resealed: ofEachKind(() => 0), unopened: [], isQuiet: true };
  const counts = await countSealedValues(database);
  for (const kind of SEALED_KINDS) {
    const total = [...counts[kind].values()].reduce((sum, values) => sum + values, 0);
    let read = 0;
    let after: string | null = null;
    do {
      const batch = await resealBatch(database, kind, after);
      read += batch.read;
      after = batch.last;
      pass.resealed[kind] += batch.resealed;
      pass.unopened.push(...batch.unopened.map((value) => ({ kind, ...value })));
      pass.isQuiet &&= batch.resealed + batch.lost === 0;
      if (batch.read > 0) onProgress(`${kind}: ${read} of ${total} looked at, ${pass.resealed[kind]} sealed anew`);
    } while (after !== null);
  }
  return pass;
}

function ofEachKind<Value>(valueOf: (kind: SealedKind) => Value): Record<SealedKind, Value> {
  return {
    monitor_secrets: valueOf('monitor_secrets'),
    webhook_url: valueOf('webhook_url'),
    signing_secret: valueOf('signing_secret'),
    previous_secret: valueOf('previous_secret'),
    slack_webhook: valueOf('slack_webhook'),
    totp_secret: valueOf('totp_secret'),
  };
}
