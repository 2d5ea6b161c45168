import { HEAD_BYTES, headDigest, type LogFile } from './log-file.ts'

/** How far a file was counted. */
export interface LogState {
  readonly id: number
  readonly head: string
  readonly head_bytes: number
  readonly position: number
}

/** What is to be read: a file from a position. `state` is undefined for one that nobody has read. */
export interface Assigned {
  readonly file: LogFile
  readonly state: LogState | undefined
}

const isOf = ({ head }: LogFile, { head_bytes, head: digest }: LogState): boolean =>
  head.length >= head_bytes && headDigest(head, head_bytes) === digest

/**
 * Which file each state is about. Files are known by how they begin, not by name or inode: logrotate renames, copies
 * and packs them. Of several that begin alike (a copy beside its original, or beside its packed form) one is read, the
 * longest that is not packed; the others were counted with it. Keeps the order of the files.
 */
export function assign(files: readonly LogFile[], states: readonly LogState[]): readonly Assigned[] {
  const stateOf = new Map<LogFile, LogState>()
  const taken = new Set<LogFile>()
  // the longest head first: it says most
  for (const state of [...states].sort((a, b) => b.head_bytes - a.head_bytes)) {
    const alike = files.filter(file => !taken.has(file) && isOf(file, state))
    for (const file of alike) taken.add(file)
    const whole = alike.filter(({ size }) => size >= state.position)
    const plain = whole.filter(({ isPacked }) => !isPacked)
    const [first] = (plain.length > 0 ? plain : whole).toReversed().sort((a, b) => b.size - a.size)
    if (first !== undefined) stateOf.set(first, state)
  }
  // copies of a file that nobody has read yet: they are all there is of it, and one of them is enough
  const begun = new Set<string>()
  const fresh = files
    .filter(file => !taken.has(file))
    .toReversed()
    .sort((a, b) => Number(a.isPacked) - Number(b.isPacked) || (b.size === a.size ? 0 : b.size - a.size))
    .filter(({ head }) => {
      const key = headDigest(head, Math.min(head.length, HEAD_BYTES))
      if (begun.has(key)) return false
      begun.add(key)
      return true
    })
  const isFresh = new Set(fresh)
  return files.filter(file => stateOf.has(file) || isFresh.has(file)).map(file => ({ file, state: stateOf.get(file) }))
}
