import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Db } from '../../server/db/db.ts'
import { getFormat } from '../../server/formats/index.ts'
import type { FetchPath, UpstreamReader } from '../../server/formats/upstream.ts'
import { readInThread } from '../../server/imports/catalogue/reading.ts'
import { createSync, type Sync, type SyncDeps } from '../../server/imports/catalogue/sync.ts'
import { createReadingTurns } from '../../server/imports/catalogue/turns.ts'
import type { Source } from '../../server/imports/source.ts'
import { trustKeys } from '../../server/signing/trusted-keys.ts'
import type { Codename } from '../../server/core/identity.ts'

/** A source as the tests have it: unsigned, of Debian's kind. */
export async function addSource(db: Db, key: string, more: Partial<Omit<Source, 'id' | 'key'>> = {}): Promise<Source> {
  const isDeb = (more.format ?? 'deb') === 'deb'
  const source: Omit<Source, 'id'> = {
    key,
    label: `The source ${key}`,
    format: 'deb',
    kind: 'http',
    urls: ['http://mirror.example/'],
    ...(isDeb ? { suite: 'tested' } : {}),
    components: isDeb ? ['main'] : [],
    archs: isDeb ? ['amd64'] : ['x86_64'],
    codenames: ['bookworm' as Codename],
    security: false,
    keys: [],
    signed: false,
    allowExpired: false,
    enabled: true,
    builtin: false,
    retired: false,
    ...more,
  }
  const row = await db.first<{ id: number }>(
    `insert into import_source (key, label, format, kind, urls, suite, components, archs, codenames, security, signed,
      newest, enabled, retired)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id`,
    [
      key,
      source.label,
      source.format,
      source.kind,
      source.urls,
      source.suite ?? null,
      source.components,
      source.archs,
      source.codenames,
      source.security,
      source.signed,
      source.newest ?? null,
      source.enabled,
      source.retired,
    ],
  )
  return { ...source, id: row?.id ?? 0 }
}

/** What synchronises the sources of a test, from what `fetchOf` gives for each. */
export async function startSync(
  db: Db,
  fetchOf: (source: Source) => FetchPath,
  more: Partial<SyncDeps> = {},
): Promise<Sync & { readonly incoming: string; readonly errors: unknown[]; close(): Promise<void> }> {
  const incoming = await mkdtemp(join(tmpdir(), 'gh-catalogue-'))
  const errors: unknown[] = []
  const keys = await trustKeys({ openpgp: [], rsa: new Map(), now: () => new Date() })
  const sync = createSync({
    db,
    clock: { now: () => new Date() },
    log: { error: (facts: unknown) => void errors.push(facts) },
    incoming,
    readerOf: format => getFormat(format).upstream as UpstreamReader,
    reach: {
      open(source) {
        let seen = 0
        const fetch = fetchOf(source)
        return {
          fetch: async (path, limits) => {
            const chunks = await fetch(path, limits)
            if (chunks === undefined) return undefined
            return (async function* () {
              for await (const chunk of chunks) {
                seen += chunk.length
                yield chunk
              }
            })()
          },
          bytes: () => seen,
          mirror: () => source.urls[0],
        }
      },
    },
    keysFor: () => Promise.resolve(keys),
    judge: () => Promise.resolve(undefined),
    read: readInThread,
    turns: createReadingTurns(() => 1),
    againAfterMs: [0, 0],
    ...more,
  })
  return { ...sync, incoming, errors, close: () => rm(incoming, { recursive: true, force: true }) }
}
