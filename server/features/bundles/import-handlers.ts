import { countAbsent } from '../../catalog/queries/carried.ts'
import { needScopes } from '../../core/access.ts'
import type { Contract, Handlers } from '../../core/contract.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { Codename } from '../../core/identity.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import { lookAt, needAcceptable, type Looked } from '../../imports/bundle/accept.ts'
import { codenamesIn, type RefRow } from '../../imports/bundle/manifest.ts'
import { makeReceipt } from '../../imports/bundle/receipts.ts'
import {
  addSender,
  findSender,
  listMissing,
  listSenders,
  pinMore,
  removeSender,
  type Sender,
} from '../../imports/bundle/senders.ts'
import { printGap, TAKE, type TakeRequest } from '../../imports/bundle/take.ts'
import type { bundles } from './contract.ts'
import type { BundleRouteDeps } from './deps.ts'
import { findOnMedium, listMedia } from './media.ts'
import { pinnedOr } from './site-handlers.ts'
import { inspectionOf, senderView } from './views.ts'

type Rows = typeof bundles
type ImportRows = Pick<
  Rows,
  | 'GET /bundles/senders'
  | 'POST /bundles/senders'
  | 'DELETE /bundles/senders/{id}'
  | 'GET /bundles/senders/{id}/receipt'
  | 'GET /bundles/media'
  | 'POST /bundles/uploads'
  | 'GET /bundles/uploads/{id}'
  | 'PUT /bundles/uploads/{id}'
  | 'DELETE /bundles/uploads/{id}'
  | 'POST /bundles/inspect'
  | 'POST /bundles/import'
>
const asContract = <C extends Contract>(handlers: Handlers<C, BundleRouteDeps>): Handlers<C, BundleRouteDeps> =>
  handlers

interface Where {
  readonly upload?: string
  readonly path?: string
}

/** @throws bundle_place_refused, bundle_upload_not_found, bundle_upload_incomplete, bad_request */
async function locate(
  deps: BundleRouteDeps,
  { upload, path }: Where,
): Promise<{ readonly path: string; readonly file: string }> {
  if ((upload === undefined) === (path === undefined))
    return fail('bad_request', { said: 'Name the file by upload or by path, one of the two.' })
  if (upload !== undefined) {
    const whole = await deps.uploads.whole(upload)
    return { path: whole.path, file: whole.fileName }
  }
  return findOnMedium(deps, path ?? '')
}

const columnsOf = (refs: readonly RefRow[]) => ({
  formats: refs.map(([format]) => format),
  codenames: refs.map(([, codename]) => codename),
  names: refs.map(([, , name]) => name),
  versions: refs.map(([, , , version]) => version),
  archs: refs.map(([, , , , arch]) => arch),
})

async function looking<T>(
  deps: BundleRouteDeps,
  where: Where,
  work: (looked: Looked, at: { readonly path: string; readonly file: string }) => Promise<T>,
): Promise<T> {
  const at = await locate(deps, where)
  const looked = await lookAt(deps, at.path, at.file).catch(async (error: unknown) => {
    // else a good copy of the same name and size would go on with these bytes
    if (where.upload !== undefined && isRefusal(error, 'bundle_refused')) await deps.uploads.drop(where.upload)
    throw error
  })
  try {
    return await work(looked, at)
  } finally {
    await looked.bundle.close()
  }
}

const needSender = async ({ db }: BundleRouteDeps, id: number): Promise<Sender> =>
  (await findSender(db, id)) ?? fail('bundle_sender_not_found', { sender: String(id) })

const viewSender = async ({ db }: BundleRouteDeps, sender: Sender) =>
  senderView(sender, await listMissing(db, sender.id, { upTo: sender.last_number }))

/** Pins a sender, or more keys of a known one. */
async function pin(
  deps: BundleRouteDeps,
  { name, site, ...given }: { name: string; site?: string; fingerprint?: string; public_key?: string },
  by: string,
): Promise<Sender> {
  const pinned = await pinnedOr({ fingerprint: given.fingerprint, publicKey: given.public_key })
  const known = (await listSenders(deps.db)).find(one => one.name === name)
  if (known !== undefined) {
    const fingerprints = [...new Set([...known.fingerprints, ...pinned.fingerprints])]
    const key = [known.key, pinned.key].filter(one => one !== null).join('\n') || null
    return (await pinMore(deps.db, known.id, { fingerprints, key })) ?? needSender(deps, known.id)
  }
  const added = await addSender(deps.db, { name, site: site ?? null, ...pinned, by })
  return added ?? fail('bundle_sender_exists', { sender: name })
}

