import { cameFrom } from '../../catalog/queries/came-from.ts'
import type { Principal } from '../../core/access.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import { isSeen } from '../../imports/source-rules.ts'
import type { Source } from '../../imports/source.ts'
import { readChanges, readNew, type SourceWish, type WishContext } from '../../imports/sources/read-wish.ts'
import type { KnownSource, SourceFields, SourceStore } from '../../imports/sources/store.ts'
import { testSource, type TestDeps } from '../../imports/sources/test-source.ts'
import type { KeyStore } from '../../imports/trust/key-store.ts'
import { warnOfKeys } from '../../imports/trust/key-warnings.ts'
import type { Audit } from '../../record/audit.ts'
import type { AuditFact } from '../../record/audit-entry.ts'
import type { importSources } from './contract.ts'
import { formatOf, keyView, sourceView, testView } from './view.ts'

export interface ImportSourceDeps extends Omit<TestDeps, 'keysFor'> {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly sources: SourceStore
  readonly keys: KeyStore
}

interface By {
  readonly who: Principal
  readonly raw: RawRequest
}

const owe = (
  { audit }: Pick<ImportSourceDeps, 'audit'>,
  tx: Tx,
  { who, raw }: By,
  said: Pick<AuditFact, 'action' | 'facts'>,
): Promise<unknown> => audit.owe(tx, { ...said, result: 'SUCCESS', user: who.name, ip: raw.clientIp })

/** A source that somebody may see. @throws source_not_found */
async function getSeen(
  { sources }: Pick<ImportSourceDeps, 'sources'>,
  tx: Queryable,
  { name, viewer }: { readonly name: string; readonly viewer: Viewer },
): Promise<KnownSource> {
  const known = await sources.get(tx, name)
  return isSeen(known.source, viewer.hidden) ? known : fail('source_not_found', { source: name.slice(0, 80) })
}

/** Sources that somebody may see. */
const listSeen = async (
  { sources }: Pick<ImportSourceDeps, 'sources'>,
  { hidden }: Viewer,
): Promise<readonly KnownSource[]> => (await sources.list()).filter(({ source }) => isSeen(source, hidden))

async function labelsOf({ keys }: Pick<ImportSourceDeps, 'keys'>): Promise<Map<string, string>> {
  return new Map((await keys.list()).map(({ name, label }) => [name, label]))
}

const contextOf = (deps: ImportSourceDeps, viewer: Viewer, labels: ReadonlyMap<string, string>): WishContext => ({
  repositories: deps.repositories.seenBy(viewer),
  keys: new Set(labels.keys()),
})

/** Distributions that somebody may not see stay as they are. */
function keepUnseen(changes: Partial<SourceFields>, { codenames }: Source, viewer: Viewer): Partial<SourceFields> {
  if (changes.codenames === undefined) return changes
  return { ...changes, codenames: [...changes.codenames, ...codenames.filter(one => !maySee(viewer, one))] }
}

/** What lowers the trust in a source is an admin's to say. */
function refuseLowered(wish: SourceWish, before: Pick<Source, 'signed' | 'allowExpired'>, { role }: Principal): void {
  const isLowered = (wish.signed === false && before.signed) || (wish.allow_expired === true && !before.allowExpired)
  if (isLowered && role !== 'admin') fail('forbidden', { needs: 'an admin, who alone takes data without proof', role })
}

async function show(deps: ImportSourceDeps, known: KnownSource, viewer: Viewer) {
  return sourceView(known, { labels: await labelsOf(deps), viewer, now: deps.clock.now() })
}

