import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { Blob } from '../../core/identity.ts'
import type { Layout } from '../../files/layout.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { fsyncFolder } from '../../lib/atomic.ts'
import { readAt } from '../../lib/read-at.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { printBytes } from '../../lib/limited.ts'
import type { Algorithm } from '../../formats/maven/place.ts'
import {
  addArrived,
  addSaid,
  forgetDeploy,
  listArrived,
  listKept,
  listSaid,
  sizeWaiting,
  sweepSaid,
  touchArrived,
  type Arrived,
  type Deploy,
} from './rows.ts'

/** How long after its last file a version is taken for whole, where its list of versions does not come. */
export const RESTED_MS = 60_000
const MOST_FILES = 200
const MOST_BYTES = 16 * 2 ** 30
const HEAD = 512
// a file lies here before its row is written, and after the row is gone
const SPARED_MS = 60 * 60 * 1000

export interface DeploysDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'deploys'>
  readonly clock: Clock
}

/** Who deploys. */
export interface Sender {
  readonly sender: string
  readonly ip: string
}

/** A checksum that a client computed. */
export interface Claim {
  readonly path: string
  readonly algorithm: Algorithm
  /** Lower-case hex. */
  readonly digest: string
}

/** Versions whose files arrive one by one, until somebody says that they are whole. They survive a crash. */
export interface Deploys {
  /**
   * Takes a file in, or leaves it where the same bytes are here. The caller still discards it.
   * @throws maven_under_way, maven_many_files, maven_waiting_full; maven_checksum, which drops the version
   */
  add(of: Deploy, file: SpooledFile, by: Sender): Promise<void>
  /** Compares what a client says with its file, or keeps it until that comes. @throws as `add` */
  claim(of: Deploy, claim: Claim, by: Sender): Promise<void>
  /** Its files as ones that the gate may take; a crash of that loses none. Empty where one is gone. */
  files(of: Deploy): Promise<readonly (SpooledFile & { readonly row: Arrived })[]>
  drop(of: Deploy): Promise<void>
  /** Removes files and checksums that belong to nothing. */
  sweep(): Promise<void>
}

const nameFile = (): string => randomBytes(12).toString('hex')

function mustMatch(path: string, blob: Blob, { algorithm, digest }: Omit<Claim, 'path'>): void {
  if (blob[algorithm] !== digest)
    fail('maven_checksum', { algorithm, file: path, said: digest, actual: blob[algorithm] })
}

/** Makes them over `.deploys/`. The caller runs what concerns one version one after the other. */
export function createDeploys({ db, layout: { deploys: folder }, clock }: DeploysDeps): Deploys {
  const underWay = ({ name, version }: Deploy, { sender, path, at }: Arrived): never =>
    fail('maven_under_way', {
      who: sender,
      name,
      version,
      file: path,
      retry_after: Math.max(1, Math.ceil((at.getTime() + RESTED_MS - clock.now().getTime()) / 1000)),
    })

  async function drop(of: Deploy): Promise<void> {
    for (const kept of await forgetDeploy(db, of)) await rm(join(folder, kept), { force: true })
  }

  /** What was said of a file that comes now. @throws maven_checksum */
  async function checkSaid(of: Deploy, path: string, blob: Blob): Promise<void> {
    try {
      for (const said of await listSaid(db, { ...of, path })) mustMatch(path, blob, said)
    } catch (error) {
      await drop(of)
      throw error
    }
  }

  /** Moves a file here so that a power cut leaves all of it, then writes its row. */
  async function keep(of: Deploy, { path: from, filename: path, blob }: SpooledFile, by: Sender): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o750 })
    const kept = nameFile()
    const handle = await open(from, 'r')
    await handle.sync().finally(() => handle.close())
    await rename(from, join(folder, kept))
    await fsyncFolder(folder)
    const { sha256, size, md5, sha1, sha512 } = blob
    const isNew = await addArrived(db, { ...of, ...by, path, kept, sha256, size, md5, sha1, sha512, at: clock.now() })
    if (isNew) return
    // another process was faster
    await rm(join(folder, kept), { force: true })
    const other = (await listArrived(db, of)).find(row => row.path === path)
    if (other !== undefined && other.sha256 !== sha256) underWay(of, other)
  }

  return {
    drop,
    async add(of, file, by) {
      const { filename: path, blob } = file
      const here = await listArrived(db, of)
      const same = here.find(row => row.path === path)
      const foreign = here.find(({ sender }) => sender !== by.sender)
      if (same !== undefined && same.sha256 === blob.sha256) return touchArrived(db, of, clock.now())
      if (same !== undefined) return underWay(of, same)
      // one version is never put together from what two senders have
      if (foreign !== undefined) return underWay(of, { ...foreign, path })
      if (here.length >= MOST_FILES) fail('maven_many_files', { name: of.name, version: of.version, most: MOST_FILES })
      if ((await sizeWaiting(db, of.codename)) + blob.size > MOST_BYTES)
        fail('maven_waiting_full', { most: printBytes(MOST_BYTES) })
      await checkSaid(of, path, blob)
      await keep(of, file, by)
      await touchArrived(db, of, clock.now())
    },
    async claim(of, claim, by) {
      const row = (await listArrived(db, of)).find(({ path }) => path === claim.path)
      if (row === undefined) return addSaid(db, { ...of, ...claim }, clock.now())
      if (row[claim.algorithm] === claim.digest) return touchArrived(db, of, clock.now())
      if (row.sender !== by.sender) return underWay(of, row)
      await drop(of)
      mustMatch(claim.path, row, claim)
    },
    async files(of) {
      const rows = await listArrived(db, of)
      const files: (SpooledFile & { readonly row: Arrived })[] = []
      for (const row of rows) {
        const from = join(folder, row.kept)
        const size = (await stat(from).catch(() => undefined))?.size
        if (size !== row.size) {
          for (const file of files) await file.discard()
          return []
        }
        const path = join(folder, nameFile())
        await link(from, path)
        const { sha256, md5, sha1, sha512 } = row
        const handle = await open(path, 'r')
        const head = await readAt(handle, 0, Math.min(HEAD, size)).finally(() => handle.close())
        const discard = (): Promise<void> => rm(path, { force: true })
        files.push({ path, filename: row.path, blob: { sha256, size, md5, sha1, sha512 }, head, discard, row })
      }
      return files
    },
    async sweep() {
      const before = clock.now().getTime() - SPARED_MS
      const names = await readdir(folder).catch(() => [])
      const kept = await listKept(db, names)
      for (const name of names.filter(one => !kept.has(one))) {
        const found = await stat(join(folder, name)).catch(() => undefined)
        if (found !== undefined && found.mtimeMs < before) await rm(join(folder, name), { force: true })
      }
      await sweepSaid(db, new Date(before))
    },
  }
}
