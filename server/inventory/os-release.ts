import { debianRelease } from '../vulndb/match/ecosystems.ts'

/** What `os-release` says. Source: freedesktop.org, os-release(5) */
export interface OsRelease {
  readonly id: string | undefined
  readonly version: string | undefined
  readonly codename: string | undefined
  readonly pretty: string | undefined
}

const LINE = /^([A-Z][A-Z0-9_]*)=(.*)$/
const MOST_LETTERS = 200

/** The value of an assignment of a shell: bare, or in quotes of one kind. */
function valueOf(written: string): string {
  const text = written.trim()
  const quote = text[0]
  if (quote === "'" && text.endsWith("'") && text.length > 1) return text.slice(1, -1)
  if (quote === '"' && text.endsWith('"') && text.length > 1) return text.slice(1, -1).replace(/\\(["$`\\])/g, '$1')
  return text
}

/** Reads the lines of `os-release`; those that are none are passed over. */
export function readOsRelease(lines: readonly string[]): OsRelease {
  const values = new Map<string, string>()
  for (const line of lines) {
    const [, name, written = ''] = LINE.exec(line) ?? []
    if (name === undefined) continue
    const value = valueOf(written)
      .replace(/\p{Cc}/gu, '')
      .slice(0, MOST_LETTERS)
    if (value !== '') values.set(name, value)
  }
  const id = values.get('ID')
  return {
    id,
    version: values.get('VERSION_ID'),
    codename: values.get('VERSION_CODENAME'),
    pretty: values.get('PRETTY_NAME') ?? values.get('NAME') ?? id,
  }
}

const major = (version: string): string => version.split('.')[0] ?? version
const minor = (version: string): string => version.split('.').slice(0, 2).join('.')

/** How each system is called by vulnerability data, and how much of its version counts. Derivatives are not listed. */
const FAMILIES: Readonly<Record<string, readonly [family: string, release: (version: string) => string]>> = {
  'debian': ['debian', major],
  'ubuntu': ['ubuntu', minor],
  'almalinux': ['almalinux', major],
  'rocky': ['rocky', major],
  'centos': ['centos', major],
  'rhel': ['redhat', major],
  'ol': ['oracle', major],
  'fedora': ['fedora', major],
  'amzn': ['amazon', major],
  'alpine': ['alpine', minor],
  'opensuse-leap': ['opensuse.leap', minor],
  'opensuse-tumbleweed': ['opensuse.tumbleweed', () => 'rolling'],
}

/** `family:release`, by which distributions and vulnerability data name a system; undefined: they do not know it. */
export function scannerOf({ id, version, codename }: OsRelease): string | undefined {
  const known = id === undefined || !Object.hasOwn(FAMILIES, id) ? undefined : FAMILIES[id]
  if (known === undefined) return undefined
  const [family, release] = known
  // Debian's testing has a codename and no number yet
  if (version === undefined && id === 'debian' && codename !== undefined)
    return debianRelease(codename)?.replace('-', ':')
  if (version === undefined && id !== 'opensuse-tumbleweed') return undefined
  return `${family}:${release(version ?? '')}`
}
