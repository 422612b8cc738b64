import type { PlainPage } from '../../system/plain-page.ts';

/** A page that ends a visit at the provider without a sign-in. */
export type RefusalPage = Omit<PlainPage, 'link' | 'button'>;

const AGAIN = 'Go back to the sign-in page and start again.';

/** What is wrong with a visit, for the person who made it; `name` is what the provider is called. */
const REFUSALS = {
  notSetUp: () => ({
    status: 404,
    title: 'Single sign-on is not configured',
    sentences: ['No OpenID Connect provider is configured here.', 'Sign in with your email address and password.'],
  }),
  unknown: (name: string) => ({
    status: 400,
    title: 'This sign-in was not started here',
    sentences: [
      'It was started in another browser, under another address of Spotcheck, or another one was started since. You ' +
        'are not signed in.',
      `${AGAIN} The button “Sign in with ${name}” is there.`,
    ],
  }),
  expired: () => ({
    status: 400,
    title: 'This sign-in took too long',
    sentences: ['It must be finished within 10 minutes. You are not signed in.', AGAIN],
  }),
  used: () => ({
    status: 400,
    title: 'This sign-in was already used',
    sentences: ['Its address works once. Nothing was changed.', AGAIN],
  }),
  denied: (name: string) => ({
    status: 400,
    title: `${name} did not sign you in`,
    sentences: ['Access was denied, or you cancelled. You are not signed in.', AGAIN],
  }),
  reported: (name: string) => ({
    status: 400,
    title: `${name} reported an error`,
    sentences: [
      'You are not signed in.',
      `${AGAIN} If that does not help, ask your operator to look at the log of Spotcheck and at the settings there.`,
    ],
  }),
  stale: (name: string) => ({
    status: 400,
    title: 'This sign-in was already used',
    sentences: [`${name} does not accept its code: it works once, for a short time. You are not signed in.`, AGAIN],
  }),
  refused: (name: string) => ({
    status: 502,
    title: `The response of ${name} cannot be trusted`,
    sentences: [
      'It does not belong to this sign-in, or it is not signed as it must be. You are not signed in.',
      `${AGAIN} If that does not help, ask your operator to look at the log of Spotcheck.`,
    ],
  }),
  away: (name: string) => ({
    status: 503,
    title: `${name} cannot be reached`,
    sentences: ['You are not signed in.', `${AGAIN} Your operator can look at the log of Spotcheck.`],
  }),
  noUser: (name: string) => ({
    status: 403,
    title: 'There is no user for you here',
    sentences: [
      `${name} knows you, but no user of Spotcheck is linked to your account there.`,
      `If you have a user: sign in with your password, and link ${name} under Settings, Profile. If not, ask an ` +
        'owner of the account to invite you.',
    ],
  }),
  unverified: (name: string) => ({
    status: 403,
    title: 'Your email address is not verified',
    sentences: [
      `${name} has not verified your email address, so no user can be created for you.`,
      `Verify the address at ${name}, or ask an owner of the account to invite you.`,
    ],
  }),
  noRole: (name: string) => ({
    status: 403,
    title: 'You have no access to Spotcheck',
    sentences: [
      `None of your groups or roles at ${name} may use Spotcheck.`,
      'Ask an administrator there for one that may, then sign in again.',
    ],
  }),
  full: () => ({
    status: 403,
    title: 'The account is full',
    sentences: ['It has reached its limit of members.', 'Ask an owner of the account to remove some.'],
  }),
  noAccount: () => ({
    status: 503,
    title: 'Your user could not be created',
    sentences: [
      'No account is configured for your email domain, or that account was deleted.',
      'Ask your operator to add it to OIDC_PROVISION_DOMAINS.',
    ],
  }),
  gone: () => ({
    status: 403,
    title: 'You are not signed in',
    sentences: ['Your user was changed or removed meanwhile.', AGAIN],
  }),
  invitationOver: () => ({
    status: 404,
    title: 'This invitation is over',
    sentences: ['It was used or revoked, or is older than 7 days.', 'Ask for a new one.'],
  }),
  linkSignedOut: () => ({
    status: 403,
    title: 'Nothing was linked',
    sentences: ['You were signed out of Spotcheck, or are signed in as another user.', 'Sign in, and link it again.'],
  }),
  linkTaken: (name: string) => ({
    status: 409,
    title: 'Nothing was linked',
    sentences: [
      `That account at ${name} belongs to another user of Spotcheck, or you have linked one of ${name} already.`,
      'Unlink it first, under Settings, Profile.',
    ],
  }),
  databaseAway: () => ({
    status: 503,
    title: 'Spotcheck is temporarily unavailable',
    sentences: ['It cannot reach its database. You are not signed in.', 'Start again in a minute.'],
  }),
} as const satisfies Record<string, (name: string) => RefusalPage>;

export type Refusal = keyof typeof REFUSALS;

/** The page of a refusal. */
export function describeRefusal(refusal: Refusal, name: string): RefusalPage {
  return REFUSALS[refusal](name);
}
