import { join } from 'node:path';
import { lockExclusively } from '../../config/exclusive-lock.ts';

/**
 * Makes this process the one owner of a data directory and returns the release. Throws while another owner lives; the
 * lock of a dead one is taken over.
 */
export async function lockDataDir(dataDir: string): Promise<() => Promise<void>> {
  const refusal = (pid: number) =>
    new Error(
      `${dataDir} is in use by another Spotcheck (process ${pid}); stop that one first, or give this one a ` +
        'DATA_DIR of its own',
    );
  return await lockExclusively(join(dataDir, 'owner.json'), refusal);
}
