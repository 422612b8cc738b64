import { CopyText } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';
import { SampleCode } from './samples.tsx';

/** A signing secret, the one time that it can be seen, and how it is used. */
export function SigningSecret({ secret }: { secret: string }) {
  return (
    <div class="flex flex-col gap-5">
      <div>
        <p class="mb-2 flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
          <Icon name="key" class="mt-0.5 size-4" />
          <span>This is the signing secret. Keep it now: it is never shown again, only changed.</span>
        </p>
        <CopyText text={secret} label="Signing secret" />
      </div>
      <div>
        <h3 class="heading text-sm">Verify what arrives</h3>
        <p class="mb-2 text-sm text-soft">
          Every delivery is signed with it. Look at the raw bytes of the body, before anything parses them, and answer
          within 8 seconds with any 2xx.
        </p>
        <SampleCode />
      </div>
    </div>
  );
}
