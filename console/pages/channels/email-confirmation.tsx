import { parseEmailAddress } from '../../../core/alerts/email-address.ts';
import { api } from '../../client/api.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { toast } from '../../parts/toast.tsx';

type AddressProps = { address: string; onAddress: (address: string) => void; error?: string | null | undefined };

/** The address of a new email channel. */
export function AddressField({ address, onAddress, error }: AddressProps) {
  return (
    <TextField
      label="Email address"
      type="email"
      required
      autocomplete="off"
      placeholder="oncall@example.com"
      maxLength={254}
      value={address}
      onValue={onAddress}
      error={error}
      hint="A link to confirm it is sent there. No alerts are sent until it is confirmed."
    />
  );
}

/** What is wrong with an address; null if nothing. */
export function judgeAddress(address: string): string | null {
  if (address.trim() === '') return 'Enter an email address';
  return parseEmailAddress(address).ok ? null : 'Enter one address, like oncall@example.com';
}

/** What to do after a confirmation was sent. */
export function EmailSteps({ id, address }: { id: string; address: string | undefined }) {
  return (
    <>
      <p class="text-sm">
        A message with a link was sent to {address === undefined ? 'the address' : <b>{address}</b>}. Open the link and
        confirm there.
      </p>
      <div class="mt-4">
        <ResendConfirmation id={id} />
      </div>
    </>
  );
}

/** Sends the confirmation of a channel again. */
export function ResendConfirmation({ id }: { id: string }) {
  const action = useAction();
  const resend = () =>
    action.run(async () => {
      await api.post('/channels/{id}/confirmation', { path: { id } });
      toast('Confirmation sent. Links sent before no longer work');
    });
  return (
    <Button size="small" busy={action.isBusy.value} onClick={() => void resend()}>
      Send confirmation again
    </Button>
  );
}
