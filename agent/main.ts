import { readAgentEnvironment } from '../config/agent-environment.ts';

// The agent's protocol is not served yet, so there is nothing this program could do: it says so instead of waiting in vain.
try {
  readAgentEnvironment(process.env);
  process.stderr.write("This version of Spotcheck does not speak with customers' agents yet: monitors are checked by its shared agents (AGENT_REGIONS)\n");
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
process.exitCode = 1;
