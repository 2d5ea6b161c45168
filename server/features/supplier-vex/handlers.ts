import { readFile } from 'node:fs/promises'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Changed } from '../../catalog/change.ts'
import { namedVersion } from '../../catalog/view.ts'
import { allows, needScope, type Principal } from '../../core/access.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import type { Manifest, State } from '../../core/manifest.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { acceptanceOf } from '../../core/review.ts'
import { speaksOf, supplierWordOn, type VexDocument, type VexStatement } from '../../core/vex.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { readBody } from '../../files/form.ts'
import type { Spool } from '../../files/spool.ts'
import type { Clock } from '../../lib/clock.ts'
import { findOne, readVersion, versionPlaceOf, type Found } from '../../review/find-version.ts'
import type { SupplierVex } from '../../review/vex/documents.ts'
import { MAX_VEX } from '../../review/vex/read.ts'
import {
  VEX_FORM,
  type StatementView,
  type supplierVex,
  type VexChange,
  type VexDocumentView,
  type VexList,
} from './contract.ts'

export interface SupplierVexRouteDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly catalog: Pick<Catalog, 'find'>
  readonly clock: Clock
  readonly spool: Pick<Spool, 'receive'>
  readonly supplierVex: SupplierVex
}

interface Asked {
  readonly params: { readonly name: string; readonly version: string }
  readonly query: { readonly distribution?: string; readonly arch?: string }
  readonly viewer: Viewer
}

/** The one package that a change concerns. @throws what `findOne` does, outside_distribution */
async function target(deps: SupplierVexRouteDeps, who: Principal, { params, query, viewer }: Asked): Promise<Found> {
  const { db, repositories } = asSeenBy(deps, viewer)
  if (query.distribution !== undefined) repositories.get(query.distribution)
  const found = await findOne(db, viewer, versionPlaceOf(params, query))
  needScope(who, found.ref.codename)
  return found
}

function statementView({ findings }: Manifest, statement: VexStatement): StatementView {
  const [vulnerability = '', ...aliases] = statement.names
  const { status, components = [], said, at } = statement
  const spoken = findings.filter(finding => speaksOf(statement, finding)).map(({ id }) => id)
  return { vulnerability, aliases, status, components, said: said ?? null, at, findings: [...new Set(spoken)] }
}

/** The findings of which the accepted documents' strongest word is in this one, and that it closes. */
function closedBy(manifest: Manifest, document: VexDocument, now: string): readonly string[] {
  const taken = (manifest.review?.vex ?? []).filter(({ accepted }) => accepted !== undefined)
  const closed = manifest.findings.filter(finding => {
    const acceptance = acceptanceOf(manifest, finding, now)
    return (
      acceptance?.at === document.accepted?.at &&
      supplierWordOn(taken, finding)?.document === document &&
      (acceptance?.decision === 'not_affected' || acceptance?.decision === 'fixed')
    )
  })
  return [...new Set(closed.map(({ id }) => id))]
}

function documentView(manifest: Manifest, document: VexDocument, now: string): VexDocumentView {
  const { accepted, statements, ...rest } = document
  return {
    ...rest,
    accepted_by: accepted?.by ?? null,
    accepted_at: accepted?.at ?? null,
    closes: closedBy(manifest, document, now),
    statements: statements.map(statement => statementView(manifest, statement)),
  }
}

const listView = (manifest: Manifest, now: string): VexList => ({
  ...namedVersion(manifest),
  documents: (manifest.review?.vex ?? []).map(document => documentView(manifest, document, now)),
})

function changeView(
  { manifest }: Changed,
  before: State,
  { now, message }: { readonly now: string; readonly message: string },
): VexChange {
  return { ...listView(manifest, now), previous_status: before, message }
}

const actorOf = (who: Principal, raw: RawRequest) => ({ name: who.name, ip: raw.clientIp })
/** A token for uploads decides about nothing, whoever's it is. */
const mayDecide = ({ role, scope }: Principal): boolean => allows('maintainer+', role) && scope?.uploadOnly !== true

/** What the answer to a document says happened. */
function addedSentence({ manifest }: Changed, sha256: string, now: string): string {
  const document = manifest.review?.vex?.find(one => one.sha256 === sha256)
  if (document?.accepted === undefined) return 'The document is kept and closes nothing until somebody accepts it.'
  const closes = closedBy(manifest, document, now)
  if (closes.length === 0) return 'The document counts; it closes no finding of today.'
  const stays = manifest.state === 'quarantined' ? ' The package stays in quarantine until somebody approves it.' : ''
  return `The document counts and closes ${closes.join(', ')}.${stays}`
}

export const supplierVexHandlers: Handlers<typeof supplierVex, SupplierVexRouteDeps> = {
  'GET /security/packages/{name}/{version}/vex': async (deps, { params, query, viewer }) => {
    const { manifest } = await readVersion(asSeenBy(deps, viewer), viewer, versionPlaceOf(params, query))
    return listView(manifest, deps.clock.now().toISOString())
  },
  'POST /security/packages/{name}/{version}/vex': async (deps, input) => {
    const { who, raw } = input
    const found = await target(deps, who, input)
    const { file } = await readBody(raw, {
      spool: deps.spool,
      isUrgent: true, // it is a decision
      known: Object.keys(VEX_FORM.properties),
      limitBytes: MAX_VEX,
      setting: 'none',
      filename: 'vex.json',
    })
    try {
      const bytes = file.bytes ?? (await readFile(file.path))
      const sender = { ...actorOf(who, raw), mayDecide: mayDecide(who) }
      const changed = await deps.supplierVex.add(found, bytes, sender)
      const now = deps.clock.now().toISOString()
      return changeView(changed, found.state, { now, message: addedSentence(changed, file.blob.sha256, now) })
    } finally {
      await file.discard()
    }
  },
  'POST /security/packages/{name}/{version}/vex/{sha256}/accept': async (deps, input) => {
    const { who, raw, params } = input
    const found = await target(deps, who, input)
    const changed = await deps.supplierVex.accept(found, params.sha256, actorOf(who, raw))
    const now = deps.clock.now().toISOString()
    return changeView(changed, found.state, { now, message: addedSentence(changed, params.sha256, now) })
  },
  'DELETE /security/packages/{name}/{version}/vex/{sha256}': async (deps, input) => {
    const { who, raw, params } = input
    const found = await target(deps, who, input)
    const changed = await deps.supplierVex.remove(found, params.sha256, actorOf(who, raw))
    const now = deps.clock.now().toISOString()
    return changeView(changed, found.state, { now, message: 'The document is gone; what it closed counts again.' })
  },
}
