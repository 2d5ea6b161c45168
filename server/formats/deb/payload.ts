import type { TarEntry } from '../../lib/tar-header.ts'
import { createBarriers } from '../../lib/barriers.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'

// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/

/**
 * Where an entry of an inner archive leads, relative to the root: without `./` before it and `/` behind it; '' is the
 * root.
 * @throws Malformed for absolute names, `..` and control characters (a newline would break dpkg's own file lists)
 */
export function cleanName(name: string, what: string): string {
  // most names are plain: look before taking them apart
  if (CONTROL.test(name)) malformed(`${what}: the name ${quote(name)} holds a control character`)
  if (name.startsWith('/'))
    malformed(`${what}: the name ${quote(name)} is absolute; names must be relative to the root`)
  const segments = name.split('/').filter(segment => segment !== '' && segment !== '.')
  if (segments.includes('..')) malformed(`${what}: the name ${quote(name)} leads out of its folder with ..`)
  if (segments.length === 0 && !/^(\.?\/)*\.?$/.test(name)) malformed(`${what} has an entry without a name`)
  return segments.join('/')
}

/** True when a relative link target, seen from the folder of `path`, goes above the root. */
function escapes(path: string, target: string): boolean {
  let depth = path.split('/').length - 1
  for (const segment of target.split('/')) {
    if (segment === '..') depth -= 1
    else if (segment !== '' && segment !== '.') depth += 1
    if (depth < 0) return true
  }
  return false
}

/** Collects the paths that a client would install, and refuses those that lead out of the root. */
export interface Payload {
  /** @throws Malformed */
  add(entry: TarEntry): void
  /** The kind of entry at a path; paths are spelled as in `files`. */
  kindOf(path: string): TarEntry['type'] | undefined
  /** Everything but directories, in archive order, each once. */
  files(): string[]
}

/**
 * The most bytes of all paths together: they are kept in memory, and a package of a megabyte can hold 300,000 of 4096
 * bytes. The largest texlive has 10 MiB.
 */
const MAX_NAMES = 64 * 2 ** 20

/** The longest name of a file or folder that a file system takes, in bytes. */
const LONGEST = 255

/** @param longest in bytes; shorter where the unpacking program appends an ending */
export function createPayload(what: string, longest = LONGEST): Payload {
  const kinds = new Map<string, TarEntry['type']>()
  const barriers = createBarriers()
  let nameBytes = 0

  const addLink = (path: string, entry: TarEntry): void => {
    if (entry.link === '') malformed(`${what}: the ${entry.type} ${quote(path)} has no target`)
    if (CONTROL.test(entry.link)) malformed(`${what}: the target of ${quote(path)} holds a control character`)
    if (entry.type === 'symlink') {
      if (entry.link.startsWith('/') || !escapes(path, entry.link)) return
      malformed(`${what}: the symlink ${quote(path)} leads above the root, to ${quote(entry.link)}`)
    } else {
      const kind = kinds.get(cleanName(entry.link, `${what}, hard link ${quote(path)}`))
      if (kind === 'file' || kind === 'hardlink') return
      malformed(
        `${what}: the hard link ${quote(path)} leads to ${quote(entry.link)}, which is no file before it in the package`,
      )
    }
  }

  const mustStandInFolders = (path: string): void => {
    const above = barriers.above(path)
    if (above === undefined) return
    if (kinds.get(above) === 'symlink')
      malformed(`${what}: ${quote(path)} would be written through ${quote(above)}, a symlink of the same package`)
    malformed(
      `${what}: ${quote(path)} lies below ${quote(above)}, which is a ${kinds.get(above) ?? 'file'} of the same package`,
    )
  }

  return {
    add(entry) {
      const path = cleanName(entry.name, what)
      if (path === '') {
        if (entry.type !== 'directory') malformed(`${what}: the root is a ${entry.type}`)
        return
      }
      if (path.length > longest / 4 && path.split('/').some(segment => Buffer.byteLength(segment) > longest))
        malformed(`${what}: ${quote(path)} holds a name of more than ${longest} bytes, which cannot be unpacked`)
      mustStandInFolders(path)
      const before = kinds.get(path)
      const again = before === entry.type && (before === 'file' || before === 'directory')
      if (before !== undefined && !again)
        malformed(`${what} has ${quote(path)} twice, as ${before} and as ${entry.type}`)
      if (entry.type === 'hardlink' || entry.type === 'symlink') addLink(path, entry)
      if (before !== undefined) return
      nameBytes += path.length
      if (nameBytes > MAX_NAMES)
        malformed(
          `${what}: the names of its files have more than ${printBytes(MAX_NAMES)} together, the most a package may have`,
        )
      kinds.set(path, entry.type)
      if (entry.type !== 'directory') barriers.add(path)
    },
    kindOf: path => kinds.get(path),
    files: () => [...kinds].flatMap(([path, kind]) => (kind === 'directory' ? [] : [path])),
  }
}
