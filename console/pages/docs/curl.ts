import type { Operation, Parameter } from './description.ts';

/** Whose token an operation takes. */
export type Credential = 'token' | 'session' | 'agent' | 'none';

/** What one has to show to be let through. */
export function credentialOf({ security }: Operation): Credential {
  if (security === undefined) return 'token';
  if (security.some((each) => 'session' in each)) return 'session';
  return security.some((each) => 'agentToken' in each) ? 'agent' : 'none';
}

const HEADERS: Record<Credential, readonly string[]> = {
  token: ['-H \'Authorization: Bearer \'"$SPOTCHECK_TOKEN"'],
  agent: ['-H \'Authorization: Bearer \'"$SPOTCHECK_AGENT_TOKEN"'],
  session: ['-b cookies.txt'],
  none: [],
};

/** A line for a shell that asks for it; what belongs into the path is a variable of the shell. */
export function curlOf(operation: Operation, example: unknown): string {
  const { method, path, server, parameters } = operation;
  const credential = credentialOf(operation);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${variableOf(parameters, name)}`);
  const address = `${server ?? ''}${filled}${queryOf(parameters)}`;
  const parts = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${address}"`,
    ...HEADERS[credential],
    // The other operations for people need the cookie that this one gives.
    ...(operation.operationId === 'signIn' ? ['-c cookies.txt'] : []),
    ...(credential === 'session' && method !== 'get' ? ['-H \'X-CSRF-Token: \'"$CSRF_TOKEN"'] : []),
    ...(example === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d '${JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`)}'`,
        ]),
  ];
  return parts.join(' \\\n  ');
}

function variableOf(parameters: readonly Parameter[], name: string): string {
  const kind = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema?.['x-id'];
  return name === 'id' && kind !== undefined ? `${kind.toUpperCase()}_ID` : name.toUpperCase();
}

/** Only what has to be there. */
function queryOf(parameters: readonly Parameter[]): string {
  const names = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map(({ name }) => `${name}=$${name.toUpperCase()}`);
  return names.length === 0 ? '' : `?${names.join('&')}`;
}
