import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import type { FileList, PackagedFile } from '../../contents/file-list.ts'

/** What differs in a file that both versions have. */
export const FILE_DIFFERENCES = ['content', 'type', 'mode', 'owner', 'link', 'capabilities'] as const
export type FileDifference = (typeof FILE_DIFFERENCES)[number]
/** `uncompared`: both have it in one size, and the content of one could not be read. */
export const FILE_CHANGES = ['added', 'removed', 'changed', 'uncompared'] as const
export type FileChange = (typeof FILE_CHANGES)[number]

/** A file that the two versions do not have alike. */
export interface FileRow {
  readonly path: string
  readonly change: FileChange
  /** Empty where only one has it; of an uncompared file, what differs beside its content. */
  readonly differs: readonly FileDifference[]
  readonly before: PackagedFile | null
  readonly after: PackagedFile | null
}

/** How many files one version has, and their bytes. */
interface Totals {
  readonly files: number
  readonly size: number
}

/** A page of the files that differ. The numbers beside it are of both packages, not of what the query narrows. */
export interface FilePage extends Page<FileRow> {
  readonly before: Totals
  readonly after: Totals
  readonly added: number
  readonly removed: number
  readonly changed: number
  readonly same: number
  /** Files whose content could not be compared: they are not counted as the same. */
  readonly uncompared: number
  /** Why the list may lack files; absent where both were read to their ends. */
  readonly cut?: string
}

export interface FileFilter {
  readonly q?: string | undefined
  readonly change?: FileChange | undefined
}

const isFile = ({ type }: PackagedFile): boolean => type === 'file'

const isUnread = (one: PackagedFile): boolean => isFile(one) && one.sha256 === undefined

/** Both are files of one size, and one of them could not be read. */
const isUncompared = (before: PackagedFile, after: PackagedFile): boolean =>
  isFile(before) && isFile(after) && before.size === after.size && (isUnread(before) || isUnread(after))

function differencesOf(before: PackagedFile, after: PackagedFile): FileDifference[] {
  const isHalf = before.unread !== undefined || after.unread !== undefined
  return FILE_DIFFERENCES.filter(what => {
    if (what === 'content')
      return (
        isFile(before) &&
        isFile(after) &&
        !isUncompared(before, after) &&
        (before.size !== after.size || before.sha256 !== after.sha256)
      )
    // of a file that was not read nothing else is known
    return before[what] !== after[what] && (what === 'type' || !isHalf)
  })
}

function totalsOf({ files }: FileList): Totals {
  const all = [...files.values()].filter(({ type }) => type !== 'directory')
  return { files: all.length, size: all.reduce((sum, { size = 0 }) => sum + size, 0) }
}

/** Compares the files of two versions: what differs, by path. */
export function compareFiles(
  before: FileList,
  after: FileList,
  { filter: { q = '', change }, paging }: { readonly filter: FileFilter; readonly paging: Paging },
): FilePage {
  const rows: FileRow[] = []
  const counts = { added: 0, removed: 0, changed: 0, same: 0, uncompared: 0 }
  for (const path of [...new Set([...before.files.keys(), ...after.files.keys()])].sort()) {
    const [old = null, now = null] = [before.files.get(path), after.files.get(path)]
    if (old !== null && now !== null) {
      const differs = differencesOf(old, now)
      const outcome = isUncompared(old, now) ? 'uncompared' : differs.length === 0 ? 'same' : 'changed'
      counts[outcome]++
      if (outcome !== 'same') rows.push({ path, change: outcome, differs, before: old, after: now })
    } else {
      const only = old === null ? 'added' : 'removed'
      counts[only]++
      rows.push({ path, change: only, differs: [], before: old, after: now })
    }
  }
  const wanted = q.toLowerCase()
  const matching = rows.filter(
    row => (change === undefined || row.change === change) && row.path.toLowerCase().includes(wanted),
  )
  const from = (paging.page - 1) * paging.perPage
  const cut = [...new Set([after.cut, before.cut])].filter(one => one !== undefined).join(' ')
  return {
    ...pageOf(matching.slice(from, from + paging.perPage), matching.length, paging),
    before: totalsOf(before),
    after: totalsOf(after),
    ...counts,
    ...(cut === '' ? {} : { cut }),
  }
}
