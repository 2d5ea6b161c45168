import { access, constants, readFile, realpath, stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import { createFolderStore } from './folder-store.ts'
import type { S3ClientDeps, S3Place } from './s3-client.ts'
import { createS3Store, s3Address } from './s3-store.ts'
import { TargetTrouble, type TargetStore } from './target-store.ts'

/** The kinds of targets, beside the folder of archives. */
export const PLACES = ['directory', 's3'] as const
export type Place = (typeof PLACES)[number]

/** A target that the settings name. */
export interface Target {
  readonly place: Place
  /** Without any secret. */
  readonly address: string
  /** @throws TargetTrouble where it is not there, or may not be one */
  open(): Promise<TargetStore>
  /** What speaks against it though it can be used. */
  warning(): Promise<string | undefined>
}

export interface PlaceDeps {
  readonly root: string
  /** What may be reached in the private network; see `S3Place.allow`. */
  readonly allow: string
  readonly s3?: S3ClientDeps
}

/**
 * What lies below REPOS_ROOT is served, or part of every backup; only the folder of backups is neither.
 * @throws TargetTrouble
 */
async function openDirectory(directory: string, root: string): Promise<TargetStore> {
  const [at, real] = await Promise.all([realpath(directory), realpath(root)]).catch((error: unknown) => {
    throw new TargetTrouble(`The directory ${directory}: ${systemErrorInWords(error) ?? 'it cannot be looked at'}.`, {
      cause: error,
    })
  })
  const below = relative(real, at)
  if (!below.startsWith('..') && below.split('/')[0] !== 'backups')
    throw new TargetTrouble(`The directory ${directory} lies in REPOS_ROOT. Name one on another disk.`)
  await access(at, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new TargetTrouble(`The directory ${directory}: this service may not write there.`, { cause: error })
  })
  return createFolderStore(directory)
}

/** @returns what to say of a directory that is lost together with what it is to replace */
async function warnOfDisk(directory: string, root: string): Promise<string | undefined> {
  // one that is not there is told when it is tried
  const [there, here] = await Promise.all([directory, root].map(path => stat(path).catch(() => undefined)))
  if (there === undefined || there.dev !== here?.dev) return undefined
  return 'It is on the disk of REPOS_ROOT: whoever loses that disk loses these backups, too. Mount another one there, or check that it is mounted.'
}

async function readCa(path: string): Promise<string | undefined> {
  if (path === '') return undefined
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new TargetTrouble(
      `The certificates that backup.s3_ca_bundle_path names: ${systemErrorInWords(error) ?? 'they cannot be read'}.`,
      { cause: error },
    )
  })
}

/** The targets of the settings. */
export function targetsOf(backup: SettingsValue['backup'], { root, allow, s3 = {} }: PlaceDeps): Target[] {
  const targets: Target[] = []
  const { directory } = backup
  if (directory !== '')
    targets.push({
      place: 'directory',
      address: directory,
      open: () => openDirectory(directory, root),
      warning: () => warnOfDisk(directory, root),
    })
  if (backup.s3_endpoint !== '' && backup.s3_bucket !== '') {
    const place: S3Place = {
      endpoint: backup.s3_endpoint,
      bucket: backup.s3_bucket,
      region: backup.s3_region,
      accessKey: backup.s3_access_key,
      secretKey: backup.s3_secret_key,
      allow,
    }
    const prefix = backup.s3_prefix
    targets.push({
      place: 's3',
      address: s3Address(place, prefix),
      open: async () => createS3Store({ ...place, ca: await readCa(backup.s3_ca_bundle_path) }, prefix, s3),
      warning: () => Promise.resolve(undefined),
    })
  }
  return targets
}

/** Uses a target, and lets go of it afterwards. */
export async function withTarget<T>(
  target: Pick<Target, 'open'>,
  work: (store: TargetStore) => Promise<T>,
): Promise<T> {
  const store = await target.open()
  try {
    return await work(store)
  } finally {
    store.close()
  }
}
