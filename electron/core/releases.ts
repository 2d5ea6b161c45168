import { createHash, createPublicKey, verify } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import semver from 'semver'
import type { Appliances } from './appliances.ts'
import type { ReleaseView } from './bridge.ts'
import { readJson } from './pinned-client.ts'
import { Refusal } from './refusal.ts'

const NAME = /^[A-Za-z0-9][\w.+-]{0,120}$/
/** What the vendor signs: one version, with a file for each platform. */
export const ReleaseManifest = Type.Object({
  product: Type.Literal('gatehouse-desktop'),
  version: Type.String({ maxLength: 60 }),
  released_at: Type.String({ maxLength: 40 }),
  notes: Type.String({ maxLength: 2000 }),
  files: Type.Array(
    Type.Object({
      /** `linux-x64`, `win32-x64`, `darwin-arm64`. */
      platform: Type.String({ maxLength: 40 }),
      name: Type.String({ pattern: NAME.source }),
      size: Type.Integer({ minimum: 1 }),
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
    { maxItems: 50 },
  ),
})
export type ReleaseManifest = Static<typeof ReleaseManifest>

/** As an appliance gives it: the text that was signed, and its Ed25519 signature in base64. */
const Offer = Type.Object({
  releases: Type.Array(
    Type.Object({ manifest: Type.String({ maxLength: 100_000 }), signature: Type.String({ maxLength: 200 }) }),
    {
      maxItems: 100,
    },
  ),
})

/** Updates of this program from the appliances themselves: without internet, and believed by signature. */
export interface Releases {
  /** The newest one for this platform that the vendor signed; null where there is none. */
  look(appliance: string): Promise<ReleaseView | null>
  /** Fetches it, checks it, and puts it among the downloads. @returns its path @throws Refusal */
  fetch(appliance: string, version: string): Promise<string>
}

/** Whether the vendor's key signed the text. */
function isSigned(key: string, manifest: string, signature: string): boolean {
  try {
    return verify(null, Buffer.from(manifest), createPublicKey(key), Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** The signed releases of an answer. What is not signed by the key is not there. */
export function readOffer(body: unknown, key: string): ReleaseManifest[] {
  if (!Value.Check(Offer, body)) return []
  return body.releases.flatMap(({ manifest, signature }) => {
    if (!isSigned(key, manifest, signature)) return []
    let read: unknown
    try {
      read = JSON.parse(manifest)
    } catch {
      return []
    }
    return Value.Check(ReleaseManifest, read) && semver.valid(read.version) !== null ? [read] : []
  })
}

interface Needs {
  readonly appliances: Appliances
  readonly key: string | undefined
  readonly version: string
  /** `linux-x64` */
  readonly platform: string
  readonly folder: string
}

export function createReleases({ appliances, key, version, platform, folder }: Needs): Releases {
  async function newest(appliance: string): Promise<ReleaseManifest | undefined> {
    if (key === undefined) return undefined
    const answer = await appliances.request(appliance, {
      method: 'GET',
      path: '/api/v1/console/releases',
      silenceMs: 20_000,
    })
    if (answer.statusCode !== 200) {
      answer.resume()
      return undefined
    }
    return readOffer(await readJson(answer), key)
      .filter(({ files }) => files.some(file => file.platform === platform))
      .sort((a, b) => semver.rcompare(a.version, b.version))[0]
  }
  const fileOf = (manifest: ReleaseManifest): ReleaseManifest['files'][number] | undefined =>
    manifest.files.find(file => file.platform === platform)

  return {
    look: async appliance => {
      const found = await newest(appliance)
      const file = found && fileOf(found)
      if (found === undefined || file === undefined) return null
      const isNewer = semver.gt(found.version, version)
      return { version: found.version, notes: found.notes, file: file.name, size: file.size, is_newer: isNewer }
    },
    fetch: async (appliance, wanted) => {
      const found = await newest(appliance)
      const file = found && fileOf(found)
      if (found === undefined || file === undefined || found.version !== wanted)
        throw new Refusal('release_is_gone', 'The appliance does not offer this version any more. Look again.')
      // a signed older version is still a way back to a known hole
      if (!semver.gt(found.version, version))
        throw new Refusal('release_is_older', 'That version is not newer than this one, so it is not fetched.')
      const answer = await appliances.request(appliance, {
        method: 'GET',
        path: `/api/v1/console/releases/${encodeURIComponent(file.name)}`,
      })
      if (answer.statusCode !== 200) {
        answer.resume()
        throw new Refusal(
          'release_is_gone',
          `The appliance has no file ${file.name}. Ask an admin to put the release there again.`,
        )
      }
      await mkdir(folder, { recursive: true })
      const [part, whole] = [join(folder, `.${file.name}.part`), join(folder, file.name)]
      const hash = createHash('sha256')
      let size = 0
      try {
        await pipeline(
          answer,
          new Transform({
            transform(piece: Buffer, _, done) {
              size += piece.length
              hash.update(piece)
              done(size > file.size ? new Error('larger than what was signed') : null, piece)
            },
          }),
          createWriteStream(part, { mode: 0o600 }),
        )
        if (size !== file.size || hash.digest('hex') !== file.sha256) throw new Error('not what was signed')
        await rename(part, whole)
        return whole
      } catch (error) {
        await rm(part, { force: true })
        throw new Refusal(
          'release_is_damaged',
          `${file.name} did not come as it was signed, and was thrown away. Try again; if it comes back, tell an admin.`,
          error,
        )
      }
    },
  }
}
