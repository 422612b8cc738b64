import type { ExecutionContext, TestFn } from 'ava';
import { pino } from 'pino';
import { OpenIdProvider, type OpenIdSettings } from '../../../../api/accounts/open-id/provider.ts';
import {
  startOpenIdProvider,
  type OpenIdProviderServer,
  type ProviderUser,
} from '../../../helpers/open-id-provider.ts';
import { send, withApiServer, type Answer, type ApiServer } from '../../api-server.ts';

export type OpenIdContext = { api: ApiServer };
type Test = ExecutionContext<OpenIdContext>;

/** Returns the settings of an operator who configured only the provider. */
export function settingsOf(provider: OpenIdProviderServer, different: Partial<OpenIdSettings> = {}): OpenIdSettings {
  return {
    issuer: provider.issuer,
    clientId: provider.clientId,
    clientSecret: provider.clientSecret,
    name: 'Keycloak',
    scopes: 'openid email profile groups',
    roleClaim: null,
    roles: [],
    provisionDomains: [],
    linksByEmail: false,
    isOnly: false,
    ...different,
  };
}

/** Before the tests of a file, starts a provider and an API that uses it. */
export async function withOpenId(test: TestFn<OpenIdContext>): Promise<OpenIdProviderServer> {
  const provider = await startOpenIdProvider();
  withApiServer(test, { openId: openIdOf(provider) });
  test.after.always(() => provider.close());
  return provider;
}

/** Returns the client with which an API process calls the provider. */
export function openIdOf(provider: OpenIdProviderServer, different: Partial<OpenIdSettings> = {}): OpenIdProvider {
  // The deadline is longer than a busy machine delays any response.
  const tools = { logger: pino({ level: 'silent' }), now: Date.now, deadlineMs: 60_000 };
  return new OpenIdProvider(settingsOf(provider, different), tools);
}

/** A page that a browser received: its status, HTML, and redirect target, null if there is none. */
export type Page = { status: number; html: string; location: string | null };

/** A browser that keeps the cookies of one API process. */
export class Browser {
  readonly #base: string;
  readonly cookies: Map<string, string>;

  constructor(base: string, cookies: ReadonlyMap<string, string> = new Map()) {
    this.#base = base;
    this.cookies = new Map(cookies);
  }

  // oxlint-disable-next-line max-params -- a call reads like the request that it sends
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const answer: Answer = await send(`${this.#base}/v1${path}`, {
      method,
      body,
      headers: { Cookie: this.#header(), ...headers },
    });
    this.#keep(answer.headers);
    return answer;
  }

  /** Opens the path of a URL on this API process; ignores the host, as a proxy would translate it. */
  async open(url: string): Promise<Page> {
    const { pathname, search } = new URL(url);
    const response = await fetch(`${this.#base}${pathname}${search}`, {
      redirect: 'manual',
      headers: { Cookie: this.#header() },
    });
    this.#keep(response.headers);
    return { status: response.status, html: await response.text(), location: response.headers.get('location') };
  }

  /** Starts a sign-in; returns the URL at the provider. */
  async begin(body: Record<string, unknown> = {}): Promise<string> {
    const answer = await this.call('POST', '/session/open-id', body);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return String(answer.json['url']);
  }

  /** Signs in as a user of the provider. */
  async signIn(provider: OpenIdProviderServer, sub: string, body: Record<string, unknown> = {}): Promise<Page> {
    return await this.open(await provider.signIn(await this.begin(body), sub));
  }

  /** Returns the current session, as the console requests it. */
  async session(): Promise<Answer> {
    return await this.call('GET', '/session');
  }

  #header(): string {
    return [...this.cookies].map((pair) => pair.join('=')).join('; ');
  }

  #keep(headers: Headers): void {
    for (const cookie of headers.getSetCookie()) {
      const [, name = '', value = '', rest = ''] = /^([^=]+)=([^;]*)(.*)/.exec(cookie) ?? [];
      if (/Max-Age=0\b/.test(rest)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}

let people = 0;

/** Creates a user at the provider; returns their `sub`. */
export function addProviderUser(provider: OpenIdProviderServer, claims: ProviderUser = {}): string {
  people += 1;
  const sub = `sub-${people}`;
  provider.users.set(sub, { email: `${sub}@example.com`, email_verified: true, name: `Person ${people}`, ...claims });
  return sub;
}

/** Returns the entries of an account's audit log, newest first. */
export async function auditOf({ context }: Test, tenantId: string): Promise<Record<string, unknown>[]> {
  const { rows } = await context.api.database.pool.query<Record<string, unknown>>(
    'SELECT action, actor_kind, object_id, changes, address FROM audit_log WHERE tenant_id = $1 ORDER BY no DESC',
    [tenantId],
  );
  return rows;
}
