/** Types of the parts that tests use; the package has none. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export type Context = {
    req: IncomingMessage;
    res: ServerResponse;
    path: string;
    method: string;
    type: string;
    body: unknown;
    oidc?: { route?: string; client: { clientId: string }; session: { accountId: string }; params: { scope: string } };
  };
  type Client = { backchannelLogoutUri: string; backchannelLogout: (sub: string, sid: string) => Promise<void> };

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    Client: { prototype: { redirectUriAllowed: () => boolean }; find: (id: string) => Promise<Client> };
    Grant: new (of: { clientId: string; accountId: string }) => {
      addOIDCScope: (scope: string) => void;
      save: () => Promise<string>;
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Record<string, unknown>,
    ): Promise<void>;
  }
}
