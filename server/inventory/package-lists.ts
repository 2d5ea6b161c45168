import type { NamedPackage } from '../scanners/matcher.ts'
import { BadReport } from './bad-report.ts'

/** A package of a machine's list. */
export type Installed = NamedPackage

/** More than any machine has; a list that is longer is refused. */
export const MOST_PACKAGES = 50_000
const MOST_LETTERS = 300
const WORD = /^[!-~\u00a0-\uffff]+$/u

const refuse = (list: string, n: number, why: string): never => {
  throw new BadReport(`line ${n + 1} of its ${list} list ${why}`)
}

/** The fields of a line between tabs. @throws BadReport where their number is another one, or one is no word */
function fieldsOf(
  line: string,
  n: number,
  { list, count, free }: { list: string; count: number; free: readonly number[] },
) {
  const fields = line.split('\t')
  if (fields.length !== count) refuse(list, n, `has ${fields.length} fields where ${count} belong`)
  for (const [at, field] of fields.entries())
    if (field.length > MOST_LETTERS || (!free.includes(at) && !WORD.test(field)))
      refuse(list, n, `has no usable field ${at + 1}`)
  return fields
}

/** `ii ⇥adduser⇥3.134⇥all⇥adduser⇥3.134`. Kept are installed packages, also those on hold. */
function readDpkg(lines: readonly string[]): Installed[] {
  return lines.flatMap((line, n) => {
    const fields = fieldsOf(line, n, { list: 'dpkg', count: 6, free: [0, 2, 3, 4, 5] })
    const [status = '', name = '', version = '', arch = '', source = '', sourceVersion = ''] = fields
    if (!/^[a-z][a-zA-Z][ A-Z]$/.test(status)) refuse('dpkg', n, 'has no status')
    // the second letter is what is, the first what was asked for
    if (!/^[ih]i /.test(status)) return []
    if (!WORD.test(version) || !WORD.test(arch)) refuse('dpkg', n, 'has no version or no architecture')
    return [{ name, version, arch, source, sourceVersion }]
  })
}

/** `bash-5.1.8-6.el9_1.src.rpm` → its name and version. */
function readSourceRpm(file: string): { readonly source: string; readonly sourceVersion: string } {
  const [, source = '', sourceVersion = ''] = /^(.+)-([^-]+-[^-]+)\.(?:no)?src\.rpm$/.exec(file) ?? []
  return { source, sourceVersion }
}

/** `bash⇥0⇥5.1.8-6.el9_1⇥x86_64⇥bash-5.1.8-6.el9_1.src.rpm`. Keys that rpm keeps as packages are left out. */
function readRpm(lines: readonly string[]): Installed[] {
  return lines.flatMap((line, n) => {
    const [name = '', epoch = '', version = '', arch = '', file = ''] = fieldsOf(line, n, {
      list: 'rpm',
      count: 5,
      free: [],
    })
    if (name === 'gpg-pubkey') return []
    if (!/^\d+$/.test(epoch)) refuse('rpm', n, 'has no epoch')
    const prefix = epoch === '0' ? '' : `${epoch}:`
    const { source, sourceVersion } = readSourceRpm(file)
    // the name of a source leaves out its epoch, which is that of what was built from it
    return [
      {
        name,
        version: `${prefix}${version}`,
        arch,
        source,
        sourceVersion: source === '' ? '' : `${prefix}${sourceVersion}`,
      },
    ]
  })
}

/** Blocks of `P:`, `V:`, `A:` and `o:`, with an empty line behind each. */
function readApk(lines: readonly string[]): Installed[] {
  const all: Installed[] = []
  let block = new Map<string, string>()
  for (const [n, line] of [...lines, ''].entries()) {
    if (line !== '') {
      const [, key, value = ''] = /^([PVAo]):(.*)$/.exec(line) ?? []
      if (key === undefined) refuse('apk', n, 'has none of the keys P, V, A and o')
      if (block.has(key ?? '')) refuse('apk', n, `has a second ${key ?? ''} for one package`)
      if (!WORD.test(value) || value.length > MOST_LETTERS) refuse('apk', n, 'has no usable value')
      block.set(key ?? '', value)
      continue
    }
    if (block.size === 0) continue
    const [name, version, arch] = [block.get('P'), block.get('V'), block.get('A')]
    if (name === undefined || version === undefined || arch === undefined)
      throw new BadReport(`the apk list lacks name, version or architecture of a package before line ${n + 1}`)
    all.push({ name, version, arch, source: block.get('o') ?? '', sourceVersion: block.has('o') ? version : '' })
    block = new Map()
  }
  return all
}

const READERS = {
  deb: { read: readDpkg, separatesBlocks: false },
  rpm: { read: readRpm, separatesBlocks: false },
  // empty lines end a package
  apk: { read: readApk, separatesBlocks: true },
} as const

/** Reads a list as the format's own program prints it. Each package once, in the order of names. @throws BadReport */
export function readPackages(format: 'deb' | 'rpm' | 'apk', lines: readonly string[]): readonly Installed[] {
  const { read, separatesBlocks } = READERS[format]
  const given = separatesBlocks ? lines : lines.filter(line => line !== '')
  const byKey = new Map(read(given).map(one => [`${one.name}\t${one.version}\t${one.arch}`, one]))
  if (byKey.size === 0) throw new BadReport('its list of packages is empty')
  if (byKey.size > MOST_PACKAGES) throw new BadReport(`its list has more than ${MOST_PACKAGES} packages`)
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}
