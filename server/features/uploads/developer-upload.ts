import { readFile } from 'node:fs/promises'
import type { Actor, Changed } from '../../catalog/change.ts'
import { AppError, fail, isRefusal, type ErrorCode } from '../../core/errors.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { together, type SpooledFile } from '../../files/spool.ts'
import type { AnnouncedFile, Announcement, Announcements } from '../../formats/announcements.ts'
import type { Format } from '../../formats/format.ts'
import { printBytes } from '../../lib/limited.ts'
import { passGate, type Gate } from '../../pipeline/gate.ts'
import type { Audit } from '../../record/audit.ts'
import type { UploaderKey, UploaderKeys } from '../../signing/uploader-keys.ts'
import type { PackageOutcome, UploadedTogether } from './developer-contract.ts'
import { chooseTarget } from './target.ts'

/** An upload: the announcement, and its files by name. */
export interface DeveloperUpload {
  readonly announcement: SpooledFile
  readonly find: (name: string) => SpooledFile | undefined
  /** The distribution it was sent to; undefined where only the announcement names it. */
  readonly codename?: string
  /** The sender; undefined: the name of the key. */
  readonly actor?: Actor
  /** What the sender may see. */
  readonly viewer: Viewer
  readonly waitMs: number
}

export interface DeveloperUploadDeps {
  readonly gate: Gate
  readonly keys: Pick<UploaderKeys, 'check'>
  /** Formats that are switched on here. */
  readonly formats: readonly Format[]
  readonly repositories: Pick<Repositories, 'seenBy'>
  /** A file of the same source that is here already, such as the upstream tarball of an earlier revision. */
  readonly findPart: (
    distribution: Distribution,
    source: string,
    announced: AnnouncedFile,
  ) => Promise<SpooledFile | undefined>
  readonly db: Pick<Db, 'tx'>
  readonly audit: Pick<Audit, 'owe'>
  readonly record: (changed: Changed) => void
}

/** Sends a developer's upload through the gate, package by package. */
export interface DeveloperUploads {
  /** True for the name of a file that ends an upload. */
  isAnnouncement(name: string): boolean
  /** @throws bad_package */
  read(file: SpooledFile): Promise<Announcement>
  /**
   * Admits packages only if an allowed key signed the announcement, it is for this distribution, and every file arrived
   * as announced. Each package then gets its own verdict. Owns the files that it admits.
   * @throws bad_package, announcement_unsigned, announcement_untrusted, announcement_misdirected, key_not_for,
   *   announcement_incomplete, unknown_distribution, wrong_format, distribution_retired
   */
  admit(upload: DeveloperUpload, signal: AbortSignal): Promise<UploadedTogether>
}

const OPENS_NO_DOOR = new Set<ErrorCode>(['announcement_unsigned', 'announcement_untrusted', 'key_not_for'])

type Group = { readonly main: SpooledFile; readonly beside: readonly SpooledFile[] }

