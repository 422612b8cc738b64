import { createRemoteJWKSet, customFetch as joseFetch, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import * as client from 'openid-client';
import type { Logger } from 'pino';
import {
  isMark,
  lacksClaims,
  readPerson,
  type OpenIdPerson,
  type OpenIdPolicy,
} from '../../../core/accounts/open-id.ts';
import type { ProviderLogout } from '../../../models/accounts/identities.ts';
import { createBoundedFetch, PeerAway } from '../../../net/bounded-fetch.ts';

/** Issuer and client of the provider; `clientSecret` null = a public client. */
export type OpenIdSettings = OpenIdPolicy &
  Readonly<{ issuer: string; clientId: string; clientSecret: string | null; scopes: string }>;

/** Values that one sign-in was begun with; all three are random. */
export type Checks = { state: string; nonce: string; verifier: string };

/**
 * Outcome of a visit that returned with a code. `stale`: the code was used or has expired, so another sign-in helps.
 * `refused`: the response cannot be trusted, or the provider does not accept this client. `away`: the provider does not
 * respond. `reason` is for the log and contains no secret.
 */
type Authorization =
  | { outcome: 'granted'; issuer: string; person: OpenIdPerson }
  | { outcome: 'stale' | 'refused' | 'away'; reason: string };

/** Contents of a logout token, or why it is invalid; `away` = the provider's keys could not be read. */
type LogoutReading = { outcome: 'good'; logout: ProviderLogout } | { outcome: 'refused' | 'away'; reason: string };

/** Maximum size of a provider's response: 1 to 30 kB are usual, and more for a member of thousands of groups. */
const RESPONSE_BYTES = 262_144;
/**
 * Time limit for each request to the provider, in milliseconds; a sign-in makes up to four, one after the other. Only
 * tests set another one, on machines that are temporarily slow.
 */
const DEADLINE_MS = 5000;
const AT_ONCE = 32;

/** Time until the provider's metadata is read again, in milliseconds. */
const DISCOVERED_MS = 3_600_000;

/** Tolerated deviation of the provider's clock, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** Time that a logout token is valid after its `iat`, in seconds. */
const LOGOUT_SECONDS = 300;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Only algorithms with a key that the provider publishes: if the client secret were a key, anyone who learns it could
 * sign.
 */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

type Discovered = { config: client.Configuration; keys: JWTVerifyGetKey; atMs: number };

/**
 * The OpenID Connect provider of an installation. Its metadata is read at the first sign-in and cached. An outage of
 * the provider delays only its own sign-ins, and those by seconds.
 */
export class OpenIdProvider {
  readonly settings: OpenIdSettings;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #deadlineMs: number;
  readonly #fetch: ReturnType<typeof createBoundedFetch>;
  #discovered: Discovered | null = null;
  #discovering: Promise<Discovered> | null = null;

  constructor(
    settings: OpenIdSettings,
    { logger, now, deadlineMs = DEADLINE_MS }: { logger: Logger; now: () => number; deadlineMs?: number },
  ) {
    this.settings = settings;
    this.#logger = logger;
    this.#now = now;
    this.#deadlineMs = deadlineMs;
    this.#fetch = createBoundedFetch({ bytes: RESPONSE_BYTES, deadlineMs, atOnce: AT_ONCE }, 'sign_in');
  }

  /**
   * Returns the URL where a person signs in at the provider. Rejects with `PeerAway` if its metadata is not cached and
   * it is away.
   */
  async authorizeUrl({ state, nonce, verifier }: Checks, redirectUri: string): Promise<string> {
    const { config } = await this.#discover();
    return client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.settings.scopes,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  /** Exchanges the code of a visit for the person's claims. `url` is the return address with the visit's own query. */
  async authorize(url: URL, { state, nonce, verifier }: Checks): Promise<Authorization> {
    try {
      const { config } = await this.#discover();
      const tokens = await client.authorizationCodeGrant(config, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) return { outcome: 'refused', reason: 'there is no ID token' };
      const person = await this.#readPerson(config, claims, tokens.access_token);
      return person === null
        ? { outcome: 'refused', reason: 'sub must have 1 to 255 characters of ASCII' }
        : { outcome: 'granted', issuer: claims.iss, person };
    } catch (error) {
      return failureOf(error);
    }
  }

  /**
   * Reads claims that the ID token lacks from userinfo, whose `sub` must be the same. The token's own claims take
   * precedence.
   */
  async #readPerson(
    config: client.Configuration,
    claims: client.IDToken,
    accessToken: string,
  ): Promise<OpenIdPerson | null> {
    const { roleClaim } = this.settings;
    const isWhole = !lacksClaims(claims, roleClaim) || config.serverMetadata().userinfo_endpoint === undefined;
    const more: Partial<client.UserInfoResponse> = isWhole
      ? {}
      : await client.fetchUserInfo(config, accessToken, claims.sub);
    // `email_verified` applies only to the address in the same source.
    const isFromToken =
      claims.email !== undefined && (claims['email_verified'] !== undefined || more.email !== claims.email);
    const { email, email_verified: isVerified } = isFromToken ? claims : more;
    return readPerson({ ...more, ...claims, email, email_verified: isVerified }, roleClaim);
  }

  /**
   * Reads a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). The caller ensures that it is used only once.
   */
  async readLogout(token: string): Promise<LogoutReading> {
    try {
      const { config, keys } = await this.#discover();
      const { issuer } = config.serverMetadata();
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience: this.settings.clientId,
        algorithms: ALGORITHMS,
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: LOGOUT_SECONDS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(this.#now()),
      });
      const problem = problemOfLogout(payload, protectedHeader.typ);
      if (problem !== null) return { outcome: 'refused', reason: problem };
      const { sub, sid, jti = '' } = payload;
      return {
        outcome: 'good',
        logout: {
          issuer,
          subject: isMark(sub) ? sub : null,
          sid: isMark(sid) ? sid : null,
          tokenId: jti,
          expiresAtMs: this.#now() + (LOGOUT_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS) * 1000,
        },
      };
    } catch (error) {
      const { outcome, reason } = failureOf(error);
      return { outcome: outcome === 'away' ? 'away' : 'refused', reason };
    }
  }

  /** Returns cached metadata while it is read again; concurrent first callers share one read. */
  async #discover(): Promise<Discovered> {
    const known = this.#discovered;
    // If the clock was set back, the packages never read new keys with metadata of a later time.
    if (known !== null && Math.abs(this.#now() - known.atMs) < DISCOVERED_MS) return known;
    this.#discovering ??= this.#read().finally(() => (this.#discovering = null));
    if (known === null) return await this.#discovering;
    this.#discovering.catch((error: unknown) =>
      this.#logger.warn({ error: failureOf(error).reason }, 'sign_in.provider_not_read'),
    );
    return known;
  }

  async #read(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.settings;
    const server = new URL(issuer);
    const fetchBounded: client.CustomFetch = (url, options) => this.#fetch(url, options);
    const config = await client.discovery(
      server,
      clientId,
      { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      authenticate(clientSecret),
      {
        [client.customFetch]: fetchBounded,
        timeout: this.#deadlineMs / 1000,
        execute: [
          client.enableNonRepudiationChecks,
          ...(server.protocol === 'http:' ? [client.allowInsecureRequests] : []),
        ],
      },
    );
    const { jwks_uri: keysUrl = '' } = config.serverMetadata();
    if (!URL.canParse(keysUrl)) throw new Error('it publishes no keys (jwks_uri)');
    const keys = createRemoteJWKSet(new URL(keysUrl), {
      [joseFetch]: (url, { headers }) => this.#fetch(url, { headers }),
      timeoutDuration: this.#deadlineMs,
    });
    this.#discovered = { config, keys, atMs: this.#now() };
    return this.#discovered;
  }
}

