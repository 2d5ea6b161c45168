import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundleName, type BundleManifest, type RefRow } from '../../server/imports/bundle/manifest.ts'
import { writeBundle } from '../../server/imports/bundle/write-bundle.ts'
import type { Signer } from '../../server/signing/signer.ts'
import { createVendorKey } from './upstream/key.ts'

/** What a sender whose key is pinned puts into a bundle, whatever it is. */
export interface Forged {
  readonly number: number
  readonly packages?: readonly {
    readonly ref: RefRow
    readonly name: string
    readonly bytes: Buffer
    /** What stands beside the first file. */
    readonly beside?: readonly { readonly name: string; readonly bytes: Buffer }[]
  }[]
  readonly data?: readonly { readonly kind: string; readonly name: string; readonly bytes: Buffer }[]
  /** Changes the list before it is signed. */
  readonly change?: (manifest: BundleManifest) => BundleManifest
}

/** A sender that writes what it likes. @param folder  for its files */
export async function createForger(folder: string) {
  const key = await createVendorKey({ type: 'ed25519' })
  const signer = {
    detach: async (bytes: Uint8Array) => (await key.detach(Buffer.from(bytes), new Date())).toString(),
    publicKey: () => Buffer.from(key.publicKey),
  } as Partial<Signer> as Signer
  return {
    fingerprint: key.fingerprint,
    publicKey: key.publicKey,
    /** @returns the bytes of a bundle that is signed as it must be */
    async forge({ number, packages = [], data = [], change = one => one }: Forged): Promise<Buffer> {
      const digests = new Map<string, number>()
      const put = async (bytes: Buffer): Promise<string> => {
        const sha256 = createHash('sha256').update(bytes).digest('hex')
        await writeFile(join(folder, sha256), bytes)
        digests.set(sha256, bytes.length)
        return sha256
      }
      const listed: BundleManifest['packages'] = []
      for (const { ref, name, bytes, beside = [] } of packages) {
        const files = []
        for (const one of [{ name, bytes }, ...beside]) files.push({ name: one.name, sha256: await put(one.bytes) })
        listed.push({ ref, files })
      }
      const others: BundleManifest['data'] = []
      for (const { kind, name, bytes } of data) others.push({ kind, name, sha256: await put(bytes) })
      const manifest = change({
        format: 1,
        kind: 'bundle',
        name: bundleName('north', number),
        site: 'north',
        number,
        created_at: new Date().toISOString(),
        version: '0',
        sender: { id: 'forger', name: 'forger' },
        based_on: { kind: 'all', number: 0, receipt: null, since: 0, partial: true },
        packages: listed,
        assumes: [],
        data: others,
        files: [...digests].map(([sha256, size]) => ({ sha256, size })),
      })
      const to = join(folder, 'forged')
      const { signal } = new AbortController()
      const pathOf = (sha256: string): string => join(folder, sha256)
      await writeBundle({ manifest, signer, pathOf, to, signal, told: () => Promise.resolve() })
      return readFile(to)
    },
  }
}
