import type { FormatId } from '../core/identity.ts'

/** A family of programs that install packages. */
export type Manager = 'apt' | 'rpm' | 'apk'

/** Programs that install packages, by their names. */
export const MANAGERS: Readonly<Record<string, Manager>> = {
  'apt': 'apt',
  'apt-get': 'apt',
  'aptitude': 'apt',
  'dnf': 'rpm',
  'yum': 'rpm',
  'microdnf': 'rpm',
  'zypper': 'rpm',
  'apk': 'apk',
}
/** Their words for it. */
export const VERBS: Readonly<Record<Manager, ReadonlySet<string>>> = {
  apt: new Set(['install', 'satisfy', 'build-dep']),
  rpm: new Set(['install', 'in', 'reinstall']),
  apk: new Set(['add']),
}
/** The format of what they install. */
export const FORMAT_OF_MANAGER: Readonly<Record<Manager, FormatId>> = {
  apt: 'deb',
  rpm: 'rpm',
  apk: 'apk',
}

/** A name without version and architecture; undefined for what names no package. */
export function nameOf(word: string, manager: Manager): string | undefined {
  if (word.includes('$') || word.includes('`') || /^[.~/]/.test(word) || word.includes('://')) return undefined
  const cut =
    manager === 'apt'
      ? word
          .replace(/[=/].*$/, '')
          .replace(/:[a-z0-9-]+$/, '')
          .replace(/[+-]$/, '')
      : manager === 'apk'
        ? word.replace(/[<>=~@].*$/, '')
        : word.replace(/\.(?:x86_64|aarch64|noarch|i686)$/, '').replace(/-\d[^-]*(?:-[^-]+)?$/, '')
  // source: Debian policy 5.6.1; names of rpm and apk have capitals and underscores, too
  return /^[A-Za-z0-9][A-Za-z0-9+._-]*$/.test(cut) ? cut : undefined
}
