import type { Request, Response } from 'express';
import { LIFETIME_SECONDS } from '../../../models/accounts/sessions.ts';
import { KEPT_SECONDS } from '../../../models/accounts/sign-in-clients.ts';
import { basePathOf } from '../../middleware/request-form.ts';

const SECRET = /^[A-Za-z0-9_-]{43}$/;
/** What `SecretBox.seal` makes, of what fits into a cookie. */
const SEALED = /^v1\.[\w-]{1,100}\.[\w-]{1,3500}$/;
const CELL_NAME = /^[a-z][a-z0-9]{0,15}$/;

/** For how long a sign-in at a provider may take, in seconds. */
export const VISIT_SECONDS = 600;

/** A cookie that holds a secret, or the name of a cell, on one installation. */
export type SecretCookie = {
  /** What a request brings; null where it brings none, several, or something that cannot be one. */
  read: (request: Request) => string | null;
  give: (response: Response, secret: string) => void;
  take: (response: Response) => void;
};

/** Makes the cookie of a session. */
export function sessionCookie(publicUrl: string): SecretCookie {
  return secretCookie(publicUrl, 'spotcheck', LIFETIME_SECONDS);
}

/** Makes the cookie that says which cell a browser's pages come from, behind a router; it opens nothing. */
export function cellCookie(publicUrl: string): SecretCookie {
  return namedCookie(publicUrl, { plainName: 'spotcheck-cell', maxAgeSeconds: KEPT_SECONDS, form: CELL_NAME });
}

/** Makes the cookie that binds a visit at an OpenID Connect provider to the browser that began it. */
export function visitCookie(publicUrl: string): SecretCookie {
  return namedCookie(publicUrl, { plainName: 'spotcheck-open-id', maxAgeSeconds: VISIT_SECONDS, form: SEALED });
}

/** Makes the cookie by which a browser that signed in is recognized; it opens nothing. */
export function browserCookie(publicUrl: string): SecretCookie {
  return secretCookie(publicUrl, 'spotcheck-browser', KEPT_SECONDS);
}

/** Makes a cookie that holds a secret of ours. */
export function secretCookie(publicUrl: string, plainName: string, maxAgeSeconds: number): SecretCookie {
  return namedCookie(publicUrl, { plainName, maxAgeSeconds, form: SECRET });
}

/**
 * Makes a cookie of an installation. By https its name begins with `__Host-`: browsers take such a one only from that
 * very host, over TLS, for all of its paths (RFC 6265bis, 4.1.3.2), so that no neighbouring host can plant one. The
 * path of `PUBLIC_URL` is in the name, for two installations may share a host.
 */
function namedCookie(
  publicUrl: string,
  { plainName, maxAgeSeconds, form }: { plainName: string; maxAgeSeconds: number; form: RegExp },
): SecretCookie {
  const isSecure = publicUrl.startsWith('https:');
  const suffix = basePathOf(publicUrl).replaceAll('/', '-');
  const name = `${isSecure ? '__Host-' : ''}${plainName}${suffix}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read({ headers: { cookie = '' } }) {
      const [secret = '', ...others] = cookie.split(';').flatMap((pair) => {
        const [key = '', ...value] = pair.split('=');
        return key.trim() === name ? [value.join('=').trim()] : [];
      });
      return others.length === 0 && form.test(secret) ? secret : null;
    },
    give: (response, secret) =>
      void response.append('Set-Cookie', `${name}=${secret}; Max-Age=${maxAgeSeconds}; ${attributes}`),
    take: (response) => void response.append('Set-Cookie', `${name}=; Max-Age=0; ${attributes}`),
  };
}
