import { Component, type ComponentChildren } from 'preact';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';

/**
 * Keeps a page that broke from taking the whole console with it. `place` is where one is: elsewhere it is tried anew.
 */
export class Fault extends Component<
  { place: string; children: ComponentChildren },
  { error: unknown; place: string }
> {
  override state = { error: null as unknown, place: this.props.place };

  static override getDerivedStateFromProps(props: { place: string }, state: { error: unknown; place: string }) {
    return props.place === state.place ? null : { error: null, place: props.place };
  }

  override componentDidCatch(error: unknown) {
    this.setState({ error });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Empty
        icon="warning"
        title="This page broke"
        action={
          <Button icon="retry" onClick={() => window.location.reload()}>
            Load it anew
          </Button>
        }
      >
        Nothing was lost on the server, and monitoring goes on. If it happens again, tell whoever runs this service.
      </Empty>
    );
  }
}
