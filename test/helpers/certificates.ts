import { isIP } from 'node:net';
import tls from 'node:tls';
import { generate } from 'selfsigned';

/** The kind of the keys of an authority and of its certificates. */
export type KeyType = 'ec' | 'rsa';

/** A key and its certificate as PEM texts, by the names of `https.createServer`. */
export type KeyPair = { key: string; cert: string };

/**
 * The contents of a certificate: its host names and addresses, its validity and its use. Validity counts from now,
 * negative for the past; `isForClients` lets clients present the certificate as well.
 */
export type CertificateOrder = {
  hosts: string[];
  validFromDays?: number;
  validForDays?: number;
  isForClients?: boolean;
  /** Many certificates name their hosts in an extension only. */
  hasSubject?: boolean;
};

const MS_PER_DAY = 86_400_000;

/**
 * A certificate authority of a test's own. `pem` is what a program must trust, e.g. as a file in NODE_EXTRA_CA_CERTS.
 */
export class TestAuthority {
  readonly pem: string;
  readonly #keys: KeyPair;
  readonly #keyType: KeyType;

  private constructor(keys: KeyPair, keyType: KeyType) {
    this.pem = keys.cert;
    this.#keys = keys;
    this.#keyType = keyType;
  }

  /** Makes a new authority that nothing trusts yet. */
  static async create(keyType: KeyType = 'ec'): Promise<TestAuthority> {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'Test Authority' }], {
      keyType,
      algorithm: 'sha256',
      ...validity({ validFromDays: -100, validForDays: 100 }),
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    });
    return new TestAuthority({ key, cert }, keyType);
  }

  /** Makes this process trust the authority, beside the usual ones, in all TLS contexts made from now on. */
  trust(): void {
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), this.pem]);
  }

  /**
   * Issues a certificate whose common name is the first of its hosts; good from yesterday for 30 days unless said
   * otherwise.
   */
  async issue({
    hosts,
    validFromDays = -1,
    validForDays = 30,
    isForClients = false,
    hasSubject = true,
  }: CertificateOrder): Promise<KeyPair> {
    const { private: key, cert } = await generate(hasSubject ? [{ name: 'commonName', value: hosts[0] ?? '' }] : [], {
      keyType: this.#keyType,
      algorithm: 'sha256',
      ca: this.#keys,
      ...validity({ validFromDays, validForDays }),
      extensions: [
        { name: 'basicConstraints', cA: false, critical: true },
        { name: 'keyUsage', digitalSignature: true, critical: true },
        { name: 'extKeyUsage', serverAuth: true, clientAuth: isForClients },
        {
          name: 'subjectAltName',
          altNames: hosts.map((host) => (isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host })),
        },
      ],
    });
    return { key, cert };
  }
}

function validity({ validFromDays, validForDays }: { validFromDays: number; validForDays: number }) {
  return {
    notBeforeDate: new Date(Date.now() + validFromDays * MS_PER_DAY),
    notAfterDate: new Date(Date.now() + validForDays * MS_PER_DAY),
  };
}
