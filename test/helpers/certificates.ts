import { isIP } from 'node:net';
import tls from 'node:tls';
import { generate } from 'selfsigned';

/** Key type of an authority and its certificates. */
export type KeyType = 'ec' | 'rsa';

/** A key and its certificate as PEM texts, in the format of `https.createServer`. */
export type KeyPair = { key: string; cert: string };

/**
 * Contents of a certificate: its host names and addresses, validity and use. Validity is in days from now, negative for
 * the past; `isForClients` lets clients present the certificate as well.
 */
export type CertificateOrder = {
  hosts: string[];
  validFromDays?: number;
  validForDays?: number;
  isForClients?: boolean;
  /** False for a certificate that names its hosts only in an extension, as many do. */
  hasSubject?: boolean;
};

const MS_PER_DAY = 86_400_000;

/** A certificate authority for tests. `pem` is its certificate, e.g. for a file in NODE_EXTRA_CA_CERTS. */
export class TestAuthority {
  readonly pem: string;
  readonly #keys: KeyPair;
  readonly #keyType: KeyType;

  private constructor(keys: KeyPair, keyType: KeyType) {
    this.pem = keys.cert;
    this.#keys = keys;
    this.#keyType = keyType;
  }

  /** Creates a new authority that no program trusts yet. */
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

  /**
   * Makes this process trust the authority, in addition to the default ones, in all TLS contexts created from now on.
   */
  trust(): void {
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), this.pem]);
  }

  /** Issues a certificate whose common name is its first host; valid from yesterday for 30 days by default. */
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
