const NEEDS_NO_QUOTES = /^[\w:/.@%+-]+$/;

/** What a customer types to start an agent, for a POSIX shell. */
export function writeInstallCommand({ publicUrl, token }: { publicUrl: string; token: string }): string {
  const url = NEEDS_NO_QUOTES.test(publicUrl) ? publicUrl : `'${publicUrl.replaceAll("'", `'\\''`)}'`;
  return `SPOTCHECK_URL=${url} SPOTCHECK_AGENT_TOKEN=${token} npm run agent`;
}
