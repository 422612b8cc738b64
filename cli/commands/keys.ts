import type { Command } from 'commander';
import type { Database } from '../../models/database.ts';
import { countForeignSessions } from '../../models/sealed-values.ts';
import { rotateKeys, type Rotation } from '../key-rotation.ts';
import { print } from '../output.ts';
import { Refusal } from '../refusal.ts';
import type { WithDatabase } from '../with-database.ts';

const ORDER = `
While the service runs, in this order:
  1. Put the new key at the END of SECRET_KEYS (old,new) of every process, and restart them: all can open what it seals.
  2. Put it in FRONT (new,old) everywhere, and restart them: all seal with it.
  3. Run this command with the same SECRET_KEYS as in step 2.
  4. Leave out of SECRET_KEYS what it calls not needed, and restart.
Embedded, SECRET_KEYS is the file DATA_DIR/secret-keys and there is one process: steps 1 and 2 are one.`;

const LIMITS =
  'It refuses while it sees a process on the database that is not at step 2. It cannot see one that is stopped, or ' +
  `that has not
asked the database for half a minute: such a process finds its secrets unreadable after this, until it is at step 2.
Killed, or run twice, it goes on with what is left. Exit status 1 where values remain that no key of the ring opens.`;

/** Adds `keys rotate`. */
export function addKeyCommands(program: Command, withDatabase: WithDatabase): void {
  const keys = program.command('keys').description('the keys that seal secrets');
  keys
    .command('rotate')
    .description('seal every secret anew with the first key of SECRET_KEYS, while the service runs')
    .option('--json', 'print JSON')
    .addHelpText('after', `${ORDER}\n\n${LIMITS}`)
    .action(async (options: { json?: boolean }) => {
      const rotation = await withDatabase(async ({ database, recordedAs, nowMs }) => {
        await refuseBesideOtherRings(database);
        return await rotateKeys(recordedAs('account.keys_rotated'), {
          nowMs,
          onProgress: (text) => void process.stderr.write(`${text}\n`),
        });
      });
      print(shown(rotation), options);
      const problem = problemOf(rotation);
      if (problem !== null) throw new Refusal(problem);
    });
}

async function refuseBesideOtherRings(database: Database): Promise<void> {
  const [key] = database.secrets.keyIds;
  const { lackKey, sealWithOther } = await countForeignSessions(database);
  if (lackKey > 0)
    throw new Refusal(
      `A running process does not have the key "${key}", and could not open what it seals: add it to SECRET_KEYS ` +
        'of every process and restart them first',
    );
  if (sealWithOther > 0)
    throw new Refusal(
      `A running process has the key "${key}" but seals with another one: put it first in SECRET_KEYS of every ` +
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
      `Secrets were sealed with another key than "${key}" all the while: put it first in SECRET_KEYS of every ` +
      'process, restart them and run this again'
    );
  if (unopened.length === 0) return null;
  const ids = [...new Set(unopened.map(({ keyId }) => `"${keyId}"`))].join(', ');
  return (
    `${unopened.length === 1 ? '1 secret stays as it is' : `${unopened.length} secrets stay as they are`}, because ` +
    `no key of SECRET_KEYS opens what was sealed with ${ids}: bring the key back and run this again, or set them ` +
    'anew'
  );
}
