/**
 * Seals secrets to a public key (base64) as the agent protocol requires: a libsodium sealed box of their JSON, in
 * base64.
 */
export async function sealFor(publicKey: string, secrets: unknown): Promise<string> {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return Buffer.from(sodium.crypto_box_seal(JSON.stringify(secrets), Buffer.from(publicKey, 'base64'))).toString(
    'base64',
  );
}

/** Returns the public key (base64) that libsodium derives from a private one. */
export async function publicKeyOf(privateKey: string): Promise<string> {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return Buffer.from(sodium.crypto_scalarmult_base(Buffer.from(privateKey, 'base64'))).toString('base64');
}
