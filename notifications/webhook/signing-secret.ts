const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * A new signing secret: `whsec_` and 32 random bytes in base64 (D-53). `randomBytes` must be a cryptographic source.
 */
export function generateSigningSecret(randomBytes: (size: number) => Buffer): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The key that Standard Webhooks derives from a signing secret: the decoded part after its prefix. */
export function decodeSigningSecret(signingSecret: string): Buffer {
  return Buffer.from(signingSecret.slice(PREFIX.length), 'base64');
}
