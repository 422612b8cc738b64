import type { Request, Response } from 'express';
import { LIFETIME_SECONDS } from '../../../models/accounts/sessions.ts';
import { KEPT_SECONDS } from '../../../models/accounts/sign-in-clients.ts';
import { basePathOf } from '../../middleware/request-form.ts';

const SECRET = /^[A-Za-z0-9_-]{43}$/;
/** Format of a `SecretBox.seal` result that fits into a cookie. */
const SEALED = /^v1\.[\w-]{1,100}\.[\w-]{1,3500}$/;
const CELL_NAME = /^[a-z][a-z0-9]{0,15}$/;

/** Time limit for a sign-in at a provider, in seconds. */
export const VISIT_SECONDS = 600;

/** A cookie that holds a secret, or the name of a cell, on one installation. */
export type SecretCookie = {
  /** Returns the value in a request; null if there is none, several, or a malformed one. */
  read: (request: Request) => string | null;
  give: (response: Response, secret: string) => void;
  take: (response: Response) => void;
};

/** Makes the session cookie. */
export function sessionCookie(publicUrl: string): SecretCookie {
  return secretCookie(publicUrl, 'spotcheck', LIFETIME_SECONDS);
}

/** Makes the cookie that names the cell a browser's pages come from, behind a router; it grants no access. */
export function cellCookie(publicUrl: string): SecretCookie {
  return namedCookie(publicUrl, { plainName: 'spotcheck-cell', maxAgeSeconds: KEPT_SECONDS, form: CELL_NAME });
}

/** Makes the cookie that binds a visit at an OpenID Connect provider to the browser that began it. */
export function visitCookie(publicUrl: string): SecretCookie {
  return namedCookie(publicUrl, { plainName: 'spotcheck-open-id', maxAgeSeconds: VISIT_SECONDS, form: SEALED });
}

/** Makes the cookie that identifies a browser that has signed in; it grants no access. */
export function browserCookie(publicUrl: string): SecretCookie {
  return secretCookie(publicUrl, 'spotcheck-browser', KEPT_SECONDS);
}

/** Makes a cookie that holds a secret generated here. */
export function secretCookie(publicUrl: string, plainName: string, maxAgeSeconds: number): SecretCookie {
  return namedCookie(publicUrl, { plainName, maxAgeSeconds, form: SECRET });
}

/**
 * Makes a cookie of an installation. With https its name begins with `__Host-`: browsers accept such a cookie only from
 * that exact host, over TLS, for all of its paths (RFC 6265bis, 4.1.3.2), so no neighbouring host can plant one. The
 * name contains the path of `PUBLIC_URL`, since two installations may share a host.
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
