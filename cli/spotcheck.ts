import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addAgentCommands } from './commands/agents.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addStartCommand } from './commands/start.ts';
import { addTenantCommands } from './commands/tenants.ts';
import { addTokenCommands } from './commands/tokens.ts';

/** Exit status: 0 done, 1 refused with one line on standard error, 2 wrong usage. */
async function main(): Promise<number> {
  const program = new Command('spotcheck').description(packageJson.description).version(packageJson.version).showHelpAfterError().exitOverride();
  for (const add of [addStartCommand, addMigrateCommand, addTenantCommands, addTokenCommands, addAgentCommands]) add(program);
  for (const command of program.commands) inheritExit(command);
  try {
    await program.parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/** Commander ends the process by itself unless every command is told not to. */
function inheritExit(command: Command): void {
  command.exitOverride().showHelpAfterError();
  for (const inner of command.commands) inheritExit(inner);
}

process.exitCode = await main();
