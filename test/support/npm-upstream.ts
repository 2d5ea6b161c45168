import { createHash } from 'node:crypto'
import { buildNpm, type NpmSpec } from './packages-npm.ts'
import type { RegistryUpstream } from './registry-upstream.ts'

/** A version as an upstream lists it. */
export interface ListedNpm extends Omit<NpmSpec, 'name'> {
  /** When it was published there; years ago when absent. */
  readonly at?: string
  /** Replaces what the list says of it. */
  readonly said?: Readonly<Record<string, unknown>>
  /** Other bytes than the list promises. */
  readonly lies?: boolean
}

/** What is about a name in a list. */
export interface ListedName {
  readonly versions: readonly ListedNpm[]
  readonly tags?: Readonly<Record<string, string>>
  /** Below the address of the upstream; nothing when absent. */
  readonly root?: string
  readonly more?: Readonly<Record<string, unknown>>
}

const OLD = '2020-01-01T00:00:00.000Z'

/** Puts a packument and its tarballs into an upstream, as a registry has them. The last version is `latest`. */
export function listNpm(upstream: RegistryUpstream, name: string, listed: ListedName): void {
  const { versions, root = '', more = {} } = listed
  const at = name.replace('/', '%2f')
  const rows = versions.map(({ at: when = OLD, said = {}, lies = false, ...spec }) => {
    const bytes = buildNpm({ name, ...spec })
    const path = `${root}/${at}/-/${name.slice(name.indexOf('/') + 1)}-${spec.version}.tgz`
    upstream.put(path, { body: lies ? Buffer.concat([bytes, Buffer.from('x')]) : bytes })
    const manifest = {
      ...{ _id: `${name}@${spec.version}`, name, version: spec.version, description: `The package ${name}` },
      ...spec.json,
      dist: {
        tarball: `${upstream.url}${path}`,
        shasum: createHash('sha1').update(bytes).digest('hex'),
        integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
      },
      ...said,
    }
    return { version: spec.version, when, manifest }
  })
  upstream.put(`${root}/${at}`, {
    type: 'application/json',
    body: JSON.stringify({
      ...{ '_id': name, name, 'dist-tags': { latest: rows.at(-1)?.version, ...listed.tags } },
      time: {
        ...{ created: OLD, modified: OLD },
        ...Object.fromEntries(rows.map(({ version, when }) => [version, when])),
      },
      versions: Object.fromEntries(rows.map(({ version, manifest }) => [version, manifest])),
      ...more,
    }),
  })
}