/** Creates the entry for developers' uploads. */
export function createDeveloperUploads(deps: DeveloperUploadDeps): DeveloperUploads {
  const { gate, keys, formats, repositories, findPart, db, audit, record } = deps
  const readerOf = (name: string): { readonly format: Format; readonly reader: Announcements } | undefined => {
    for (const format of formats)
      if (format.announcements !== undefined && name.endsWith(format.announcements.ending))
        return { format, reader: format.announcements }
    return undefined
  }
  const needReader = (name: string) =>
    readerOf(name) ??
    fail('unknown_format', { filename: name, formats: formats.map(({ label }) => label).join(' nor ') })

  async function read(file: SpooledFile): Promise<Announcement> {
    const { filename, blob } = file
    const { reader } = needReader(filename)
    if (blob.size > reader.limitBytes)
      fail('bad_package', { filename, why: `it is larger than ${printBytes(reader.limitBytes)}` })
    return reader.read(await readFile(file.path), filename)
  }

  /** @throws announcement_unsigned, announcement_untrusted */
  async function signerOf({ clearsigned }: Announcement, filename: string): Promise<UploaderKey> {
    if (clearsigned === undefined) return fail('announcement_unsigned', { filename })
    const signed = await keys.check(clearsigned.document, clearsigned.text)
    if (signed.kind === 'good') return signed.by
    const why = signed.kind === 'unknown' ? `no uploader key here has the id ${signed.keyIds.join(', ')}` : signed.why
    return fail('announcement_untrusted', { filename, why })
  }

  /** Failed attempts are in the audit log, as with a wrong password. */
  function tellRefused(
    { actor, codename, announcement }: DeveloperUpload,
    announced: Announcement,
    { code, message }: AppError,
  ): Promise<void> {
    return db.tx(tx =>
      audit.owe(tx, {
        action: 'UPLOAD',
        result: 'FAILURE',
        user: actor?.name ?? 'watched folder',
        package: announced.source,
        version: announced.sourceVersion,
        ...(codename === undefined ? {} : { distribution: codename }),
        ...(actor?.ip === undefined ? {} : { ip: actor.ip }),
        facts: { kind: 'announcement.refused', file: announcement.filename, code, why: message },
      }),
    )
  }

  /** @throws announcement_misdirected, key_not_for, unknown_distribution, wrong_format, distribution_retired */
  function targetOf(
    { target }: Announcement,
    { codename, viewer, announcement: { filename } }: DeveloperUpload,
    key: UploaderKey,
  ): Distribution {
    if (codename !== undefined && target !== codename) fail('announcement_misdirected', { filename, target, codename })
    const { format } = needReader(filename)
    const distribution = chooseTarget({ formats, repositories: repositories.seenBy(viewer) }, target, format)
    if (key.distributions !== null && !key.distributions.includes(distribution.codename))
      fail('key_not_for', {
        key: key.name,
        codename: distribution.codename,
        allowed: key.distributions.filter(one => maySee(viewer, one)).join(', ') || 'other distributions',
      })
    return distribution
  }

  /** Who signed it, and where it goes. A signature that opens no door here is in the audit log. */
  async function open(
    announced: Announcement,
    upload: DeveloperUpload,
  ): Promise<{ readonly key: UploaderKey; readonly distribution: Distribution }> {
    try {
      const key = await signerOf(announced, upload.announcement.filename)
      return { key, distribution: targetOf(announced, upload, key) }
    } catch (error) {
      if (isRefusal(error) && OPENS_NO_DOOR.has(error.code)) await tellRefused(upload, announced, error)
      throw error
    }
  }

  /** The packages, each with the files it needs. @throws bad_package, announcement_incomplete */
  async function groupsOf(
    { files, source }: Announcement,
    { announcement: { filename }, find }: DeveloperUpload,
    distribution: Distribution,
  ): Promise<readonly Group[]> {
    const { reader } = needReader(filename)
    const missing = files.filter(({ name }) => find(name) === undefined).map(({ name }) => name)
    if (missing.length > 0) fail('announcement_incomplete', { filename, missing: missing.join(', ') })
    const here = files.map(announced => {
      const file = find(announced.name) as SpooledFile
      reader.compare(announced, file.blob)
      return file
    })
    const records = here.filter(file => reader.isRecord(file.filename))
    const parts = new Map<SpooledFile, readonly SpooledFile[]>()
    for (const main of here) {
      const beside: SpooledFile[] = []
      for (const part of await reader.partsOf(main)) {
        const file = here.find(one => one.filename === part.name) ?? (await findPart(distribution, source, part))
        if (file === undefined) return fail('announcement_incomplete', { filename, missing: part.name })
        beside.push(file)
      }
      if (beside.length > 0) parts.set(main, [...beside, ...records])
    }
    const sources = [...parts.keys()]
    const taken = new Set([...parts.values()].flat())
    const refuseThis = (why: string): never => fail('bad_package', { filename, why })
    if (sources.length > 1)
      refuseThis(`it names several source packages: ${sources.map(one => one.filename).join(', ')}`)
    if (sources.some(one => taken.has(one))) refuseThis(`${sources[0]?.filename} names itself as one of its parts`)
    const mains = here.filter(file => !taken.has(file) && !records.includes(file))
    return mains.length > 0
      ? mains.map(main => ({ main, beside: parts.get(main) ?? [] }))
      : refuseThis('it names no package')
  }

  async function admitOne(
    { main, beside }: Group,
    {
      announced,
      distribution,
      format,
      actor,
    }: {
      readonly announced: Announcement
      readonly distribution: Distribution
      readonly format: Format
      readonly actor: Actor
    },
    signal: AbortSignal,
  ): Promise<Changed> {
    const file = beside.length === 0 ? main : together(main, beside)
    if (!format.recognises(main.head)) {
      await file.discard()
      return fail('unknown_format', { filename: main.filename, formats: format.label })
    }
    const builtFrom = { source: announced.source, version: announced.sourceVersion }
    return passGate(gate, { file, format, distribution, actor, from: 'upload', builtFrom }, signal)
  }

  async function outcomeOf(filename: string, admitting: Promise<Changed>, waitMs: number): Promise<PackageOutcome> {
    try {
      const changed = await admitting
      record(changed)
      const { ref, state, kind = 'binary' } = changed.manifest
      const isIndexed = await changed.settled(waitMs)
      const { name, version, arch } = ref
      const status = changed.outcome === 'already' ? ('already_imported' as const) : state
      return { filename, name, version, arch, kind, status, state, ...(isIndexed ? {} : { indexed: false as const }) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { filename, status: 'refused', code: error.code, detail: error.message }
    }
  }

  return {
    isAnnouncement: name => readerOf(name) !== undefined,
    read,
    async admit(upload, signal) {
      const { filename } = upload.announcement
      const announced = await read(upload.announcement)
      const { key, distribution } = await open(announced, upload)
      const { format } = needReader(filename)
      const groups = await groupsOf(announced, upload, distribution)
      const actor = upload.actor ?? { name: key.name }
      const packages: PackageOutcome[] = []
      for (const group of groups)
        packages.push(
          await outcomeOf(
            group.main.filename,
            admitOne(group, { announced, distribution, format, actor }, signal),
            upload.waitMs,
          ),
        )
      return {
        source: announced.source,
        version: announced.sourceVersion,
        distribution: distribution.codename,
        signed_by: { name: key.name, fingerprint: key.fingerprint },
        packages,
      }
    },
  }
}
