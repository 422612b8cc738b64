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

/** Where the provider is and who we are there; `clientSecret` null = a public client. */
export type OpenIdSettings = OpenIdPolicy &
  Readonly<{ issuer: string; clientId: string; clientSecret: string | null; scopes: string }>;

/** What one sign-in was begun with; all three are random. */
export type Checks = { state: string; nonce: string; verifier: string };

/**
 * What came of a visit that returned with a code. `stale`: the code was used or is too old, another sign-in helps.
 * `refused`: what came cannot be trusted, or the provider does not accept us. `away`: it does not answer. `reason` is
 * for the log and holds no secret.
 */
export type Authorization =
  | { outcome: 'granted'; issuer: string; person: OpenIdPerson }
  | { outcome: 'stale' | 'refused' | 'away'; reason: string };

/** What a logout token says, or why it is none; `away` = the provider's keys could not be read. */
export type LogoutReading =
  | { outcome: 'good'; logout: ProviderLogout }
  | { outcome: 'refused' | 'away'; reason: string };

/** An answer of a provider takes 1 to 30 kB; who is in thousands of groups has more. */
const ANSWER_BYTES = 262_144;
/** Each request to the provider; a sign-in makes up to four, one after the other. */
const DEADLINE_MS = 5000;
const AT_ONCE = 32;

/** What the provider says of itself is read again this long after, in milliseconds; until then it is kept. */
const DISCOVERED_MS = 3_600_000;

/** How far the provider's clock may be off, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** A logout token is good for this long after its `iat`, in seconds. */
const LOGOUT_SECONDS = 300;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Those with a key that the provider publishes: with the client's secret as a key, whoever learns it could sign. */
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
 * The OpenID Connect provider of an installation. What it says of itself is read at the first sign-in and kept; while
 * it is away nothing but its own sign-ins waits, and those for seconds.
 */
export class OpenIdProvider {
  readonly settings: OpenIdSettings;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #fetch = createBoundedFetch({ bytes: ANSWER_BYTES, deadlineMs: DEADLINE_MS, atOnce: AT_ONCE }, 'sign_in');
  #discovered: Discovered | null = null;
  #discovering: Promise<Discovered> | null = null;

  constructor(settings: OpenIdSettings, { logger, now }: { logger: Logger; now: () => number }) {
    this.settings = settings;
    this.#logger = logger;
    this.#now = now;
  }

  /** The address where a person signs in at the provider; rejects with `PeerAway` where it is not known and away. */
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

  /** Exchanges the code of a visit for who the person is. `url` is the return address with the visit's own query. */
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

  /** What the ID token lacks is asked of userinfo, whose `sub` must be the same; the token's own claims come first. */
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
    // `email_verified` is about the address beside it, and belongs to that alone.
    const isFromToken =
      claims.email !== undefined && (claims['email_verified'] !== undefined || more.email !== claims.email);
    const { email, email_verified: isVerified } = isFromToken ? claims : more;
    return readPerson({ ...more, ...claims, email, email_verified: isVerified }, roleClaim);
  }

  /** Reads a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). The caller sees to it that it is good once. */
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

  /** What is known is used while it is read again; one reading serves all who wait for the first. */
  async #discover(): Promise<Discovered> {
    const known = this.#discovered;
    if (known !== null && this.#now() - known.atMs < DISCOVERED_MS) return known;
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
        timeout: DEADLINE_MS / 1000,
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
      timeoutDuration: DEADLINE_MS,
    });
    this.#discovered = { config, keys, atMs: this.#now() };
    return this.#discovered;
  }
}

/** HTTP Basic unless the provider says that it takes the secret in the form alone. */
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

/** OAuth errors of the token endpoint that another sign-in helps against. */
const STALE_ERRORS = new Set(['invalid_grant', 'expired_token']);

function failureOf(error: unknown): { outcome: 'stale' | 'refused' | 'away'; reason: string } {
  const away = [error, causeOf(error)].find((one) => one instanceof PeerAway);
  if (away !== undefined) return { outcome: 'away', reason: away.message };
  if (error instanceof client.ResponseBodyError)
    return {
      outcome: STALE_ERRORS.has(error.error) ? 'stale' : 'refused',
      reason: `the provider responded with ${wordOf(error.error)}`,
    };
  // What a provider that keeps to RFC 6749 answers to a wrong secret.
  if (error instanceof client.WWWAuthenticateChallengeError) {
    const code = error.cause.map(({ parameters }) => parameters.error).find((found) => found !== undefined);
    return { outcome: 'refused', reason: `the provider responded with ${wordOf(code ?? '')} (${error.status})` };
  }
  if (error instanceof client.AuthorizationResponseError)
    return { outcome: 'refused', reason: `the provider reported ${wordOf(error.error)}` };
  if (error instanceof errors.JWKSTimeout) return { outcome: 'away', reason: 'its keys did not arrive in time' };
  // Their messages are the package's own and name what is wrong, not what came.
  if (error instanceof Error) return { outcome: 'refused', reason: [error.message, detailOf(error)].join('') };
  throw error;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** What the package found underneath, such as which claim it was. */
function detailOf(error: Error): string {
  const cause = causeOf(error);
  return cause instanceof Error && cause.message !== error.message ? ` (${cause.message})` : '';
}

function wordOf(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'an error';
}
