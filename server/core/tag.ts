import type { Iso, PackageName } from './identity.ts'

/** A mutable name of a version, as npm's `latest`. */
export interface Tag {
  readonly tag: string
  readonly version: string
  readonly by: string
  readonly at: Iso
}

/** The tags of one package as they lie on disk beside its manifests. */
export interface TagList {
  readonly schema: 1
  readonly of: PackageName
  readonly tags: readonly Tag[]
}

const isTag = (value: Partial<Tag> | null): boolean =>
  [value?.tag, value?.version, value?.by, value?.at].every(field => typeof field === 'string')

/** The tags of a package from their JSON. @throws Error with the reason when it is not that */
export function readTagList(json: unknown): TagList {
  const value = json as Partial<TagList> | null
  const isWhole =
    value?.schema === 1 &&
    [value.of?.format, value.of?.codename, value.of?.name].every(field => typeof field === 'string') &&
    Array.isArray(value.tags) &&
    value.tags.every(isTag)
  if (!isWhole) throw new Error('it is not a list of tags of schema 1')
  return value as TagList
}
