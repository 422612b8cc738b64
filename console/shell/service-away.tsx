import { sentenceOf } from '../client/failure.ts';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';

/** Shown where the service does not even say who is signed in. */
export function ServiceAway({ error }: { error: unknown }) {
  return (
    <Empty
      icon="warning"
      title="Spotcheck does not answer"
      action={
        <Button icon="retry" onClick={() => window.location.reload()}>
          Try again
        </Button>
      }
    >
      {sentenceOf(error)}
    </Empty>
  );
}
