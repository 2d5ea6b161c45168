import { complainVersion } from '../../server/formats/deb/version.ts'

/** A small generator with a seed, so that a failure can be had again. */
function randoms(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

const ALPHABET = ['0', '0', '1', '2', '9', '10', '09', '.', '.', '+', '~', '~', 'a', 'b', 'Z', 'rc', '-', '-']

/** Versions that dpkg takes, the same on every run. */
export function generateVersions(count: number): string[] {
  const random = randoms(20260115)
  const pick = (): string => ALPHABET[Math.floor(random() * ALPHABET.length)] ?? '0'
  const versions: string[] = []
  while (versions.length < count) {
    const body = Array.from({ length: Math.floor(random() * 7) }, pick).join('')
    const version = `${random() < 0.2 ? `${Math.floor(random() * 12)}:` : ''}${Math.floor(random() * 3)}${body}`
    if (complainVersion(version) === undefined) versions.push(version)
  }
  return versions
}

/** Strings that are a version, by Debian policy 5.6.12. */
export const GOOD = [
  '0',
  '1',
  '1.0-1',
  '1:1.0',
  '0:1.0',
  '1:2:3',
  '1.0-1-2',
  '2147483647:1',
  '1.0+dfsg~rc1-1+b2',
  '20240101',
  '1-~',
  '0~',
]

/** Strings that are none. */
export const BAD = [
  '',
  '1:',
  '-1',
  '1.0-',
  'v1.0',
  '~1',
  '+1',
  'a:1',
  '1.0:2',
  '1.0-1:2',
  ':1',
  '2147483648:1',
  '1.0_1',
  '1.0 1',
  '1.0/1',
  '1.0-1_',
  '1,0',
  '1.0é',
  '1.0\n',
  '9'.repeat(129),
]
