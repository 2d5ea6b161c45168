import { readKind } from './coordinates.ts'

/** What comes first when a version has several main files: what runs. */
const FIRST = ['jar', 'war', 'ear', 'aar', 'zip', 'tar.gz']

/** Lower comes first: what has no classifier and is neither pom, module nor signature; then what has; then the pom. */
function rank(filename: string, begin: string): number {
  const kind = filename.startsWith(begin) ? readKind(filename.slice(begin.length)) : undefined
  if (kind === undefined || /\.(asc|sig|sigstore|sigstore\.json)$/.test(`.${kind.extension}`)) return 5_000
  if (kind.extension === 'pom' && kind.classifier === '') return 3_000
  if (kind.extension === 'module') return 4_000
  const at = FIRST.indexOf(kind.extension)
  return (kind.classifier === '' ? 0 : 3_500) + (at === -1 ? FIRST.length : at)
}

/** The names of a version's files, first the main one: the jar, or the pom where there is nothing else to run. */
export function orderFiles<T extends { readonly filename: string }>(
  files: readonly T[],
  { artifact, version }: { readonly artifact: string; readonly version: string },
): readonly T[] {
  const begin = `${artifact}-${version}`
  return files.toSorted(
    (a, b) => rank(a.filename, begin) - rank(b.filename, begin) || (a.filename < b.filename ? -1 : 1),
  )
}
