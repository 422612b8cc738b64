import type { Command } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { bootstrap } from '../bootstrap.ts';
import { findDatabase } from '../find-database.ts';
import { print } from '../output.ts';
import { databaseAccess } from '../with-database.ts';

/** Adds `migrate`: the schema and the queue's own, brought up to date once per deploy. */
export function addMigrateCommand(program: Command, readEnvironment: () => Environment): void {
  program
    .command('migrate')
    .description('bring the database up to date; with BOOTSTRAP_TOKEN set, an empty one also gets its first tenant')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const environment = readEnvironment();
      // No other command needs these, and they take as long to load as all the rest.
      const [{ migrate }, { migrateQueues }] = await Promise.all([
        import('../../models/migrate.ts'),
        import('../../queues/migrate.ts'),
      ]);
      const databaseUrl = await findDatabase(environment);
      const applied: string[] = [];
      await migrate(databaseUrl, (text) => applied.push(text));
      await migrateQueues(databaseUrl);
      const { bootstrapToken: token, bootstrapPassword: password } = environment;
      if (token !== null)
        await databaseAccess(() => environment)(({ database, newId, nowMs }) =>
          bootstrap(database, { newId, nowMs, token, password }),
        );
      print({ applied }, options);
    });
}
