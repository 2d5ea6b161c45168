import { isRefusal } from '../../core/errors.ts'
import type { Blob, Codename, Sha256 } from '../../core/identity.ts'
import { oci } from '../../formats/oci/index.ts'
import { needHosted } from '../admit.ts'
import { chunksOf } from '../body.ts'
import type { Caller, RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { placeOf, plain, refuseAs, VERSION } from './answers.ts'
import type { OciDeps } from './deps.ts'
import { addBlob, findBlob, removeBlob, type KnownBlob, type Repository } from '../../catalog/queries/oci.ts'
import { whereBlobBelongs } from '../../catalog/queries/store.ts'
import { createKeepBlob } from './keep-blob.ts'
import { needDigest, type Route } from './routes.ts'
import { rangeOf, type Chunk, type Uploads } from './uploads.ts'

/** Whether the caller may publish here. */
export function mayWrite(caller: Caller): boolean {
  try {
    caller.need('write')
    return true
  } catch (error) {
    if (isRefusal(error)) return false
    throw error
  }
}

/** @throws OciRefusal DIGEST_INVALID */
function mustBe(digest: string, { sha256, sha512 }: Blob): void {
  const is = digest.startsWith('sha512:') ? `sha512:${sha512}` : `sha256:${sha256}`
  if (is !== digest)
    refuseAs(
      400,
      'DIGEST_INVALID',
      `The bytes have the digest ${is}, the client said ${digest}. Nothing was kept; send them again.`,
    )
}

/** @throws OciRefusal BLOB_UPLOAD_INVALID for a header that is no range */
function chunkOf({ body, signal, headers }: RegistryRequest): Chunk {
  const said = headers['content-range']
  if (said === undefined) return { body, signal }
  const [, first, last] = /^(?:bytes )?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(said) ?? []
  if (first === undefined || last === undefined)
    refuseAs(
      416,
      'BLOB_UPLOAD_INVALID',
      'Content-Range is not allowed: it must be the first and the last byte, as in 0-1023.',
    )
  return { body, signal, range: { first: Number(first), last: Number(last) } }
}

const COMES_WITH = 'It comes in with the manifest that names it: ask for that first.'

/** What a caller may have of a blob. */
type Access = 'served' | 'held' | 'absent'

function accessTo({ states }: KnownBlob, { caller, registry }: RegistryRequest): Access {
  if (states.includes('published')) return 'served'
  // nobody sent it: it waits for the gate
  if (registry.registry?.kind === 'proxy') return states.length === 0 ? 'absent' : 'held'
  // nobody looked at it yet: it goes back to those alone who may publish
  if (!mayWrite(caller)) return states.length === 0 ? 'absent' : 'held'
  return states.length === 0 ? 'served' : 'held'
}

/** Reading, mounting and uploading blobs. Source: distribution specification 1.1, "Pull" and "Push". */
export function createBlobRoutes(deps: OciDeps, uploads: Uploads) {
  const { db, catalog, pool, outbox, repositories, clock, settings, spool } = deps

  const keep = createKeepBlob(deps)

  const created = (request: RegistryRequest, name: string, digest: string): RegistryAnswer =>
    plain(201, { 'Location': placeOf(request, name, 'blobs', digest), 'Docker-Content-Digest': digest })

  const under = (
    status: number,
    request: RegistryRequest,
    name: string,
    { id, size }: { readonly id: string; readonly size: number },
  ): RegistryAnswer =>
    plain(status, {
      'Location': placeOf(request, name, 'blobs/uploads', id),
      'Range': rangeOf(size),
      'Docker-Upload-UUID': id,
    })

  const mayLeave = async (sha256: Sha256): Promise<boolean> =>
    (await whereBlobBelongs(db, sha256)) === 'pool' && (await pool.has(sha256)) === 'pool'

  async function read(request: RegistryRequest, repository: Repository, digest: string): Promise<RegistryAnswer> {
    const isProxy = request.registry.registry?.kind === 'proxy'
    const known = await findBlob(db, repository, digest)
    const access = known === undefined ? 'absent' : accessTo(known, request)
    if (known === undefined || access === 'absent') {
      // What no manifest names yet goes to publishers alone, and many clients send a credential only when asked.
      // They are asked at every blob that no manifest names, so nobody learns which of those are here.
      if (!isProxy && request.headers.authorization === undefined) request.caller.need('write')
      return refuseAs(
        404,
        'BLOB_UNKNOWN',
        `${repository.name} has no blob ${digest}. ${isProxy ? COMES_WITH : ''}`.trim(),
      )
    }
    // whoever may publish need not send again what is here
    const isThere = request.method === 'HEAD' && !isProxy && mayWrite(request.caller)
    if (access === 'held' && !isThere)
      refuseAs(
        403,
        'DENIED',
        `The versions of ${repository.name} that have this blob are not served: ${[...new Set(known.states)].join(', ')}. Ask for the manifest to read why.`,
      )
    const { sha256, size } = known.blob
    // sent again, while only refused versions have it: it lies in quarantine, or is on its way there
    if (request.method === 'GET' && known.states.length === 0 && !(await mayLeave(sha256)))
      refuseAs(403, 'DENIED', 'These bytes belong to versions that were refused, and are given to nobody.')
    if (access === 'held') return { ...plain(200, { 'Docker-Content-Digest': digest, 'Content-Length': String(size) }) }
    return {
      status: 200,
      type: 'application/octet-stream',
      headers: { ...VERSION, 'Docker-Content-Digest': digest },
      body: { kind: 'blob', sha256, size },
      conditional: true,
    }
  }

  async function remove(request: RegistryRequest, repository: Repository, digest: string): Promise<RegistryAnswer> {
    request.caller.need('manage')
    const known =
      (await findBlob(db, repository, digest)) ??
      refuseAs(404, 'BLOB_UNKNOWN', `${repository.name} has no blob ${digest}.`)
    if (known.states.length > 0)
      refuseAs(
        405,
        'UNSUPPORTED',
        'A manifest names this blob. Delete the manifest: the blob goes with the last one that names it.',
      )
    const { sha256 } = known.blob
    await db.tx(async tx => {
      await removeBlob(tx, repository, sha256)
      await outbox.owe(tx, `blob:${sha256}`)
    })
    outbox.nudge()
    return plain(202)
  }

  /** The repository that `from` names, where the caller may pull from it. */
  function sourceOf(from: string, { registry, caller }: RegistryRequest): Repository | undefined {
    const at = from.indexOf('/')
    const [codename, name] = [from.slice(0, at), from.slice(at + 1)]
    const other = repositories.seenBy(caller.viewer).find(codename)
    if (at < 1 || other?.format !== oci.id) return undefined
    const limits = caller.who?.scope
    const mayRead =
      other.codename === registry.codename ||
      limits?.distributions === undefined ||
      limits.distributions.includes(codename)
    return mayRead ? { codename: codename as Codename, name } : undefined
  }

  /** @returns false where it must be uploaded after all */
  async function mount(request: RegistryRequest, repository: Repository, digest: string): Promise<boolean> {
    const source = sourceOf(request.query.get('from') ?? '', request)
    const known = source && (await findBlob(db, source, digest))
    if (source === undefined || known === undefined) return false
    const isOwn = source.codename === repository.codename
    if (!known.states.includes('published') && !(isOwn && known.states.length === 0)) return false
    return catalog.holdBlobs([known], async () => {
      if ((await pool.has(known.blob.sha256)) !== 'pool') return false
      await addBlob(db, repository, known.blob, clock.now())
      return true
    })
  }

  async function begin(request: RegistryRequest, repository: Repository): Promise<RegistryAnswer> {
    const { query, caller } = request
    const { name } = repository
    const mounted = query.get('mount')
    if (mounted !== null && (await mount(request, repository, needDigest(mounted))))
      return created(request, name, mounted)
    const digest = query.get('digest')
    if (digest === null || mounted !== null)
      return under(202, request, name, await uploads.start(repository, caller.who?.name ?? ''))
    needDigest(digest)
    const limitBytes = settings.now().validation.max_upload_size_mb * 1024 * 1024
    const file = await spool.receive(chunksOf(request.body), { filename: 'blob', limitBytes, signal: request.signal })
    try {
      mustBe(digest, file.blob)
      await keep(repository, file)
    } finally {
      await file.discard()
    }
    return created(request, name, digest)
  }

  async function finish(request: RegistryRequest, repository: Repository, id: string): Promise<RegistryAnswer> {
    const digest = needDigest(
      request.query.get('digest') ??
        refuseAs(400, 'DIGEST_INVALID', 'The digest of the blob is missing: PUT …?digest=sha256:…'),
    )
    await uploads.finish(repository, id, chunkOf(request), async file => {
      mustBe(digest, file.blob)
      await keep(repository, file)
    })
    return created(request, repository.name, digest)
  }

  async function upload(
    request: RegistryRequest,
    repository: Repository,
    id: string | undefined,
  ): Promise<RegistryAnswer> {
    request.caller.need('write')
    needHosted(request.registry)
    const { method } = request
    const { name } = repository
    if (id === undefined)
      return method === 'POST'
        ? begin(request, repository)
        : refuseAs(405, 'UNSUPPORTED', 'Uploads begin with POST.', { Allow: 'POST' })
    switch (method) {
      case 'GET':
      case 'HEAD':
        return under(204, request, name, await uploads.need(repository, id))
      case 'PATCH':
        return under(202, request, name, await uploads.append(repository, id, chunkOf(request)))
      case 'PUT':
        return finish(request, repository, id)
      case 'DELETE':
        await uploads.cancel(repository, id)
        return plain(204)
      default:
        return refuseAs(405, 'UNSUPPORTED', `An upload takes no ${method}.`, { Allow: 'GET, HEAD, PATCH, PUT, DELETE' })
    }
  }

  return {
    upload,
    blob: (request: RegistryRequest, { name, digest }: Extract<Route, { kind: 'blob' }>): Promise<RegistryAnswer> => {
      const repository = { codename: request.registry.codename, name }
      if (request.method === 'GET' || request.method === 'HEAD') return read(request, repository, digest)
      if (request.method === 'DELETE') return remove(request, repository, digest)
      return refuseAs(405, 'UNSUPPORTED', `A blob takes no ${request.method}.`, { Allow: 'GET, HEAD, DELETE' })
    },
  }
}
