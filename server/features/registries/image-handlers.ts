import { readFile } from 'node:fs/promises'
import { countSharing, findByDigest, listNamed, type Repository } from '../../catalog/queries/oci.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Queryable } from '../../db/db.ts'
import type { Pool } from '../../files/pool.ts'
import { MAX_CONFIG } from '../../formats/oci/config.ts'
import type { Platform } from '../../formats/oci/descriptor.ts'
import type { OciFacts } from '../../formats/oci/facts.ts'
import { readHistory, type ImageHistory } from '../../formats/oci/history.ts'
import { layerName } from '../../formats/oci/inspect.ts'
import { Malformed } from '../../lib/limited.ts'
import type { ImageLayer, ImageOfIndex, images } from './image-contract.ts'
import { needRegistry } from './needed.ts'

export interface ImageDeps {
  readonly db: Queryable
  readonly pool: Pick<Pool, 'locate'>
  readonly repositories: Pick<Repositories, 'seenBy'>
}

const printPlatform = (platform: Platform | undefined): string | null =>
  platform === undefined
    ? null
    : [platform.os, platform.architecture, ...(platform.variant === undefined ? [] : [platform.variant])].join('/')

/** Undefined where there is no config, or one that nobody can read. */
async function historyOf(
  { pool }: Pick<ImageDeps, 'pool'>,
  { kind, config, layers }: OciFacts,
  { files }: Manifest,
): Promise<ImageHistory | undefined> {
  const file = files.find(({ path }) => path === config?.digest)
  if (kind !== 'image' || file === undefined || file.blob.size > MAX_CONFIG) return undefined
  try {
    return readHistory(await readFile(await pool.locate(file.blob.sha256)), layers.length)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

async function layersOf(
  db: Queryable,
  repository: Repository,
  { ref: { version }, files }: Pick<Manifest, 'ref' | 'files'>,
  { facts, history }: { readonly facts: OciFacts; readonly history: ImageHistory | undefined },
): Promise<readonly ImageLayer[]> {
  const blobs = new Map(files.map(({ path, blob }) => [path, blob.sha256]))
  const known = facts.layers.flatMap(({ digest }) => blobs.get(digest) ?? [])
  const shared = await countSharing(db, repository, { version, blobs: [...new Set(known)] })
  const sharedOf = (digest: string): number => {
    const blob = blobs.get(digest)
    return blob === undefined ? 0 : (shared.get(blob) ?? 0)
  }
  return facts.layers.map(({ digest, size }, n) => ({
    name: layerName(digest, n),
    digest,
    bytes: size,
    step: history?.steps?.[n]?.step ?? null,
    made_by: history?.steps?.[n]?.made_by ?? null,
    shared_with: sharedOf(digest),
  }))
}

async function imagesOf(
  db: Queryable,
  repository: Repository,
  { manifests }: OciFacts,
): Promise<readonly ImageOfIndex[]> {
  const here = await listNamed(
    db,
    repository,
    manifests.map(({ digest }) => digest),
  )
  return manifests.map(({ digest, size, platform }) => ({
    digest,
    bytes: size,
    platform: printPlatform(platform),
    status: here.get(digest)?.state ?? null,
    arch: here.get(digest)?.arch ?? null,
  }))
}

export const imageHandlers: Handlers<typeof images, ImageDeps> = {
  'GET /registries/{name}/packages/{package}/versions/{version}/image': async (deps, { params, viewer }) => {
    const { codename } = needRegistry(deps.repositories, viewer, params.name)
    const { package: name, version } = params
    const repository = { codename, name }
    const manifest = (await findByDigest(deps.db, repository, version)) ?? fail('version_not_found', { name, version })
    const facts = manifest.facts as OciFacts
    const history = await historyOf(deps, facts, manifest)
    const signature = manifest.reports.find(({ step }) => step === 'signature')
    return {
      digest: manifest.ref.version,
      kind: facts.kind,
      media_type: facts.media_type,
      platform: printPlatform(facts.platform),
      runs_as: history?.user ?? null,
      signed: signature?.said ?? null,
      signature: signature?.verdict ?? null,
      layers: await layersOf(deps.db, repository, manifest, { facts, history }),
      images: await imagesOf(deps.db, repository, facts),
    }
  },
}
