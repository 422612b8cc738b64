import { MOST_TAGS, sortTags, splitTags, TAG } from '../../core/monitors/tags.ts';

/** Finds what is wrong with tags as they are entered. */
export function judgeTags(text: string): string | undefined {
  const tags = splitTags(text);
  const bad = tags.find((tag) => !TAG.test(tag));
  if (bad !== undefined) return `“${bad.slice(0, 40)}” is not a tag: use letters, digits and . _ / - like env:prod`;
  return sortTags(tags).length > MOST_TAGS ? `At most ${MOST_TAGS} tags` : undefined;
}
