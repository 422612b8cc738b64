/**
 * Seals a text to a public key (X25519, 32 bytes in base64) with libsodium's `crypto_box_seal`: only the holder of the
 * private key opens it, and two boxes of the same text differ. Base64. Throws where the key is not usable. Half a
 * millisecond of work.
 */
export async function sealTo(publicKey: string, plain: string): Promise<string> {
  // Loaded when the first secret is sealed: most processes never seal any, and it takes 18 MB.
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return Buffer.from(sodium.crypto_box_seal(plain, Buffer.from(publicKey, 'base64'))).toString('base64');
}

/** False for 32 bytes that are no key: points of low order, with which the box could be opened without the key. */
export async function isUsableKey(publicKey: string): Promise<boolean> {
  try {
    await sealTo(publicKey, '');
    return true;
  } catch {
    return false;
  }
}
