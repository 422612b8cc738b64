import { isOwnPath } from '../../core/accounts/open-id.ts';
import { withoutBase } from '../client/base-path.ts';
import { sentenceOf } from '../client/failure.ts';
import { request } from '../client/request.ts';
import type { Schemas } from '../client/shapes.ts';
import { useFormAction } from './action.ts';
import { Button } from './button.tsx';
import { FormError } from './field.tsx';
import { useLoad, type Load } from './load.tsx';

/** How people sign in here; null until it is known. An installation that does not say so takes passwords. */
export function useSignInMethods(): Load<Schemas['SignInMethods']> {
  return useLoad(
    (signal) => request<Schemas['SignInMethods']>('GET', '/sign-in-methods', { signal, answersOwn401: true }),
    [],
  );
}

/** Goes to the provider, which sends the browser back to where it is now, signed in. */
async function leaveForProvider(body: Schemas['OpenIdStart']): Promise<void> {
  const { url } = await request<Schemas['OpenIdAddress']>('POST', '/session/open-id', { body, answersOwn401: true });
  location.assign(url);
}

/** A button that signs in at the OpenID Connect provider, or accepts an invitation with an account there. */
export function ProviderButton({
  label,
  tone,
  invitation,
}: {
  label: string;
  tone: 'primary' | 'plain';
  invitation?: string;
}) {
  const { isBusy, error, run } = useFormAction();
  const here = `${withoutBase(location.pathname) ?? '/'}${location.search}`;
  const body = invitation === undefined ? (isOwnPath(here) ? { return_to: here } : {}) : { invitation };
  return (
    <div class="flex flex-col gap-3">
      <Button
        tone={tone}
        icon="key"
        class="w-full"
        busy={isBusy.value}
        onClick={() => void run(() => leaveForProvider(body))}
      >
        {label}
      </Button>
      <FormError text={error.value === null ? null : sentenceOf(error.value)} />
    </div>
  );
}
