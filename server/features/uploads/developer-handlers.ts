import { needScope } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Spool, SpooledFile } from '../../files/spool.ts'
import type { Format } from '../../formats/format.ts'
import type { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { Settings } from '../../settings/store.ts'
import type { Collection } from './collection.ts'
import type { developerUploads, PackageOutcome, UploadedTogether } from './developer-contract.ts'
import type { DeveloperUploads } from './developer-upload.ts'

export interface IncomingDeps {
  readonly spool: Pick<Spool, 'receive'>
  readonly settings: Pick<Settings, 'now'>
  /** Formats that are switched on. */
  readonly formats: readonly Format[]
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly collection: Collection
  readonly uploads: DeveloperUploads
  readonly lock: ReturnType<typeof createKeyedLock>
}

const INDEX_WAIT_MS = 30_000

const isKeptAway = ({ status }: PackageOutcome): boolean =>
  status === 'refused' || status === 'quarantined' || status === 'rejected'

const printOutcome = (one: PackageOutcome): string =>
  one.status === 'refused' ? one.detail.replace(/\.$/, '') : `${one.filename} is ${one.status}`

/**
 * Upload tools show only success or failure, so success means that every package passed. @throws announcement_refused
 */
export function mustBeTaken(filename: string, upload: UploadedTogether): UploadedTogether {
  const away = upload.packages.filter(isKeptAway)
  if (away.length > 0)
    fail('announcement_refused', {
      filename,
      said: away.map(printOutcome).join('; '),
      taken: upload.packages.length - away.length,
      of: upload.packages.length,
      packages: upload.packages,
    })
  return upload
}

/** Takes the files out while they are checked. After a refusal they are put back: what is missing may still come. */
async function admitFrom(
  {
    box,
    names,
    collection,
  }: { readonly box: string; readonly names: readonly string[]; readonly collection: Collection },
  admit: (here: ReadonlyMap<string, SpooledFile>) => Promise<UploadedTogether>,
): Promise<UploadedTogether> {
  const here = collection.take(box, names)
  const discard = () => Promise.all([...here.values()].map(file => file.discard()))
  try {
    const upload = await admit(here)
    await discard()
    return upload
  } catch (error) {
    if (isRefusal(error)) await collection.giveBack(box, here)
    else await discard()
    throw error
  }
}

export const developerHandlers: Handlers<typeof developerUploads, IncomingDeps> = {
  'PUT /incoming/{codename}/{filename}': async (
    { spool, settings, formats, repositories, collection, uploads, lock },
    { params: { codename, filename }, who, viewer, raw },
  ) => {
    needScope(who, codename)
    const { format: id } = repositories.seenBy(viewer).get(codename)
    const reader = formats.find(format => format.id === id)?.announcements
    if (reader === undefined) return fail('no_developer_uploads', { codename })
    if (!reader.isPlainName(filename)) fail('bad_path', { path: filename })
    const isLast = uploads.isAnnouncement(filename)
    const mb = settings.now().validation.max_upload_size_mb
    // a refusal can only be sent while the connection is kept
    const file = await spool.receive(raw.stream.iterator({ destroyOnReturn: false }), {
      filename,
      ...(isLast ? { limitBytes: reader.limitBytes, setting: 'none' } : { limitBytes: mb * 1024 * 1024 }),
      signal: raw.signal,
    })
    const box = `${who.kind} ${who.credential} ${codename}`
    const received = { filename, sha256: file.blob.sha256 }
    if (!isLast) {
      await collection.put(box, file)
      return received
    }
    return lock.run(box, async () => {
      try {
        const names = (await uploads.read(file)).files.map(({ name }) => name)
        const upload = await admitFrom({ box, names, collection }, here =>
          uploads.admit(
            {
              announcement: file,
              find: name => here.get(name),
              codename,
              actor: { name: who.name, ip: raw.clientIp },
              viewer,
              waitMs: INDEX_WAIT_MS,
            },
            // finish the upload: some of its packages may be accepted already
            new AbortController().signal,
          ),
        )
        return { ...received, upload: mustBeTaken(filename, upload) }
      } finally {
        await file.discard()
      }
    })
  },
}
