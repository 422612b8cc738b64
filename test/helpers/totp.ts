import { HOTP, Secret } from 'otpauth';

/** Returns the code of an authenticator app for a secret at a time step of 30 seconds. */
export function totpCode(secret: string, step: number): string {
  return HOTP.generate({ secret: Secret.fromBase32(secret), counter: step });
}
