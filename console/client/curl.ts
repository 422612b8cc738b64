/** A request of the API below `/v1`, as a form would send it. */
export type ApiRequest = { method: 'POST' | 'PATCH'; path: string; body: object };

/** Placeholder for a form's secret in a command, because a copied command stays in the history of a shell. */
export const SECRET_PLACEHOLDER = 'REPLACE_ME';

/** Writes a request as a command for a POSIX shell; the token comes from `SPOTCHECK_TOKEN`. */
export function curlOf({ method, path, body }: ApiRequest, origin: string): string {
  return [
    `curl -X ${method} ${quote(`${origin}/v1${path}`)}`,
    '-H "Authorization: Bearer $SPOTCHECK_TOKEN"',
    `-H 'Content-Type: application/json'`,
    `-d ${quote(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
