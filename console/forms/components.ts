import type { Schemas } from '../client/shapes.ts';

type Component = Schemas['VendorComponent'];

/** What a component is called where it is watched: its name, or its id where several of its page have that name. */
export function watchName({ id, name }: Component, listed: readonly Component[]): string {
  return listed.some((other) => other.id !== id && fold(other.name) === fold(name)) ? id : name;
}

/** True where what is watched stands for the component, by its id or by its name. */
export function isWatched({ id, name }: Component, watched: readonly string[]): boolean {
  return watched.some((text) => fold(text) === fold(id) || fold(text) === fold(name));
}

/** The watched ones with the component, or without it. */
export function withComponent(
  component: Component,
  { listed, watched, isOn }: { listed: readonly Component[]; watched: readonly string[]; isOn: boolean },
): readonly string[] {
  const others = watched.filter((text) => text.trim() !== '' && !isWatched(component, [text]));
  return isOn ? [...others, watchName(component, listed)] : others;
}

/** What is watched though the page does not list it, or not any more. */
export function unlisted(watched: readonly string[], listed: readonly Component[]): readonly string[] {
  return watched.filter((text) => !listed.some((component) => isWatched(component, [text])));
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}
