import { Component, type ComponentType, type VNode } from 'preact';

/** Draws a part anew only where one of its properties is another than before. */
export function memo<Props extends object>(part: (props: Props) => VNode | null): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const before = Object.entries(this.props);
      return (
        before.length !== Object.keys(next).length ||
        before.some(([name, value]) => next[name as keyof Props] !== value)
      );
    }

    override render(props: Props) {
      return part(props);
    }
  };
}
