import type { ComponentChildren } from 'preact';
import { isOwnPath } from '../../core/accounts/open-id.ts';
import { sentenceOf } from '../client/answer.ts';
import { request, type Schemas } from '../client/api.ts';
import { withoutBase } from '../client/base-path.ts';
import { useFormAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { FormError } from '../parts/field.tsx';
import { Logo } from '../parts/icon.tsx';
import { useLoad, type Load } from '../parts/load.tsx';

/** The frame of pages for users without a session. */
export function OpenFrame({
  title,
  lead,
  children,
}: {
  title: string;
  lead?: ComponentChildren | undefined;
  children: ComponentChildren;
}) {
  return (
    // Aligned to the top: centered content would move when an error appears below it.
    <main class="grid h-full content-start justify-items-center overflow-y-auto px-4 pb-8 pt-[max(2rem,16vh)]">
      <div class="w-full max-w-[22rem]">
        <div class="mb-7 flex items-center gap-2.5">
          <Logo class="size-8" />
          <span class="heading text-lg">Spotcheck</span>
        </div>
        <h1 class="heading break-words text-2xl">{title}</h1>
        {lead !== undefined && <p class="mt-1 break-words text-sm text-soft text-pretty">{lead}</p>}
        <div class="mt-5">{children}</div>
      </div>
    </main>
  );
}

/** Loads the sign-in methods of the installation; null until they are loaded. One that reports none takes passwords. */
export function useSignInMethods(): Load<Schemas['SignInMethods']> {
  return useLoad(
    (signal) => request<Schemas['SignInMethods']>('GET', '/sign-in-methods', { signal, answersOwn401: true }),
    [],
  );
}

/** Goes to the provider, which sends the signed-in user back to the present page. */
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
