import type { IndexedManifest } from '../../catalog/queries/search.ts'
import type { Contents } from '../../contents/component.ts'
import { wasScanned } from '../../core/review.ts'

/** A version, and what is known of what it carries. */
export interface Known {
  readonly manifest: IndexedManifest
  readonly contents: Contents | undefined
}

/** Whether the vulnerability data do not name it at all, although an engine answered. */
export const hasNoData = (manifest: IndexedManifest): boolean =>
  wasScanned(manifest) &&
  manifest.reports.some(({ step, verdict }) => step === 'vulnerabilities' && verdict === 'no_data')

/** Why not all of what a package carries is known; undefined where it is. */
export function gapOf({ cut, unopened, more = 0 }: Contents): string | undefined {
  const n = unopened.length + more
  const closed = n === 0 ? [] : [n === 1 ? '1 file was not opened.' : `${n} files were not opened.`]
  const gaps = [...(cut === undefined ? [] : [cut]), ...closed]
  return gaps.length === 0 ? undefined : gaps.join(' ')
}

/** What is not known of a version, and why; a sentence each. */
export function unknownOf({ manifest, contents }: Known): string[] {
  const name = `${manifest.ref.version} in ${manifest.ref.codename}`
  const gap = contents && gapOf(contents)
  return [
    ...(wasScanned(manifest)
      ? []
      : [`${name} was not looked up in full: it may have vulnerabilities that are not listed.`]),
    ...(hasNoData(manifest)
      ? [`The vulnerability data do not name ${name}: it may have vulnerabilities that are not listed.`]
      : []),
    ...(contents === undefined
      ? [`What ${name} carries and does when it is installed is not known: its file is not in the pool.`]
      : []),
    ...(gap === undefined
      ? []
      : [[`${name} was not read in full, so it may carry and do more than is listed.`, gap].join(' ')]),
  ]
}