/** Uses HTTP Basic unless the provider accepts the secret only in the form. */
function authenticate(clientSecret: string | null): client.ClientAuth {
  if (clientSecret === null) return client.None();
  const [basic, form] = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)];
  // oxlint-disable-next-line max-params -- the package calls it with these
  return (server, metadata, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isForm = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    return (isForm ? form : basic)(server, metadata, body, headers);
  };
}

function problemOfLogout(payload: Readonly<Record<string, unknown>>, type: string | undefined): string | null {
  const { events, nonce, sub, sid, jti } = payload;
  if (type !== undefined && !/^(?:application\/)?(?:logout\+jwt|jwt)$/i.test(type))
    return `typ is not that of a logout token`;
  const isEvent = typeof events === 'object' && events !== null && Object.hasOwn(events, LOGOUT_EVENT);
  if (!isEvent) return 'events has no logout event';
  if (nonce !== undefined) return 'there is a nonce, as in an ID token';
  if (!isMark(jti)) return 'jti must have 1 to 255 characters of ASCII';
  return isMark(sub) || isMark(sid) ? null : 'there is neither sub nor sid';
}

/** OAuth errors of the token endpoint that another sign-in resolves. */
const STALE_ERRORS = new Set(['invalid_grant', 'expired_token']);

function failureOf(error: unknown): { outcome: 'stale' | 'refused' | 'away'; reason: string } {
  const away = [error, causeOf(error)].find((one) => one instanceof PeerAway);
  if (away !== undefined) return { outcome: 'away', reason: away.message };
  if (error instanceof client.ResponseBodyError)
    return {
      outcome: STALE_ERRORS.has(error.error) ? 'stale' : 'refused',
      reason: `the provider responded with ${wordOf(error.error)}`,
    };
  // A provider that follows RFC 6749 responds so to a wrong secret.
  if (error instanceof client.WWWAuthenticateChallengeError) {
    const code = error.cause.map(({ parameters }) => parameters.error).find((found) => found !== undefined);
    return { outcome: 'refused', reason: `the provider responded with ${wordOf(code ?? '')} (${error.status})` };
  }
  if (error instanceof client.AuthorizationResponseError)
    return { outcome: 'refused', reason: `the provider reported ${wordOf(error.error)}` };
  if (error instanceof errors.JWKSTimeout) return { outcome: 'away', reason: 'its keys did not arrive in time' };
  // These messages are the package's own: they name the problem and do not quote the response.
  if (error instanceof Error) return { outcome: 'refused', reason: [error.message, detailOf(error)].join('') };
  throw error;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** Returns the underlying cause that the package found, such as which claim is wrong. */
function detailOf(error: Error): string {
  const cause = causeOf(error);
  return cause instanceof Error && cause.message !== error.message ? ` (${cause.message})` : '';
}

function wordOf(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'an error';
}
