import { join } from 'node:path';
import { lockExclusively } from '../config/exclusive-lock.ts';

/** Thrown where another agent that runs has the folder. */
export class FolderInUse extends Error {
  override name = 'FolderInUse';
}

/**
 * Makes this process the one user of a folder and returns the release. Throws `FolderInUse` while another one lives;
 * what a killed one left is taken over.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const refusal = (pid: number) =>
    new FolderInUse(
      `Another agent with this token is running here (process ${pid}); stop that one first, or give this one a ` +
        'token of its own',
    );
  return await lockExclusively(join(folder, 'lock.json'), refusal);
}
