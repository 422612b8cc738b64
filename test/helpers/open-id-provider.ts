import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { Provider, type Context } from 'oidc-provider';
import { LASTING_CONNECTIONS } from './http-server.ts';

/** A user at the provider. */
export type ProviderUser = {
  email?: string;
  email_verified?: unknown;
  name?: string;
  groups?: unknown;
  [claim: string]: unknown;
};

/** Replaces the next ID tokens: their claims, or how they are signed. */
type Tampering = (claims: JWTPayload) => Promise<string>;

/** A real provider (npm `oidc-provider`) with one client, on a free port of 127.0.0.1. */
export type OpenIdProviderServer = {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Users by `sub`. */
  users: Map<string, ProviderUser>;
  /** Opens the URL and signs in as a user would; returns the URL to which the browser is redirected. */
  signIn(authorizeUrl: string, sub: string): Promise<string>;
  /** Signs claims with the provider's key. */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** Replaces ID tokens before they are sent; null = they are sent unchanged. */
  tamper: Tampering | null;
  /** Notifies a URL that a user signed out, as the provider does. */
  logOut(address: string, sub: string, sid: string): Promise<void>;
  /** Requested paths, in order. */
  requests: string[];
  /** While true, every response is a 503. */
  isAway: boolean;
  close(): Promise<void>;
};

const CLIENT_ID = 'spotcheck';
const CLIENT_SECRET = 'a secret that must be nowhere: +/=&%';

/** Starts the provider; the caller closes it. */
export async function startOpenIdProvider(): Promise<OpenIdProviderServer> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  const users: OpenIdProviderServer['users'] = new Map();
  const requests: string[] = [];
  const server = createServer(LASTING_CONNECTIONS);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sign: OpenIdProviderServer['sign'] = (claims, header = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header }).sign(privateKey);

  const provider: Provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: ['http://127.0.0.1/connect/open-id'],
        backchannel_logout_uri: 'http://127.0.0.1/connect/open-id/logout',
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['a key of cookies'] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups', 'resource_access'],
    },
    scopes: ['openid', 'email', 'profile', 'groups'],
    // The package's fetch refuses loopback addresses, but has to send logout notifications to one.
    fetch: (url: string, { dispatcher: _guard, ...options }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, options),
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_context: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: Context, sub: string) => ({
      accountId: sub,
      claims: () => ({ ...users.get(sub), sub }),
    }),
    async loadExistingGrant({ oidc }: Required<Context>) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(oidc.params.scope);
      await grant.save();
      return grant;
    },
    ttl: { Session: 3600, Grant: 3600, Interaction: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
  });
  // Each API process has a different port.
  provider.Client.prototype.redirectUriAllowed = () => true;

  const running: OpenIdProviderServer = {
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    users,
    requests,
    tamper: null,
    isAway: false,
    sign,
    signIn: (authorizeUrl, sub) => signInAt(issuer, authorizeUrl, sub),
    async logOut(address, sub, sid) {
      const client = await provider.Client.find(CLIENT_ID);
      client.backchannelLogoutUri = address;
      await client.backchannelLogout(sub, sid);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  provider.use(async (context, next) => {
    await next();
    const { tamper } = running;
    if (tamper === null || context.path !== '/token' || !hasIdToken(context.body)) return;
    context.body = { ...context.body, id_token: await tamper(decodeJwt(context.body.id_token)) };
  });
  const handle = provider.callback();
  server.on('request', async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', issuer);
    requests.push(pathname);
    if (running.isAway) return void response.writeHead(503).end();
    if (!pathname.startsWith('/interaction/')) return handle(request, response);
    if (request.method === 'GET') return void response.setHeader('Content-Type', 'text/html').end(SIGN_IN_FORM);
    const login = new URLSearchParams(await text(request)).get('login') ?? '';
    const isKnown = users.has(login);
    await provider.interactionFinished(
      request,
      response,
      isKnown ? { login: { accountId: login } } : { error: 'access_denied', error_description: 'unknown' },
    );
  });
  return running;
}

const SIGN_IN_FORM = `<!doctype html><html lang="en"><title>The provider</title>
<form method="post"><label>Login <input name="login"></label> <button>Continue</button></form></html>`;

function hasIdToken(body: unknown): body is { id_token: string } {
  return typeof body === 'object' && body !== null && 'id_token' in body && typeof body.id_token === 'string';
}

/** Acts as a browser at the provider: keeps cookies and follows redirects until one leads to another site. */
async function signInAt(issuer: string, authorizeUrl: string, sub: string): Promise<string> {
  const jar = new Map<string, string>();
  let [url, method] = [authorizeUrl, 'GET'];
  for (let step = 0; step < 10; step += 1) {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { Cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(method === 'POST' && { body: new URLSearchParams({ login: sub }) }),
    });
    await response.text();
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) {
      if (!new URL(url).pathname.startsWith('/interaction/') || method === 'POST')
        throw new Error(`The provider answered ${response.status} at ${url}`);
      method = 'POST';
      continue;
    }
    [url, method] = [new URL(location, url).href, 'GET'];
    if (!url.startsWith(issuer)) return url;
  }
  throw new Error('The provider leads in a circle');
}
