/**
 * What is wrong with a text as a webhook's URL, as the end of a sentence about it. Null when it is a good one:
 * absolute, https, without user and password.
 */
export function findUrlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return 'must be an absolute https URL';
  if (url.protocol !== 'https:') return `must be an https URL, not ${url.protocol.slice(0, -1)}`;
  return url.username === '' && url.password === ''
    ? null
    : 'must not contain a username or password: the signature authenticates deliveries';
}
