import { Component, type ComponentChildren } from 'preact';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';

/**
 * Keeps a page that broke from taking the whole console with it. `path` is where one is: elsewhere it is tried anew.
 */
export class Fault extends Component<{ path: string; children: ComponentChildren }, { error: unknown; path: string }> {
  override state = { error: null as unknown, path: this.props.path };

  static override getDerivedStateFromProps(props: { path: string }, state: { error: unknown; path: string }) {
    return props.path === state.path ? null : { error: null, path: props.path };
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
        Nothing was lost on the server, and monitoring goes on. If it happens again, contact whoever runs this service.
      </Empty>
    );
  }
}