const codenamesOf = ({ bundle }: Looked, viewer: Viewer): string[] =>
  codenamesIn(bundle.manifest).filter(one => maySee(viewer, one as Codename))

export const importHandlers = asContract<ImportRows>({
  'GET /bundles/senders': async deps => {
    const senders = await listSenders(deps.db)
    return { senders: await Promise.all(senders.map(one => viewSender(deps, one))) }
  },
  'POST /bundles/senders': async (deps, { body, who, raw }) => {
    const sender = await pin(deps, body, who.name)
    await deps.audit.record({
      action: 'BUNDLE_PIN',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.sender_pinned', sender: sender.name, fingerprints: sender.fingerprints },
    })
    return viewSender(deps, sender)
  },
  'DELETE /bundles/senders/{id}': async (deps, { params, who, raw }) => {
    const sender =
      (await removeSender(deps.db, params.id)) ?? fail('bundle_sender_not_found', { sender: String(params.id) })
    await deps.audit.record({
      action: 'BUNDLE_PIN',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.sender_removed', sender: sender.name },
    })
    return { message: `No bundles of ${sender.name} are taken any more.` }
  },
  'GET /bundles/senders/{id}/receipt': async (deps, { params, who, viewer, raw }) => {
    const sender = await needSender(deps, params.id)
    const { site, installation } = sender
    if (site === null || installation === null) return fail('bundle_nothing_came', { sender: sender.name })
    const { file, bytes, receipt } = await makeReceipt(deps, { ...sender, site, installation }, viewer.hidden)
    await deps.audit.record({
      action: 'BUNDLE_RECEIPT',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'bundle.receipt_made', receipt: receipt.name, sender: sender.name },
    })
    return { body: bytes, type: 'application/x-tar', name: file, size: bytes.length }
  },
  'GET /bundles/media': async deps => ({ media: await listMedia(deps) }),
  'POST /bundles/uploads': ({ uploads }, { body, who }) =>
    uploads.begin({ fileName: body.file_name, size: body.size, by: who.name }),
  'GET /bundles/uploads/{id}': ({ uploads }, { params }) => uploads.get(params.id),
  'PUT /bundles/uploads/{id}': ({ uploads }, { params, query, raw }) => uploads.append(params.id, query.offset, raw),
  'DELETE /bundles/uploads/{id}': async ({ uploads }, { params }) => {
    const { file_name: name } = await uploads.get(params.id)
    await uploads.drop(params.id)
    return { message: `What came of ${name} is removed.` }
  },
  'POST /bundles/inspect': (deps, { body, viewer }) =>
    looking(deps, body, async (looked, { file }) =>
      inspectionOf(looked, {
        file,
        hidden: viewer.hidden,
        hasDistribution: codename => deps.repositories.seenBy(viewer).find(codename) !== undefined,
        assumedMissing: await countAbsent(deps.db, viewer, columnsOf(looked.bundle.manifest.assumes)),
      }),
    ),
  'POST /bundles/import': (deps, { body, who, viewer, raw }) =>
    looking(deps, body, async (looked, { path, file }) => {
      const allowOlder = body.allow_older === true
      if (allowOlder && who.role !== 'admin') fail('bundle_allow_older', {})
      const sender = needAcceptable(looked, { file, allowOlder })
      const codenames = codenamesOf(looked, viewer)
      needScopes(who, codenames)
      const request: TakeRequest = {
        path,
        file,
        sha256: looked.sha256,
        allow_older: allowOlder,
        hidden: viewer.hidden,
        ip: raw.clientIp,
        ...(body.upload === undefined ? {} : { upload: body.upload }),
      }
      const { id } = await deps.jobs.ask({
        kind: TAKE,
        target: sender.name,
        request: { ...request },
        codenames,
        by: who.name,
        requestId: raw.requestId,
      })
      const { name } = looked.bundle.manifest
      const gap = looked.missing.length === 0 ? '' : ` ${printGap(looked.missing, sender.name)}`
      return {
        status: 'accepted',
        job_id: id,
        name,
        sender: sender.name,
        missing: [...looked.missing],
        message: `${name} is verified and imported as job ${id}.${gap}`,
      }
    }),
})
