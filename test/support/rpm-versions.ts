import { complainVersion } from '../../server/formats/rpm/version.ts'

/** A small generator with a seed, so that a failure can be had again. */
function randoms(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

const ALPHABET = ['0', '0', '1', '2', '9', '10', '09', '.', '.', '_', '+', '~', '~', '^', '^', 'a', 'b', 'Z', 'rc']

/** Versions that rpm takes, the same on every run. */
export function generateVersions(count: number): string[] {
  const random = randoms(20261121)
  const body = (most: number): string =>
    Array.from(
      { length: 1 + Math.floor(random() * most) },
      () => ALPHABET[Math.floor(random() * ALPHABET.length)] ?? '0',
    ).join('')
  const versions: string[] = []
  while (versions.length < count) {
    const version = `${random() < 0.2 ? `${1 + Math.floor(random() * 12)}:` : ''}${body(7)}-${body(4)}`
    if (complainVersion(version) === undefined) versions.push(version)
  }
  return versions
}
