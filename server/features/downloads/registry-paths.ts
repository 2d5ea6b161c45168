import { FORMATS } from '../../formats/index.ts'
import type { Format } from '../../formats/format.ts'

const TREE_PACKAGE = /\.(?:[du]?deb|rpm|apk)$/

/** Formats by the first segment of the addresses of their registries. */
const byRoot = new Map(
  FORMATS.flatMap(({ id, registryClient, fetches }) =>
    registryClient === undefined || fetches === undefined ? [] : [[registryClient.root, { id, fetches }] as const],
  ),
)

/** What the addresses of registries begin with, slash at the end, without the one before: `npm/`. */
export const REGISTRY_ROOTS: readonly string[] = [...byRoot.keys()].map(root => `${root}/`)

/** The format whose registries have this address; undefined for one of a tree. @param path  percent-encoded */
export function registryFormatOf(
  path: string,
): { readonly id: Format['id']; readonly fetches: NonNullable<Format['fetches']> } | undefined {
  const end = path.indexOf('/', 1)
  return end < 0 ? undefined : byRoot.get(path.slice(1, end))
}

/** Whether an address is one of a package: by its ending in a tree, as the format says it in a registry. */
export function isPackagePath(path: string): boolean {
  const format = registryFormatOf(path)
  return format === undefined ? TREE_PACKAGE.test(path) : format.fetches.isFetch(path)
}