export const importSourceHandlers: Handlers<typeof importSources, ImportSourceDeps> = {
  'GET /import/sources': async (deps, { viewer }) => {
    const labels = await labelsOf(deps)
    const now = deps.clock.now()
    return { sources: (await listSeen(deps, viewer)).map(known => sourceView(known, { labels, viewer, now })) }
  },
  'POST /import/sources': async (deps, { body, who, viewer, raw }) => {
    const { type, ...wish } = body
    refuseLowered(wish, { signed: true, allowExpired: false }, who)
    const wanted = readNew({ ...wish, format: formatOf(type) }, contextOf(deps, viewer, await labelsOf(deps)))
    const source = await deps.db.tx(async tx => {
      const added = await deps.sources.add(tx, wanted, who.name)
      const facts = { kind: 'import_source.added', key: added.key, address: added.urls[0] ?? '' } as const
      await owe(deps, tx, { who, raw }, { action: 'IMPORT_SOURCE_CHANGE', facts })
      return added
    })
    return show(deps, { source, status: undefined }, viewer)
  },
  'POST /import/sources/test': async (deps, { body, viewer, raw }) => {
    const { id, type, name = 'test', url, ...wish } = body
    const labels = await labelsOf(deps)
    const context = contextOf(deps, viewer, labels)
    const source = await (async (): Promise<Source> => {
      if (id !== undefined) {
        const before = (await getSeen(deps, deps.db, { name: id, viewer })).source
        return { ...before, ...readChanges({ ...wish, url }, before, context) }
      }
      if (type === undefined || url === undefined) return fail('bad_import_source', { why: 'type and url are needed' })
      const fresh = readNew({ ...wish, name, url, format: formatOf(type) }, context)
      // nothing is remembered of it
      return { ...fresh, id: 0, builtin: false, retired: false }
    })()
    return testView(await testSource({ ...deps, ...deps.keys }, source, raw.signal), labels)
  },
  'PATCH /import/sources/{id}': async (deps, { params, body, who, viewer, raw }) => {
    const context = contextOf(deps, viewer, await labelsOf(deps))
    const known = await deps.db.tx(async tx => {
      const { source } = await getSeen(deps, tx, { name: params.id, viewer })
      refuseLowered(body, source, who)
      const changes = keepUnseen(readChanges(body, source, context), source, viewer)
      const fields = Object.keys(body)
      if (fields.length > 0) {
        await deps.sources.change(tx, source, changes)
        const facts = { kind: 'import_source.changed', key: source.key, fields } as const
        await owe(deps, tx, { who, raw }, { action: 'IMPORT_SOURCE_CHANGE', facts })
      }
      return deps.sources.get(tx, String(source.id))
    })
    return show(deps, known, viewer)
  },
  'DELETE /import/sources/{id}': (deps, { params, who, viewer, raw }) =>
    deps.db.tx(async tx => {
      const { source } = await getSeen(deps, tx, { name: params.id, viewer })
      if (!source.builtin && (await cameFrom(tx, source.key))) fail('import_source_used', { key: source.key })
      await deps.sources.remove(tx, source)
      const facts = { kind: 'import_source.removed', key: source.key, address: source.urls[0] ?? '' } as const
      await owe(deps, tx, { who, raw }, { action: 'IMPORT_SOURCE_CHANGE', facts })
    }),
  'POST /import/sources/{id}/accept': async (deps, { params, body: { what, reason }, who, viewer, raw }) => {
    const known = await deps.db.tx(async tx => {
      const { source } = await getSeen(deps, tx, { name: params.id, viewer })
      await deps.sources.forget(tx, source, what)
      const facts = { kind: 'import_source.accepted', key: source.key, what, reason } as const
      await owe(deps, tx, { who, raw }, { action: 'IMPORT_SOURCE_CHANGE', facts })
      return deps.sources.get(tx, String(source.id))
    })
    return show(deps, known, viewer)
  },
  'GET /import/keys': async (deps, { viewer }) => {
    const [all, known] = [await deps.keys.list(), await listSeen(deps, viewer)]
    return { keys: all.map(key => keyView(key, known)), warnings: warnOfKeys(all, deps.clock.now()) }
  },
  'POST /import/keys': async (deps, { body, who, viewer, raw }) => {
    const added = await deps.db.tx(async tx => {
      const fresh = await deps.keys.add(tx, {
        text: body.public_key,
        label: body.label,
        keyName: body.key_name,
        by: who.name,
      })
      for (const { name, label } of fresh)
        await owe(
          deps,
          tx,
          { who, raw },
          {
            action: 'IMPORT_KEY_CHANGE',
            facts: { kind: 'import_key.added', key: name, label },
          },
        )
      return fresh
    })
    const known = await listSeen(deps, viewer)
    return { keys: added.map(key => keyView(key, known)) }
  },
  'PATCH /import/keys/{name}': async (deps, { params, body, who, viewer, raw }) => {
    const until = body.accepted_until === null ? undefined : new Date(body.accepted_until)
    if (until !== undefined && !(until > deps.clock.now()))
      fail('bad_import_key', { why: 'the day until which it is accepted has to be in the future' })
    const key = await deps.db.tx(async tx => {
      const changed = await deps.keys.accept(tx, params.name, until)
      const ended = until === undefined ? {} : { until: until.toISOString().slice(0, 10) }
      await owe(
        deps,
        tx,
        { who, raw },
        {
          action: 'IMPORT_KEY_CHANGE',
          facts: {
            kind: 'import_key.accepted',
            key: changed.name,
            label: changed.label,
            ...ended,
            reason: body.reason,
          },
        },
      )
      return changed
    })
    return keyView(key, await listSeen(deps, viewer))
  },
  'DELETE /import/keys/{name}': (deps, { params, who, raw }) =>
    deps.db.tx(async tx => {
      const { name, label } = await deps.keys.remove(tx, params.name)
      await owe(
        deps,
        tx,
        { who, raw },
        {
          action: 'IMPORT_KEY_CHANGE',
          facts: { kind: 'import_key.removed', key: name, label },
        },
      )
    }),
}
